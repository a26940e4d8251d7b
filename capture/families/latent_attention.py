"""Attention by compressed keys and values, and experts that are chosen in groups (DeepSeek): how to draw their config keys (see family.py)."""

from .family import Option
from .shared import _sets


def latent(r, d):
    """Multi-head latent attention: queries and keys of a part with and a part without positions, values of another width."""
    groups = r.choice((2, 3))
    return {
        "kv_lora_rank": 2 * r.randint(10, 30),
        "q_lora_rank": r.randint(20, 60),
        "qk_nope_head_dim": 4 * r.randint(2, 8),
        "qk_rope_head_dim": 4 * r.randint(1, 5),
        "v_head_dim": 4 * r.randint(2, 9),
        "n_group": groups,
        "topk_group": r.randint(1, groups),
        "n_routed_experts": groups * r.randint(3, 5),
        "n_shared_experts": r.randint(1, 3),
        "first_k_dense_replace": r.randint(1, 2),
        "num_key_value_heads": d["num_attention_heads"],
        "num_hidden_layers": r.randint(4, 5),
    }


def low_rank(r, d):
    """Latent attention without experts."""
    return {k: v for k, v in latent(r, d).items() if "rank" in k or "head" in k}


def routed(r, d):
    """Experts in groups, after some layers without."""
    return {
        k: v
        for k, v in latent(r, d).items()
        if k in ("n_group", "topk_group", "n_routed_experts", "n_shared_experts", "first_k_dense_replace", "num_hidden_layers")
    }


QUERIES = (Option("q_lora_rank != null", lambda d, s, r: None), Option("q_lora_rank == null", _sets(q_lora_rank=None)))


LATENT = {"terms": ("qk_nope_head_dim+qk_rope_head_dim", "qk_nope_head_dim+v_head_dim", "n_routed_experts//n_group"), "points": 4}
