"""Models of public repositories, traced by their own entry point and trained at sizes nobody looked at.

usage: python -m capture.truth.own_models --sources FOLDER [--only TEXT ...] [--out FOLDER] [--list FILE]
       node --import tsx capture/truth/own-models.ts FOLDER

`capture/own-models.jsonl` has the models: the repository, what is on the path (`path`, below a folder of FOLDER that is called
`OWNER+NAME`; none: an installed package), the lines that import it, the call that makes a small one, and inputs or a loss where they cannot be
guessed. For each a folder of OUT is made as a person's workspace would be: the file that the model is traced from, its graph, and five
scripts that train it for two AdamW steps, three in float32 and two under autocast, run by `vram_lens check`. The second command puts the
estimates beside and writes the table of `docs/your-own-model.md`.

Every model and every run is a process of its own, forked from one that has imported torch.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import pathlib
import random
import re
import signal
import sys
import time
import traceback
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "capture" / "own-models.jsonl"
RUNS, LIMIT = 5, 600
CONSTANTS = {"B": "batch_size", "S": "block_size", "I": "image_size"}
RANGES = {"B": (1, 9), "S": (20, 200), "T": (20, 200), "I": (40, 200), "A": (4000, 16000)}
PINS = {"S": "sequence_length", "T": "target_length", "I": "image_size"}

SCRIPT = """import torch
import torch.nn.functional as F
from own_entry import Made

{sizes}
model = Made()
model = model.to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)


def batches():
    for _ in range(2):
        yield {given}


def loss_of(out):
    return {loss}


for {names} in batches():
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled={amp}):
        out = model({arguments})
        loss = loss_of(out)
    loss.backward()
    optimizer.step()
"""

LOSS = (
    """next(t for t in torch.utils._pytree.tree_leaves({plain}) if isinstance(t, torch.Tensor) and t.is_floating_point(){scalar}){mean}"""
)


def in_fork(work, limit=LIMIT):
    """What `work` gives, as text, made in a process of its own; its error otherwise."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            signal.alarm(limit)
            text, status = work(), 0
        except BaseException as error:
            if os.environ.get("VRAM_LENS_TRACEBACK"):
                traceback.print_exc()
            text = f"{type(error).__name__}: {error}"
        with os.fdopen(write, "w") as pipe:
            pipe.write(text or "")
        os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    return os.waitpid(child, 0)[1] == 0, text or f"stopped after {limit} s"


class Quiet:
    """A speech that says nothing and keeps the result."""

    def __init__(self):
        self.out, self.found = sys.stderr, None

    def progress(self, text):
        pass

    def result(self, data, text):
        self.found = data


def traced(row, folder):
    """Traces the model as `vram-lens trace` does."""
    from vram_lens import commands

    speech = Quiet()
    asked = types.SimpleNamespace(
        entry=MODEL_FOLDER if "folder" in row else f"own_entry.py:{row['call']}",
        inputs=row.get("inputs", ""),
        loss=row.get("loss", ""),
        script=False,
        arguments="",
        name="Model",
        root=str(folder),
        show=False,
    )
    commands.trace(asked, speech)
    return json.dumps(speech.found)


def checked(folder, k):
    """Runs a script as `vram-lens check` does."""
    from vram_lens import commands

    os.chdir(folder)
    speech = Quiet()
    given = {"card": "80GB", "steps": 2, "rows": 64, "words": 64, "catalogue": "", "ranks": 1, "accelerate": ""}
    commands.check(types.SimpleNamespace(script=f"train-{k}.py", arguments=[], events=f"events-{k}.json", **given), speech)
    return json.dumps(speech.found["allocatedPeakBytes"])


