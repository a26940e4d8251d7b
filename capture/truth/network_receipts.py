"""Makes receipts of networks that a library builds by name (`builders.py`): each in a plain loop of a script, with the peak it had.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.network_receipts --oracle ORACLE.py [--library torchvision] [--line resnet] [--seed N]

Autocast is to float16: without a driver PyTorch takes bfloat16 convolutions for kernels of its own, which lay gradients out as no card does.

What a row's script says is done here with the same names, step for step, on fake CUDA tensors whose storages the oracle follows.
Receipts go to `test/analysis/networks.jsonl`; those there are kept.
"""

import argparse
import gc
import json
import pathlib
import random

from ..recording.networks import NETS, on_device, side_of, step_of, to_fake
from .receipts import load

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "networks.jsonl"

SCRIPT = """import timm
import torch
import torchvision
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

transform = transforms.Compose([transforms.RandomResizedCrop({image}), transforms.ToTensor()])
loader = DataLoader(datasets.ImageFolder("data", transform), batch_size={batch}, shuffle=True)
model = {build}
{switch}model = model.cuda()
criterion = nn.CrossEntropyLoss()
optimizer = optim.{optimizer}(model.parameters(), lr=0.1)
for images, labels in loader:
    images, labels = images.cuda(), labels.cuda()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16, enabled={amp}):
        outputs = model(images)
        loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
"""
CHECKPOINTED = "checkpointed"
"""The seed whose cases have the library's own switch on (`set_grad_checkpointing`)."""

CALLS = {"torchvision": "torchvision.models.{name}(num_classes={labels})", "timm": 'timm.create_model("{name}", num_classes={labels})'}


def case_of(library, name, seed):
    r = random.Random(f"{seed} {library} {name}")
    step = step_of(name)
    side = side_of(name) or step * r.randint(-(-112 // step), 256 // step)
    return {
        "library": library,
        "name": name,
        "labels": r.randint(5, 400),
        "batch": r.randint(2, 24),
        "image": side,
        "amp": r.random() < 0.5,
        "optimizer": r.choice(("SGD", "AdamW")),
        "switch": "model.set_grad_checkpointing(True)\n" if seed == CHECKPOINTED else "",
    }


def peak(oracle, case):
    """Most bytes allocated in two steps of the script's loop."""
    torch = oracle.torch
    torch.cuda.is_available = lambda: False
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    made = on_device(case["library"], case["name"], case["labels"], case["image"], torch.float32, mode)
    with mode, ledger:
        model = to_fake(made, torch.float32)  # once more, where the ledger sees it
        model.train()
        if case["switch"]:
            model.set_grad_checkpointing(True)
        gc.collect()
        optimizer = getattr(torch.optim, case["optimizer"])(model.parameters(), lr=0.1, foreach=True)
        criterion = torch.nn.CrossEntropyLoss()
        images = labels = None
        for step in (1, 2):
            ledger.phase = f"step{step}"
            images = labels = None  # the loader's next batch takes their names
            images = torch.zeros(case["batch"], 3, case["image"], case["image"], device="cuda")
            labels = torch.zeros(case["batch"], dtype=torch.long, device="cuda")
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16, enabled=case["amp"]):
                outputs = model(images)
                loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
    return oracle.summarize(list(ledger.events), ledger.size, {})["peak_allocated"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--oracle", required=True)
    arguments.add_argument("--library", choices=NETS)
    arguments.add_argument("--line")
    arguments.add_argument("--seed", default="receipts")
    args = arguments.parse_args()
    oracle = load(args.oracle)
    rows = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
    known = {row["id"] for row in rows}
    for library, lines in NETS.items():
        for line, nets in lines.items():
            for name in nets:
                identity = f"{library}/{name} {args.seed}"
                if identity in known or args.library not in (None, library) or args.line not in (None, line):
                    continue
                if args.seed == CHECKPOINTED and library != "timm":
                    continue
                case = case_of(library, name, args.seed)
                script = SCRIPT.format(build=CALLS[library].format(**case), **case)
                try:
                    rows.append({"id": identity, "script": script, "allocated": peak(oracle, case)})
                except TypeError as error:  # RegNet reads its depths off tensors, which the oracle answers with a number of its own
                    print(f"{identity}: {error}", flush=True)
                    continue
                FILE.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
