"""Draws sharded runs of any captured family, in any of its tasks: what its class names for FSDP decides the units."""

import random

from ...families.every_family import FAMILIES
from ...storing.stored import content_of
from ..drawn_runs import MEDIA, READ, model_of
from ..receipts import ROOT
from .options import OPTIMIZERS, WORLDS, usual

KINDS = ("fsdp1", "fsdp2")
MEASURES = (("seq", "S"), ("target_seq", "T"), ("image", "I"), ("audio", "A"))


def tasks_of(family):
    """Tasks of a family with the kinds of attention that its graphs are captured with."""
    graphs = content_of((ROOT / "models" / "graphs" / f"{family}.json").read_text())["graphs"]
    found = {}
    for graph in graphs:
        found.setdefault(graph["task"], []).append(graph["attention"])
    return found


def draw(kind, family, number):
    """The case of a family and a number: odd sizes, no adapter, no dropout."""
    r = random.Random(f"{kind}-{family}-{number}")
    tasks = tasks_of(family)
    task = r.choice(sorted(tasks))
    run = usual(r, OPTIMIZERS, (1, 1, 2))
    _, model, sizes = model_of(family, task, [], r, run["seq"])
    without_dropout(model)
    case = {"id": f"{kind}-{family}-{number}", "model": {"model_type": family, **model}, "task": task, **run}
    case["attn"] = r.choice(["eager" if attention == "none" else attention for attention in tasks[task]])
    case["gradient_checkpointing"] = False
    # Pictures and sound come in float32.
    if FAMILIES[family].inputs_follow and not case["bf16"]:
        case["load_dtype"] = "float32"
    if task in MEDIA:
        case.pop("seq")
        case |= {key: sizes[size] for key, size in MEASURES if size in sizes and size in READ[task]}
        case["batch"] = sizes["B"]
    case["ranks"] = {"kind": kind, "world": r.choice(WORLDS)}
    if kind == "fsdp1":
        case["ranks"]["strategy"] = r.choice(("FULL_SHARD", "SHARD_GRAD_OP"))
    return case


def without_dropout(config):
    """Rates of a config and of its sides are nought: masks of weights that are spread are not what is asked here."""
    for key, value in config.items():
        if isinstance(value, dict):
            without_dropout(value)
        elif isinstance(value, float) and ("drop" in key or "mask" in key and "prob" in key):
            config[key] = 0.0