def sizes_of(found, letters, row, k):
    """Sizes of one run: drawn, but where the graph says that it holds for others only."""
    r = random.Random(f"{row['call']} {k}")
    sizes = {}
    for letter in letters:
        low, high = row.get("ranges", {}).get(letter) or RANGES[letter]
        only = next((re.fullmatch(rf"{letter} == (\d+)", one) for one in found["holds"] if one.startswith(f"{letter} ==")), None)
        step = next((re.fullmatch(rf"{letter} % (\d+) == 0", one) for one in found["holds"] if one.startswith(f"{letter} %")), None)
        below = next((int(one.split("<")[1]) for one in found["holds"] if one.startswith(f"{letter} <")), high + 1)
        high = min(high, below - 1)
        if only:
            sizes[letter] = int(only[1])
        else:
            by = int(step[1]) if step else 1
            sizes[letter] = by * r.randint(max(1, -(-low // by)), max(1, high // by, -(-low // by)))
    return sizes


def script_of(row, found, sizes, amp):
    """The script of one run."""
    from vram_lens.tracing import inputs

    given, _ = inputs.pinned(inputs.read(found["inputs"]))
    tensors = [one for one in given if isinstance(one, inputs.Tensor)]
    made = []
    for one in tensors:
        shape = [str(eval(side, {}, dict(sizes))) for side in one.sides]
        dtype = "float32" if one.dtype == "float" else one.dtype
        made.append(
            f'torch.zeros({", ".join(shape)}, dtype=torch.{dtype}, device="cuda")' if shape else f"torch.zeros((), dtype=torch.{dtype})"
        )
    loss = found["loss"]
    plain = "dict(out) if isinstance(out, dict) else out if isinstance(out, (torch.Tensor, tuple, list)) else vars(out)"
    if loss == "returned":
        loss = LOSS.format(plain=plain, scalar=" and t.ndim == 0", mean="")
    elif loss == "mean of the first output":
        loss = LOSS.format(plain=plain, scalar="", mean=".mean()")
    names = [one.name for one in tensors]
    return SCRIPT.format(
        sizes="\n".join(f"{CONSTANTS[letter]} = {size}" for letter, size in sizes.items() if letter in CONSTANTS),
        given=", ".join(made) + ("," if len(made) == 1 else ""),
        names=", ".join(names) + ("," if len(names) == 1 else ""),
        arguments=", ".join(f"{one.name}={one.name if isinstance(one, inputs.Tensor) else one.text}" for one in given),
        loss=loss,
        amp=amp,
    )


MODEL_FOLDER = "model"
REMOTE = """from transformers import AutoConfig, {auto}


def made():
    config = AutoConfig.from_pretrained("model", trust_remote_code=True)
    return {auto}.from_config(config, trust_remote_code=True)
"""


def model_folder(described, sources, folder):
    """Writes the folder of a model with remote code, small; what a script makes it with."""
    made = folder / MODEL_FOLDER
    made.mkdir(exist_ok=True)
    config = {}
    for path in described["path"] if isinstance(described["path"], list) else [described["path"]]:
        for file in (sources / path).glob("*.py"):
            (made / file.name).write_text(file.read_text())
        if (sources / path / "config.json").exists():
            config = json.loads((sources / path / "config.json").read_text())
    config |= described["config"]
    (made / "config.json").write_text(json.dumps(config))
    kinds = [kind for kind in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModel") if kind in config["auto_map"]]
    return REMOTE.format(auto=kinds[0])


def one_model(row, sources, folder):
    """The row of one model: how it was traced, and the peaks of its runs."""
    from vram_lens.tracing import inputs

    began = time.time()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*-*"):
        old.unlink()
    own = [str(sources / row["path"])] if row.get("path") else []
    imports, call = row.get("imports", ""), row["call"]
    if "folder" in row:
        imports, call = model_folder(row["folder"], sources, folder), "made()"
    lines = [f"import sys\n\nsys.path[:0] = {own!r}", imports]
    made = f"\n\nclass Made:\n    def __new__(cls):\n        return {call}\n"
    (folder / "own_entry.py").write_text("\n".join(lines) + made)
    with contextlib.suppress(Exception):  # what it imports, once for all forks; the trace says what is wrong
        exec("\n".join(lines), {})
    for name, module in list(sys.modules.items()):
        if own and (getattr(module, "__file__", None) or "").startswith(own[0]):
            del sys.modules[name]  # its own files are imported by each run, which has patched torch by then
    good, text = in_fork(lambda: traced(row, folder))
    found = json.loads(text) if good else None
    result = {**{k: row[k] for k in ("repository", "call")}, "traced": found or text, "runs": []}
    if good:
        letters = inputs.letters(inputs.read(found["inputs"]))
        for k in range(RUNS):
            amp = k > 2 and row.get("autocast", True) and not any("no autocast" in one for one in found["holds"])
            sizes = sizes_of(found, letters, row, k)
            (folder / f"train-{k}.py").write_text(script_of(row, found, sizes, amp))
            good, text = in_fork(lambda: checked(folder, k))
            result["runs"].append({"sizes": sizes, "amp": amp, "allocated": int(text) if good else text})
        pins = [
            f"  - match: train-{k}.py\n    dtype: float32\n    model: .vramlens/graphs/Model.json\n"
            + "".join(f"    {PINS[x]}: {n}\n" for x, n in run["sizes"].items() if x in PINS)
            for k, run in enumerate(result["runs"])
        ]
        (folder / ".vramlens.yaml").write_text("runs:\n" + "".join(pins))
    result["seconds"] = round(time.time() - began, 1)
    (folder / "result.json").write_text(json.dumps(result))
    return json.dumps(result)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(".verify/own"))
    parser.add_argument("--list", type=pathlib.Path, default=LIST)
    parser.add_argument("--again", action="store_true", help="models that were traced before, too")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    from vram_lens import device

    device.hide()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    from torch._subclasses.fake_tensor import FakeTensorMode

    FakeTensorMode()  # forks have all that it imports

    for line in args.list.read_text().splitlines():
        row = json.loads(line)
        name = re.sub(r"\W+", "-", f"{row['repository']} {row['call'].split('(')[0]}")
        if args.only and not any(one in name for one in args.only):
            continue
        if row.get("transformers") and not importlib.metadata.version("transformers").startswith(row["transformers"]):
            continue  # remote code runs under the releases it was written for
        folder = (args.out / name).resolve()
        if (folder / "result.json").exists() and not args.again:
            continue
        good, text = in_fork(lambda: one_model(row, args.sources.resolve(), folder), LIMIT + 60)
        if good:
            result = json.loads(text)
            said = result["traced"] if isinstance(result["traced"], str) else [run["allocated"] for run in result["runs"]]
            print(name, result["seconds"], said, flush=True)
        else:
            print(name, text, flush=True)


if __name__ == "__main__":
    main()
