"""Plants failures in runs of the oracle: the stack, the request and the tensor at the moments where a smaller card would end.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.failures --oracle ORACLE.py --cases CASES.jsonl OUT.jsonl ID...

Of each case (a line with `case` and `result`) the allocations are kept at which what is alive first passes shares of the peak.
The stack is what a traceback would show: the main thread's, and behind it that of autograd's thread where one allocates. Frames of
PyTorch's own module calls are left out. `test/evidence/log/planted.jsonl` was made so.
"""

import argparse
import gc
import json
import linecache
import sys
import threading
from pathlib import Path

from .receipts import load

SHARES = (0.6, 0.8, 0.93, 0.999)
LEAST = 2 << 20
"""Smaller requests share segments; bytes."""
SKIPPED = (
    "_python_dispatch",
    "fake_tensor",
    "_pytree",
    "/failures.py",
    "_stats",
    "eval_frame",
    "_compile.py",
    "utils/_device",
    "modules/module.py",
)


def stack(frame):
    found = []
    while frame is not None:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found[::-1]


def frames(oracle_file):
    here = stack(sys._getframe())
    main = threading.main_thread().ident
    if threading.get_ident() != main:
        here = stack(sys._current_frames()[main]) + here
    shown = []
    for file, line, name in here:
        if file.startswith("<") or any(part in file for part in SKIPPED):
            continue
        code = linecache.getline(file, line).strip()[:120]
        if file == oracle_file:
            if name in ("__torch_dispatch__", "see", "<module>"):
                continue
            file = "/home/u/train.py"
        elif "site-packages" in file:
            file = "~/" + file.split("site-packages/", 1)[1]
        else:
            continue
        shown.append([file, line, name, code])
    return shown


def planting(oracle, modules):
    class Planting(oracle.Ledger):
        limits, got = [], []

        def see(self, tensor, operator):
            count, before = self.n, self.live
            super().see(tensor, operator)
            if self.n == count or not self.limits or self.phase in ("load", "optimizer-init"):
                return
            size = self.size[count]
            if before + size <= self.limits[0] or size < LEAST:
                return
            while self.limits and before + size > self.limits[0]:
                self.limits.pop(0)
            name = operator.split("::")[-1]
            truth = {
                "op": name.split(".")[1] if "." in name else name,
                "module": modules[-1] if modules else "",
                "phase": self.phase.rstrip("12"),
            }
            self.got.append({"bytes": size, "alive": before, "truth": truth, "frames": frames(oracle.__file__)})

    return Planting


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("out", type=Path)
    parser.add_argument("ids", nargs="+")
    args = parser.parse_args()
    oracle = load(args.oracle)
    names, modules = {}, []
    hooks = oracle.torch.nn.modules.module
    hooks.register_module_forward_pre_hook(lambda module, _: modules.append(names.get(id(module), type(module).__name__)))
    hooks.register_module_forward_hook(lambda *_: modules and modules.pop() and None, always_call=True)
    inputs_for = oracle.inputs_for

    def named(case, config):
        for thing in gc.get_objects():
            if isinstance(thing, oracle.torch.nn.Module):
                for name, module in thing.named_modules():
                    if len(name) > len(names.get(id(module), "")):
                        names[id(module)] = name
        return inputs_for(case, config)

    oracle.inputs_for = named
    oracle.Ledger = planted = planting(oracle, modules)
    with args.out.open("w") as out:
        for line in args.cases.read_text().splitlines():
            row = json.loads(line)
            if row["case"]["id"].split("-")[0] not in args.ids or "error" in row["result"]:
                continue
            planted.limits, planted.got = [row["result"]["peak_allocated"] * share for share in SHARES], []
            names.clear()
            modules.clear()
            oracle.run(row["case"])
            for one in planted.got:
                out.write(json.dumps({"case": row["case"], **one}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
