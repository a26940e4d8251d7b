"""Families whose experts run one by one (`experts.py`)."""

from .family import Family
from .page_readers import EAGER, assumed
from .shared import GQA, SEQ2SEQ, _switch, standard, t5
from .usual_keys import drop
from .text import HEADS, given

TASKS = ("causal-lm", "seq-cls", "token-cls", "masked-lm", "seq2seq-lm", "qa")
BALANCED = assumed("graph.balanced-experts", "routing", *TASKS)


def parted(r, d):
    """DBRX: what attention and experts are made of stands in configs of their own."""
    kv, groups = r.randint(2, 4), r.choice((2, 3))
    return {
        "n_heads": kv * groups,
        "d_model": (width := kv * groups * 8 * r.randint(1, 3)),
        "resid_pdrop": drop(r),
        "emb_pdrop": drop(r),
        "attn_config": {"kv_n_heads": kv, "attn_pdrop": drop(r), "clip_qkv": 8.0, "rope_theta": 500000.0},
        "ffn_config": {
            "hidden_size": width,
            "ffn_hidden_size": r.randint(40, 240),
            "moe_num_experts": r.randint(5, 9),
            "moe_top_k": r.randint(2, 4),
            "moe_normalize_expert_weights": 1.0,
        },
    }


STEPS = ("(num_layers//num_sparse_encoder_layers)", "(num_decoder_layers//num_sparse_decoder_layers)")


def switch(r):
    """T5's shape with experts in every layer, or in every second or third from the second on."""
    step, other = r.choice((1, 1, 2, 3)), r.choice((1, 1, 2, 3))
    return {
        **{k: v for k, v in t5(r).items()},
        "num_experts": r.randint(5, 9),
        "num_layers": step * (own := r.randint(2, 3)) if step > 1 else (own := r.randint(3, 4)),
        "num_sparse_encoder_layers": own,
        "num_decoder_layers": other * (theirs := r.randint(2, 3)) if other > 1 else (theirs := r.randint(3, 4)),
        "num_sparse_decoder_layers": theirs,
        "dense_act_fn": r.choice(("relu", "gelu")),
    }


FAMILIES = {
    "switch_transformers": Family(
        switch,
        tasks=SEQ2SEQ,
        attention=EAGER,
        axes=(given(router_bias=False, router_dtype="float32"), _switch("tie_word_embeddings")),
        depths=STEPS,
        assumes=(BALANCED,),
        points=12,
    ),
    "openai_privacy_filter": standard(
        "openai_privacy_filter", tasks=("token-cls",), attention=EAGER, axes=(GQA,), assumes=(BALANCED,), derived={"num_labels": "33"}
    ),
    "dbrx": standard("dbrx", fixed=("tie_word_embeddings",), extra=parted, terms=("d_model//n_heads",), assumes=(BALANCED,)),
    "jetmoe": standard(
        "jetmoe",
        tasks=HEADS,
        extra=lambda r, d: {
            "kv_channels": 8 * r.randint(1, 4),
            "num_key_value_heads": r.randint(2, 5),
            "num_experts_per_tok": r.randint(2, 3),
        },
        assumes=(BALANCED,),
        terms=("num_key_value_heads*kv_channels", "num_key_value_heads*num_experts_per_tok"),
    ),
    "aria_text": standard(
        "aria_text",
        axes=(GQA,),
        extra=lambda r, d: {"moe_num_experts": r.randint(5, 9), "moe_topk": r.randint(2, 4), "moe_num_shared_experts": r.randint(2, 4)},
        assumes=(BALANCED,),
    ),
}
