"""Families that write down what they hear, an encoder before a decoder of their own: how to draw their config keys (see family.py)."""

from . import hearing, paired, sound
from .family import Family, Option
from .hearing import CONVOLUTION, ENCODER_HEAD, _through
from .pictures import _sets
from .sound import SEVEN, _frames
from .usual_keys import ACTIVATIONS, drop


def _writer(r, **more):
    """A decoder in Llama's keys, of plain layers."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return dict(
        vocab_size=r.randint(200, 900),
        hidden_size=heads * width,
        num_hidden_layers=r.randint(3, 5),
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width + 8 * r.randint(1, 3),
        intermediate_size=r.randint(241, 400),
        hidden_act=r.choice(ACTIVATIONS),
        max_position_embeddings=r.randint(100, 200),
        attention_dropout=drop(r),
        attention_bias=r.random() < 0.5,
        pad_token_id=0,
        **more,
    )


def cohere_asr(r):
    return _writer(r, decoder_start_token_id=1, tie_word_embeddings=r.random() < 0.5, encoder_config=hearing.parakeet(r)["encoder_config"])


def canary(r):
    encoder, decoder = hearing.parakeet(r)["encoder_config"], _writer(r)
    heads, width = encoder["num_attention_heads"], encoder["hidden_size"]
    return dict(
        decoder_start_token_id=1,
        pad_token_id=0,
        vocab_size=decoder["vocab_size"],
        tie_word_embeddings=r.random() < 0.5,
        encoder_config=encoder,
        decoder_config=decoder | dict(hidden_size=width, num_attention_heads=heads, num_key_value_heads=heads),
    )


def _conformers(dims, side, **more):
    """NVIDIA's conformer as the encoder (NeMo)."""
    alike = (Option(f"{side}num_key_value_heads == {side}num_attention_heads", lambda d, s, r: None),)
    return Family(
        dims,
        tasks=("speech-seq2seq",),
        points=4,
        inputs_follow=True,
        spelled=r".*subsampling\.layers",
        axes=(*CONVOLUTION[:1], alike),
        terms=(ENCODER_HEAD, "(encoder_config.conv_kernel_size-1)//2", *_through("A//160+1", (1, 2), (1, 2), (1, 2))),
        **more,
    )


def transcriber(r):
    """Two stacks with one width between the convolutions of wav2vec 2.0 and a head of letters (SpeechT5)."""
    d = sound._waves(r)
    for key in (
        "num_attention_heads",
        "num_hidden_layers",
        "intermediate_size",
        "final_dropout",
        "classifier_proj_size",
        "layerdrop",
        "num_labels",
    ):
        d.pop(key)
    heads = r.randint(3, 6)
    return d | dict(
        hidden_size=heads * 8 * r.randint(1, 4),
        num_conv_pos_embedding_groups=r.choice((2, 4, 8)),
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_layers=r.randint(3, 4),
        decoder_layers=r.randint(3, 5),
        encoder_ffn_dim=r.randint(40, 240),
        decoder_ffn_dim=r.randint(241, 400),
        positional_dropout=drop(r),
        max_speech_positions=r.randint(400, 500),
        max_text_positions=r.randint(100, 200),
        encoder_max_relative_position=r.randint(20, 60),
        pad_token_id=1,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        tie_word_embeddings=r.random() < 0.5,
    )


def translator(r):
    """Conformers over pairs of frames, brought to an eighth by a layer of their own, before a decoder (Seamless M4T)."""
    heads, writing, width = *r.sample(range(2, 7), 2), 8 * r.randint(1, 4)
    return dict(
        vocab_size=r.randint(200, 900),
        hidden_size=heads * writing * width,
        max_position_embeddings=r.randint(100, 200),
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        speech_encoder_layerdrop=0.0,
        activation_function=r.choice(ACTIVATIONS),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        decoder_layers=r.randint(3, 5),
        decoder_ffn_dim=r.randint(241, 400),
        decoder_attention_heads=writing,
        pad_token_id=0,
        decoder_start_token_id=3,
        speech_encoder_layers=r.randint(3, 4),
        speech_encoder_attention_heads=heads,
        speech_encoder_intermediate_size=r.randint(40, 240),
        speech_encoder_hidden_act=r.choice(ACTIVATIONS),
        speech_encoder_dropout=drop(r),
        adaptor_dropout=drop(r),
        feature_projection_input_dim=r.randint(20, 60),
        conv_depthwise_kernel_size=r.choice((3, 5, 7, 9)),
        tie_word_embeddings=r.random() < 0.5,
    )


