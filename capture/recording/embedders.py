"""Marks what a model's code tells to require grad where its adapters are trained under checkpointing: the results of the modules that
embed its inputs (transformers/modeling_utils.py, `PreTrainedModel.enable_input_require_grads`)."""

import contextlib
import itertools

from . import environment  # noqa: F401  (before torch and transformers)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import PreTrainedModel

from .environment import class_for, implementation
from ..families.every_family import FAMILIES
from .graphs import ALONE, point
from .releases import made_in
from .run import make_config


def mark(name, content):
    """The content with `inputgrad` on what embeds, and on nothing else."""
    known = {}
    for graph in content["graphs"]:
        options = branch(name, graph)
        key = graph["task"], graph["attention"], tuple(map(id, options))
        if key not in known:
            known[key] = paths(name, graph["task"], graph["attention"], options)
        tell(graph["main"]["body"], known[key])
    return content


def branch(name, graph):
    """Options of the family's branches that the graph was captured of."""
    axes = [*FAMILIES[name].axes, *([(ALONE,)] if ALONE.when in graph["when"] else [])]
    for options in itertools.product(*axes):
        if all(
            any(o.when and (f"({o.when})" in when or when in (o.when, *o.when.split(" and "))) for o in options) for when in graph["when"]
        ):
            return options
    raise ValueError(f"{graph['task']}: no branch says {graph['when']}")


def paths(name, task, attention, options):
    """Every path of the modules that embed the inputs of one config's model."""
    settings, _ = point(FAMILIES[name], task, options, 0)
    with FakeTensorMode(allow_non_fake_inputs=True):
        config = make_config(name, settings)
        with torch.device("cuda"):
            model = class_for(task, config).from_config(config, **made_in(torch.bfloat16), **implementation(name, attention))
        found = set()
        for module in model.modules():
            if isinstance(module, PreTrainedModel):
                with contextlib.suppress(NotImplementedError, AttributeError):
                    found.add(id(module.get_input_embeddings()))
        return [path for path, module in model.named_modules(remove_duplicate=False) if id(module) in found]


def tell(body, embedders):
    """Marks the last result of each of the modules."""
    inside = lambda path: any(path == one or path.startswith(f"{one}.") for one in embedders)
    scope, last = "", None
    for item in [*body, None]:
        if item is not None and "drop" in item:
            continue
        if item is not None and "scope" in item:
            scope = item["scope"]
            continue
        made = item is not None and ("call" in item or "op" in item)
        if made:
            item.pop("inputgrad", None)
        own = made and inside(item["path"] if "call" in item else scope)
        whole = last is not None and "call" in last and last["path"] in embedders  # one leaf after another
        if last is not None and (not own or whole):
            last["inputgrad"] = True
        last = item if own else None
