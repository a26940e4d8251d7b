"""Families whose processor pads every picture to one number of patches, with the place of each: how to draw their config keys (see family.py)."""

from . import decoders
from .composed import inside, of_text
from .family import Option
from .pictures_and_text import _speaking
from .usual_keys import ACTIVATIONS, drop


def _heard(r):
    """An encoder of sound beside the pictures: loaded, and left alone by pictures and texts."""
    heads = r.randint(2, 4)
    return dict(
        model_type="gemma4_audio",
        hidden_size=heads * 8 * r.randint(1, 3),
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        conv_kernel_size=r.choice((3, 5, 7)),
        output_proj_dims=r.randint(40, 90),
    )


def gemma4(r):
    text = {k: v for k, v in decoders.FAMILIES["gemma4_text"].dims(r).items() if k not in ("num_labels", "tie_word_embeddings")}
    heads, width = r.randint(2, 4), 4 * r.randint(3, 8)
    vision = dict(
        model_type="gemma4_vision",
        hidden_size=r.randint(40, 90),
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        hidden_activation=r.choice(ACTIVATIONS),
        patch_size=r.randint(3, 6),
        position_embedding_size=r.randint(100, 200),
        attention_dropout=drop(r),
    )
    return dict(
        text_config={**text, "model_type": "gemma4_text"},
        vision_config=vision,
        audio_config=None,
        image_token_id=1,
        video_token_id=2,
        audio_token_id=3,
        tie_word_embeddings=r.random() < 0.5,
    )


def _squares(d, s, r):
    """Pictures of up to sixteen tokens a side, which 280 tokens' patches have room for."""
    s["I"] = d["vision_config"]["patch_size"] * 3 * r.randint(5, 16)


_TEXT = decoders.FAMILIES["gemma4_text"]
DEVICE = "vision_config.use_clipped_linears and not vision_config.standardize and audio_config.hidden_size != null and text_config.use_bidirectional_attention == null"
LARGE = "not vision_config.use_clipped_linears and vision_config.standardize and audio_config.hidden_size == null and text_config.use_bidirectional_attention == 'vision'"


def _for_devices(option):
    """Linear layers with clipped ends, and an encoder of sound (convert_gemma4_weights.py, _ON_DEVICE_VISION_CONFIG)."""

    def change(d, s, r):
        option.change(d["text_config"], s, r)
        d["vision_config"].update(use_clipped_linears=True)
        d.update(audio_config=_heard(r))

    return Option(f"{of_text(option.when)} and {DEVICE}", change)


def _large(option):
    """Tokens brought to one scale, which see the whole picture (convert_gemma4_weights.py, _LARGE_MODEL_VISION_CONFIG)."""

    def change(d, s, r):
        option.change(d["text_config"], s, r)
        d["text_config"].update(use_bidirectional_attention="vision")
        d["vision_config"].update(standardize=True)

    return Option(f"{of_text(option.when)} and {LARGE}", change)


PUBLISHED = (_for_devices(decoders.GEMMA4[0]), *map(_large, decoders.GEMMA4[1:]))
FAMILIES = {
    "gemma4": _speaking(
        gemma4,
        _squares,
        spelled=None,
        aliases={},
        points=4,
        kind="((i+1) % 6 == 0 or (i+1) % text_config.num_hidden_layers == 0) and 'full_attention' or 'sliding_attention'",
        depths=tuple(f"({of_text(depth[1:-1])})" for depth in _TEXT.depths),
        derived={"audio_config": "null"} | {of_text(k): of_text(v) for k, v in _TEXT.derived.items()},
        axes=(inside(_TEXT.axes[0]), PUBLISHED, inside(_TEXT.axes[2]), inside(_TEXT.axes[3])),
        terms=("I//vision_config.patch_size//3", *map(of_text, _TEXT.terms)),
    ),
}
