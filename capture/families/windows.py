"""Families that hear recordings of any length cut into windows: how to draw their config keys (see family.py)."""

from . import pictures_and_text, pictures_and_text_configs
from .answering import answering
from .family import Option
from .pictures_and_text_configs import text_side
from .usual_keys import ACTIVATIONS, drop


def _hearer(r, **more):
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return dict(
        d_model=heads * width,
        encoder_attention_heads=heads,
        encoder_layers=r.randint(3, 4),
        encoder_ffn_dim=r.randint(40, 240),
        num_mel_bins=r.randint(20, 60),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        **more,
    )


def transcribing(r):
    """Chunks of a second go through convolutions apart; frames attend in windows of some chunks (Qwen3-ASR)."""
    text = text_side(r, attention_dropout=drop(r), model_type="qwen3", head_dim=8 * r.randint(5, 8))
    audio = _hearer(
        r,
        n_window=50,
        n_window_infer=100 * r.randint(1, 4),
        output_dim=text["hidden_size"],
        downsample_hidden_size=r.randint(20, 60),
        max_position_embeddings=13,
    )
    return dict(text_config=text, audio_config=audio, audio_token_id=1, tie_word_embeddings=r.random() < 0.5)


def seeing(r):
    """Qwen2.5-VL's pictures and text, with an encoder of recordings beside them (Qwen2.5-Omni's thinker)."""
    d = pictures_and_text_configs.qwen2_5_vl(r)
    for key in ("image_token_id", "video_token_id"):
        d.pop(key)
    audio = _hearer(r, n_window=r.randint(20, 60), max_source_positions=r.randint(61, 90), output_dim=d["text_config"]["hidden_size"])
    return d | dict(audio_config=audio, image_token_index=1, video_token_index=2, audio_token_index=3)


def experts_seeing(r):
    """Qwen3-VL's pictures and experts, with Qwen3-ASR's ear (Qwen3-Omni's thinker)."""
    d = pictures_and_text_configs.qwen3_vl(r)
    wide = d["text_config"]["num_attention_heads"] * 8 * r.randint(2, 4)  # whole 16 bytes, which products of experts ask for
    d["vision_config"]["out_hidden_size"] = d["text_config"]["hidden_size"] = wide
    d["text_config"] |= dict(num_experts=r.randint(4, 9), num_experts_per_tok=r.randint(2, 4), moe_intermediate_size=r.randint(40, 240))
    audio = _hearer(
        r,
        n_window=50,
        n_window_infer=100 * r.randint(1, 4),
        output_dim=d["text_config"]["hidden_size"],
        downsample_hidden_size=r.randint(20, 60),
        max_source_positions=r.randint(61, 90),
    )
    return d | dict(audio_config=audio, audio_token_id=3)


def long(d, s, r):
    """Texts that hold the recording's tokens."""
    s.update(T=r.randint(90, 120), A=r.randint(20000, 50000))


def remembering(r):
    """Frames taken six by six into layers with a convolution over their neighbours, and two layers more in the bridge (Fun-ASR-Nano)."""
    text = text_side(r, attention_dropout=drop(r), model_type="qwen3", head_dim=8 * r.randint(5, 8))
    heads, width, own, wide = r.randint(3, 6), 8 * r.randint(1, 4), r.randint(2, 4), text["hidden_size"]
    layers = r.randint(7, 8)
    audio = dict(
        num_mel_bins=2 * r.randint(10, 20),
        hidden_size=heads * width,
        num_attention_heads=heads,
        intermediate_size=r.randint(40, 240),
        num_hidden_layers=layers,
        num_timestamp_prediction_layers=r.randint(2, 5),
        hidden_dropout=drop(r),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        fsmn_kernel_size=r.choice((5, 7, 9, 11)),
        max_position_embeddings=r.randint(300, 400),
    )
    bridge = dict(
        hidden_size=wide,
        num_attention_heads=text["num_attention_heads"],
        intermediate_size=wide // 4,
        num_hidden_layers=own,
        hidden_dropout=drop(r),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        projector_hidden_act=r.choice(ACTIVATIONS),
        projector_hidden_size=r.randint(40, 240),
    )
    return dict(text_config=text, audio_config=audio, adaptor_config=bridge, audio_token_id=1, tie_word_embeddings=r.random() < 0.5)


def streaming(r):
    """Every token of the text is also eight frames of the recording (Voxtral Realtime)."""
    text = text_side(r, attention_dropout=drop(r), head_dim=8 * r.randint(5, 8), sliding_window=r.randint(1000, 2000))
    kv, groups, width = r.randint(1, 3), r.choice((2, 3)), 8 * r.randint(1, 3)
    audio = dict(
        hidden_size=kv * groups * width,
        num_attention_heads=kv * groups,
        num_key_value_heads=kv * groups,
        intermediate_size=r.randint(40, 240),
        num_hidden_layers=r.randint(3, 4),
        head_dim=8 * r.randint(5, 8),
        num_mel_bins=r.randint(20, 60),
        hidden_act=r.choice(ACTIVATIONS),
        attention_dropout=drop(r),
        sliding_window=r.randint(1000, 2000),
        max_position_embeddings=r.randint(400, 500),
    )
    return dict(
        text_config=text,
        audio_config=audio,
        projector_hidden_act=r.choice(ACTIVATIONS),
        downsample_factor=4,
        tie_word_embeddings=r.random() < 0.5,
    )


