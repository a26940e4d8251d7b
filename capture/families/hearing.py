"""Families that hear, beside those of `sound.py`: how to draw their config keys (see family.py)."""

from .family import Family, Option
from .pictures import HEAD, _sets
from .pictures_and_text import GROUPED
from .pictures_and_text_configs import text_side
from .sound import NORMS, SEVEN, _frames, _waves
from .usual_keys import ACTIVATIONS, drop

HEARD = ("ctc", "audio-cls")
ODD = (3, 5, 7, 9)


def positioned(r):
    """Positions by a stack of small convolutions."""
    return _waves(r) | dict(
        conv_pos_kernel_size=2 * r.randint(2, 11) + 1, num_conv_pos_embeddings=r.randint(3, 5), conv_bias=r.random() < 0.5
    )


def conformer(r):
    """Convolutions inside the layers."""
    return _waves(r) | dict(conv_depthwise_kernel_size=r.choice(ODD), conformer_conv_dropout=drop(r))


def spectrum(r):
    """Conformers over frames of a spectrogram, with positions as keys of the attention."""
    d = conformer(r)
    for key in ("conv_dim", "num_conv_pos_embeddings", "num_conv_pos_embedding_groups"):
        d.pop(key)
    return d | dict(
        feature_projection_input_dim=r.randint(20, 60),
        left_max_position_embeddings=r.randint(20, 60),
        right_max_position_embeddings=r.randint(3, 9),
    )


def squeezed(r):
    """Thirteen convolutions, then layers over frames two by two."""
    d = _waves(r)
    return d | dict(conv_dim=[r.randint(9, 60) for _ in range(13)], squeeze_factor=2, ctc_loss_reduction="sum")


def disentangled(r):
    """The same with DeBERTa's attention by distances in its layers."""
    d = squeezed(r)
    d.pop("layerdrop", None)
    return d | dict(max_position_embeddings=r.randint(100, 200), position_buckets=r.randint(10, 30), share_att_key=True)


def listening(r):
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
        input_feat_per_channel=r.randint(20, 50),
        max_source_positions=r.randint(900, 1000),
        max_target_positions=r.randint(100, 200),
        conv_channels=2 * r.randint(20, 60),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        tie_word_embeddings=r.random() < 0.5,
    )


