"""Families that read texts both ways, beside those of `encoders.py`: pages with boxes, other languages, long texts."""

from .encoders import BART, EAGER
from .family import Family, Option
from .shared import CLASSIFIER, ENCODER, HEAD, SEQ2SEQ, T5_AXES, T5_DERIVED, WIDTHS_OF_EMBEDDINGS, _sets, standard, t5
from .usual_keys import drop
from .text import given

CLASSIFIERS = ENCODER[1:]


# Texts whose blocks would touch all of each other: the code attends to everything then, as when it is told to.
WHOLE = (Option("attention_type == 'original_full' or S <= (5+2*num_random_blocks)*block_size", _sets(attention_type="original_full")),)


def convolved(r, d):
    """ConvBERT gives some heads to a convolution."""
    heads = 2 * r.randint(2, 5)
    return {
        "num_attention_heads": heads,
        "hidden_size": heads * 2 * r.randint(4, 12),
        "embedding_size": r.randint(12, 40),
        "conv_kernel_size": 2 * r.randint(1, 4) + 1,
    }


def shrunk(r, d):
    """LiLT's second stream, of boxes, is a fraction as wide."""
    heads = 3 * r.randint(1, 3)
    return {
        "num_attention_heads": heads,
        "hidden_size": heads * 8 * r.randint(1, 4),
        "channel_shrink_ratio": r.choice((2, 4)),
        "max_2d_position_embeddings": r.randint(201, 300),
    }


def labels(low, high):
    """Classes of tokens; an answer's begin and end stay two."""
    return lambda d, s, r: d.update(num_labels=2 if d["num_labels"] == 2 else r.randint(low, high))


FEW_LABELS = (Option("num_labels < 10", labels(3, 9)), Option("num_labels >= 10", labels(10, 30)))
"""A layer for few classes, a perceptron for more."""


def boxes(r, d):
    return {"max_2d_position_embeddings": r.randint(201, 300)}


def pictured(r, d):
    """LayoutLMv3 sees the page's picture beside its words; corners and sides of boxes fill an embedding together."""
    corner, side, patch = 2 * r.randint(4, 12), 2 * r.randint(4, 12), r.randint(3, 7)
    heads = r.choice([n for n in range(2, 9) if (4 * corner + 2 * side) % n == 0])
    return {
        "coordinate_size": corner,
        "shape_size": side,
        "hidden_size": 4 * corner + 2 * side,
        "num_attention_heads": heads,
        "patch_size": patch,
        "input_size": patch * r.randint(3, 9),
        "rel_pos_bins": 4 * r.randint(5, 12),
        "rel_2d_pos_bins": 4 * r.randint(13, 20),
        "max_2d_position_embeddings": r.randint(1024, 1100),
    }


def grouped(r, d):
    """SqueezeBERT's layers are convolutions of one word, some in four groups."""
    heads = 2 * r.randint(2, 4)
    width = heads * 4 * r.randint(2, 6)
    return {"num_attention_heads": heads, "hidden_size": width, "embedding_size": width, "intermediate_size": 4 * r.randint(10, 60)}


def windowed(whole):
    """Windows of one width in every layer; texts are padded to whole ones."""

    def change(d, s, r):
        window = 2 * r.randint(2, 5)
        s["S"] = window * r.randint(2, 6) - (0 if whole else r.randint(1, window - 1))
        d["attention_window"] = [window] * (d.get("num_hidden_layers") or d["encoder_layers"])

    return change


WINDOWS = (Option("S % attention_window.0 != 0", windowed(False)), Option("S % attention_window.0 == 0", windowed(True)))


def prophets(r, d):
    """ProphetNet predicts several words ahead, each in a stream of its own."""
    heads = r.randint(3, 7)
    return {
        "num_encoder_attention_heads": heads,
        "num_decoder_attention_heads": heads,
        "hidden_size": heads * 8 * r.randint(1, 4),
        "num_encoder_layers": r.randint(3, 5),
        "num_buckets": 4 * r.randint(5, 12),
    }


def two_languages(r, d):
    """FSMT's words of either language; `vocab_size` is another name of what it writes."""
    d.pop("vocab_size")
    return {"src_vocab_size": r.randint(200, 500), "tgt_vocab_size": r.randint(501, 900), "langs": ["en", "de"]}


def longt5(r):
    """T5 whose encoder sees windows, and perhaps sums of blocks beside."""
    return {**t5(r), "local_radius": r.randint(3, 9), "global_block_size": r.randint(3, 7)}


