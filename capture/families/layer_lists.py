"""Decoders whose configs list for each layer what it is made of: its attention, its perceptron or experts, its index of positions."""

import itertools

from .family import Option
from .shared import BOTH_WINDOWS, GQA, HEAD, _sets, standard
from .decoders import LATENT_WIDTHS
from .state_spaces import CHUNK, MIXER, chunked
from .latent_attention import LATENT, QUERIES, latent, routed
from .text import given

HEADS = ("causal-lm", "seq-cls", "token-cls")
MLPS = ("dense", "sparse")
DENSE_FIRST = "i < first_k_dense_replace and 'dense' or 'sparse'"


def each(r, kinds, mlps=MLPS):
    """Layers of every kind of attention with and without experts, in any order."""
    pairs = list(itertools.product(kinds, mlps))
    pairs += [r.choice(pairs) for _ in range(r.randint(0, 2))]
    r.shuffle(pairs)
    return {"num_hidden_layers": len(pairs), "layer_types": [a for a, _ in pairs], "mlp_layer_types": [m for _, m in pairs]}


WINDOWED = ("sliding_attention", "full_attention")


def plain(r, mlps=MLPS):
    """Layers with and without experts of one kind of attention, which the config does not name."""
    found = each(r, ("full_attention",), (*mlps, *mlps))
    del found["layer_types"]
    return found


def exaone(r, d):
    groups = r.randint(2, 3)
    return {
        **each(r, WINDOWED),
        "num_experts": groups * r.randint(3, 5),
        "n_group": groups,
        "topk_group": r.randint(1, groups),
        "num_shared_experts": r.randint(1, 3),
    }


def cohere(r, d):
    return {**each(r, WINDOWED), "prefix_dense_intermediate_size": r.randint(40, 240)}


def experts(choice, strategy):
    """How experts are chosen, and how those for all tokens are added where there are some."""

    def change(d, s, r):
        d.update(
            expert_selection_fn=choice,
            num_shared_experts=r.randint(1, 3) if strategy else 0,
            shared_expert_combination_strategy=strategy or "average",
        )

    return change


COHERE_EXPERTS = (
    Option("expert_selection_fn == 'softmax' and num_shared_experts == 0", experts("softmax", None)),
    *(
        Option(
            f"expert_selection_fn == 'sigmoid' and norm_topk_prob and num_shared_experts > 0 and shared_expert_combination_strategy == '{way}'",
            experts("sigmoid", way),
        )
        for way in ("average", "sum")
    ),
)


def indexed(r, d):
    """Latent attention to the positions that an index picks: as many as it is told, or all of a shorter text."""
    found = {k: v for k, v in latent(r, d).items() if k not in ("first_k_dense_replace", "num_hidden_layers")}
    return {
        **found,
        **plain(r),
        "index_topk": r.randint(5, 60),
        "index_head_dim": found["qk_rope_head_dim"] + 2 * r.randint(1, 6),
        "index_n_heads": r.randint(2, 7),
    }


def lent(r, d):
    """Layers that pick positions themselves among layers that use what the one before them picked; the first picks."""
    pairs = list(itertools.product(MLPS, ("full", "shared")))
    pairs += [r.choice(pairs) for _ in range(r.randint(0, 2))]
    r.shuffle(pairs)
    pairs = [("dense", "full"), *pairs]
    return {
        **indexed(r, d),
        "num_hidden_layers": len(pairs),
        "mlp_layer_types": [m for m, _ in pairs],
        "indexer_types": [k for _, k in pairs],
    }


INDEXED = (HEAD, *LATENT_WIDTHS, "n_routed_experts//n_group")


def halved(r, d):
    """The gated norm's bottleneck, and a projection of queries and gates."""
    return {**indexed(r, d), "gated_norm_rank": r.randint(3, 12)}


def _ungrouped(d, s, r):
    d.update(n_group=None, topk_group=None)


def inkling(r, d):
    kv = r.randint(2, 4)
    found = each(r, ("hybrid", "hybrid_sliding"))
    return {
        **found,
        "swa_num_key_value_heads": kv,
        "swa_num_attention_heads": kv * r.randint(2, 3),
        "swa_head_dim": 8 * r.randint(1, 4),
        "d_rel": r.randint(4, 12),
        "rel_extent": r.randint(5, 90),
        "conv_kernel_size": r.randint(3, 6),
        "n_shared_experts": r.randint(1, 3),
        "n_routed_experts": r.randint(5, 9),
    }


def _window(inside):
    """A window in which a whole text fits, or does not."""
    return lambda d, s, r: d.update(sliding_window_size=s["S"] + r.randint(1, 40) if inside else r.randint(3, s["S"] - 1))


WINDOWS = (Option("S < sliding_window_size", _window(True)), Option("S >= sliding_window_size", _window(False)))


