"""Where the engine's event stream parts from PyTorch's: the first allocation of a receipt's steps that is not the same in both.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.parting --oracle ORACLE.py FILE [ID]

FILE is one of `test/core/receipts`; without ID the first of its receipts whose streams part is told. Both streams are read allocation by
allocation: its size, and what is alive before it. On PyTorch's side the line of library code that asked for it is told, on the engine's
the module, on both the operator.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from .receipts import load

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
AROUND = 3
"""Allocations told before and behind the first that differs."""
STEPS = ("data", "forward", "backward", "clip", "step", "zero")


def place(own):
    """The innermost line of a library, of PyTorch only its modules and optimizers; empty for what autograd calls by itself."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        inside = "/torch/" in file and not re.search("/torch/(nn|optim)/", file)
        if not inside and file not in own and not file.startswith("<") and "/site-packages/" in file:
            return f"{'/'.join(file.split('/')[-3:])}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def of_pytorch(oracle, case):
    """Events of the steps as `(bytes, operator, place, phase)`, what is freed with negative bytes."""
    made, own = [], (__file__, oracle.__file__)

    class Ledger(oracle.Ledger):
        def see(self, t, op):
            known = self.n
            super().see(t, op)
            if self.n > known:
                made.append(place(own))

    taken, oracle.Ledger = oracle.Ledger, Ledger
    try:
        events = oracle.run(case, keep_events=True)["events"]
    finally:
        oracle.Ledger = taken
    found, sizes, phase = [], {}, ""
    for event in events:
        if event[0] == "a":
            _, number, size, operator, phase = event
            sizes[number] = (size, operator.removeprefix("aten."), made[number])
            found.append((size, *sizes[number][1:], phase))
        else:
            size, operator, where = sizes[event[1]]
            found.append((-size, operator, where, phase))
    first = next(k for k, event in enumerate(found) if event[3].startswith(STEPS))
    return found[first:]


def of_engine(case):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(case, file)
        file.flush()
        command = ["node", "--import", "tsx", "bench/events.ts", file.name]
        out = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [tuple(json.loads(line)) for line in out.splitlines()]


def allocations(events):
    """`(size, alive before it, operator, place, phase)`; alive counts from the steps' begin."""
    alive, found = 0, []
    for size, operator, where, phase in events:
        if size > 0:
            found.append((size, alive, operator, where, phase))
        alive += size
    return found


def partings(theirs, ours):
    """Where runs of allocations begin that are not the same, and how long each is."""
    found, length = [], max(len(theirs), len(ours))
    same = [a[:2] == b[:2] for a, b in zip(theirs, ours)] + [False] * abs(len(theirs) - len(ours))
    for k in range(length):
        if not same[k]:
            if k and not same[k - 1]:
                found[-1][1] += 1
            else:
                found.append([k, 1])
    return found


def told(name, found, at):
    print(f"  {name}:")
    for k in range(max(0, at - AROUND), min(len(found), at + AROUND + 1)):
        size, alive, operator, where, phase = found[k]
        print(f"  {'>' if k == at else ' '} {k:6d} {phase:10s} {size:12,d} over {alive:14,d}  {operator}  {where}")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--oracle", required=True)
    arguments.add_argument("file", type=pathlib.Path)
    arguments.add_argument("id", nargs="?")
    args = arguments.parse_args()
    oracle = load(args.oracle)
    for row in map(json.loads, args.file.read_text().splitlines()):
        case = row["case"]
        if args.id not in (None, case["id"]):
            continue
        theirs, ours = allocations(of_pytorch(oracle, case)), allocations(of_engine(case))
        found = partings(theirs, ours)
        peaks = [max(size + alive for size, alive, *_ in stream) for stream in (theirs, ours)]
        same = (
            f"{len(theirs)} allocations of PyTorch's, {len(ours)} of the engine's, highest {peaks[0]:,d} and {peaks[1]:,d} B over the load"
        )
        print(f"{case['id']}: {f'parts {len(found)} times' if found else 'the same'} ({same})")
        if found:
            at, count = found[0]
            print(
                f"  first for {count} allocations, together again behind" if len(found) > 1 or at + count < len(theirs) else "  to the end"
            )
            told("PyTorch", theirs, at)
            told("engine", ours, at)
            break


if __name__ == "__main__":
    main()
