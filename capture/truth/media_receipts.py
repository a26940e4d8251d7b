"""Receipts of models of pictures and sound, for which the oracle has no batch: `test/core/media/<family>.jsonl`.

The cases are those of `verify.py`, some with a part of the model left untrained as LLaMA-Factory and ms-swift do it; the
truth is `truth.py`'s. Cases already there are kept.
"""

import itertools
import json
import pathlib
import random
import sys

from ..families.every_family import FAMILIES
from ..storing.stored import content_of
from .storages import peak
from .verify import cases
from .rows import drawn_in

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "test" / "core" / "media"


def drawn(name, per, seed):
    """Cases of a family, every other of those that read pictures and text with its picture side untrained."""
    graphs = content_of((ROOT / "models" / "graphs" / f"{name}.json").read_text())
    tasks = {task for task in FAMILIES[name].tasks if task not in ("image-cls",)}
    graphs["graphs"] = [g for g in graphs["graphs"] if g["task"] in tasks]
    r = random.Random(f"{name}{seed}")
    experts = "_grouped_mm" in json.dumps(graphs["graphs"][0]["blocks"])
    if experts:  # `cases` rounds the sizes of models of text alone
        graphs["graphs"] = [{**graphs["graphs"][0], "blocks": []}, *graphs["graphs"]]
    for number, case in enumerate(cases(name, graphs, per, seed)):
        if experts:  # the fake device multiplies groups only in bfloat16 and for rows of whole 16 bytes
            text = case["model"]["text_config"]
            text["moe_intermediate_size"] = -(-text["moe_intermediate_size"] // 8) * 8
            case |= {"dtype": "bfloat16", "amp": None}
        if case["task"] == "image-text-to-text" and number % 2 == 1 and "lora" not in case:
            case["frozen"] = r.choice((["vision"], ["vision", "projector"], ["language"]))
        yield case


def under_checkpointing(name, per):
    """Cases of a family of pictures, all of them under checkpointing and every third of the reentrant kind."""
    graphs = content_of((ROOT / "models" / "graphs" / f"{name}.json").read_text())
    for number, case in enumerate(itertools.islice(cases(name, graphs, 4, "stages"), per)):
        kind = {"use_reentrant": True} if number % 3 == 2 else {}
        yield {**case, "checkpointing": True, "id": f"{name}-recomputed-{number}", **kind}


def receipts(names, per, seed, recomputed=False):
    for name in names:
        file = FOLDER / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        have = drawn_in(file)
        for case in under_checkpointing(name, per) if recomputed else drawn(name, per, seed):
            if case["id"] in have:
                continue
            try:
                truth = peak(case)
            except Exception as error:  # what PyTorch refuses is no case
                print(f"{case['id']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
                continue
            with file.open("a") as out:
                out.write(json.dumps({"case": case, "truth": truth}, separators=(",", ":")) + "\n")
        print(f"{name}: done", flush=True)
