"""What a model's code does only under gradient checkpointing, which the recorded forward runs without."""
import importlib
import inspect


def mark(family, graphs):
    """Marks results the code tells to require grad: `if self.gradient_checkpointing ...: position_bias.requires_grad = True`."""
    try:
        source = inspect.getsource(importlib.import_module(f"transformers.models.{family}.modeling_{family}"))
    except (ImportError, OSError):
        return graphs
    if "position_bias.requires_grad = True" not in source:
        return graphs
    for graph in graphs["graphs"]:
        for block in graph["blocks"]:
            for step in block["body"]:
                # one bias for every sentence: (1, heads, queries, keys)
                if step.get("op") == "zeros" and len(step["in"][0]) == 4 and step["in"][0][0] == 1:
                    step["checkpointgrad"] = True
    return graphs
