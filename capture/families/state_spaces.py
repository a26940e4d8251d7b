"""Layers that scan a sequence beside attention or in its place (Mamba, convolutions, the delta rule): how to draw their config keys (see family.py)."""

from .family import Option
from .shared import HEAD, _sets


CHUNK = "{0}*((S+{0}-1)//{0})-S"


def scan(r, d, count, width, hidden, groups, chunk, expand=2):
    """State-space heads: their widths together are `expand` times the hidden size, which attention heads divide too."""
    g = r.randint(2, 3)
    heads = g * r.randint(2, 3)
    each = 4 * r.randint(1, 4) * d.get("num_attention_heads", 2)
    return {count: heads, width: each, hidden: heads * each // expand, groups: g, chunk: r.randint(5, 9)}


def chunked(key):
    """Whether the sequence is padded to whole chunks."""

    def whole(d, s, r):
        s["S"] = d[key] * r.randint(3, 6)

    def rest(d, s, r):
        s["S"] = d[key] * r.randint(3, 6) + r.randint(1, d[key] - 1)

    return (Option(f"S % {key} != 0", rest), Option(f"S % {key} == 0", whole))


def mixed(r, other="linear_attention", least=4):
    """Layers of full attention among layers of another kind, in any order: a depth that is not always the same."""
    kinds = ["full_attention", other] * (least // 2) + [r.choice(("full_attention", other)) for _ in range(r.randint(0, 2))]
    return {"num_hidden_layers": len(kinds), "layer_types": r.sample(kinds, len(kinds))}


def mamba2(r, d):
    return {
        **scan(r, d, "num_heads", "head_dim", "hidden_size", "n_groups", "chunk_size"),
        "state_size": r.randint(9, 20),
        "conv_kernel": r.randint(3, 5),
        "use_bias": r.random() < 0.5,
    }


def selective(r, d):
    """State spaces whose steps are read from the text (the first Mamba)."""
    return {
        "state_size": r.randint(9, 20),
        "conv_kernel": r.randint(3, 5),
        "time_step_rank": r.randint(5, 30),
        "use_bias": r.random() < 0.5,
    }


def jamba(r, d):
    """Attention and experts each every so many layers, in layers of all four kinds."""
    attention, experts = r.choice(((2, 3), (3, 2)))
    return {
        "mamba_d_state": r.randint(9, 20),
        "mamba_d_conv": r.randint(3, 5),
        "mamba_dt_rank": r.randint(5, 30),
        "num_hidden_layers": r.randint(6, 8),
        "attn_layer_period": attention,
        "attn_layer_offset": r.randrange(attention),
        "expert_layer_period": experts,
        "expert_layer_offset": r.randrange(experts),
    }


def nemotron_h(r, d):
    """Every layer is one thing: a state space, attention, experts, or a perceptron."""
    groups, experts = r.randint(2, 3), r.choice((5, 7))  # heads are two or three to a group
    kinds = r.sample(["linear_attention", "full_attention", "moe", "mlp", "linear_attention", "mlp"], n := r.randint(5, 6))
    return {
        "mamba_num_heads": groups * r.randint(2, 3),
        "mamba_head_dim": 4 * r.randint(1, 4),
        "n_groups": groups,
        "chunk_size": r.randint(5, 9),
        "ssm_state_size": r.randint(9, 20),
        "conv_kernel": r.randint(3, 5),
        "layers_block_type": kinds,
        "num_hidden_layers": n,
        "moe_shared_expert_intermediate_size": r.randint(40, 240),
        "n_group": experts,
        "topk_group": r.randint(1, experts),
        "n_routed_experts": experts * r.randint(3, 5),
        "use_bias": r.random() < 0.5,
        "mlp_hidden_act": r.choice(("relu2", "silu", "gelu")),
    }


def hybrid(r, d):
    return {
        **scan(r, d, "mamba_n_heads", "mamba_d_head", "hidden_size", "mamba_n_groups", "mamba_chunk_size"),
        "mamba_d_state": r.randint(9, 20),
        "mamba_d_conv": r.randint(3, 5),
        "mamba_conv_bias": True,
        "mamba_proj_bias": r.random() < 0.5,
    }


def widths(heads, width, groups, states):
    """Channels of the convolution and of the projection before it, which are sums of several products."""
    inner, shared = f"{heads}*{width}", f"2*{groups}*{states}"
    return f"{inner}+{shared}", f"2*{inner}+{shared}+{heads}", inner


SCAN_WIDTHS = widths("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state")


def bamba(r, d):
    n = r.randint(5, 6)
    return {**hybrid(r, d), "num_hidden_layers": n, "attn_layer_indices": sorted(r.sample(range(1, n - 1), 2))}


LISTED = " or ".join(f"attn_layer_indices.{k} == i" for k in range(12))


def falcon_h1(r, d):
    own = scan(r, d, "mamba_n_heads", "mamba_d_head", "mamba_d_ssm", "mamba_n_groups", "mamba_chunk_size", 1)
    return {**hybrid(r, d), **own, "hidden_size": d["num_attention_heads"] * 8 * r.randint(1, 4), "projectors_bias": r.random() < 0.5}


def liquid(r, d):
    n = r.randint(4, 5)
    return {
        "num_hidden_layers": n,
        "layer_types": r.sample(["conv", "conv", "full_attention", "full_attention", "conv"], n),
        "block_multiple_of": r.randint(5, 30),
        "conv_L_cache": r.randint(3, 5),
        "intermediate_size": r.randint(60, 300),
    }


def liquid_experts(r, d):
    """Two layers without experts, one of each kind, then layers with them."""
    later = mixed(r, "conv", 2)["layer_types"]
    return {
        "num_hidden_layers": 2 + len(later),
        "num_dense_layers": 2,
        "layer_types": [*r.sample(["conv", "full_attention"], 2), *later],
        "conv_L_cache": r.randint(3, 5),
    }


LIQUID_WIDTH = "(2*intermediate_size//3+block_multiple_of-1)//block_multiple_of*block_multiple_of"


CONVOLVED = (
    Option("not conv_kernel_size", _sets(conv_kernel_size=0)),
    Option(
        "conv_kernel_size > 0 and conv_act == 'gelu'",
        lambda d, s, r: d.update(conv_kernel_size=2 * r.randint(1, 2) + 1, conv_act="gelu", num_hidden_layers=r.randint(4, 5)),
    ),
)
"""The extra-large models of DeBERTa-v2 have a convolution beside their first layer."""


def gated_delta(r, d):
    """Linear attention by the gated delta rule: heads of values share those of keys."""
    keys, groups = r.randint(2, 5), r.randint(2, 4)
    return {
        "linear_num_key_heads": keys,
        "linear_num_value_heads": keys * groups,
        "linear_key_head_dim": 4 * r.randint(2, 5),
        "linear_value_head_dim": 4 * r.randint(2, 6),
        "linear_conv_kernel_dim": r.randint(3, 5),
        **mixed(r),
    }


def delta_chunks(whole):
    """The rule goes over chunks of 64 positions, three at least: enough to tell what each round hands to the next."""

    def change(d, s, r):
        s["S"], s["B"] = 64 * r.randint(3, 5) + (0 if whole else r.randint(1, 63)), r.randint(2, 3)

    return change


DELTA = (Option("S % 64 != 0", delta_chunks(False)), Option("S % 64 == 0", delta_chunks(True)))


DELTA_TERMS = (
    HEAD,
    CHUNK.format("64"),
    "(S+63)//64*64",
    "(S+63)//64",
    "linear_num_key_heads*linear_key_head_dim",
    "linear_num_value_heads*linear_value_head_dim",
    "2*linear_num_key_heads*linear_key_head_dim+linear_num_value_heads*linear_value_head_dim",
)


DELTA_KIND = "(i+1) % full_attention_interval != 0 and 'linear_attention' or 'full_attention'"


STATE_SPACE = {"packages": ["mamba_ssm", "causal_conv1d"], "module": "mamba"}


MIXER = {**STATE_SPACE, "module": "mixer"}


DELTA_FACTS = {
    "kernels": {"packages": ["flash-linear-attention", "causal_conv1d"], "module": "linear_attn"},
    "kind": DELTA_KIND,
    "terms": DELTA_TERMS,
    "derived": {"full_attention_interval": "4", "partial_rotary_factor": "rope_parameters.partial_rotary_factor or 1/4"},
}
