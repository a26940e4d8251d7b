"""Families that read text both ways, and those that read one text and write another (`text.py` holds the decoders)."""

from ..recording.releases import VERSION
from .family import Family, Option
from vram_lens.tracing.regimes import REGIMES
from .shared import CLASSIFIER, ENCODER, SEQ2SEQ, T5_AXES, T5_DERIVED, bert, standard, t5
from .usual_keys import drop
from .text import HEADS, given, global_first, modern

EAGER = ("eager",)
BART = ("encoder_layerdrop", "decoder_layerdrop")


def projected(r, d):
    """Embeddings of a width of their own."""
    return {"embedding_size": r.randint(12, 40)}


def disentangled(r, d):
    """The first DeBERTa: attention to words and to how far they are."""
    return {
        "pooler_hidden_size": d["hidden_size"],
        "pos_att_type": "c2p|p2c",
        "type_vocab_size": 0,
        "pooler_dropout": drop(r),
        "max_relative_positions": -1,
    }


def bottleneck(r, d):
    """Narrow layers between wide ones."""
    n = d["num_attention_heads"]
    return {
        "intra_bottleneck_size": n * 2 * r.randint(3, 9),
        "embedding_size": (e := r.randint(12, 40)),
        "hidden_size": 2 * e + r.randint(61, 120),
    }


def several_lists(r, d):
    """XLM and FlauBERT: attention, perceptrons and norms of the layers stand in lists of their own."""
    return {
        "n_layers": r.randint(4, 5),
        "emb_dim": d["n_heads"] * 8 * r.randint(1, 4),
        "n_langs": r.choice((1, r.randint(3, 9))),
        "use_lang_emb": r.random() < 0.5,
        "summary_first_dropout": drop(r),
    }


LISTS = {
    "axes": (
        given(
            asm=False,
            causal=False,
            gelu_activation=True,
            summary_type="first",
            summary_use_proj=True,
            summary_activation=None,
            summary_proj_to_labels=True,
        ),
    ),
    "extra": several_lists,
    "terms": ("emb_dim//n_heads",),
    "points": 8,
}


def fourier(r, d):
    """FNet mixes words by a Fourier transform, which takes float32 only (of float16, sizes that are powers of two)."""
    return {"hidden_dropout_prob": drop(r)}


FAMILIES = {
    "fnet": standard(
        "fnet",
        tasks=(*ENCODER, "qa"),
        attention=EAGER,
        axes=(given(use_tpu_fourier_optimizations=False),),
        extra=fourier,
        terms=(),
        regimes=(REGIMES[1],),
        points=5,
    ),
    # FlauBERT that normalises first asks its cache for an entry by number, which caches have no more (modeling_flaubert.py, `cache[i]`).
    "xlm": standard("xlm", tasks=(*ENCODER, "qa"), attention=EAGER, **LISTS),
    "flaubert": standard("flaubert", tasks=(*ENCODER, "qa"), attention=EAGER, **{**LISTS, "axes": (*LISTS["axes"], given(pre_norm=False))}),
    "modernbert-decoder": standard(
        "modernbert-decoder",
        tasks=HEADS,
        axes=(given(norm_bias=False), (Option("S < local_attention//2", modern(True)), Option("S >= local_attention//2", modern(False)))),
        kind="i % global_attn_every_n_layers == 0 and 'full_attention' or 'sliding_attention'",
        derived={"global_attn_every_n_layers": "3"},
        extra=global_first,
    ),
    "mobilebert": standard(
        "mobilebert",
        tasks=ENCODER,
        axes=(
            given(
                use_bottleneck=True,
                use_bottleneck_attention=False,
                key_query_shared_bottleneck=True,
                trigram_input=True,
                normalization_type="no_norm",
                num_feedforward_networks=4,
            ),
        ),
        extra=bottleneck,
        derived={"classifier_dropout": "hidden_dropout_prob"},
        terms=("intra_bottleneck_size//num_attention_heads",),
    ),
    "deberta": standard(
        "deberta",
        tasks=ENCODER,
        attention=EAGER,
        axes=(given(relative_attention=True, position_biased_input=False, legacy=True),),
        fixed=("type_vocab_size",),
        extra=disentangled,
        derived={"pooler_hidden_size": "hidden_size", "pos_att_type": "null"},
    ),
    # Its head is tied whatever the config says since 5.0 (configuration_umt5.py).
    "umt5": Family(t5, points=5, tasks=SEQ2SEQ, axes=T5_AXES if VERSION < (5, 0) else T5_AXES[:1], derived=T5_DERIVED),
    "blenderbot-small": standard("blenderbot-small", tasks=SEQ2SEQ, fixed=BART),
    "plbart": standard("plbart", tasks=SEQ2SEQ, fixed=BART),
    "bert-generation": Family(bert, tasks=("causal-lm",)),
    "megatron-bert": Family(bert, attention=EAGER, tasks=ENCODER),
    "xlm-roberta-xl": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "nomic_bert": standard("nomic_bert", tasks=ENCODER, derived={"head_dim": "hidden_size//num_attention_heads", **CLASSIFIER}),
    "roformer": standard(
        "roformer",
        tasks=ENCODER,
        attention=EAGER,
        axes=(
            given(rotary_value=False),
            (
                Option("embedding_size != hidden_size", lambda d, s, r: None),
                Option("embedding_size == hidden_size", lambda d, s, r: d.update(embedding_size=d["hidden_size"])),
            ),
        ),
        derived={"embedding_size": "hidden_size"},
        extra=projected,
    ),
    "esm": standard(
        "esm",
        tasks=ENCODER,
        derived={"vocab_size": "null", "mask_token_id": "null"},
        axes=(given(position_embedding_type="rotary", add_cross_attention=False, token_dropout=True, emb_layer_norm_before=False),),
        extra=lambda r, d: {"mask_token_id": 3},
    ),
    "albert": standard("albert", tasks=ENCODER, axes=(given(num_hidden_groups=1, inner_group_num=1),), extra=projected),
}