def _within(d, s, r):
    pass


def _beyond(d, s, r):
    d["text_config"]["sliding_window"] = r.randint(20, 40)


def _heard_beyond(d, s, r):
    d["audio_config"]["sliding_window"] = r.randint(20, 200)


def _either(see):
    """Sizes of pictures, or of recordings."""
    return lambda d, s, r: see(d, s, r) if "S" in s else long(d, s, r)


def after(frames, halvings=3):
    """Frames behind so many convolutions with a stride of two."""
    for _ in range(halvings):
        frames = f"(({frames}-1)//2+1)"
    return frames


FRAMES = "A//160"
EIGHTHS = f"13*({FRAMES}//100)+{after(f'({FRAMES}%100)')}"
SECONDS = (Option("audio_config.n_window == 50", lambda d, s, r: None),)
QWEN3 = (Option("text_config.model_type == 'qwen3'", lambda d, s, r: None),)


AUDIO_HEAD = "audio_config.d_model//audio_config.encoder_attention_heads"
HALVES = after(FRAMES, 1)
# Seconds of a batch that the encoder takes in at once.
AT_ONCE = (Option("audio_config.n_window == 50 and audio_config.conv_chunksize == 500", lambda d, s, r: None),)
KALDI = "(1+(A-400)//160)"
SPANS = (
    (Option("4*T < audio_config.sliding_window", _within), Option("4*T >= audio_config.sliding_window", _heard_beyond)),
    (Option("T < text_config.sliding_window", _within), Option("T >= text_config.sliding_window", _beyond)),
)
FAMILIES = {
    "fun_asr_nano": answering(
        remembering,
        "audio_config.hidden_size//audio_config.num_attention_heads",
        QWEN3,
        (Option("audio_config.num_stacked_frames == 7", _within),),
        derived={
            "audio_token_id": "null",
            "adaptor_config.hidden_size": "text_config.hidden_size",
            "adaptor_config.intermediate_size": "text_config.hidden_size//4",
        },
        sizes=long,
        hidden=(),
        depths=("(audio_config.num_hidden_layers-audio_config.num_timestamp_prediction_layers)",),
        terms=(
            f"ceil_div({KALDI},6)",
            "7*audio_config.num_mel_bins",
            "adaptor_config.hidden_size//adaptor_config.num_attention_heads",
            "(audio_config.fsmn_kernel_size-1)//2",
        ),
    ),
    "voxtral_realtime": answering(
        streaming,
        "audio_config.hidden_size//audio_config.num_attention_heads",
        *SPANS,
        (Option("downsample_factor == 4", _within),),
        inputs_follow=True,
        derived={"hidden_size": "text_config.hidden_size"},
    ),
    "qwen2_5_omni_thinker": pictures_and_text._speaking(
        seeing,
        _either(pictures_and_text_configs.windows_of),
        tasks=("image-text-to-text", "speech-seq2seq"),
        axes=(pictures_and_text.GROUPED, (Option("vision_config.fullatt_block_indexes.0 == 7", lambda d, s, r: None),)),
        aliases={},
        terms=(
            *pictures_and_text.SQUARE,
            AUDIO_HEAD,
            FRAMES,
            f"ceil_div({FRAMES},2*audio_config.n_window)",
            f"min(2*audio_config.n_window,{FRAMES})",
            HALVES,
            f"({HALVES}-2)//2+1",
        ),
    ),
    "qwen3_omni_moe_thinker": pictures_and_text._speaking(
        experts_seeing,
        _either(pictures_and_text_configs.tokens_of),
        tasks=("image-text-to-text", "speech-seq2seq"),
        derived=pictures_and_text.INTERLEAVED,
        spelled=r".*\.merger\.mlp|.*merger_list(\.\d+\.mlp)?",
        aliases={},
        axes=(pictures_and_text.GROUPED, (Option("vision_config.deepstack_visual_indexes.length == 3", lambda d, s, r: None),), AT_ONCE),
        terms=(
            *pictures_and_text.SQUARE,
            AUDIO_HEAD,
            FRAMES,
            f"ceil_div({FRAMES},100)",
            f"min(100,{FRAMES})",
            EIGHTHS,
            after("audio_config.num_mel_bins"),
            "13*(audio_config.n_window_infer//100)",
        ),
    ),
    "qwen3_asr": answering(
        transcribing,
        "audio_config.d_model//audio_config.encoder_attention_heads",
        QWEN3,
        SECONDS,
        inputs_follow=True,
        derived={"audio_token_id": "null"},
        sizes=long,
        hidden=(),
        terms=(f"ceil_div({FRAMES},100)", EIGHTHS, after("audio_config.num_mel_bins"), "13*(audio_config.n_window_infer//100)"),
    ),
}
