"""Families of pictures and text whose picture side, or the bridge from it, is a kind of its own: how to draw their config keys (see family.py)."""

from . import padded_pictures, pictures, pictures_and_text, vision
from .composed import inside, of_text
from .language import FAMILIES as TEXTS
from .family import Family, Option
from .pictures_and_text import FIXED, TEXT_HEAD, TOWER_TERMS, _cut, _language, _speaking, _text, _tiles, _tower
from .usual_keys import ACTIVATIONS, drop
from .picture_towers import sampled, written


def _same(d, s, r):
    pass


def aligned_layers(r):
    """A tower whose patches go through some linear layers into the text; a codec beside it draws pictures, and is left alone by texts."""
    text, tower = _text(r, attention_dropout=drop(r), model_type="llama"), _tower(r, "janus_vision_model")["vision_config"]
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
    d = pictures_and_text._internvl(r)
    d["text_config"]["model_type"] = "qwen3"
    d["vision_config"].pop("model_type")
    return d | dict(vision_config={**d["vision_config"], "drop_path_rate": drop(r)})


def windowed(r):
    """SAM's tower: windows of patches, some layers over all of them, with relative positions; two convolutions bring it to the text's width."""
    text = _text(r, attention_dropout=drop(r), model_type="qwen2")
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
    vision = _tower(r, "kosmos_2_vision_model")["vision_config"]
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
    text = _text(r, head_dim=8 * r.randint(5, 8), use_bias=r.random() < 0.5)
    text["rope_parameters"] = pictures_and_text._sections(dict(hidden_size=text["head_dim"] * 2, num_attention_heads=2))["rope_parameters"]
    tower = _tower(r, "paddleocr_vl_vision")["vision_config"]
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


def _one_by_one(d, s, r):
    """Batches in which what a round hands to the next shows."""
    pictures_and_text._tokens(d, s, r)
    s["B"] = r.randint(4, 7)


def lined(r):
    """Positions resized for each picture, whose merged lines end in a token of their own (HunYuan)."""
    text, part = _text(r, attention_dropout=drop(r), attention_bias=r.random() < 0.5), 2 * r.randint(2, 4)
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
    text, tower = _text(r, attention_dropout=drop(r), model_type="qwen2"), _tower(r, "video_llama_3_vision")["vision_config"]
    tower = {k: v for k, v in tower.items() if k not in ("model_type", "image_size")} | dict(
        hidden_size=tower["num_attention_heads"] * 8 * r.randint(1, 3), attention_dropout=0.0
    )
    return dict(text_config=text, vision_config=tower, image_token_id=1, video_token_id=2, tie_word_embeddings=r.random() < 0.5)


def _whole_patches(d, s, r):
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


def _whole(d, s, r):
    s["I"] = d["patch_size"] * r.randint(5, 12)


def of_pictures_or_films(r):
    """A tower for pictures and one for films, of which a picture needs the one."""
    d = pictures_and_text._llava(r)
    d["vision_config"]["image_size"] = d["vision_config"]["patch_size"] * r.randint(3, 9)
    return d


def visual_words(r):
    """A distribution over visual words for every patch, and the mean of their embeddings."""
    text, tower = _text(r, attention_dropout=drop(r), model_type="qwen2"), _tower(r, "ovis2")["vision_config"]
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
    d = pictures_and_text._qwen2_5_vl(r)
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


def _position_side(d, s, r):
    s["I"] = 16 * d["vision_config"]["patch_size"]


