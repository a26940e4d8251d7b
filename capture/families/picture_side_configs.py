"""How to draw the config keys of picture sides, and of bridges from them, that are a kind of their own (see family.py)."""

from . import pictures_and_text_configs, vision
from .language import FAMILIES as TEXTS
from .pictures_and_text_configs import text_side, tower_side
from .usual_keys import ACTIVATIONS, drop
from .picture_towers import sampled, written


def same(d, s, r):
    pass


def aligned_layers(r):
    """A tower whose patches go through some linear layers into the text; a codec beside it draws pictures, and is left alone by texts."""
    text, tower = text_side(r, attention_dropout=drop(r), model_type="llama"), tower_side(r, "janus_vision_model")["vision_config"]
    tower.pop("model_type")
    tower.pop("intermediate_size")
    tower |= dict(
        mlp_ratio=float(r.randint(2, 4)),
        attention_bias=r.random() < 0.5,
        hidden_dropout_rate=drop(r),
        projection_dropout=drop(r),
        projection_dim=text["hidden_size"],
    )
    return dict(
        text_config=text,
        vision_config=tower,
        vq_config=dict(projection_dim=text["hidden_size"], image_token_embed_dim=text["hidden_size"], num_embeddings=r.randint(100, 200)),
        image_token_id=1,
        tie_word_embeddings=r.random() < 0.5,
    )


def shuffled_tiles(r):
    """InternVL's tiles over a tower that scales what each layer adds."""
    d = pictures_and_text_configs.internvl(r)
    d["text_config"]["model_type"] = "qwen3"
    d["vision_config"].pop("model_type")
    return d | dict(vision_config={**d["vision_config"], "drop_path_rate": drop(r)})


def windowed(r):
    """SAM's tower: windows of patches, some layers over all of them, with relative positions; two convolutions bring it to the text's width."""
    text = text_side(r, attention_dropout=drop(r), model_type="qwen2")
    heads, _ = r.randint(2, 4), r.choice((4, 8))
    depth = r.randint(5, 6)
    tower = dict(
        hidden_size=heads * 8 * r.randint(1, 3),
        output_channels=r.randint(20, 60),
        num_hidden_layers=depth,
        num_attention_heads=heads,
        image_size=1024,
        patch_size=16,
        window_size=14,
        mlp_dim=r.randint(40, 240),
        hidden_act=r.choice(ACTIVATIONS),
        attention_dropout=drop(r),
        qkv_bias=r.random() < 0.5,
        global_attn_indexes=[2, depth - 1],
    )
    return dict(text_config=text, vision_config=tower, image_token_index=1, tie_word_embeddings=r.random() < 0.5)


def instructed(r):
    """BLIP-2's queries, which read the instruction, too."""
    d = vision.queried(r)
    d["qformer_config"]["max_position_embeddings"] = r.randint(400, 500)
    return d


def grounded(r):
    """Latents read the tower's patches, and stand in the text where a mask says so."""
    vision = tower_side(r, "kosmos_2_vision_model")["vision_config"]
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    text = dict(
        attention_heads=heads,
        embed_dim=heads * width,
        layers=r.randint(3, 4),
        ffn_dim=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
    )
    vision.pop("model_type")
    return dict(text_config=text, vision_config=vision, latent_query_num=r.randint(9, 30), tie_word_embeddings=r.random() < 0.5)


def recognised(r):
    """Learned positions sampled for each picture, and a projector over squares of patches."""
    text = text_side(r, head_dim=8 * r.randint(5, 8), use_bias=r.random() < 0.5)
    text["rope_parameters"] = pictures_and_text_configs.sections_of(dict(hidden_size=text["head_dim"] * 2, num_attention_heads=2))[
        "rope_parameters"
    ]
    tower = tower_side(r, "paddleocr_vl_vision")["vision_config"]
    tower |= dict(hidden_size=tower["num_attention_heads"] * 8 * r.randint(1, 3), attention_dropout=0.0)
    tower.pop("model_type")
    return dict(
        text_config=text,
        vision_config=tower,
        image_token_id=1,
        video_token_id=2,
        vision_start_token_id=3,
        vision_end_token_id=4,
        tie_word_embeddings=r.random() < 0.5,
    )