def radius(whole):
    def change(d, s, r):
        s["S"] = (d["local_radius"] + 1) * r.randint(3, 6) - (0 if whole else r.randint(1, d["local_radius"]))

    return change


LONG = (Option("S % (local_radius+1) != 0", radius(False)), Option("S % (local_radius+1) == 0", radius(True)))
SEEN = tuple(Option(f"encoder_attention_type == '{kind}'", _sets(encoder_attention_type=kind)) for kind in ("local", "transient-global"))


def staggered(whole):
    """PegasusX cuts texts into blocks, every other layer half a block later."""

    def change(d, s, r):
        d["block_size"], d["num_global_tokens"] = 2 * r.randint(2, 5), r.randint(3, 30)
        s["S"] = d["block_size"] * r.randint(3, 6) - (0 if whole else r.randint(1, d["block_size"] - 1))

    return change


BLOCKS = (Option("S % block_size != 0", staggered(False)), Option("S % block_size == 0", staggered(True)))


def assumed(what, settle_with, *tasks):
    """What of the data decides which code runs, and the id of the words (src/words) that say what it is taken to be."""
    return {"tasks": tasks, "what": what, "settleWith": settle_with}


FIRST_WORD = assumed("graph.first-word", "global_attention_mask", "seq-cls")
FIRST_OF_CHOICE = assumed("graph.first-of-choice", "global_attention_mask", "multiple-choice")
NO_WORD = assumed("graph.no-word", "global_attention_mask", "masked-lm", "token-cls", "seq2seq-lm")
WINDOWED = {
    "assumes": (FIRST_WORD, FIRST_OF_CHOICE, NO_WORD),
    "axes": (WINDOWS,),
    "terms": (
        HEAD,
        "attention_window.0//2",
        "(S+attention_window.0-1)//attention_window.0",
        "2*((S+attention_window.0-1)//attention_window.0)-1",
    ),
    "derived": {"attention_window.0": "attention_window"},
}


def sinusoidal(r, d):
    """BROS turns each corner of a box into waves."""
    part = 2 * r.randint(2, 6)
    return {
        "dim_bbox_sinusoid_emb_2d": 8 * part,
        "dim_bbox_sinusoid_emb_1d": part,
        "dim_bbox_projection": d["hidden_size"] // d["num_attention_heads"],
        "classifier_dropout_prob": drop(r),
    }


def alike(d, s, r):
    d["num_landmarks"] = d["segment_means_seq_len"] = r.randint(8, 40)


def landmarks(d, s, r):
    """Texts of the one length that the code takes, cut into as many parts as there are landmarks."""
    d["num_landmarks"] = r.randint(3, 7)
    d["segment_means_seq_len"] = s["S"] = d["num_landmarks"] * r.randint(2, 6)


