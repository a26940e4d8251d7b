"""Decoders of one maker each whose code is close to that of a better known family (`families.py`), but not the same."""

from .family import Option
from .shared import BOTH_WINDOWS, GQA, HEAD, standard
from .text import HEADS, given
from .latent_attention import low_rank
from .state_spaces import mixed

EAGER = ("eager",)
LATENT_WIDTHS = ("qk_nope_head_dim+qk_rope_head_dim", "qk_nope_head_dim+v_head_dim")


def dynamic(inside):
    """Positions that the mask keeps: all of a short text, as many as a window holds of a longer one."""

    def change(d, s, r):
        d["keep_window_size"] = s["S"] + r.randint(0, 40) if inside else r.randint(3, s["S"] - 1)

    return change


def windows(r, d):
    """Windows of attention in some layers; every layer names the base of its rotary positions."""
    kinds = mixed(r, "sliding_attention")
    return {**kinds, "layer_rope_theta": [10000.0] * kinds["num_hidden_layers"]}


def dense_first(r, d):
    """Two layers without experts, both with windows, then layers with experts and windows in some."""
    later = mixed(r, "sliding_attention")["layer_types"]
    return {
        "num_hidden_layers": 2 + len(later),
        "num_dense_layers": 2,
        "layer_types": ["sliding_attention"] * 2 + later,
        "num_shared_experts": r.randint(1, 3),
    }


def gemma4(r, d):
    """Layers of both kinds, the last two before those that share keys and values one of each; a window in the first that shares them."""
    own, shared = mixed(r, "sliding_attention")["layer_types"], ["sliding_attention", *mixed(r, "sliding_attention")["layer_types"]]
    last = ["sliding_attention", "full_attention"]
    kinds = [*own, *last, *shared, "full_attention"]
    return {
        "num_hidden_layers": len(kinds),
        "layer_types": kinds,
        "num_kv_shared_layers": len(shared) + 1,
        "global_head_dim": d["head_dim"] + 8 * r.randint(1, 3),
        "hidden_size_per_layer_input": r.randint(5, 20),
        "vocab_size_per_layer_input": r.randint(901, 990),
        "final_logit_softcapping": 30.0,
        "use_double_wide_mlp": r.random() < 0.5,
    }


def sparse_first(r, d):
    """Gemma 3n: the first layers let a share of their activations pass, the last ones use keys and values of those before."""
    d.pop("intermediate_size")
    drawn, first = gemma4(r, d), ["sliding_attention", "full_attention"]
    depth, sparse = 2 + drawn["num_hidden_layers"], r.randint(2, 3)
    return {
        "num_hidden_layers": depth,
        "layer_types": r.sample(first, 2) + drawn["layer_types"],
        "intermediate_size": [r.randint(40, 240)] * depth,
        "activation_sparsity_pattern": [0.95] * sparse + [0.0] * (depth - sparse),
        **{k: drawn[k] for k in ("num_kv_shared_layers", "hidden_size_per_layer_input", "vocab_size_per_layer_input")},
        "laurel_rank": r.randint(5, 20),
        "altup_num_inputs": 4,
    }


def own_keys(experts):
    """Larger models: no embeddings by layer, no sharing, keys that are values in layers of full attention."""

    def change(d, s, r):
        d["layer_types"] = [*mixed(r, "sliding_attention")["layer_types"], "sliding_attention", "full_attention"]
        d.update(
            num_hidden_layers=len(d["layer_types"]),
            num_kv_shared_layers=0,
            hidden_size_per_layer_input=0,
            attention_k_eq_v=True,
            num_global_key_value_heads=r.choice([g for g in range(1, d["num_attention_heads"]) if d["num_attention_heads"] % g == 0]),
            use_double_wide_mlp=False,
            enable_moe_block=experts,
        )
        if experts:
            d.update(num_experts=r.randint(5, 9), top_k_experts=r.randint(2, 4), moe_intermediate_size=r.randint(40, 240))

    return change


def unified(r, d):
    """Layers of both kinds, the last two one of each."""
    kinds = [*mixed(r, "sliding_attention")["layer_types"], "sliding_attention", "full_attention"]
    return {
        "num_hidden_layers": len(kinds),
        "layer_types": kinds,
        "global_head_dim": d["head_dim"] + 8 * r.randint(1, 3),
        "final_logit_softcapping": 30.0,
        "num_kv_shared_layers": 0,
    }


def _one_key(d, s, r):
    d.update(
        attention_k_eq_v=True,
        num_global_key_value_heads=r.choice([g for g in range(1, d["num_attention_heads"]) if d["num_attention_heads"] % g == 0]),
    )


def _uncapped(change):
    """Logits as they are, as the class's defaults have them; published models cap theirs."""
    return lambda d, s, r: (change(d, s, r), d.update(final_logit_softcapping=None))


_ONE_KEY, _OWN_KEYS = (
    "num_kv_shared_layers == 0 and attention_k_eq_v and num_global_key_value_heads != null",
    "num_kv_shared_layers == 0 and not attention_k_eq_v",
)
UNIFIED = (
    Option(f"final_logit_softcapping != null and {_ONE_KEY}", _one_key),
    Option(f"final_logit_softcapping != null and {_OWN_KEYS}", lambda d, s, r: None),
    Option(f"final_logit_softcapping == null and {_ONE_KEY}", _uncapped(_one_key)),
    Option(f"final_logit_softcapping == null and {_OWN_KEYS}", _uncapped(lambda d, s, r: None)),
)