NORMED_LAYERS = (
    Option(
        "downsample_ratio == 0.5 and vision_config.norm_type == 'layer_norm' and not vision_config.use_qk_norm and vision_config.use_mean_pooling and vision_feature_layer == -1",
        _same,
    ),
)
ALL_OVER = " or ".join(f"vision_config.global_attn_indexes.{k} == i" for k in range(8))
WINDOWS = f"({ALL_OVER}) and 'global' or 'window'"
SAM = (Option("vision_config.image_size == 1024 and vision_config.patch_size == 16 and vision_config.window_size == 14", _same),)
# Rotary angles of half of each head, in parts of the published sizes.
HALF_TURNED = pictures_and_text.OWN_WIDTH | {
    f"text_config.rope_parameters.mrope_section.{k}": f"text_config.head_dim*{share}//32" for k, share in enumerate((2, 3, 3))
}
ACROSS = pictures_and_text.SQUARE[2]  # tokens a side
FAMILIES = {
    "janus": _speaking(
        aligned_layers,
        **{**FIXED, "spelled": r"model\.vqmodel\..*", "hidden": ("I", "vq_config.num_patches")},
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=(
            (_language("llama", False), _language("llama")),
            (
                Option(
                    "vision_config.depth == 2 and not vision_config.use_qk_norm and vq_config.base_channels == 128 and vq_config.channel_multiplier.length == 5",
                    _same,
                ),
            ),
        ),
    ),
    "qianfan_ocr": _speaking(
        shuffled_tiles,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(TOWER_TERMS[0], "vision_config.image_size.0//vision_config.patch_size.0", _tiles("vision_config.image_size.0"), TEXT_HEAD),
        axes=((_language("qwen3"),), NORMED_LAYERS),
    ),
    "instructblip": _speaking(
        instructed,
        **{**FIXED, "derived": {"image_token_index": "null", **vision.BY_T5, **vision.BY_LLAMA}},
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, vision.CLASSED, "qformer_config.hidden_size//qformer_config.num_attention_heads"),
        axes=((vision.OPT, vision.T5, vision.LLAMA),),
    ),
    "kosmos-2": _speaking(
        grounded, **FIXED, terms=(*TOWER_TERMS, "text_config.embed_dim//text_config.attention_heads", vision.CLASSED), axes=()
    ),
    "got_ocr2": _speaking(
        windowed,
        **FIXED,
        kind=WINDOWS,
        attention=("eager",),
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2", False), _language("qwen2")), SAM),
    ),
    "pp_chart2table": _speaking(
        windowed,
        **FIXED,
        kind=WINDOWS,
        attention=("eager",),
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2", False), _language("qwen2")), SAM),
    ),
    "fuyu": _speaking(
        patches_only,
        **{**FIXED, "sizes": _whole, "hidden": ()},
        terms=("I//patch_size", TEXT_HEAD, *map(of_text, TEXTS["persimmon"].terms)),
        axes=tuple(map(inside, TEXTS["persimmon"].axes)),
    ),
    "video_llava": _speaking(
        of_pictures_or_films,
        **FIXED,
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=(
            (_language("llama", False), _language("llama")),
            (Option("vision_feature_layer == -2 and vision_feature_select_strategy == 'default'", _same),),
        ),
    ),
    "ovis2": _speaking(
        visual_words,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(*TOWER_TERMS, _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("qwen2"),), (Option("vision_config.hidden_stride == 2 and vision_config.tokenize_function == 'softmax'", _same),)),
    ),
    "siglip2": pictures._plain(
        any_shape,
        derived={"text_config.projection_size": "text_config.hidden_size"},
        sizes=_position_side,
        hidden=("I",),
        inputs_follow=True,
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((Option("vision_config.num_patches == 256", _same),),),
    ),
    "llava_next_video": _speaking(
        vision.next_tiles,
        **FIXED,
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=((_language("llama", False), _language("llama")), vision.SECOND_LAST),
    ),
    "deepseek_vl_hybrid": _speaking(
        twofold,
        **FIXED,
        inputs_follow=True,
        kind=WINDOWS.replace("vision_config", "high_res_vision_config"),
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, "high_res_vision_config.hidden_size//high_res_vision_config.num_attention_heads"),
        axes=(
            (_language("llama", False), _language("llama")),
            (Option(SAM[0].when.replace("vision_config", "high_res_vision_config"), _same),),
        ),
    ),
    "instructblipvideo": _speaking(
        films,
        **{**FIXED, "derived": {"video_token_index": "null", **vision.BY_T5, **vision.BY_LLAMA}},
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, vision.CLASSED, "qformer_config.hidden_size//qformer_config.num_attention_heads"),
        axes=((vision.OPT, vision.T5, vision.LLAMA),),
    ),
    "gemma4_unified": _speaking(
        no_tower,
        padded_pictures._squares,
        spelled=None,
        aliases={},
        kind="((i+1) % 6 == 0 or (i+1) % text_config.num_hidden_layers == 0) and 'full_attention' or 'sliding_attention'",
        derived={of_text(k): of_text(v) for k, v in TEXTS["gemma4_unified_text"].derived.items()},
        axes=(
            *map(inside, TEXTS["gemma4_unified_text"].axes),
            (Option("text_config.use_bidirectional_attention == 'vision' and audio_config.audio_embed_dim != null", _same),),
        ),
        terms=("I//vision_config.patch_size//3", *map(of_text, TEXTS["gemma4_unified_text"].terms)),
    ),
    "exaone4_5": _speaking(
        shared_keys,
        pictures_and_text._windows,
        derived={},
        aliases={},
        terms=(*pictures_and_text.SQUARE, *map(of_text, TEXTS["exaone4"].terms)),
        kind="(i+1) % 4 == 0 and 'full_attention' or 'sliding_attention'",
        axes=(*map(inside, TEXTS["exaone4"].axes), (Option("vision_config.fullatt_block_indexes.0 == 7", _same),)),
    ),
    "glmga": _speaking(
        sampled,
        pictures_and_text._tokens,
        spelled=None,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
    "phi4_multimodal": Family(
        with_senses,
        tasks=("causal-lm",),
        axes=TEXTS["phi3"].axes,
        terms=TEXTS["phi3"].terms,
        points=4,
        derived=TEXTS["phi3"].derived,
        spelled=r"model\.embed_tokens_extend\.audio_embed\..*conv",
    ),
    "hunyuan_vl": _speaking(
        lined,
        _one_by_one,
        spelled=None,
        derived={
            "text_config.head_dim": TEXT_HEAD,
            "vision_config.text_hidden_size": "text_config.hidden_size",
            **{f"text_config.rope_parameters.mrope_section.{k}": "text_config.head_dim//8" for k in range(4)},
        },
        axes=(pictures_and_text.GROUPED,),
        terms=(
            *pictures_and_text.SQUARE,
            TOWER_TERMS[0],
            "vision_config.max_image_size//vision_config.patch_size",
            f"({ACROSS})*({ACROSS}+1)",
            f"({ACROSS})*({ACROSS}+1)+2",
        ),
    ),
    "paddleocr_vl": _speaking(
        recognised, _one_by_one, spelled=None, derived={}, aliases={}, terms=(*pictures_and_text.SQUARE, *TOWER_TERMS)
    ),
    "video_llama_3": _speaking(
        unmerged,
        _whole_patches,
        spelled=None,
        derived={},
        aliases={},
        terms=("I//vision_config.patch_size", TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2"),),),
    ),
    "glm4v_moe": _speaking(
        experts_sampled,
        pictures_and_text._tokens,
        points=6,
        spelled=None,
        derived=HALF_TURNED,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
}