def one_by_one(d, s, r):
    """Batches in which what a round hands to the next shows."""
    pictures_and_text_configs.tokens_of(d, s, r)
    s["B"] = r.randint(4, 7)


def lined(r):
    """Positions resized for each picture, whose merged lines end in a token of their own (HunYuan)."""
    text, part = text_side(r, attention_dropout=drop(r), attention_bias=r.random() < 0.5), 2 * r.randint(2, 4)
    text |= dict(head_dim=8 * part, rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [part] * 4})
    patch, heads = r.randint(3, 5), r.randint(2, 5)
    tower = dict(
        hidden_size=heads * 8 * r.randint(1, 3),
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        hidden_act=r.choice(ACTIVATIONS),
        attention_dropout=0.0,
        patch_size=patch,
        max_image_size=patch * r.randint(5, 9),
        text_hidden_size=text["hidden_size"],
    )
    return dict(text_config=text, vision_config=tower, image_token_id=1, tie_word_embeddings=r.random() < 0.5)


def unmerged(r):
    """Every patch of a picture is a token, brought to the text's width by two linear layers."""
    text, tower = text_side(r, attention_dropout=drop(r), model_type="qwen2"), tower_side(r, "video_llama_3_vision")["vision_config"]
    tower = {k: v for k, v in tower.items() if k not in ("model_type", "image_size")} | dict(
        hidden_size=tower["num_attention_heads"] * 8 * r.randint(1, 3), attention_dropout=0.0
    )
    return dict(text_config=text, vision_config=tower, image_token_id=1, video_token_id=2, tie_word_embeddings=r.random() < 0.5)


def whole_patches(d, s, r):
    s["I"] = d["vision_config"]["patch_size"] * r.randint(5, 14)


