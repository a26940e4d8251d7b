"""Scripts that run out of memory: each is run by `vram_lens check` on a card that is too small for it, until the allocator has no room.

usage: python -m capture.truth.ran_out --scripts FILE.jsonl ... --catalogue FILE --out FOLDER [--count N] [--only ID ...] [--rows FILE]

Rows of FILE have `id` and `script`, those of `capture/ran-out.jsonl` also `ranks`, `files` (what stands beside it) or `steps`. Of each file
`--count` rows are drawn. A script runs twice: the first run tells what the pool reserves at most, the second has a card of a share of that,
drawn by its id, and ends in `torch.OutOfMemoryError` with the figures of the pool where the driver would refuse. OUT/ID has the script,
`run.log` (what a person would see) and `truth.json`: phase, module, operator and bytes of the tensor that found no room. `--rows` writes all
that OUT has for `test/evidence/log/ran-out.test.ts`, tracebacks without the frames of `torch/nn/modules/module.py`.

Frames of what makes tensors without values are left out of the traceback, as a card has none.
"""

import argparse
import bisect
import json
import os
import pathlib
import random
import sys
import traceback
import types

from .own_models import ROOT, Quiet, in_fork

MIB, GIB = 2**20, 2**30
CONTEXT = 512 * MIB
"""What a process has of the card beside its tensors."""
OURS = ("/vram_lens/", "/capture/", "/_subclasses/", "_python_dispatch.py", "/torch/_ops.py", "/_meta_registrations.py", "/_decomp/")
OURS += ("/_prims", "/_refs/", "/torch/utils/_stats.py", "/_library/", "/torch/_prims_common", "/torch/_compile.py", "/_dynamo/")


class Full(Exception):
    """No room for a segment of so many bytes (`args[0]`)."""


class Pool:
    """The caching allocator of one stream (c10/cuda/CUDACachingAllocator.cpp): blocks of segments, best fit, split, joined again."""

    def __init__(self, room):
        self.room, self.reserved, self.peak, self.used = room, 0, 0, 0
        self.idle = {True: [], False: []}  # (bytes, number) of blocks that nobody has, by whether they are small
        self.blocks, self.at, self.count = {}, {}, 0  # number: [bytes, before, after, small, free]

    def _new(self, size, before, after, small):
        self.count += 1
        self.blocks[self.count] = [size, before, after, small, False]
        return self.count

    def _free(self, number):
        block = self.blocks[number]
        block[4] = True
        bisect.insort(self.idle[block[3]], (block[0], number))

    def _take(self, number):
        block = self.blocks[number]
        block[4] = False
        idle = self.idle[block[3]]
        del idle[bisect.bisect_left(idle, (block[0], number))]

    def made(self, name, size):
        small = size <= MIB
        segment = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        idle = self.idle[small]
        k = bisect.bisect_left(idle, (size, 0))
        if k < len(idle):
            number = idle[k][1]
            self._take(number)
        else:
            if self.reserved + segment > self.room:
                self._emptied()
            if self.reserved + segment > self.room:
                raise Full(segment)
            self.reserved += segment
            self.peak = max(self.peak, self.reserved)
            number = self._new(segment, None, None, small)
        block = self.blocks[number]
        rest = block[0] - size
        if rest >= (512 if small else MIB + 1):
            tail = self._new(rest, number, block[2], small)
            if block[2] is not None:
                self.blocks[block[2]][1] = tail
            block[0], block[2] = size, tail
            self._free(tail)
        self.at[name] = number
        self.used += block[0]

    def freed(self, name):
        number = self.at.pop(name)
        block = self.blocks[number]
        self.used -= block[0]
        for other, side in ((block[1], 1), (block[2], 2)):
            if other is not None and self.blocks[other][4]:
                self._take(other)
                gone = self.blocks.pop(other)
                block[0] += gone[0]
                block[side] = gone[side]
                if gone[side] is not None:
                    self.blocks[gone[side]][3 - side] = number
        self._free(number)

    def _emptied(self):
        """Segments that nobody has a block of go back to the driver."""
        for number in [n for n, b in self.blocks.items() if b[4] and b[1] is None and b[2] is None]:
            self._take(number)
            self.reserved -= self.blocks.pop(number)[0]


def printed(size):
    """As the allocator prints sizes (c10/core/Allocator.cpp, `format_size`)."""
    return f"{size / GIB:.2f} GiB" if size > GIB else f"{size / MIB:.2f} MiB" if size > MIB else f"{size / 1024:.2f} KiB"


def message(segment, pool, release):
    """PyTorch's message in the wording of a release."""
    total, free = pool.room + CONTEXT, pool.room - pool.reserved
    asked, idle = f"CUDA out of memory. Tried to allocate {printed(segment)}", pool.reserved - pool.used
    if release == "2.0":
        return (
            f"{asked} (GPU 0; {printed(total)} total capacity; {printed(pool.used)} already allocated; {printed(free)} free; "
            f"{printed(pool.reserved)} reserved in total by PyTorch)"
        )
    capacity = "capacty" if release == "2.1" else "capacity"
    return (
        f"{asked}. GPU 0 has a total {capacity} of {printed(total)} of which {printed(free)} is free. Including non-PyTorch memory, this "
        f"process has {printed(pool.reserved + CONTEXT)} memory in use. Of the allocated memory {printed(pool.used)} is allocated by "
        f"PyTorch, and {printed(idle)} is reserved by PyTorch but unallocated."
    )


RELEASES = {"2.0": "torch.cuda.OutOfMemoryError", "2.1": "torch.cuda.OutOfMemoryError", "2.5": "torch.OutOfMemoryError"}