def blocks(r, d):
    """Attention to the blocks that an index picks, in some layers."""
    kv = d["num_key_value_heads"]
    return {
        **each(r, ("full_attention", "minimax_m3_sparse")),
        "index_n_heads": kv,
        "index_head_dim": 2 * r.randint(4, 9),
        "index_block_size": r.randint(4, 9),
        "index_topk_blocks": r.randint(2, 5),
        "index_local_blocks": r.randint(1, 2),
        "dense_intermediate_size": r.randint(40, 240),
        "shared_intermediate_size": r.randint(40, 240),
        "rotary_dim": 2 * r.randint(2, 4),
    }


def hybrids(r, least=4):
    """Layers of state spaces, some behind a block of attention that several of them use."""
    kinds = ["linear_attention", *r.sample(["hybrid", "linear_attention", "hybrid", "hybrid", "linear_attention"], r.randint(least, 5))]
    return {"num_hidden_layers": len(kinds), "layers_block_type": kinds}


def zamba2(r, d):
    """Widths that the class computes: attention over pairs of states, as wide as twice the model."""
    heads = r.randint(2, 4)
    groups = r.randint(2, 3)
    mamba = groups * r.randint(2, 3)
    return {
        **hybrids(r),
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "hidden_size": heads * mamba * 4 * r.randint(1, 2),
        "n_mamba_heads": mamba,
        "mamba_ngroups": groups,
        "chunk_size": r.randint(5, 9),
        "mamba_d_state": r.randint(9, 20),
        "mamba_d_conv": r.randint(3, 5),
        "num_mem_blocks": r.randint(1, 2),
        "adapter_rank": r.randint(5, 15),
    }


ZAMBA2 = tuple(
    given(use_shared_attention_adapter=adapter, use_mem_rope=rope)[0] for adapter, rope in ((True, True), (False, False), (False, True))
)  # 1.2, 2.7 and 7 billion parameters
ZAMBA2_KIND = "(i % 6 == 0 and i > 0 and i < 43 or i == 47 or i == 51) and 'hybrid' or 'linear_attention'"


def grouped(r, d):
    """Experts in groups, in every layer."""
    return {k: v for k, v in routed(r, d).items() if k not in ("first_k_dense_replace", "num_hidden_layers")}


def mimo(r, d):
    groups = r.randint(2, 3)
    heads = d["num_key_value_heads"] * r.choice((2, 4))  # layers with windows have twice as many of keys and values
    return {
        **each(r, WINDOWED),
        "num_attention_heads": heads,
        "hidden_size": heads * 8 * r.randint(1, 4),
        "n_routed_experts": groups * r.randint(3, 5),
        "n_group": groups,
        "topk_group": r.randint(1, groups),
        "v_head_dim": 8 * r.randint(1, 4),
        "head_dim": 6 * r.randint(3, 9),
    }  # a third of a head turns


def laguna(r, d):
    """As many heads as the config says of each layer."""
    found = each(r, WINDOWED)
    return {**found, "num_attention_heads_per_layer": [d["num_key_value_heads"] * r.randint(2, 3) for _ in found["layer_types"]]}


