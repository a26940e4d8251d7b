"""Families that hear: config keys, branches and how to draw them (see family.py)."""

from .family import Family, Option
from .pictures import HEAD, _encoder, _sets
from .usual_keys import ACTIVATIONS, drop


def _whisper(r):
    heads, width = r.randint(3, 7), 2 * r.randint(4, 15)
    return dict(
        d_model=heads * width,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_layers=r.randint(3, 4),
        decoder_layers=r.randint(3, 5),
        encoder_ffn_dim=r.randint(40, 240),
        decoder_ffn_dim=r.randint(241, 400),
        vocab_size=r.randint(200, 900),
        num_mel_bins=r.randint(20, 50),
        max_source_positions=r.randint(41, 90),
        max_target_positions=r.randint(100, 200),
        classifier_proj_size=r.randint(70, 99),
        num_labels=r.randint(3, 19),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
    )


def _waves(r):
    """An encoder of sound: seven convolutions of the published kernels and strides, then layers. Masks of SpecAugment are left out."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    groups = r.choice((2, 4))
    return dict(
        hidden_size=heads * width,
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        conv_dim=[r.randint(9, 60) for _ in range(7)],
        vocab_size=r.randint(20, 60),
        num_conv_pos_embeddings=2 * r.randint(4, 9),
        num_conv_pos_embedding_groups=groups,
        hidden_dropout=drop(r),
        activation_dropout=drop(r),
        attention_dropout=drop(r),
        feat_proj_dropout=drop(r),
        final_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        layerdrop=0.0,
        apply_spec_augment=False,
        classifier_proj_size=r.randint(70, 99),
        num_labels=r.randint(3, 19),
    )


def _frames(samples, kernels=(3, 3, 3, 3, 2, 2)):
    """Frames that come out of the convolutions."""
    frames = f"(({samples}-10)//5+1)"
    for kernel in kernels:
        frames = f"(({frames}-{kernel})//2+1)"
    return frames


def _spectrogram(r):
    """Overlapping patches of a spectrogram of a fixed length."""
    d = _encoder(r, qkv_bias=r.random() < 0.5)
    patch = d["patch_size"]
    d.pop("image_size")
    return d | dict(
        max_length=patch * r.randint(5, 9) + r.randint(0, 9),
        num_mel_bins=patch * r.randint(3, 5) + r.randint(0, 4),
        frequency_stride=r.randint(2, patch),
        time_stride=r.randint(2, patch),
    )


SPECTROGRAM = ("(num_mel_bins-patch_size)//frequency_stride+1", "(max_length-patch_size)//time_stride+1")

# The published pairs of norms: one over each channel in the first convolution, or one over the channels in every one.
NORMS = tuple(
    Option(
        f"feat_extract_norm == '{norm}' and {'' if bias else 'not '}conv_bias and {'' if norm == 'layer' else 'not '}do_stable_layer_norm",
        _sets(feat_extract_norm=norm, conv_bias=bias, do_stable_layer_norm=norm == "layer"),
    )
    for norm, bias in (("group", False), ("layer", True), ("layer", False))
)

SEVEN = (Option("conv_dim.length == 7 and conv_stride.0 == 5 and conv_kernel.0 == 10", lambda d, s, r: None),)


def _bare(d, s, r):
    """DistilHuBERT: what the convolutions give goes into the layers without a norm (HubertFeatureProjection)."""
    NORMS[0].change(d, s, r)
    d["feat_proj_layer_norm"] = False


def _hearing(**more):
    return Family(
        _waves,
        **{
            "tasks": ("ctc", "audio-cls"),
            "points": 4,
            "inputs_follow": True,
            "terms": (HEAD, _frames("A")),
            "axes": (SEVEN, NORMS),
            "spelled": r".*feature_extractor\.conv_layers",
            **more,
        },
    )


FAMILIES = {
    "whisper": Family(_whisper, tasks=("speech-seq2seq", "audio-cls"), inputs_follow=True, hidden=("A",)),
    "audio-spectrogram-transformer": Family(
        _spectrogram, tasks=("audio-cls",), points=5, inputs_follow=True, hidden=("A",), terms=(HEAD, *SPECTROGRAM)
    ),
    "wav2vec2": _hearing(),
    "hubert": _hearing(
        axes=(
            SEVEN,
            tuple(Option(f"{norm.when} and feat_proj_layer_norm", norm.change) for norm in NORMS)
            + (Option(f"{NORMS[0].when} and not feat_proj_layer_norm", _bare),),
        )
    ),
    "wavlm": _hearing(attention=("eager",)),
    "unispeech": _hearing(),
    "unispeech-sat": _hearing(),
}
