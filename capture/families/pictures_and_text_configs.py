"""How to draw the config keys of both sides of families of pictures and text (see family.py)."""

from .pictures import HEAD, PATCHES
from .usual_keys import ACTIVATIONS, drop


def tower_side(r, kind):
    """The picture side of a model of pictures and texts, which is what its classifier keeps."""
    heads, width, patch = r.randint(3, 9), 2 * r.randint(3, 15), r.randint(3, 7)
    return {
        "num_labels": r.randint(3, 19),
        "vision_config": dict(
            model_type=kind,
            num_attention_heads=heads,
            hidden_size=heads * width,
            num_hidden_layers=r.randint(3, 4),
            intermediate_size=r.randint(40, 240),
            attention_dropout=drop(r),
            hidden_act=r.choice(ACTIVATIONS),
            patch_size=patch,
            image_size=patch * r.randint(3, 9),
        ),
    }


def _vision(name):
    """A term of keys of the vision config."""
    return "vision_config." + name.replace("//", "//vision_config.")


TOWER_TERMS = (_vision(HEAD), _vision(PATCHES))


def text_side(r, **more):
    """The text side of a model of pictures and texts."""
    kv, groups, width = r.randint(2, 4), r.choice((2, 3)), 8 * r.randint(1, 4)
    return dict(
        num_attention_heads=kv * groups,
        num_key_value_heads=kv,
        hidden_size=kv * groups * width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        hidden_act=r.choice(ACTIVATIONS),
        pad_token_id=0,
        **more,
    )


def sections_of(d):
    """Rotary angles of time, height and width: three parts of half a head."""
    half = d["hidden_size"] // d["num_attention_heads"] // 2
    d["rope_parameters"] = {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": sorted([half // 4, half // 4 + 1, half - 2 * (half // 4) - 1]),
    }
    return d


def qwen2_5_vl(r):
    heads = r.randint(2, 5)
    text = sections_of(text_side(r, attention_dropout=drop(r)))
    vision = dict(
        depth=r.randint(9, 10),
        hidden_size=heads * 8 * r.randint(1, 3),
        intermediate_size=r.randint(40, 240),
        num_heads=heads,
        out_hidden_size=text["hidden_size"],
        patch_size=r.randint(3, 5),
        hidden_act=r.choice(ACTIVATIONS),
        fullatt_block_indexes=[7],
    )
    vision["window_size"] = vision["patch_size"] * 2 * r.randint(3, 5)
    return dict(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        video_token_id=2,
        vision_start_token_id=3,
        vision_end_token_id=4,
    )


def qwen2_vl(r):
    heads = r.randint(2, 5)
    text = sections_of(text_side(r, attention_dropout=drop(r)))
    vision = dict(
        depth=r.randint(3, 4),
        embed_dim=heads * 8 * r.randint(1, 3),
        num_heads=heads,
        hidden_size=text["hidden_size"],
        patch_size=r.randint(3, 5),
        mlp_ratio=r.randint(2, 4),
        hidden_act=r.choice(ACTIVATIONS),
    )
    return dict(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        video_token_id=2,
        vision_start_token_id=3,
        vision_end_token_id=4,
    )


def windows_of(d, s, r):
    """Pictures of two to four windows a side, the last one whole or half."""
    s["I"] = d["vision_config"]["patch_size"] * 2 * r.randint(5, 16)


def tokens_of(d, s, r):
    s["I"] = d["vision_config"]["patch_size"] * 2 * r.randint(3, 12)


TEXT_HEAD = "text_config.hidden_size//text_config.num_attention_heads"


def gemma3(r):
    """256 tokens a picture, as published: sixteen a side, each the mean of a square of patches."""
    text = text_side(
        r, attention_dropout=drop(r), head_dim=8 * r.randint(5, 8), model_type="gemma3_text", sliding_window=r.randint(1000, 2000)
    )
    text["hidden_activation"] = text.pop("hidden_act")
    text["layer_types"] = [("sliding_attention", "full_attention")[k % 2] for k in range(text["num_hidden_layers"])]
    vision = tower_side(r, "siglip_vision_model")["vision_config"]
    vision["patch_size"] = r.randint(2, 3)
    vision["image_size"] = 16 * vision["patch_size"] * r.randint(2, 4)
    return dict(
        text_config=text,
        vision_config={**vision, "vision_use_head": False},
        mm_tokens_per_image=256,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        image_token_index=1,
    )


def qwen3_vl(r):
    """Features of three layers of the picture side are added behind the first three text layers."""
    heads = r.randint(2, 5)
    text = sections_of(text_side(r, attention_dropout=drop(r), head_dim=8 * r.randint(5, 8), attention_bias=r.random() < 0.5))
    side = r.randint(4, 9)
    first = r.randint(1, 2)  # two layers at least between them, as in every published one
    second = first + r.randint(2, 3)
    third = second + r.randint(2, 3)
    vision = dict(
        depth=third + r.randint(3, 4),
        hidden_size=heads * 8 * r.randint(1, 3),
        intermediate_size=r.randint(40, 240),
        num_heads=heads,
        out_hidden_size=text["hidden_size"],
        patch_size=r.randint(3, 5),
        hidden_act=r.choice(ACTIVATIONS),
        num_position_embeddings=side * side,
        deepstack_visual_indexes=[first, second, third],
    )
    text["num_hidden_layers"] = r.randint(5, 6)
    return dict(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        video_token_id=2,
        vision_start_token_id=3,
        vision_end_token_id=4,
    )


def llava(r):
    text, vision = text_side(r, attention_dropout=drop(r), model_type="llama"), tower_side(r, "clip_vision_model")["vision_config"]
    return dict(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_index=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
        vision_feature_layer=-2,
        vision_feature_select_strategy="default",
        multimodal_projector_bias=r.random() < 0.5,
    )


def paligemma(r):
    text, vision = (
        text_side(r, attention_dropout=drop(r), model_type="gemma", head_dim=8 * r.randint(5, 8)),
        tower_side(r, "siglip_vision_model")["vision_config"],
    )
    text["hidden_activation"] = text.pop("hidden_act")
    return dict(
        text_config=text,
        vision_config={**vision, "vision_use_head": False},
        tie_word_embeddings=True,
        image_token_index=1,
        projection_dim=text["hidden_size"],
        hidden_size=text["hidden_size"],
    )


def internvl(r):
    text, vision = text_side(r, attention_dropout=drop(r), model_type="qwen2"), tower_side(r, "internvl_vision")["vision_config"]
    patch, side = vision["patch_size"], 2 * r.randint(2, 4) * vision["patch_size"]
    vision |= dict(
        patch_size=[patch, patch],
        image_size=[side, side],
        hidden_dropout_prob=drop(r),
        projection_dropout=drop(r),
        attention_bias=r.random() < 0.5,
    )
    return dict(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
    )


def idefics3(r):
    text, vision = text_side(r, attention_dropout=drop(r), model_type="llama"), tower_side(r, "idefics3_vision")["vision_config"]
    vision.pop("model_type")  # SmolVLM has another name for the same
    scale = r.choice((2, 3))
    vision["image_size"] = vision["patch_size"] * scale * r.randint(2, 4)
    return dict(
        text_config=text, vision_config=vision, tie_word_embeddings=r.random() < 0.5, image_token_id=1, scale_factor=scale, pad_token_id=0
    )
