"""Stages that checkpointing recomputes whole, of which the recorder sees the layers alone, and layers that stand each for itself: graphs name
them (`stages`)."""

import re

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ..families.every_family import FAMILIES
from . import environment, host_reads, picture_loops, pictures
from .checkpointing import noting
from .releases import VERSION, handed, made_in
from .run import batch_for, make_config, to_device

_NUMBER = re.compile(r"\.(?:\d+|\{\w+\})(?=\.|$)")


def spelled(path):
    """A path with every number in it alike."""
    return _NUMBER.sub(".*", path)


def recomputed(name, task, kind, settings, sizes):
    """Paths of the modules that PyTorch's checkpointing is given in one forward of a model, in order; none: the model refuses it."""
    noted = set()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        config = make_config(name, settings)
        environment.uncached(config)
        with torch.device("cuda"):
            model = environment.class_for(task, config).from_config(
                config, **made_in(torch.float32), **environment.implementation(name, kind)
            )
        if not model.supports_gradient_checkpointing:
            return []
        to_device(model)
        model.train()
        if VERSION >= (5, 0):
            pictures.install()
        picture_loops.state(model)
        host_reads.settle(model)
        batch = handed(model, batch_for(task, sizes, config))
        with noting(model, noted):
            model.gradient_checkpointing_enable()
            model(**batch, **environment.asked(task))
    return [path for path, module in model.named_modules() if module in noted]


def marked(graph):
    """Paths of the modules whose functions a graph has recomputed, with `{i}` for their numbers."""
    found = {*graph.get("units", ()), *graph.get("stages", ())}
    for step in (step for function in (graph["main"], *graph["blocks"]) for step in function["body"]):
        uses = step["repeat"]["bodies"] if "repeat" in step else [step] if "block" in step else []
        if uses and (step.get("repeat") or step)["checkpoint"]:
            found |= {path for use in uses if (path := _module(graph["blocks"][use["block"]]))}
    return found


def _module(block):
    """The module that a function is, down to its number."""
    paths = (path for step in block["body"] for path in (step.get("scope"), step.get("path"), *map(str, step.get("in", ()))) if path)
    return next((path[: path.index("{i}") + 3].lstrip("@") for path in paths if "{i}" in path), None)


def name_stages(name, content):
    """Names in each graph the recomputed modules that it does not mark."""
    from .graphs import point

    family = FAMILIES[name]
    for task in dict.fromkeys(graph["task"] for graph in content["graphs"]):
        settings, sizes = point(family, task, [axis[0] for axis in family.axes], 0)
        paths = recomputed(name, task, family.attention[0], settings, sizes)
        for graph in (g for g in content["graphs"] if g["task"] == task):
            known = {spelled(path) for path in marked({**graph, "stages": []})}
            stages = [path for path in paths if spelled(path) not in known and re.search(r"\.\d+$", path)]
            if stages:
                graph["stages"] = stages
    return content
