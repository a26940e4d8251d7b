"""Files of receipts that are drawn by number: what is there is kept, what cannot be made is told and left out."""

import argparse
import gc
import json
import pathlib
import random

from .receipts import load
from .rows import rows_of


def arguments(file):
    """The options that every script of drawn receipts takes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", default="receipts")
    parser.add_argument("--out", type=pathlib.Path, default=file)
    return parser


def add(args, draw, peak):
    """Adds the receipts of numbers that are not there yet.

    `draw(random)` gives what a run is and its config as text, `peak(oracle, run)` what the oracle says of it.
    """
    oracle = load(args.oracle)
    rows = rows_of(args.out)
    known = {row["id"] for row in rows}
    for identity in (f"{args.seed} {k}" for k in range(args.count)):
        if identity in known:
            continue
        run, text = draw(random.Random(identity))
        try:
            found = peak(oracle, run)
        except Exception as error:
            print(f"{identity}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        finally:
            gc.collect()
        rows.append({"id": identity, "config": text, "allocated": found["peak_allocated"]})
        print(identity, found["peak_allocated"], found["peak_phase"], flush=True)
        args.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
