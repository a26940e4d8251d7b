"""Families of pictures and text whose picture side is a network of its own kind: how to draw their config keys (see family.py)."""

from . import pictures_and_text, pictures_and_text_configs, text
from .composed import inside, of_text
from .language import FAMILIES as TEXTS
from .family import Option
from .pictures_and_text import FIXED, _cut, _speaking, _tiles
from .pictures_and_text_configs import TEXT_HEAD, TOWER_TERMS, text_side
from .usual_keys import ACTIVATIONS, drop


def written(name, r):
    """A text side of its own family."""
    return {k: v for k, v in (text.FAMILIES.get(name) or TEXTS[name]).dims(r).items() if k not in ("num_labels", "tie_word_embeddings")}


def llama4(r):
    """Patches unfolded from the picture, turned by complex angles; four of them are one token."""
    heads, wide = r.randint(2, 4), r.randint(40, 90)
    patch, hidden = r.randint(3, 6), heads * 8 * r.randint(1, 3)
    vision = dict(
        hidden_size=hidden,
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=4 * hidden,
        vision_output_dim=wide,
        projector_output_dim=wide,
        projector_input_dim=wide,
        patch_size=patch,
        image_size=2 * patch * r.randint(2, 4),
        attention_dropout=drop(r),
    )
    step, interval = r.choice(((2, 3), (3, 2)))  # layers of every kind
    words = written("llama4_text", r) | dict(
        num_hidden_layers=r.randint(6, 7), interleave_moe_layer_step=step, no_rope_layer_interval=interval
    )
    return dict(text_config=words, vision_config=vision, image_token_index=1, tie_word_embeddings=r.random() < 0.5)


def sampled(r):
    """Learned positions sampled at the places of the patches; four patches side by side are one token."""
    heads, side = r.randint(2, 5), r.randint(4, 9)
    words = pictures_and_text_configs.sections_of(text_side(r, attention_dropout=drop(r), model_type="glm4v_text"))
    patch = r.randint(3, 5)
    vision = dict(
        model_type="glm4v_vision",
        depth=r.randint(3, 4),
        hidden_size=heads * 8 * r.randint(1, 3),
        intermediate_size=r.randint(40, 240),
        num_heads=heads,
        out_hidden_size=words["hidden_size"],
        patch_size=patch,
        image_size=patch * side,
        hidden_act=r.choice(ACTIVATIONS),
        attention_bias=r.random() < 0.5,
        attention_dropout=0.0,
    )
    return dict(
        text_config=words,
        vision_config=vision,
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        video_token_id=2,
        image_start_token_id=3,
        image_end_token_id=4,
        video_start_token_id=5,
        video_end_token_id=6,
    )


def liquid(r):
    """Tiles of 32 by 32 patches, which are cut before the model sees them."""
    heads = r.randint(2, 5)
    vision = dict(
        model_type="siglip2_vision_model",
        hidden_size=heads * 8 * r.randint(1, 3),
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        num_patches=256,
        patch_size=r.randint(3, 6),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        vision_use_head=False,
    )
    return dict(
        text_config={**written("lfm2", r), "model_type": "lfm2"},
        vision_config=vision,
        image_token_id=1,
        projector_hidden_size=r.randint(40, 240),
        projector_hidden_act=r.choice(ACTIVATIONS),
        projector_bias=r.random() < 0.5,
        tie_word_embeddings=r.random() < 0.5,
    )


TILE = "(32*vision_config.patch_size)"


def _of_patches(d, s, r):
    """Pictures of one to three tiles a side."""
    s["I"] = 32 * d["vision_config"]["patch_size"] * r.randint(1, 3)


def _apart(d, s, r):
    d["projector_use_layernorm"] = False


FOURFOLD = (
    Option(
        "vision_config.intermediate_size == 4*vision_config.hidden_size and vision_config.pixel_shuffle_ratio == 0.5", lambda d, s, r: None
    ),
)
NORMED = (
    Option("projector_use_layernorm and vision_config.num_patches == 256", lambda d, s, r: None),
    Option("not projector_use_layernorm and vision_config.num_patches == 256", _apart),
)
LLAMA4, LFM2 = text.FAMILIES["llama4_text"], text.FAMILIES["lfm2"]
FAMILIES = {
    "llama4": _speaking(
        llama4,
        kind="((i+1) % text_config.no_rope_layer_interval != 0) and 'chunked_attention' or 'full_attention'",
        **{**FIXED, "sizes": _cut("image_size"), "hidden": (), "points": 6},
        terms=(*TOWER_TERMS, _tiles("vision_config.image_size"), *map(of_text, LLAMA4.terms)),
        axes=(*map(inside, LLAMA4.axes), FOURFOLD),
    ),
    "glm4v": _speaking(
        sampled,
        pictures_and_text_configs.tokens_of,
        spelled=None,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
    "glm46v": _speaking(
        sampled,
        pictures_and_text_configs.tokens_of,
        spelled=None,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
    "lfm2_vl": _speaking(
        liquid,
        **{**FIXED, "sizes": _of_patches, "hidden": (), "derived": {of_text(k): of_text(v) for k, v in LFM2.derived.items()}},
        kernels=LFM2.kernels,
        kind=of_text(LFM2.kind),
        terms=(TOWER_TERMS[0], _tiles(TILE), TEXT_HEAD, *map(of_text, LFM2.terms)),
        axes=(*map(inside, LFM2.axes), NORMED),
    ),
}