FAMILIES = {
    "jina_embeddings_v3": standard("jina_embeddings_v3", tasks=ENCODER, derived=CLASSIFIER),
    "roc_bert": standard(
        "roc_bert",
        tasks=ENCODER,
        derived=CLASSIFIER,
        axes=(given(enable_pronunciation=True, enable_shape=True, concat_input=True),),
        extra=lambda r, d: {
            "pronunciation_embed_dim": r.randint(20, 60),
            "pronunciation_vocab_size": r.randint(90, 150),
            "shape_embed_dim": r.randint(61, 90),
            "shape_vocab_size": r.randint(151, 190),
        },
    ),
    "big_bird": standard("big_bird", tasks=ENCODER, attention=EAGER, derived=CLASSIFIER, axes=(WHOLE, given(rescale_embeddings=False))),
    "convbert": standard(
        "convbert",
        tasks=ENCODER,
        attention=EAGER,
        derived=CLASSIFIER,
        axes=(given(num_groups=1, head_ratio=2), WIDTHS_OF_EMBEDDINGS),
        extra=convolved,
        terms=(HEAD, "conv_kernel_size//2"),
    ),
    "luke": standard(
        "luke",
        tasks=ENCODER,
        attention=EAGER,
        derived=CLASSIFIER,
        axes=(given(use_entity_aware_attention=True),),
        extra=lambda r, d: {"entity_vocab_size": r.randint(901, 990), "entity_emb_size": r.randint(41, 60)},
    ),
    "layoutlm": standard("layoutlm", tasks=ENCODER, attention=EAGER, extra=boxes),
    "lilt": standard(
        "lilt",
        tasks=CLASSIFIERS,
        attention=EAGER,
        derived=CLASSIFIER,
        extra=shrunk,
        terms=("hidden_size//num_attention_heads", "hidden_size//channel_shrink_ratio"),
    ),
    "layoutlmv3": standard(
        "layoutlmv3",
        tasks=(*CLASSIFIERS, "qa"),
        attention=EAGER,
        derived=CLASSIFIER,
        inputs_follow=True,
        fixed=("has_spatial_attention_bias",),
        extra=pictured,
        terms=(HEAD, "input_size//patch_size"),
        axes=(given(has_relative_attention_bias=True, has_spatial_attention_bias=True, text_embed=True, visual_embed=True), FEW_LABELS),
    ),
    "squeezebert": standard("squeezebert", tasks=(*ENCODER, "qa"), attention=EAGER, extra=grouped),
    "longformer": standard("longformer", tasks=ENCODER, attention=EAGER, **WINDOWED),
    "prophetnet": standard("prophetnet", tasks=SEQ2SEQ, attention=EAGER, axes=(given(ngram=2, disable_ngram_loss=False),), extra=prophets),
    "fsmt": standard(
        "fsmt",
        tasks=SEQ2SEQ,
        attention=EAGER,
        fixed=(*BART, "tie_word_embeddings"),
        axes=(given(scale_embedding=True, tie_word_embeddings=False),),
        extra=two_languages,
        terms=("d_model//encoder_attention_heads",),
    ),
    "longt5": Family(
        longt5,
        tasks=SEQ2SEQ,
        attention=EAGER,
        axes=(T5_AXES[0][1:], T5_AXES[1][1:], SEEN, LONG),
        derived=T5_DERIVED,
        terms=("local_radius+1", "(S+local_radius)//(local_radius+1)", "S//global_block_size"),
    ),
    "pegasus_x": standard(
        "pegasus_x",
        tasks=SEQ2SEQ,
        attention=EAGER,
        axes=(BLOCKS, given(stagger_local_blocks=True)),
        fixed=BART,
        terms=("d_model//encoder_attention_heads", "block_size//2", "(S+block_size-1)//block_size"),
    ),
    "led": standard(
        "led",
        tasks=SEQ2SEQ,
        attention=EAGER,
        fixed=BART,
        **{**WINDOWED, "assumes": (NO_WORD,), "terms": (*WINDOWED["terms"][1:], "d_model//encoder_attention_heads")},
    ),
    "bros": standard("bros", tasks=("token-cls",), attention=EAGER, extra=sinusoidal),
    "esmc": standard(
        "esmc",
        tasks=ENCODER,
        extra=lambda r, d: {"head_dim": d["hidden_size"] // d["num_attention_heads"], "num_key_value_heads": d["num_attention_heads"]},
    ),
    "xmod": standard(
        "xmod",
        tasks=ENCODER,
        derived={**CLASSIFIER, "default_language": "'en_XX'"},
        axes=(
            given(
                pre_norm=False, adapter_layer_norm=False, adapter_reuse_layer_norm=True, ln_before_adapter=True, adapter_reduction_factor=2
            ),
        ),
        extra=lambda r, d: {"default_language": "en_XX"},
    ),
    "nystromformer": standard(
        "nystromformer",
        tasks=(*ENCODER, "qa"),
        attention=EAGER,
        axes=(
            (Option("num_landmarks == segment_means_seq_len", alike), Option("num_landmarks != segment_means_seq_len", landmarks)),
            given(inv_coeff_init_option=False),
        ),
        extra=lambda r, d: {"conv_kernel_size": 2 * r.randint(1, 6) + 1},
        terms=(HEAD, "segment_means_seq_len//num_landmarks", "conv_kernel_size//2"),
    ),
    "markuplm": standard(
        "markuplm",
        tasks=(*CLASSIFIERS, "qa"),
        attention=EAGER,
        derived=CLASSIFIER,
        axes=(given(max_depth=50),),
        extra=lambda r, d: {
            "max_xpath_tag_unit_embeddings": r.randint(217, 260),
            "max_xpath_subs_unit_embeddings": r.randint(1002, 1050),
            "xpath_unit_hidden_size": r.randint(5, 20),
        },
    ),
    "mvp": standard("mvp", tasks=SEQ2SEQ, attention=EAGER, axes=(given(use_prompt=False),), fixed=BART),
    "bigbird_pegasus": standard("bigbird_pegasus", tasks=SEQ2SEQ, attention=EAGER, axes=(WHOLE,), fixed=BART),
}
