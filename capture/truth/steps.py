"""What a training step of each family's models keeps and peaks at, on the release of transformers that is imported: two releases whose
figures are the same have the same code, as far as memory goes (`storing/earlier.py`, `found_alike`)."""

import gc
import itertools
import json

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from vram_lens.running import ledger
from vram_lens.running.kernels import attention, one_hot

from ..families.every_family import FAMILIES
from ..recording import environment, host_reads, picture_loops, pictures
from ..recording.graphs import point
from ..recording.releases import VERSION, handed, has, made_in
from ..recording.run import batch_for, make_config, to_device
from .storages import Ledger

TASKS = ("causal-lm", "seq-cls", "token-cls", "masked-lm", "qa", "seq2seq-lm", "image-cls")
WAYS = ((torch.float32, torch.bfloat16, False), (torch.bfloat16, None, True), (torch.float32, torch.float16, False))
"""Weights, autocast, checkpointing; branches take turns at them."""
BRANCHES = 4
"""Branches of a family's code that are run, the first and the last of them always."""


def step(family, settings, sizes, task, kind, way):
    """Bytes that are there after forward, the most there were in it, and the most of the whole step."""
    dtype, autocast, recomputed = way
    F.scaled_dot_product_attention, F.one_hot, apply = attention, one_hot, torch.nn.Module._apply
    torch.nn.Module._apply = ledger.replace_parameters
    alive = Ledger()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), alive:
            config = make_config(family, settings)
            environment.uncached(config)
            with torch.device("cuda"):
                model = environment.class_for(task, config).from_config(
                    config, **made_in(dtype), **environment.implementation(family, kind)
                )
            to_device(model)
            model.train()
            if recomputed:
                model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            if VERSION >= (5, 0):
                pictures.install()
            picture_loops.state(model)
            host_reads.settle(model)
            gc.collect()
            follows = FAMILIES[family].follows(settings) and autocast is None
            batch = handed(model, batch_for(task, sizes, config, dtype if follows else torch.float32))
            alive.start()
            with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None):
                out = model(**batch, **environment.asked(task))
            loss, forward = out["loss"], alive.peak
            del out, batch
            kept = alive.live
            loss.float().backward()
            return kept, forward, alive.peak
    finally:
        torch.nn.Module._apply = apply
        gc.collect()


def branches(family):
    """Some of the combinations of a family's branches."""
    every = list(itertools.product(*family.axes))
    if len(every) <= BRANCHES:
        return every
    return [every[round(k * (len(every) - 1) / (BRANCHES - 1))] for k in range(BRANCHES)]


def cases(name):
    """What is run of a family: task, kind of attention, settings and sizes, way."""
    family = FAMILIES[name]
    for task in (t for t in TASKS if t in family.tasks):
        for kind in family.attention:
            every = branches(family)
            for number in range(max(len(every), len(WAYS))):
                settings, sizes = point(family, task, every[number % len(every)], number)
                yield task, kind, settings, sizes, WAYS[number % len(WAYS)]


def drawn(names):
    """What is run of the families that the release has."""
    for name in names:
        if has(f"models.{name.replace('-', '_')}"):
            yield name, list(cases(name))


def told(file):
    """What another release ran: the newest one reads the keys of earlier ones, not the other way round."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for name in dict.fromkeys(row["family"] for row in rows):
        yield (
            name,
            [
                (row["task"], row["attention"], settings, sizes, WAYS[way])
                for row in rows
                if row["family"] == name
                for settings, sizes, way in row["runs"]
            ],
        )


def write(families, out):
    """A line for each task and kind of attention: what was run, and its figures or why there are none."""
    release = ".".join(map(str, VERSION))
    for name, every in families:
        found = {}
        for task, kind, settings, sizes, way in every:
            try:
                figures = step(name, settings, sizes, task, kind, way)
            except Exception as error:
                figures = f"{type(error).__name__}: {str(error)[:80]}"
            runs, answers = found.setdefault((task, kind), ([], []))
            runs.append((settings, sizes, WAYS.index(way)))
            answers.append(figures)
        with out.open("a") as lines:
            for (task, kind), (runs, answers) in found.items():
                row = {"family": name, "release": release, "task": task, "attention": kind, "runs": runs, "bytes": answers}
                lines.write(json.dumps(row, separators=(",", ":")) + "\n")
        print(name, len(found), sum(isinstance(a, str) for _, answers in found.values() for a in answers), flush=True)