def _turned(r, heads, width):
    """Heads of which whole pairs turn with the position: the factor is rounded down to them."""
    return dict(hidden_size=heads * width, partial_rotary_factor=(2 * r.randint(2, width // 2 - 1) + 0.25) / width)


def moonlight(r):
    """Raw samples through three convolutions, and two stacks of layers."""
    heads, width = r.randint(3, 6), 8 * r.randint(2, 5)
    return _turned(r, heads, width) | dict(
        intermediate_size=r.randint(40, 240),
        encoder_num_hidden_layers=r.randint(3, 4),
        decoder_num_hidden_layers=r.randint(3, 5),
        encoder_num_attention_heads=heads,
        decoder_num_attention_heads=heads,
        encoder_num_key_value_heads=heads,
        decoder_num_key_value_heads=heads,
        encoder_hidden_act=r.choice(ACTIVATIONS),
        decoder_hidden_act=r.choice(ACTIVATIONS),
        vocab_size=r.randint(200, 900),
        attention_dropout=drop(r),
        max_position_embeddings=r.randint(100, 200),
        pad_token_id=0,
        tie_word_embeddings=r.random() < 0.5,
    )


def _padded(d, s, r):
    """Heads of a width that is brought to whole eights for the kernel."""
    d.update(pad_head_dim_to_multiple_of=8, **_turned(r, d["encoder_num_attention_heads"], 4 * r.choice((3, 5, 7))))


EIGHTS = (Option("pad_head_dim_to_multiple_of == 8", _padded), Option("pad_head_dim_to_multiple_of == null", lambda d, s, r: None))
MOON_HEAD = "hidden_size//encoder_num_attention_heads"


def subsampled(r, **more):
    """An encoder of spectrograms inside a config of its own."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return dict(
        vocab_size=r.randint(60, 99),
        pad_token_id=0,
        encoder_config=dict(
            hidden_size=heads * width,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            num_hidden_layers=r.randint(3, 4),
            intermediate_size=r.randint(40, 240),
            hidden_act=r.choice(ACTIVATIONS),
            attention_bias=r.random() < 0.5,
            convolution_bias=r.random() < 0.5,
            conv_kernel_size=r.choice(ODD),
            dropout=drop(r),
            subsampling_conv_channels=r.randint(20, 60),
            dropout_positions=drop(r),
            activation_dropout=drop(r),
            attention_dropout=drop(r),
            max_position_embeddings=r.randint(900, 1000),
            layerdrop=0.0,
            **more,
        ),
    )


def parakeet(r):
    return subsampled(r, num_mel_bins=8 * r.randint(3, 9), subsampling_factor=8)


def lasr(r):
    return subsampled(r, num_mel_bins=r.randint(20, 60))


def answering(r):
    """An encoder of recordings of thirty seconds, four frames of which are one token of the text."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    text = text_side(r, attention_dropout=drop(r), model_type="llama", head_dim=8 * r.randint(5, 8))
    audio = dict(
        hidden_size=heads * width,
        num_attention_heads=heads,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=4 * heads * width,
        activation_function=r.choice(ACTIVATIONS),
        num_mel_bins=r.randint(20, 60),
        max_source_positions=4 * r.randint(10, 20),
        attention_dropout=drop(r),
    )
    return dict(
        text_config=text,
        audio_config=audio,
        projector_hidden_act=r.choice(ACTIVATIONS),
        audio_token_id=1,
        tie_word_embeddings=r.random() < 0.5,
    )


AUDIO_HEAD = "audio_config.hidden_size//audio_config.num_attention_heads"


def _through(frames, *layers):
    """Frames that each of a row of convolutions makes of the ones before: kernel less padding, stride."""
    terms = [frames]
    for kernel, stride in layers:
        terms.append(f"(({terms[-1]})-{kernel})//{stride}+1")
    return tuple(terms)


LETTERS = "32"  # a tokenizer of letters, of which only the head's few thousand weights depend
SQUEEZED = _frames("A")  # kernels of one frame between those of the others, with strides of one
BIASED = (Option("not conv_bias", _sets(conv_bias=False)), Option("conv_bias", _sets(conv_bias=True)))


def _parity(left):
    """Recordings whose frames go into pairs, or leave one over that is padded behind the layers."""

    def change(d, s, r):
        while eval(SQUEEZED, {"A": s["A"]}) % 2 != left:
            s["A"] += 1

    return change


PAIRS = tuple(Option(f"({SQUEEZED}) % 2 == {left}", _parity(left)) for left in (0, 1))
THIRTEEN = (Option("conv_dim.length == 13 and conv_stride.0 == 5", lambda d, s, r: None),)
CONVOLUTION = tuple(
    (
        Option(
            f"{'' if biased else 'not '}encoder_config.convolution_bias",
            lambda d, s, r, biased=biased: d["encoder_config"].update(convolution_bias=biased),
        ),
    )
    for biased in (True, False)
)
ENCODER_HEAD = "encoder_config.hidden_size//encoder_config.num_attention_heads"
FAMILIES = {
    "data2vec-audio": Family(
        positioned,
        tasks=HEARD,
        points=4,
        inputs_follow=True,
        terms=(HEAD, "conv_pos_kernel_size//2", _frames("A")),
        axes=(SEVEN, BIASED),
        spelled=r".*feature_extractor\.conv_layers",
    ),
    "wav2vec2-conformer": Family(
        conformer,
        derived={"vocab_size": LETTERS},
        tasks=HEARD,
        points=4,
        inputs_follow=True,
        terms=(HEAD, "(conv_depthwise_kernel_size-1)//2", _frames("A")),
        spelled=r".*feature_extractor\.conv_layers",
        axes=(
            SEVEN,
            NORMS[:2],
            (
                Option("position_embeddings_type == 'relative'", _sets(position_embeddings_type="relative")),
                Option("position_embeddings_type == 'rotary'", _sets(position_embeddings_type="rotary")),
            ),
        ),
    ),
    "wav2vec2-bert": Family(
        spectrum,
        derived={"vocab_size": LETTERS},
        tasks=HEARD,
        points=4,
        inputs_follow=True,
        terms=(HEAD, "(1+(A-400)//160)//2"),
        axes=((Option("position_embeddings_type == 'relative_key' and not add_adapter", lambda d, s, r: None),),),
    ),
    "sew": Family(
        squeezed,
        tasks=HEARD,
        points=4,
        inputs_follow=True,
        terms=(HEAD, SQUEEZED, f"({SQUEEZED})//2"),
        axes=(THIRTEEN, PAIRS),
        spelled=r".*feature_extractor\.conv_layers",
    ),
    "sew-d": Family(
        disentangled,
        attention=("none",),
        tasks=HEARD,
        points=4,
        inputs_follow=True,
        terms=(HEAD, SQUEEZED, f"({SQUEEZED})//2"),
        axes=(THIRTEEN, PAIRS, (Option("share_att_key and norm_rel_ebd == 'layer_norm' and relative_attention", lambda d, s, r: None),)),
        spelled=r".*feature_extractor\.conv_layers",
    ),
    "speech_to_text": Family(
        listening,
        tasks=("speech-seq2seq",),
        attention=("eager",),
        points=4,
        inputs_follow=True,
        spelled=r".*\.conv\.conv_layers",
        terms=_through("1+(A-400)//160", (1, 2), (1, 2)),
    ),
    "moonshine": Family(
        moonlight,
        derived={"partial_rotary_factor": "rope_parameters.partial_rotary_factor"},
        tasks=("speech-seq2seq",),
        points=4,
        inputs_follow=True,
        axes=(EIGHTS,),
        terms=(MOON_HEAD, f"ceil_div({MOON_HEAD},8)*8", *_through("A", (127, 64), (7, 3), (3, 2))[1:]),
    ),
    "parakeet_ctc": Family(
        parakeet,
        axes=CONVOLUTION[:1],
        tasks=("ctc",),
        points=4,
        inputs_follow=True,
        terms=(ENCODER_HEAD, "(encoder_config.conv_kernel_size-1)//2", *_through("A//160+1", (1, 2), (1, 2), (1, 2))),
        spelled=r".*subsampling\.layers",
    ),
    "lasr_ctc": Family(
        lasr,
        axes=CONVOLUTION[1:],
        tasks=("ctc",),
        points=4,
        inputs_follow=True,
        terms=(ENCODER_HEAD, *_through("(A-400)//160+1", (5, 2), (5, 2))),
    ),
    "voxtral": Family(
        answering,
        derived={"hidden_size": "text_config.hidden_size", "audio_token_id": "null"},
        tasks=("speech-seq2seq",),
        points=4,
        axes=(GROUPED, (Option("audio_config.intermediate_size == 4*audio_config.hidden_size", lambda d, s, r: None),)),
        sizes=lambda d, s, r: s.update(T=r.randint(60, 90)),
        hidden=("A",),
        terms=(AUDIO_HEAD, "text_config.hidden_size//text_config.num_attention_heads"),
    ),
}
