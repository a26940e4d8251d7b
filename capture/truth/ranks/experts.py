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


def sized(r, model, degree):
    """The model with sizes that a plan of so many GPUs divides: experts and their widths, heads and what is between the matrices."""
    model.update(num_key_value_heads=degree * r.choice((1, 2)), vocab_size=degree * 8 * r.randint(20, 200))
    model["num_attention_heads"] = model["num_key_value_heads"] * r.choice((1, 2))
    model["hidden_size"] = model["num_attention_heads"] * 16
    if "head_dim" in model:
        model["head_dim"] = 16
    for width in ("intermediate_size", "moe_intermediate_size"):
        if width in model:
            model[width] = 8 * degree * r.randint(2, 12)
    for count in ("num_local_experts", "num_experts"):
        if count in model:
            model[count] = degree * r.choice((1, 2, 4, 8))
            model["num_experts_per_tok"] = min(model["num_experts_per_tok"], model[count])
    return model
