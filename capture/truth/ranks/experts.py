"""Sizes of models with routed experts. Grouped products ask for rows of 16 bytes: widths are multiples of eight, in 16 bits."""

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")


def _routed(r, few, chosen):
    return {
        "hidden_size": 64 * r.randint(1, 4),
        "num_hidden_layers": r.choice((2, 3, 5)),
        "num_attention_heads": 8,
        "num_key_value_heads": r.choice((2, 4, 8)),
        "vocab_size": 8 * r.randint(60, 800),
        "num_experts_per_tok": r.choice(chosen),
        few: r.choice((4, 8, 16)),
    }


def mixtral(r):
    return {**_routed(r, "num_local_experts", (2,)), "intermediate_size": 16 * r.randint(4, 20)}


def qwen3_moe(r):
    own = {"head_dim": 32, "intermediate_size": 256, "moe_intermediate_size": 16 * r.randint(2, 10)}
    return {**_routed(r, "num_experts", (2, 4)), **own}


def olmoe(r):
    return {**_routed(r, "num_experts", (2, 4)), "intermediate_size": 16 * r.randint(2, 10)}


EXPERTS = {"mixtral": mixtral, "qwen3_moe": qwen3_moe, "olmoe": olmoe}
