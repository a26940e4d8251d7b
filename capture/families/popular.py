"""The families most people train, captured first."""

from ..recording.releases import VERSION
from .family import Family, Option
from .shared import (
    WIDTHS_OF_EMBEDDINGS,
    BOTH_WINDOWS,
    CLASSIFIER,
    ENCODER,
    GQA,
    HEAD,
    LATE_KIND,
    LATE_WINDOW,
    PARTIAL,
    SEQ2SEQ,
    T5_AXES,
    T5_DERIVED,
    WINDOW,
    _image,
    _sets,
    _switch,
    bert,
    gpt2,
    heads,
    llama_like,
    standard,
    t5,
    vit,
)
from .usual_keys import ACTIVATIONS, drop


def opt(r):
    d = heads(r, {})
    d.update(
        num_hidden_layers=r.randint(3, 4),
        ffn_dim=r.randint(40, 200),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        enable_bias=r.random() < 0.5,
        tie_word_embeddings=r.random() < 0.5,
        num_labels=r.randint(3, 19),
    )
    return d


def _projection(d, s, r):
    d["word_embed_proj_dim"] = d["hidden_size"] + r.randint(1, 30)


def gpt_neox(r):
    n, width = r.randint(3, 9), 8 * r.randint(1, 4)
    d = {"num_attention_heads": n, "hidden_size": n * width}
    d.update(
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 200),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
        hidden_dropout=drop(r),
        attention_dropout=drop(r),
        classifier_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        attention_bias=r.random() < 0.5,
        tie_word_embeddings=r.random() < 0.5,
        num_labels=r.randint(3, 19),
        pad_token_id=0,
        rotary_pct=r.choice((0.25, 0.5, 0.75)),
    )
    return d


def phi3_extra(r, d):
    """Heads wide enough that a part of them turns in whole pairs; all of a head turned before 4.49 (configuration_phi3.py)."""
    return {
        "resid_pdrop": drop(r),
        "embd_pdrop": drop(r),
        "hidden_size": d["num_attention_heads"] * 8 * r.randint(1, 4),
        "partial_rotary_factor": r.choice((0.25, 0.5, 0.75)) if VERSION >= (4, 49) else 1.0,
    }


def distilbert(r):
    d = heads(r, {}, "dim", "n_heads")
    d.update(
        n_layers=r.randint(3, 4),
        hidden_dim=r.randint(40, 200),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
        dropout=drop(r),
        attention_dropout=drop(r),
        seq_classif_dropout=drop(r),
        activation=r.choice(("gelu", "relu")),
        num_labels=r.randint(3, 19),
    )
    return d


def mixtral_extra(r, d):
    return {"num_local_experts": r.randint(4, 9), "num_experts_per_tok": r.randint(2, 4)}


FAMILIES = {
    # Heads are as wide as the states allow before 4.46 (configuration_llama.py).
    "llama": Family(
        lambda r: llama_like(r, head_dim=VERSION >= (4, 46), biases=("attention_bias", "mlp_bias")),
        axes=(GQA,),
        terms=(HEAD,) if VERSION < (4, 46) else (),
    ),
    "gpt2": Family(gpt2, derived={"n_inner": "4*n_embd"}),
    "qwen2": Family(lambda r: llama_like(r, head_dim=False), axes=(GQA, LATE_WINDOW), kind=LATE_KIND, terms=(HEAD,)),
    "qwen3": Family(lambda r: llama_like(r, biases=("attention_bias",)), axes=(GQA, LATE_WINDOW), kind=LATE_KIND),
    "mistral": Family(lambda r: llama_like(r), axes=(GQA, WINDOW)),
    "gemma2": Family(lambda r: llama_like(r, act="hidden_activation", biases=("attention_bias",)), axes=(GQA, WINDOW[:2])),
    "phi3": Family(
        lambda r: llama_like(r, head_dim=False, extra=phi3_extra),
        axes=(GQA, WINDOW),
        terms=(HEAD,),
        derived={"partial_rotary_factor": "rope_parameters.partial_rotary_factor or 1"},
    ),
    "gpt_neox": Family(
        gpt_neox,
        terms=(HEAD,),
        derived={"rotary_pct": "rope_parameters.partial_rotary_factor"},
        axes=(
            (
                Option("use_parallel_residual", _sets(use_parallel_residual=True)),
                Option("not use_parallel_residual", _sets(use_parallel_residual=False)),
            ),
        ),
    ),
    "opt": Family(
        opt,
        tasks=("causal-lm", "seq-cls"),
        axes=(
            (
                Option("do_layer_norm_before", _sets(do_layer_norm_before=True)),
                Option("not do_layer_norm_before", _sets(do_layer_norm_before=False)),
            ),
            (Option("word_embed_proj_dim == hidden_size", lambda d, s, r: None), Option("word_embed_proj_dim != hidden_size", _projection)),
        ),
    ),
    "bert": Family(bert, derived=CLASSIFIER, tasks=("masked-lm", "seq-cls", "token-cls")),
    "vit": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
    "roberta": Family(bert, derived=CLASSIFIER, tasks=("masked-lm", "seq-cls", "token-cls")),
    "distilbert": Family(distilbert, tasks=("masked-lm", "seq-cls", "token-cls")),
    "t5": Family(t5, points=5, tasks=("seq2seq-lm",), axes=T5_AXES, derived=T5_DERIVED),
    "mixtral": Family(lambda r: llama_like(r, extra=mixtral_extra), axes=(GQA, WINDOW), derived={"head_dim": HEAD}),
}


