"""Families of pictures together with text: config keys, branches and how to draw them (see family.py)."""

from .family import Family, Option
from .pictures import HEAD, PATCHES, _own_side, _plain
from .usual_keys import ACTIVATIONS, drop


def _tower(r, kind):
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


def _text(r, **more):
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


def _sections(d):
    """Rotary angles of time, height and width: three parts of half a head."""
    half = d["hidden_size"] // d["num_attention_heads"] // 2
    d["rope_parameters"] = {
        "rope_type": "default",
        "rope_theta": 10000.0,
        "mrope_section": sorted([half // 4, half // 4 + 1, half - 2 * (half // 4) - 1]),
    }
    return d


def _qwen2_5_vl(r):
    heads = r.randint(2, 5)
    text = _sections(_text(r, attention_dropout=drop(r)))
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


def _qwen2_vl(r):
    heads = r.randint(2, 5)
    text = _sections(_text(r, attention_dropout=drop(r)))
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


def _windows(d, s, r):
    """Pictures of two to four windows a side, the last one whole or half."""
    s["I"] = d["vision_config"]["patch_size"] * 2 * r.randint(5, 16)


def _tokens(d, s, r):
    s["I"] = d["vision_config"]["patch_size"] * 2 * r.randint(3, 12)


TEXT_HEAD = "text_config.hidden_size//text_config.num_attention_heads"

SQUARE = (
    "I//vision_config.patch_size",
    "vision_config.window_size//vision_config.spatial_merge_size//vision_config.patch_size",
    "I//vision_config.patch_size//vision_config.spatial_merge_size",
    "vision_config.hidden_size//vision_config.num_heads",
    "vision_config.embed_dim//vision_config.num_heads",
    TEXT_HEAD,
)

GROUPED = (Option("text_config.num_key_value_heads != text_config.num_attention_heads", lambda d, s, r: None),)

# The rotary sections that the code takes when the config has none: 16, 24 and 24 of 64.
SECTIONS = {f"text_config.rope_parameters.mrope_section.{k}": f"{TEXT_HEAD}*{share}//16" for k, share in enumerate((2, 3, 3))}

# Heads as wide as the config says, else parts of the hidden size (getattr(config, "head_dim", ...)); shares of them turn in each direction.
OWN_WIDTH = {"text_config.head_dim": TEXT_HEAD}

WIDE_SECTIONS = OWN_WIDTH | {key: value.replace(TEXT_HEAD, "text_config.head_dim") for key, value in SECTIONS.items()}

INTERLEAVED = {f"text_config.rope_parameters.mrope_section.{k}": f"text_config.head_dim*{share}//32" for k, share in enumerate((6, 5, 5))}

# Older files hold the text model's keys at the top.
TEXT_AT_TOP = {
    key: f"text_config.{key}"
    for key in (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
        "max_position_embeddings",
        "hidden_act",
        "attention_dropout",
        "head_dim",
    )
}


def _speaking(dims, sizes=None, **more):
    """A family that reads pictures and text and writes text."""
    return Family(
        dims,
        **{
            "tasks": ("image-text-to-text",),
            "points": 4,
            "sizes": sizes,
            "terms": SQUARE,
            "axes": (GROUPED,),
            "spelled": r".*\.merger\.mlp",
            "derived": SECTIONS,
            "aliases": TEXT_AT_TOP,
            **more,
        },
    )


def _gemma3(r):
    """256 tokens a picture, as published: sixteen a side, each the mean of a square of patches."""
    text = _text(r, attention_dropout=drop(r), head_dim=8 * r.randint(5, 8), model_type="gemma3_text", sliding_window=r.randint(1000, 2000))
    text["hidden_activation"] = text.pop("hidden_act")
    text["layer_types"] = [("sliding_attention", "full_attention")[k % 2] for k in range(text["num_hidden_layers"])]
    vision = _tower(r, "siglip_vision_model")["vision_config"]
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


def _qwen3_vl(r):
    """Features of three layers of the picture side are added behind the first three text layers."""
    heads = r.randint(2, 5)
    text = _sections(_text(r, attention_dropout=drop(r), head_dim=8 * r.randint(5, 8), attention_bias=r.random() < 0.5))
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


def _llava(r):
    text, vision = _text(r, attention_dropout=drop(r), model_type="llama"), _tower(r, "clip_vision_model")["vision_config"]
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


def _paligemma(r):
    text, vision = (
        _text(r, attention_dropout=drop(r), model_type="gemma", head_dim=8 * r.randint(5, 8)),
        _tower(r, "siglip_vision_model")["vision_config"],
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


def _internvl(r):
    text, vision = _text(r, attention_dropout=drop(r), model_type="qwen2"), _tower(r, "internvl_vision")["vision_config"]
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


def _idefics3(r):
    text, vision = _text(r, attention_dropout=drop(r), model_type="llama"), _tower(r, "idefics3_vision")["vision_config"]
    vision.pop("model_type")  # SmolVLM has another name for the same
    scale = r.choice((2, 3))
    vision["image_size"] = vision["patch_size"] * scale * r.randint(2, 4)
    return dict(
        text_config=text, vision_config=vision, tie_word_embeddings=r.random() < 0.5, image_token_id=1, scale_factor=scale, pad_token_id=0
    )


def _cut(key):
    """Pictures of one to three tiles a side."""

    def sizes(d, s, r):
        tile = d["vision_config"]["image_size"]
        s["I"] = (tile if isinstance(tile, int) else tile[0]) * r.randint(1, 3)

    return sizes


def _tiles(tile):
    """Terms of how many tiles a picture is cut into."""
    across = f"ceil_div(I,{tile})"
    return f"{across}*{across}+min(1,{across}-1)"


def _language(kind, grouped=True, beside="", **more):
    """The text side's architecture, and what else must hold of it."""

    def change(d, s, r):
        text = d["text_config"]
        text.update(model_type=kind, **{k: r.randint(*v) if isinstance(v, tuple) else v for k, v in more.items()})
        if not grouped:
            text["num_key_value_heads"] = text["num_attention_heads"]

    return Option(
        f"text_config.model_type == '{kind}' and text_config.num_key_value_heads {'!=' if grouped else '=='} text_config.num_attention_heads{beside and ' and ' + beside}",
        change,
    )


def _pixtral(d, s, r):
    """Pictures of any size in one row, every token of the last layer (Pixtral 12B)."""
    heads, patch = r.randint(2, 5), r.randint(3, 5)
    d["text_config"].update(model_type="mistral", sliding_window=None, head_dim=8 * r.randint(5, 8))
    d["vision_config"] = dict(
        model_type="pixtral",
        num_attention_heads=heads,
        hidden_size=heads * 8 * r.randint(1, 3),
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        patch_size=patch,
        image_size=r.randint(100, 200),
    )
    d.update(vision_feature_layer=-1, vision_feature_select_strategy="full")
    s["I"] = patch * r.randint(6, 13)


CLIPPED = "vision_feature_layer == -2 and vision_feature_select_strategy == 'default'"

PIXTRAL = Option(
    "vision_config.model_type == 'pixtral' and text_config.num_key_value_heads != text_config.num_attention_heads and vision_feature_layer == -1 and vision_feature_select_strategy == 'full'",
    _pixtral,
)

FIXED = {"derived": {}, "aliases": {}, "spelled": None, "hidden": ("I",), "sizes": _own_side}

FAMILIES = {
    "clip": _plain(lambda r: _tower(r, "clip_vision_model"), terms=(*TOWER_TERMS, TEXT_HEAD)),
    "metaclip_2": _plain(lambda r: _tower(r, "metaclip_2_vision_model"), terms=TOWER_TERMS),
    "siglip": _plain(
        lambda r: _tower(r, "siglip_vision_model"),
        terms=(*TOWER_TERMS, TEXT_HEAD),
        derived={"text_config.projection_size": "text_config.hidden_size"},
    ),
    "qwen2_vl": _speaking(_qwen2_vl, _tokens),
    "qwen2_5_vl": _speaking(
        _qwen2_5_vl, _windows, axes=(GROUPED, (Option("vision_config.fullatt_block_indexes.0 == 7", lambda d, s, r: None),))
    ),
    "gemma3": _speaking(
        _gemma3,
        _own_side,
        hidden=("I",),
        spelled=None,
        derived={},
        aliases={},
        terms=(_vision(HEAD), _vision(PATCHES), _vision(PATCHES) + "//16", TEXT_HEAD),
        kind="(i+1) % 6 == 0 and 'full_attention' or 'sliding_attention'",
        axes=(
            GROUPED,
            (Option("mm_tokens_per_image == 256", lambda d, s, r: None),),
            (
                Option("S < text_config.sliding_window", lambda d, s, r: None),
                Option(
                    "S >= text_config.sliding_window",
                    lambda d, s, r: d["text_config"].update(sliding_window=r.randint(s["S"] // 7, s["S"] // 2)),
                ),
            ),
        ),
    ),
    "qwen3_vl": _speaking(
        _qwen3_vl,
        _tokens,
        derived=INTERLEAVED,
        spelled=r".*\.merger\.mlp|.*deepstack_merger_list",
        axes=(GROUPED, (Option("vision_config.deepstack_visual_indexes.length == 3", lambda d, s, r: None),)),
    ),
    "llava": _speaking(
        _llava,
        **{
            **FIXED,
            "derived": {
                "vision_config.head_dim": _vision(HEAD),
                "vision_config.hidden_act": "vision_config.model_type == 'pixtral' and 'gelu' or 'quick_gelu'",
            },
        },
        terms=(_vision(HEAD), _vision(PATCHES), TEXT_HEAD, "I//vision_config.patch_size"),
        axes=(
            (
                *(
                    _language(kind, grouped, CLIPPED, **more)
                    for kind, grouped, more in (("llama", False, {}), ("llama", True, {}), ("mistral", True, {"sliding_window": None}))
                ),
                PIXTRAL,
            ),
        ),
    ),
    "paligemma": _speaking(
        _paligemma,
        **{**FIXED, "hidden": ("I", "text_config.num_image_tokens"), "derived": {"text_config.hidden_activation": "'gelu_pytorch_tanh'"}},
        kind="(i+1) % 2 == 0 and 'full_attention' or 'sliding_attention'",
        terms=(_vision(HEAD), _vision(PATCHES), TEXT_HEAD),
        axes=(
            (
                _language("gemma"),
                _language("gemma2", beside="S < text_config.sliding_window", sliding_window=4096),
                _language("gemma2", beside="S >= text_config.sliding_window", sliding_window=(40, 200)),
            ),
        ),
    ),
    "internvl": _speaking(
        _internvl,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(_vision(HEAD), "vision_config.image_size.0//vision_config.patch_size.0", _tiles("vision_config.image_size.0"), TEXT_HEAD),
        axes=(
            (_language("qwen2"), _language("qwen3")),
            (
                Option(
                    "downsample_ratio == 0.5 and vision_config.norm_type == 'layer_norm' and not vision_config.use_qk_norm",
                    lambda d, s, r: None,
                ),
            ),
        ),
    ),
    "idefics3": _speaking(
        _idefics3,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(_vision(HEAD), _vision(PATCHES), _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("llama"), _language("llama", False)),),
    ),
    "smolvlm": _speaking(
        _idefics3,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(_vision(HEAD), _vision(PATCHES), _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("llama"), _language("llama", False)),),
    ),
}