def experts_sampled(r):
    """GLM-4.1V's picture side beside text of experts."""
    d = sampled(r)
    text, part = d["text_config"], 2 * r.randint(2, 6)
    text["head_dim"] = 4 * part
    text["rope_parameters"]["mrope_section"] = [part // 4, part // 4 + 1, part - 2 * (part // 4) - 1]
    text["rope_parameters"]["partial_rotary_factor"] = 0.5
    d["vision_config"]["model_type"] = "glm4v_moe_vision"
    text |= dict(
        model_type="glm4v_moe_text",
        moe_intermediate_size=r.randint(40, 240),
        num_experts_per_tok=r.randint(2, 4),
        n_shared_experts=r.randint(1, 3),
        n_routed_experts=r.randint(6, 9),
        first_k_dense_replace=r.randint(1, 2),
        attention_bias=r.random() < 0.5,
    )
    text["num_hidden_layers"] = r.randint(5, 6)
    return d


def patches_only(r):
    """No tower: patches of the picture go through one linear layer into the text."""
    text, patch = written("persimmon", r), r.randint(3, 6)
    return dict(
        text_config={**text, "model_type": "persimmon"},
        hidden_size=text["hidden_size"],
        patch_size=patch,
        image_token_id=1,
        tie_word_embeddings=r.random() < 0.5,
    )


def whole(d, s, r):
    s["I"] = d["patch_size"] * r.randint(5, 12)


def of_pictures_or_films(r):
    """A tower for pictures and one for films, of which a picture needs the one."""
    d = pictures_and_text_configs.llava(r)
    d["vision_config"]["image_size"] = d["vision_config"]["patch_size"] * r.randint(3, 9)
    return d


def visual_words(r):
    """A distribution over visual words for every patch, and the mean of their embeddings."""
    text, tower = text_side(r, attention_dropout=drop(r), model_type="qwen2"), tower_side(r, "ovis2")["vision_config"]
    tower.pop("model_type")
    tower |= dict(
        vocab_size=r.randint(100, 190),
        qkv_bias=r.random() < 0.5,
        mlp_bias=r.random() < 0.5,
        hidden_stride=2,
        image_size=tower["patch_size"] * 2 * r.randint(2, 4),
    )
    return dict(
        text_config=text,
        vision_config=tower,
        image_token_id=1,
        visual_indicator_token_ids=[2, 3, 4, 5, 6],
        hidden_size=text["hidden_size"],
        vocab_size=text["vocab_size"],
        tie_word_embeddings=r.random() < 0.5,
    )


def twofold(r):
    """Two towers see the same picture: SAM's at 1,024 pixels a side, and SigLIP's."""
    d = vision.aligned(r)
    tower = windowed(r)["vision_config"]
    wide = {**tower, "output_channels": r.randint(5, 15)}
    d["text_config"]["hidden_size"] += d["text_config"]["hidden_size"] % 2
    return d | dict(high_res_vision_config={**wide, "model_type": "sam_vision_model"})


def films(r):
    """Four frames a film, each asked for a few tokens."""
    d = instructed(r)
    d.pop("image_token_index")
    return d | dict(video_token_index=1)


def no_tower(r):
    """Squares of patches go through one linear layer and norms; 280 a picture, with the place of each."""
    wide = r.randint(40, 90)
    tower = dict(patch_size=r.randint(3, 6), mm_embed_dim=wide, output_proj_dims=wide, mm_posemb_size=r.randint(100, 200))
    return dict(
        text_config={**written("gemma4_unified_text", r), "use_bidirectional_attention": "vision"},
        vision_config=tower,
        audio_config=dict(audio_embed_dim=r.randint(40, 90)),
        image_token_id=1,
        video_token_id=2,
        audio_token_id=3,
        tie_word_embeddings=r.random() < 0.5,
    )


def shared_keys(r):
    """Qwen2.5-VL's windows, whose heads share keys, beside EXAONE's text."""
    d = pictures_and_text_configs.qwen2_5_vl(r)
    heads = d["vision_config"]["num_heads"] = 2 * r.randint(2, 4)
    words = written("exaone4", r)
    d["vision_config"] |= dict(
        num_key_value_heads=heads // 2, hidden_size=heads * 8 * r.randint(1, 3), out_hidden_size=words["hidden_size"]
    )
    d["vision_config"]["model_type"] = "exaone4_5_vision"
    return d | dict(text_config={**words, "model_type": "exaone4"})


def with_senses(r):
    """Phi-3's text with the eyes and ears beside it, which texts leave alone."""
    d = TEXTS["phi3"].dims(r)
    heads = r.randint(2, 4)
    ears = r.randint(2, 4)
    eyes = dict(
        hidden_size=heads * 8 * r.randint(1, 3),
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
    )
    hearing = dict(
        hidden_size=ears * 8 * r.randint(1, 3),
        num_attention_heads=ears,
        num_blocks=r.randint(5, 6),
        intermediate_size=r.randint(40, 240),
        nemo_conv_channels=r.randint(20, 60),
    )
    hearing |= dict(ext_pw_out_channel=hearing["hidden_size"], depthwise_separable_out_channel=hearing["hidden_size"])
    return d | dict(vision_config=eyes, audio_config=hearing)


def any_shape(r):
    """As many patches a picture as a limit allows, whatever its shape (SigLIP 2's NaFlex); learned positions are resized for each."""
    heads = r.randint(3, 9)
    tower = dict(
        num_attention_heads=heads,
        hidden_size=heads * 2 * r.randint(3, 15),
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        patch_size=r.randint(3, 7),
        num_patches=256,
    )
    return dict(num_labels=r.randint(3, 19), vision_config={"model_type": "siglip2_vision_model", **tower})


def position_side(d, s, r):
    s["I"] = 16 * d["vision_config"]["patch_size"]
