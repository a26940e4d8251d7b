"""Decoders whose layers carry a state along the text (`text.py` holds those of state spaces), and older models that go over it in ways of their own."""

from .family import Option
from .shared import GQA, standard
from .decoders import LATENT_WIDTHS
from .layer_lists import DENSE_FIRST, each
from .state_spaces import CHUNK, DELTA, DELTA_TERMS, gated_delta
from .text import SILU, given
from .latent_attention import latent

EAGER = ("eager",)


def griffin(r, d):
    """Linear recurrences as wide as the config says, in blocks of the heads' number."""
    heads = d["num_attention_heads"]
    return {
        "lru_width": heads * 2 * r.randint(4, 15),
        "conv1d_width": r.randint(3, 5),
        "num_hidden_layers": r.randint(4, 6),
        "intermediate_size": 2 * r.randint(20, 120),
    }


def _reach(inside):
    def change(d, s, r):
        d["attention_window_size"] = s["S"] + r.randint(1, 40) if inside else s["S"] - r.randint(0, 6)

    return change


REACH = (Option("S < attention_window_size", _reach(True)), Option("S >= attention_window_size", _reach(False)))


def kimi(r, d):
    """Latent attention without positions among layers of the delta rule whose decay is a channel's own, with and without experts."""
    groups = r.randint(2, 3)
    heads = {
        k: v
        for k, v in latent(r, d).items()
        if k in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "num_key_value_heads")
    }
    return {
        **each(r, ("full_attention", "linear_attention")),
        **heads,
        "linear_num_heads": r.randint(2, 5),
        "linear_head_dim": 4 * r.randint(2, 5),
        "linear_conv_kernel_dim": r.randint(3, 5),
        "num_experts": groups * r.randint(3, 5),
        "num_expert_group": groups,
        "topk_group": r.randint(1, groups),
        "num_shared_experts": r.randint(1, 3),
        "num_experts_per_token": r.randint(2, 4),
    }


KIMI_LAYERS = "linear_attn_config.full_attn_layers"
KIMI_KIND = f"({KIMI_LAYERS}.0 == null and i > 0 and i % 4 == 0 or {' or '.join(f'{KIMI_LAYERS}.{k} == i+1' for k in range(12))}) and 'full_attention' or 'linear_attention'"


FAMILIES = {
    "recurrent_gemma": standard(
        "recurrent_gemma",
        axes=(GQA, REACH),
        fixed=("head_dim",),
        extra=griffin,
        derived={
            "lru_width": "hidden_size",
            "num_key_value_heads": "num_attention_heads",
            "partial_rotary_factor": "rope_parameters.partial_rotary_factor or 1/2",
        },
    ),
    "olmo_hybrid": standard(
        "olmo_hybrid",
        axes=(GQA[:1], SILU, given(linear_allow_neg_eigval=True), DELTA),
        extra=gated_delta,
        terms=DELTA_TERMS,
        kind="i % 4 == 3 and 'full_attention' or 'linear_attention'",
        kernels={"packages": ["flash-linear-attention", "causal_conv1d"], "module": "linear_attn"},
        derived={
            "num_key_value_heads": "num_attention_heads",
            "linear_num_key_heads": "num_attention_heads",
            "linear_num_value_heads": "num_attention_heads",
            "linear_key_head_dim": "3*hidden_size//(4*linear_num_key_heads)",
            "linear_value_head_dim": "2*linear_key_head_dim",
        },
    ),
    "xlnet": standard(
        "xlnet",
        tasks=("seq-cls", "token-cls", "causal-lm"),
        attention=EAGER,
        axes=(given(attn_type="bi", bi_data=False, use_mems_train=False),),
        extra=lambda r, d: {"d_inner": r.randint(40, 240), "ff_activation": r.choice(("gelu", "relu", "silu"))},
        derived={"d_head": "d_model//n_head"},
        terms=("d_model//n_head",),
    ),
    "kimi_linear": standard(
        "kimi_linear",
        kernels={"packages": ["flash-linear-attention", "causal_conv1d"], "module": "self_attn"},
        axes=(SILU, given(q_lora_rank=None, moe_renormalize=True), DELTA),
        extra=kimi,
        kind=KIMI_KIND,
        fixed=(
            "head_dim",
            "layer_types",
            "num_experts",
            "num_local_experts",
            "n_routed_experts",
            "num_experts_per_tok",
            "num_experts_per_token",
            "max_position_embeddings",
        ),
        derived={
            "linear_head_dim": "linear_attn_config.head_dim or 128",
            "linear_num_heads": "linear_attn_config.num_heads or 32",
            "linear_conv_kernel_dim": "linear_attn_config.short_conv_kernel_size or 4",
            "num_key_value_heads": "num_attention_heads",
            "first_k_dense_replace": "1",
            "mlp_layer_types.i": DENSE_FIRST,
        },
        terms=(
            *LATENT_WIDTHS,
            CHUNK.format("64"),
            "(S+63)//64*64",
            "(S+63)//64",
            "linear_num_heads*linear_head_dim",
            "3*linear_num_heads*linear_head_dim",
            "num_experts//num_expert_group",
        ),
    ),
    "zaya": standard(
        "zaya",
        axes=(GQA[:1], given(num_experts_per_tok=1)),
        kind="'hybrid'",
        extra=lambda r, d: {
            "router_hidden_size": r.randint(10, 60),
            "num_experts_per_tok": 1,
            "cca_time0": r.randint(2, 4),
            "cca_time1": r.randint(2, 4),
        },
    ),
}