FAMILIES = {
    "solar_open": standard(
        "solar_open",
        fixed=("partial_rotary_factor",),
        axes=(GQA[:1], given(norm_topk_prob=True)),
        extra=grouped,
        terms=(HEAD, "n_routed_experts//n_group"),
    ),
    "axk1": standard(
        "axk1", tasks=HEADS, axes=(given(rope_interleave=True, norm_topk_prob=True),), fixed=("head_dim",), extra=latent, **LATENT
    ),
    "mistral4": standard(
        "mistral4",
        tasks=HEADS[1:],
        axes=(QUERIES, given(rope_interleave=True, norm_topk_prob=True)),
        fixed=("head_dim",),
        extra=latent,
        **LATENT,
    ),
    "mimo_v2_flash": standard(
        "mimo_v2_flash",
        attention=("eager",),
        axes=(GQA[:1], BOTH_WINDOWS, given(norm_topk_prob=True)),
        fixed=("layer_types", "num_local_experts"),
        extra=mimo,
        kind="(i == 0 or (i+1) % 6 == 0) and 'full_attention' or 'sliding_attention'",
        derived={"mlp_layer_types.i": "i == 0 and 'dense' or 'sparse'"},
        terms=(HEAD, "n_routed_experts//n_group"),
    ),
    "laguna": standard(
        "laguna",
        axes=(GQA[:1], BOTH_WINDOWS, given(gating=True)),
        fixed=("layer_types",),
        extra=laguna,
        kind="'full_attention'",
        derived={"mlp_layer_types.i": "i == 0 and 'dense' or 'sparse'", "num_attention_heads_per_layer.i": "num_attention_heads"},
    ),
    "zamba2": standard(
        "zamba2",
        tasks=HEADS[:2],
        kernels=MIXER,
        axes=(given(mamba_expand=2, use_conv_bias=True), chunked("chunk_size"), ZAMBA2),
        fixed=("layer_types",),
        extra=zamba2,
        terms=(
            "2*hidden_size",
            "2*hidden_size//num_attention_heads",
            "2*hidden_size//n_mamba_heads",
            CHUNK.format("chunk_size"),
            "2*hidden_size+2*mamba_ngroups*mamba_d_state",
            "4*hidden_size+2*mamba_ngroups*mamba_d_state+n_mamba_heads",
        ),
        kind=ZAMBA2_KIND,
        derived={"intermediate_size": "4*hidden_size", "num_key_value_heads": "num_attention_heads"},
    ),
    "mellum": standard(
        "mellum",
        axes=(GQA[:1], BOTH_WINDOWS, given(norm_topk_prob=True)),
        fixed=("layer_types",),
        kind="'full_attention'",
        derived={"mlp_layer_types.i": "'sparse'"},
        extra=lambda r, d: each(r, WINDOWED),
    ),
    "exaone_moe": standard(
        "exaone_moe",
        width=True,
        axes=(GQA[:1], BOTH_WINDOWS, given(norm_topk_prob=True)),
        fixed=("layer_types",),
        kind="(i+1) % sliding_window_pattern != 0 and 'sliding_attention' or 'full_attention'",
        derived={"mlp_layer_types.i": DENSE_FIRST},
        extra=exaone,
        terms=(HEAD, "num_experts//n_group"),
    ),
    "cohere2_moe": standard(
        "cohere2_moe",
        fixed=("layer_types",),
        extra=cohere,
        kind="(i+1) % sliding_window_pattern != 0 and 'sliding_attention' or 'full_attention'",
        derived={
            "num_key_value_heads": "num_attention_heads",
            "prefix_dense_intermediate_size": "intermediate_size",
            "mlp_layer_types.i": DENSE_FIRST,
        },
        axes=(
            GQA[:1],
            BOTH_WINDOWS,
            given(prefix_dense_sliding_window_pattern=1),
            COHERE_EXPERTS,
            (Option("rms_norm_eps == null", _sets(rms_norm_eps=None)), Option("rms_norm_eps != null", _sets(rms_norm_eps=1e-6))),
        ),
    ),
    "hy_v3": standard(
        "hy_v3",
        axes=(GQA[:1], given(enable_moe_fp32_combine=True)),
        derived={"mlp_layer_types.i": "i == 0 and 'dense' or 'sparse'"},
        extra=lambda r, d: {**plain(r), "num_shared_experts": r.randint(1, 3)},
    ),
    "axk2": standard(
        "axk2",
        tasks=HEADS,
        kind="'deepseek_sparse_attention'",
        fixed=("head_dim", "layer_types"),
        extra=halved,
        axes=((Option("n_group != null", lambda d, s, r: None), Option("n_group == null", _ungrouped)),),
        terms=INDEXED,
        derived={"n_group": "null", "topk_group": "null", "first_k_dense_replace": "1", "mlp_layer_types.i": DENSE_FIRST},
    ),
    "glm_moe_dsa": standard(
        "glm_moe_dsa",
        fixed=("head_dim", "layer_types"),
        extra=lent,
        terms=INDEXED,
        kind="'deepseek_sparse_attention'",
        derived={
            "mlp_layer_types.i": DENSE_FIRST,
            "index_topk_freq": "1",
            "index_skip_topk_offset": "2",
            "indexer_types.i": "max(i-index_skip_topk_offset+1, 0) % max(index_topk_freq, 1) == 0 and 'full' or 'shared'",
        },
    ),
    "hy_v4": standard(
        "hy_v4",
        attention=("eager",),
        fixed=("head_dim", "layer_types"),
        extra=lent,
        terms=INDEXED,
        kind="'deepseek_sparse_attention'",
        derived={
            "mlp_layer_types.i": "i == 0 and 'dense' or 'sparse'",
            "indexer_types.i": "(i == 0 or (i-1) % 4 == 0) and 'full' or 'shared'",
        },
    ),
    "inkling_text": standard("inkling_text", axes=(GQA[:1], WINDOWS), fixed=("layer_types",), extra=inkling),
    "minimax_m3_vl_text": standard(
        "minimax_m3_vl_text",
        axes=(GQA[:1], chunked("index_block_size")),
        fixed=("layer_types", "hidden_act"),
        terms=(HEAD, CHUNK.format("index_block_size"), "(S+index_block_size-1)//index_block_size"),
        kind="'full_attention'",
        derived={"mlp_layer_types.i": "'sparse'"},
        extra=blocks,
    ),
}