def prompted(r, d):
    """A prompt of the model's own before every text."""
    return {
        "dim_head": 2 * r.randint(3, 12),
        "dim_ff": r.randint(40, 240),
        "prompt_length": r.randint(3, 9),
        "prompt_types": r.randint(10, 14),
        "segment_types": r.randint(15, 20),
        "position_bias_num_buckets": 2 * r.randint(10, 20),
        "dropout_p": 0.0,
    }


def cycles(r, d):
    """Two stacks that run again and again: the low one thrice before the high one, twice over."""
    own = r.randint(2, 4)
    return {"num_layers_per_stack": own, "num_hidden_layers": 8 * own}


SMALL = "final_logit_softcapping != null and num_kv_shared_layers > 0 and hidden_size_per_layer_input > 0 and not attention_k_eq_v and not enable_moe_block"
LARGE = "final_logit_softcapping != null and num_kv_shared_layers == 0 and hidden_size_per_layer_input == 0 and attention_k_eq_v and num_global_key_value_heads != null and "
GEMMA4 = (
    Option(SMALL, lambda d, s, r: None),
    Option(f"{LARGE}not enable_moe_block", own_keys(False)),
    Option(f"{LARGE}enable_moe_block", own_keys(True)),
)


def differential(r, d):
    """Two attentions over halves of the values, whose heads are even in number; neither has dropout."""
    kv = r.choice((2, 4))
    heads = kv * r.choice((2, 3))
    return {"num_key_value_heads": kv, "num_attention_heads": heads, "hidden_size": heads * 8 * r.randint(1, 4), "attention_dropout": 0.0}


FAMILIES = {
    "diffllama": standard("diffllama", tasks=(*HEADS, "token-cls"), axes=(GQA,), fixed=("attention_dropout",), extra=differential),
    "gemma4_text": standard(
        "gemma4_text",
        axes=(GQA[:1], GEMMA4, BOTH_WINDOWS, given(attention_bias=False)),
        fixed=("layer_types", "attention_bias"),
        extra=gemma4,
        depths=("(num_hidden_layers-num_kv_shared_layers)",),
        derived={
            "global_head_dim": "per_layer_config.04.head_dim or per_layer_config.05.head_dim or 512",
            "num_global_key_value_heads": "per_layer_config.04.num_key_value_heads or per_layer_config.05.num_key_value_heads or null",
            "final_logit_softcapping": "null",
            "num_experts": "null",
            "top_k_experts": "null",
            "moe_intermediate_size": "null",
        },
    ),
    "gemma4_unified_text": standard(
        "gemma4_unified_text",
        axes=(GQA[:1], UNIFIED, BOTH_WINDOWS, given(attention_bias=False)),
        fixed=("layer_types", "attention_bias"),
        extra=unified,
        derived={
            "global_head_dim": "per_layer_config.04.head_dim or per_layer_config.05.head_dim or 512",
            "num_global_key_value_heads": "per_layer_config.04.num_key_value_heads or per_layer_config.05.num_key_value_heads or null",
            "final_logit_softcapping": "null",
        },
    ),
    "gemma3n_text": standard(
        "gemma3n_text",
        axes=(GQA[:1], BOTH_WINDOWS, given(attention_bias=False, altup_correct_scale=True, altup_num_inputs=4)),
        fixed=("layer_types", "attention_bias"),
        extra=sparse_first,
        depths=("(num_hidden_layers-num_kv_shared_layers)",),
        derived={
            "intermediate_size.i": "intermediate_size",
            "intermediate_size": "16384",
            "activation_sparsity_pattern.i": "i < 10 and num_hidden_layers > 10 and 0.95 or 0",
        },
    ),
    "cpmant": standard("cpmant", attention=EAGER, extra=prompted, terms=("prompt_length+S", "position_bias_num_buckets//4")),
    "hrm_text": standard(
        "hrm_text",
        axes=(given(H_cycles=2, L_cycles=3, prefix_lm=True),),
        extra=cycles,
        derived={"num_layers_per_stack": "num_hidden_layers", "embedding_scale": "1", "L_bp_cycles": "null"},
    ),
    "hyperclovax": standard("hyperclovax", axes=(GQA, given(use_post_norm=True))),
    "jais2": standard("jais2", axes=(GQA,)),
    "youtu": standard("youtu", axes=(given(rope_interleave=True),), fixed=("head_dim",), extra=low_rank, terms=(HEAD, *LATENT_WIDTHS)),
    "ctrl": standard("ctrl", attention=EAGER, tasks=HEADS, extra=lambda r, d: {"dff": r.randint(40, 240)}, terms=("n_embd//n_head",)),
    "doge": standard(
        "doge",
        tasks=HEADS,
        axes=(
            GQA[:1],
            given(is_moe=False),
            (Option("S <= keep_window_size", dynamic(True)), Option("S > keep_window_size", dynamic(False))),
        ),
    ),
    "afmoe": standard("afmoe", axes=(GQA[:1], BOTH_WINDOWS, given(mup_enabled=True)), extra=dense_first, points=4),
    "granitemoe_swa": standard(
        "granitemoe_swa",
        attention=EAGER,
        axes=(GQA[:1], BOTH_WINDOWS, given(shared_intermediate_size=0)),
        fixed=("layer_types",),
        extra=windows,
    ),
    "granite_swa": standard("granite_swa", attention=EAGER, axes=(GQA[:1], BOTH_WINDOWS), fixed=("layer_types",), extra=windows),
}