def translator_from(r):
    """The same with positions as keys of the attention."""
    return translator(r) | dict(left_max_position_embeddings=r.randint(20, 60), right_max_position_embeddings=r.randint(3, 9))


PAIRS_OF_FRAMES = "(1+(A-400)//160)//2"
EIGHTH = (Option("num_adapter_layers == 1 and adaptor_stride == 8 and adaptor_kernel_size == 8 and add_adapter", lambda d, s, r: None),)


def _translating(dims, positions):
    return Family(
        dims,
        tasks=("speech-seq2seq",),
        points=4,
        inputs_follow=True,
        axes=(EIGHTH, (Option(f"position_embeddings_type == '{positions}'", lambda d, s, r: None),)),
        spelled=r".*adapter\.layers",
        terms=(
            "hidden_size//decoder_attention_heads",
            "hidden_size//speech_encoder_attention_heads",
            "(conv_depthwise_kernel_size-1)//2",
            PAIRS_OF_FRAMES,
            f"{PAIRS_OF_FRAMES}//8+1",
        ),
    )


FRAMES = _frames("A")
GROUP_NORM = (Option("feat_extract_norm == 'group' and not conv_bias", _sets(feat_extract_norm="group", conv_bias=False)),)
SPOKEN = (("wav2vec2", "mbart"), ("wav2vec2", "bert"), ("wav2vec2", "gpt2"))


def _encoder(r):
    d = {k: v for k, v in sound._waves(r).items() if k not in ("vocab_size", "classifier_proj_size")}
    return paired.part("wav2vec2", d, add_adapter=True, num_adapter_layers=3)


HEARS = {"wav2vec2": _encoder}


def adapted(encoder, decoder):
    """Encoders whose output is shortened by three convolutions, of the published pairs of norms."""
    for own, change in paired.widths(encoder, decoder):
        if decoder == "gpt2" and " == decoder" in own[0]:
            continue  # its convolutions ask for a view of the turned states, which PyTorch refuses
        for norm, bias in (("group", False), ("layer", True)):
            when = (
                *own,
                f"encoder.feat_extract_norm == '{norm}' and {'' if bias else 'not '}encoder.conv_bias and {'' if bias else 'not '}encoder.do_stable_layer_norm",
                "encoder.add_adapter and encoder.num_adapter_layers == 3",
            )
            yield (
                when,
                lambda d, s, r, change=change, norm=norm, bias=bias: (
                    change(d, s, r),
                    d["encoder"].update(feat_extract_norm=norm, conv_bias=bias, do_stable_layer_norm=bias),
                ),
            )


_OF_ENCODER = _frames("A")
FAMILIES = {
    "seamless_m4t": _translating(translator, "relative"),
    "seamless_m4t_v2": _translating(translator_from, "relative_key"),
    "cohere_asr": _conformers(cohere_asr, ""),
    "canary": _conformers(canary, "decoder_config."),
    "speecht5": Family(
        transcriber,
        tasks=("speech-seq2seq",),
        attention=("eager",),
        points=4,
        inputs_follow=True,
        axes=(SEVEN, GROUP_NORM),
        spelled=r".*feature_encoder\.conv_layers",
        terms=("hidden_size//encoder_attention_heads", "hidden_size//num_conv_pos_embedding_groups", FRAMES),
    ),
    "speech-encoder-decoder": Family(
        paired.of_two(_encoder, "bert"),
        tasks=("speech-seq2seq",),
        points=3,
        inputs_follow=True,
        axes=(paired.of_parts(SPOKEN, HEARS, adapted),),
        parts={"encoder": HEARS, "decoder": {k: paired.DECODERS[k] for k in ("mbart", "bert", "gpt2")}},
        spelled=r".*feature_extractor\.conv_layers|.*adapter\.layers",
        terms=(
            "encoder.hidden_size//encoder.num_attention_heads",
            "decoder.hidden_size//decoder.num_attention_heads",
            "decoder.n_embd//decoder.n_head",
            "decoder.d_model//decoder.decoder_attention_heads",
            *_through(_OF_ENCODER, (1, 2), (1, 2), (1, 2)),
        ),
    ),
}