def _dense_first(r, d):
    """Layers without experts come first."""
    return {"first_k_dense_replace": r.randint(1, 2), "num_hidden_layers": r.randint(4, 5)}


def _no_window(d, s, r):
    d.update(sliding_window=None, layer_types=["full_attention"] * len(d["layer_types"]))


def _rotary_dim(r, d):
    return {"rotary_dim": d["n_embd"] // d["n_head"] - 2 * r.randint(1, 3)}


def _codegen(r, d):
    width = 8 * r.randint(1, 4)
    n = 4 * r.randint(1, 3)
    return {"n_head": n, "n_embd": n * width, "rotary_dim": width - 2 * r.randint(1, 3)}


def _alternating(r, d):
    pairs = r.randint(2, 3)
    return {"num_layers": 2 * pairs, "attention_types": [[["global", "local"], pairs]], "window_size": r.randint(41, 90)}


def _powers(r, d):
    """Head counts whose ALiBi slopes come in one piece (a power of two); other counts differ by a few hundred bytes."""
    n = r.choice((2, 4, 8))
    return {"n_head": n, "hidden_size": n * 8 * r.randint(1, 4)}


def _alibi(d, s, r):
    n = r.choice((2, 4, 8))
    d.update(
        new_decoder_architecture=False,
        multi_query=False,
        parallel_attn=False,
        alibi=True,
        num_attention_heads=n,
        num_kv_heads=n,
        hidden_size=n * 8 * r.randint(1, 4),
    )


def _new_falcon(d, s, r):
    kv = r.randint(2, 4)
    heads = kv * r.randint(2, 4)
    d.update(
        new_decoder_architecture=True, alibi=False, num_kv_heads=kv, num_attention_heads=heads, hidden_size=8 * heads * r.randint(1, 3)
    )


def _one_norm(d, s, r):
    """Falcon 11B: attention and MLP share one norm."""
    _new_falcon(d, s, r)
    d.update(num_ln_in_parallel_attn=1)


FALCON = (
    Option("new_decoder_architecture and num_ln_in_parallel_attn != 1", _new_falcon),
    Option("new_decoder_architecture and num_ln_in_parallel_attn == 1", _one_norm),
    Option(
        "not new_decoder_architecture and multi_query and parallel_attn",
        _sets(new_decoder_architecture=False, multi_query=True, parallel_attn=True, alibi=False),
    ),
    Option("not new_decoder_architecture and not multi_query and not parallel_attn", _alibi),
)
FAMILIES |= {
    "gemma": standard("gemma", axes=(GQA,)),
    "gemma3_text": standard("gemma3_text", axes=(GQA, BOTH_WINDOWS)),
    "ministral": standard("ministral", derived={"head_dim": HEAD}, axes=(GQA, BOTH_WINDOWS)),
    "olmo2": standard("olmo2", axes=(GQA,)),
    "granite": standard("granite", axes=(GQA,)),
    "smollm3": standard("smollm3", axes=(GQA,), fixed=("layer_types",), extra=lambda r, d: {"no_rope_layer_interval": r.randint(2, 3)}),
    "starcoder2": standard("starcoder2", axes=(GQA, WINDOW)),
    "phi": standard("phi", axes=(GQA,), **PARTIAL),
    "stablelm": standard("stablelm", axes=(GQA, _switch("use_parallel_residual")), **PARTIAL),
    "glm4": standard("glm4", axes=(GQA,), **PARTIAL),
    "glm": standard("glm", axes=(GQA,), **PARTIAL),
    "cohere": standard("cohere", axes=(GQA, _switch("use_qk_norm"))),
    "cohere2": standard("cohere2", tasks=("causal-lm",), axes=(GQA, BOTH_WINDOWS)),
    "nemotron": standard("nemotron", axes=(GQA,), **PARTIAL),
    "olmo": standard("olmo", axes=(GQA,)),
    "olmo3": standard("olmo3", axes=(GQA, BOTH_WINDOWS)),
    "exaone4": standard("exaone4", width=True, axes=(GQA, (*BOTH_WINDOWS, Option("sliding_window == null", _no_window)))),
    "xlm-roberta": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "electra": standard(
        "electra",
        derived=CLASSIFIER,
        tasks=ENCODER,
        axes=(WIDTHS_OF_EMBEDDINGS,),
    ),
    "bart": standard("bart", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "mt5": Family(t5, points=5, tasks=SEQ2SEQ, axes=T5_AXES[:1], derived=T5_DERIVED),
    "deit": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
    "gpt_bigcode": standard(
        "gpt_bigcode",
        derived={"n_inner": "4*n_embd"},
        axes=((Option("multi_query", lambda d, s, r: None),),),
        extra=lambda r, d: {"multi_query": True},
    ),
    "gptj": standard("gptj", attention=("eager",), extra=_rotary_dim, derived={"n_inner": "4*n_embd"}),
    "gpt_neo": standard("gpt_neo", attention=("eager",), extra=_alternating, derived={"intermediate_size": "4*hidden_size"}),
    "bloom": standard("bloom", attention=("eager",), extra=_powers),
    "falcon": standard("falcon", axes=(FALCON,)),
    "codegen": standard("codegen", attention=("eager",), tasks=("causal-lm",), extra=_codegen, derived={"n_inner": "4*n_embd"}),
    "qwen3_moe": standard("qwen3_moe", width=True, axes=(GQA, _switch("norm_topk_prob"))),
    "qwen2_moe": standard("qwen2_moe", axes=(GQA,), fixed=("layer_types",)),
    "olmoe": standard("olmoe", axes=(GQA,)),
    "gpt_oss": standard("gpt_oss", attention=("eager",), axes=(GQA, BOTH_WINDOWS)),
    "phimoe": standard("phimoe", axes=(GQA,)),
    "granitemoe": standard("granitemoe", axes=(GQA,)),
    "mbart": standard("mbart", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "pegasus": standard("pegasus", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "modernbert": standard("modernbert", tasks=ENCODER, fixed=("norm_bias",)),
    "camembert": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "helium": standard("helium", axes=(GQA,)),
    "hunyuan_v1_dense": standard("hunyuan_v1_dense", derived={"head_dim": HEAD}, axes=(GQA,)),
    "seed_oss": standard("seed_oss", axes=(GQA,)),
    "ernie4_5": standard("ernie4_5", axes=(GQA,)),
    "arcee": standard("arcee", axes=(GQA,)),
    "dinov2": Family(
        vit,
        points=5,
        tasks=("image-cls",),
        axes=(_switch("use_swiglu_ffn"),),
        sizes=_image,
        terms=(HEAD, "image_size//patch_size", "(8*hidden_size//3+7)//8*8"),
        hidden=("I",),
    ),
    "deberta-v2": standard("deberta-v2", tasks=ENCODER, attention=("eager",)),
    "mpt": standard("mpt", attention=("eager",)),
    "nanochat": standard("nanochat", axes=(GQA,)),
    "vaultgemma": standard("vaultgemma", axes=(GQA, BOTH_WINDOWS)),
    "persimmon": standard("persimmon", **PARTIAL),
    "bitnet": standard("bitnet", axes=(GQA,)),
    "glm4_moe": standard("glm4_moe", width=True, axes=(GQA, _switch("use_qk_norm")), extra=_dense_first, **PARTIAL),
    "ernie": Family(bert, derived=CLASSIFIER, tasks=ENCODER, axes=(_switch("use_task_id"),)),
    "roberta-prelayernorm": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "data2vec-text": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "mpnet": standard("mpnet", tasks=ENCODER, attention=("eager",)),
    "blenderbot": standard("blenderbot", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "marian": standard("marian", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "m2m_100": standard("m2m_100", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "vit_msn": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
}
