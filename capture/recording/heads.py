"""Norms of every head by itself: a list of modules as long as there are heads (StableLM 2 12B), which no drawn capture has alike.

The recorded forward runs without them; the operator that stands for them does nothing where the config leaves them out.
"""

WIDTH = "hidden_size//num_attention_heads"
NORMED = {"q_layernorm": "num_attention_heads", "k_layernorm": "num_key_value_heads"}
"""Modules by attribute, with how many heads they have, in the order of their calls (transformers/models/stablelm/modeling_stablelm.py)."""
OPERATOR = "layer_norm_by_head"


def normed(family, content):
    """The graphs with `query_states = self.q_layernorm(query_states)` and its twin after the heads are there."""
    if family != "stablelm":
        return content
    for graph in content["graphs"]:
        for block in graph["blocks"]:
            turned = [k for k, step in enumerate(block["body"]) if step.get("op") == "transpose.int" and step["in"][1:] == [1, 2]][:3]
            names = [block["body"][k]["out"][0] for k in turned[:2]]
            after = [
                {"op": OPERATOR, "in": [f"%{name}", f"@model.layers.{{i}}.self_attn.{module}.norms.{{h}}.weight"], "out": [name]}
                for name, module in zip(names, NORMED)
            ]
            if not any(step.get("op") == OPERATOR for step in block["body"]):
                block["body"][turned[2] + 1 : turned[2] + 1] = after
        if any("{h}" in spec["name"] for spec in graph["parameters"]):
            continue
        last = max(k for k, spec in enumerate(graph["parameters"]) if ".self_attn." in spec["name"])
        layers = graph["parameters"][last]["layers"]
        graph["parameters"][last + 1 : last + 1] = [
            {
                "name": f"model.layers.{{i}}.self_attn.{module}.norms.{{h}}.weight",
                "shape": [WIDTH],
                "layers": layers,
                "count": heads,
                "when": "qk_layernorm",
                "module": "LayerNorm",
            }
            for module, heads in NORMED.items()
        ]
    return content
