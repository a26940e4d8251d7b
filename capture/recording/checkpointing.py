"""What a model's code does only under gradient checkpointing, which the recorded forward runs without."""

import contextlib
import copy
import importlib
import inspect
import re
import sys

from torch.utils import checkpoint


@contextlib.contextmanager
def noting(model, units):
    """Notes the modules that `torch.utils.checkpoint.checkpoint` is given, which calls its function plainly meanwhile."""
    within, kept = [], checkpoint.checkpoint
    places = [m for m in (checkpoint, sys.modules.get("transformers.modeling_utils")) if getattr(m, "checkpoint", None) is kept]

    def plainly(function, *args, use_reentrant=None, preserve_rng_state=True, **kwargs):
        within.append(None)
        try:
            return function(*args, **kwargs)
        finally:
            within.pop()

    def enter(module, _):
        if within and within[-1] is None:
            within[-1] = module
            units.add(module)

    hooks = [m.register_forward_pre_hook(enter) for m in model.modules()]
    for place in places:
        place.checkpoint = plainly
    try:
        yield
    finally:
        for place in places:
            place.checkpoint = kept
        for hook in hooks:
            hook.remove()


def mark(family, graphs):
    """Marks what the recorded calls do not tell of the code under checkpointing."""
    for graph in graphs["graphs"]:
        sides = re.findall(r"\.model_type == '([\w-]+)'", " ".join(graph["when"]))  # families that run inside this one
        code = "".join(source(name) for name in dict.fromkeys((family, *sides)))
        if "position_bias.requires_grad = True" in code:
            tell(graph)
        if re.search(r"shared_kv_states\[self\.layer_(type|idx)\] = key_states, value_states", code):
            store(graph)
    return graphs


def source(family):
    """The code of a family's models."""
    name = family.removesuffix("_text")
    try:
        return inspect.getsource(importlib.import_module(f"transformers.models.{name}.modeling_{name}"))
    except (ImportError, OSError):
        return ""


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
    part(graph)


def part(graph):
    """Gives each place that stores a block of its own, by which what it stores is told from what others do."""
    seen = set()
    for step in graph["main"]["body"]:
        for use in (step.get("repeat") or {}).get("bodies", [step] if "block" in step else []):
            block = graph["blocks"][use["block"]]
            if not any("store" in inner for inner in block["body"]):
                continue
            if use["block"] in seen:
                use["block"] = len(graph["blocks"])
                graph["blocks"].append(copy.deepcopy(block))
            seen.add(use["block"])
