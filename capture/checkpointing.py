"""What a model's code does only under gradient checkpointing, which the recorded forward runs without."""
import importlib
import inspect


def mark(family, graphs):
    """Marks what the recorded calls do not tell of the code under checkpointing."""
    try:
        source = inspect.getsource(importlib.import_module(f"transformers.models.{family.removesuffix('_text')}.modeling_{family.removesuffix('_text')}"))
    except (ImportError, OSError):
        return graphs
    for graph in graphs["graphs"]:
        if "position_bias.requires_grad = True" in source:
            tell(graph)
        if "shared_kv_states[self.layer_type] = key_states, value_states" in source:
            store(graph)
    return graphs


def tell(graph):
    """Results told to require grad: `if self.gradient_checkpointing ...: position_bias.requires_grad = True`."""
    for block in graph["blocks"]:
        for step in block["body"]:
            # one bias for every sentence: (1, heads, queries, keys)
            if step.get("op") == "zeros" and len(step["in"][0]) == 4 and step["in"][0][0] == 1:
                step["checkpointgrad"] = True


def store(graph):
    """Keys and values that a layer puts into a dictionary that every layer is given: all it hands out beside its states."""
    for block in graph["blocks"]:
        names = block["outputs"][1:]
        if len(names) != 2 or any("store" in step for step in block["body"]):  # keys and values
            continue
        made = [k for k, step in enumerate(block["body"]) if set(step.get("out", ())) & set(names)]
        block["body"].insert(made[-1] + 1, {"store": [f"%{name}" for name in names]})
