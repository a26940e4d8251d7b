"""Makes receipts of sharded runs: drawn models and options, run by the libraries on fake CUDA tensors of one rank.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.ranks --oracle ORACLE.py [--kind fsdp2 fsdp1 blocks] [--count N] [--first N] [--family NAME ...]

`--family` draws those of any family and task (`family_draws.py`), to `fsdp1-families.jsonl` and `fsdp2-families.jsonl`. Receipts go to `test/core/receipts/ranks/<kind>.jsonl`, one a line; numbers already there are kept.
"""

import argparse
import json
import pathlib
import sys
import time

from ..receipts import ROOT, alone, load
from . import copies, family_draws, group, saving
from ..rows import drawn_in
from ..witness import loaded, with_positions, with_tasks
from .draws import EVERY, draw
from .steps import run, run_stage

KEPT = ("peak_allocated", "peak_reserved", "peak_phase", "phase_peaks")


def receipt(oracle, case, out):
    begun = time.time()
    try:
        result, _ = (run_stage if case["ranks"]["kind"] == "pipeline" else run)(oracle, case)
        row = {"case": case, "result": {key: result[key] for key in KEPT}}
    except Exception as error:  # what the libraries refuse is told, never dropped
        row = {"case": case, "error": f"{type(error).__name__}: {str(error)[:300]}"}
    print(case["id"], row.get("error") or row["result"]["peak_allocated"], f"{time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    if "result" in row:
        with open(out, "a") as file:
            file.write(json.dumps(row) + "\n")


def of_kinds(args):
    """Cases of every kind that is asked for, with the file they go to."""
    for kind in args.kind:
        for number in range(args.first, args.first + args.count):
            yield args.out / f"{kind}.jsonl", draw(kind, number)


def of_families(args):
    """Cases of every family that is asked for, under each kind of FSDP."""
    for family in args.family:
        for kind in (kind for kind in family_draws.KINDS if kind in args.kind):
            for number in range(args.first, args.first + args.count):
                yield args.out / f"{kind}-families.jsonl", family_draws.draw(kind, family, number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--kind", nargs="+", default=EVERY, choices=EVERY)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--family", nargs="+", default=[])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "test" / "core" / "receipts" / "ranks")
    args = parser.parse_args()
    oracle = loaded(args.oracle) if args.family else load(args.oracle)
    if args.family:
        with_positions(oracle)
        with_tasks(oracle)
    group.prepare(oracle)
    saving.prepare()
    copies.counting_on_host(oracle)
    import torch

    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for out, case in of_families(args) if args.family else of_kinds(args):
        if case["id"] not in drawn_in(out):
            alone(lambda: receipt(oracle, case, out))


if __name__ == "__main__":
    main()
