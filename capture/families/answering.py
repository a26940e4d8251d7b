"""Families that answer in text what they hear with an encoder of their own kind: how to draw their config keys (see family.py)."""

from .family import Family, Option
from .pictures_and_text_configs import text_side
from .usual_keys import ACTIVATIONS, drop


def _audio(r, **more):
    """An encoder of recordings of thirty seconds."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return heads, heads * width, dict(num_mel_bins=r.randint(20, 60), attention_dropout=drop(r), **more)


def pooled(r):
    """Whisper's encoder, whose frames are brought to half as many (Qwen2-Audio)."""
    heads, wide, audio = _audio(r)
    audio |= dict(
        d_model=wide,
        encoder_attention_heads=heads,
        encoder_layers=r.randint(3, 4),
        encoder_ffn_dim=r.randint(40, 240),
        dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        max_source_positions=4 * r.randint(10, 20),
        encoder_layerdrop=0.0,
    )
    return dict(text_config=text_side(r, attention_dropout=drop(r), model_type="qwen2"), audio_config=audio, audio_token_index=1)


def flamingo(r):
    """The same with two linear layers behind it."""
    heads, wide, audio = _audio(r)
    audio |= dict(
        hidden_size=wide,
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        max_source_positions=4 * r.randint(10, 20),
        layerdrop=0.0,
    )
    return dict(
        text_config=text_side(r, attention_dropout=drop(r), model_type="qwen2"),
        audio_config=audio,
        audio_token_id=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
        projector_bias=r.random() < 0.5,
    )


def turned(r):
    """Frames that turn with their place, four of them one token (GLM-ASR)."""
    heads, wide, audio = _audio(r)
    audio |= dict(
        hidden_size=wide,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=4 * wide,
        hidden_act=r.choice(ACTIVATIONS),
        max_position_embeddings=4 * r.randint(10, 20),
    )
    return dict(
        text_config=text_side(r, attention_dropout=drop(r), model_type="llama", head_dim=8 * r.randint(5, 8)),
        audio_config=audio,
        audio_token_id=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
        tie_word_embeddings=r.random() < 0.5,
    )


TEXT_HEAD = "text_config.hidden_size//text_config.num_attention_heads"
GROUPS = tuple(
    Option(f"text_config.num_key_value_heads {sign} text_config.num_attention_heads", change)
    for sign, change in (
        ("!=", lambda d, s, r: None),
        ("==", lambda d, s, r: d["text_config"].update(num_key_value_heads=d["text_config"]["num_attention_heads"])),
    )
)


def answering(dims, head, *axes, terms=(), **more):
    return Family(
        dims,
        tasks=("speech-seq2seq",),
        axes=(GROUPS, *axes),
        terms=(head, TEXT_HEAD, *terms),
        **{"points": 4, "sizes": lambda d, s, r: s.update(T=r.randint(60, 90)), "hidden": ("A",), **more},
    )


FOURFOLD = (Option("audio_config.intermediate_size == 4*audio_config.hidden_size", lambda d, s, r: None),)
QWEN2 = (Option("text_config.model_type == 'qwen2'", lambda d, s, r: None),)
LLAMA = (Option("text_config.model_type == 'llama'", lambda d, s, r: None),)
FAMILIES = {
    "qwen2_audio": answering(
        pooled, "audio_config.d_model//audio_config.encoder_attention_heads", QWEN2, derived={"audio_token_index": "null"}
    ),
    "audioflamingo3": answering(
        flamingo,
        "audio_config.hidden_size//audio_config.num_attention_heads",
        QWEN2,
        inputs_follow=True,
        derived={"audio_token_id": "null"},
    ),
    "glmasr": answering(
        turned,
        "audio_config.hidden_size//audio_config.num_attention_heads",
        FOURFOLD,
        LLAMA,
        inputs_follow=True,
        derived={"audio_token_id": "null"},
    ),
}
