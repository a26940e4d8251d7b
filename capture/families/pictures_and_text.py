"""Families of pictures together with text: config keys, branches and how to draw them (see family.py)."""

from .family import Family, Option
from .pictures import HEAD, PATCHES, _own_side, _plain
from .usual_keys import ACTIVATIONS, drop
from .pictures_and_text_configs import (
    TEXT_HEAD,
    TOWER_TERMS,
    gemma3,
    idefics3,
    internvl,
    llava,
    paligemma,
    qwen2_5_vl,
    qwen2_vl,
    qwen3_vl,
    tokens_of,
    tower_side,
    _vision,
    windows_of,
)


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
    "clip": _plain(lambda r: tower_side(r, "clip_vision_model"), terms=(*TOWER_TERMS, TEXT_HEAD)),
    "metaclip_2": _plain(lambda r: tower_side(r, "metaclip_2_vision_model"), terms=TOWER_TERMS),
    "siglip": _plain(
        lambda r: tower_side(r, "siglip_vision_model"),
        terms=(*TOWER_TERMS, TEXT_HEAD),
        derived={"text_config.projection_size": "text_config.hidden_size"},
    ),
    "qwen2_vl": _speaking(qwen2_vl, tokens_of),
    "qwen2_5_vl": _speaking(
        qwen2_5_vl, windows_of, axes=(GROUPED, (Option("vision_config.fullatt_block_indexes.0 == 7", lambda d, s, r: None),))
    ),
    "gemma3": _speaking(
        gemma3,
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
        qwen3_vl,
        tokens_of,
        derived=INTERLEAVED,
        spelled=r".*\.merger\.mlp|.*deepstack_merger_list",
        axes=(GROUPED, (Option("vision_config.deepstack_visual_indexes.length == 3", lambda d, s, r: None),)),
    ),
    "llava": _speaking(
        llava,
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
        paligemma,
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
        internvl,
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
        idefics3,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(_vision(HEAD), _vision(PATCHES), _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("llama"), _language("llama", False)),),
    ),
    "smolvlm": _speaking(
        idefics3,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(_vision(HEAD), _vision(PATCHES), _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("llama"), _language("llama", False)),),
    ),
}