def limited(room, release, found):
    """The device of a check, with a pool of so much room."""
    import torch
    from vram_lens.running import device

    class Limited(device.Device):
        def __init__(self, *given, **more):
            super().__init__(*given, **more)
            self.pool = found["pool"] = Pool(room)

        def _block(self, size, operator):
            rounded = -(-size // 512) * 512
            try:
                self.pool.made(self.count, rounded)
            except Full as full:
                phase, module, file, line = self.where()
                found["truth"] = {"phase": phase, "module": module, "op": operator, "bytes": rounded, "alive": self.live}
                raise torch.OutOfMemoryError(message(full.args[0], self.pool, release)) from None
            return super()._block(size, operator)

        def _freed(self, followed):
            if followed is not None and followed.block is not None:
                self.pool.freed(followed.block[0])
            super()._freed(followed)

    return Limited


def shown(error, folder, release):
    """The traceback as a person sees it."""
    lines = ["Traceback (most recent call last):"]
    for one in traceback.extract_tb(error.__traceback__):
        name = one.filename
        if name.startswith("<") or any(part in name for part in OURS):
            continue
        if "site-packages/" in name:
            name = "/opt/env/lib/python3.11/site-packages/" + name.split("site-packages/", 1)[1]
        elif name.startswith(str(folder)):
            name = "/home/u/run" + name[len(str(folder)) :]
        lines += [f'  File "{name}", line {one.lineno}, in {one.name}', f"    {one.line}"]
    return "\n".join([*lines, f"{RELEASES[release]}: {error}", ""])


def ran(row, folder, room, release, catalogue, log):
    """Runs the script with so much room; what is known of it."""
    from vram_lens import commands
    from vram_lens.running import device

    os.chdir(folder)
    os.environ["VRAM_LENS_TRACEBACK"] = "1"
    told = open(log, "w")
    os.dup2(told.fileno(), 1)
    os.dup2(told.fileno(), 2)
    found = {}
    device.Device = limited(room, release, found)
    given = {"card": "80GB", "steps": row.get("steps", 2), "rows": 64, "words": 2048, "catalogue": catalogue, "events": ""}
    given |= {"ranks": row.get("ranks", 1), "accelerate": row.get("accelerate", "")}
    try:
        commands.check(types.SimpleNamespace(script="train.py", arguments=row.get("arguments", []), **given), Quiet())
    except BaseException as error:
        if "truth" not in found:
            raise
        while error.__cause__ is not None and "out of memory" not in str(error):
            error = error.__cause__
        sys.stdout.flush()
        told.write("\n" + shown(error, folder, release))
        told.flush()
    return json.dumps({"reserved": found["pool"].peak, "truth": found.get("truth")})


def one(row, folder, catalogue):
    """The two runs of a script."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"train.py": row["script"], **row.get("files", {})}.items():
        (folder / name).write_text(text)
    good, text = in_fork(lambda: ran(row, folder, 2**50, "2.5", catalogue, folder / "whole.log"))
    if not good:
        return f"does not run: {text[:300]}"
    most = json.loads(text)["reserved"]
    r = random.Random(row["id"])
    share, release = row.get("share", r.uniform(0.3, 0.995)), r.choice(list(RELEASES))
    good, text = in_fork(lambda: ran(row, folder, int(most * share), release, catalogue, folder / "run.log"))
    if not good or json.loads(text)["truth"] is None:
        return f"did not end: {text[:300]}"
    truth = {"id": row["id"], "share": share, "reserved": most, "ranks": row.get("ranks", 1), **json.loads(text)["truth"]}
    (folder / "truth.json").write_text(json.dumps(truth))
    return json.dumps(truth)


def rows_of(folder):
    """What the test reads, run by run."""
    for truth in sorted(folder.glob("*/truth.json")):
        log = (truth.parent / "run.log").read_text().splitlines()
        lines = log[log.index("Traceback (most recent call last):") :]
        plumbing = {k + d for k, line in enumerate(lines) if "/torch/nn/modules/module.py" in line for d in (0, 1)}
        text = "\n".join(line for k, line in enumerate(lines) if k not in plumbing)
        found = json.loads(truth.read_text())
        files = {one.name: one.read_text() for one in truth.parent.iterdir() if one.suffix in (".py", ".json") and one != truth}
        of = {key: found[key] for key in ("phase", "module", "op", "bytes", "alive", "ranks")}
        yield json.dumps({"id": truth.parent.name, "files": files, **of, "log": text}, separators=(",", ":"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=pathlib.Path, nargs="+", required=True)
    parser.add_argument("--catalogue", default="")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(".verify/ran-out"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rows", type=pathlib.Path)
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    from vram_lens import device

    device.hide()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    import torch.fx.experimental.symbolic_shapes  # forks have all that fake tensors import
    from torch._subclasses.fake_tensor import FakeTensorMode

    FakeTensorMode()
    torch.set_num_threads(1)
    for file in args.scripts:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        if args.only:
            rows = [row for row in rows if row["id"] in args.only]
        for row in random.Random(args.seed).sample(rows, min(args.count, len(rows))):
            folder = (args.out / f"{file.stem}-{row['id']}").resolve()
            if (folder / "truth.json").exists() and not args.only:
                continue
            print(folder.name, one(row, folder, str(pathlib.Path(args.catalogue).resolve())), flush=True)
    if args.rows:
        args.rows.write_text("".join(f"{row}\n" for row in rows_of(args.out)))


if __name__ == "__main__":
    main()
