"""Small real runs on the card at hand: what the context, the libraries and the pool take of it, beside what tensors take.

Each run is a process of its own, so that each has a context of its own, and leaves a receipt (`receipts.py`).
"""

import json
import os
import subprocess
import sys
import time

MATRIX = [
    {"width": width, "layers": layers, "batch": batch, "length": 256, "precision": precision, "optimizer": optimizer}
    for width, layers, batch in ((256, 2, 4), (512, 4, 8), (1024, 8, 8))
    for precision in ("float32", "bf16-autocast", "bfloat16")
    for optimizer in ("AdamW", "SGD")
] + [
    {"side": side, "batch": 8, "channels": 64, "precision": precision, "optimizer": "SGD"}
    for side in (64, 224)
    for precision in ("float32", "bf16-autocast")
]
"""Decoders of torch's own layers and networks of convolutions, small first."""


def described(one):
    return ", ".join(f"{k} {v}" for k, v in one.items())


def measured(root, seconds, progress):
    """Runs the matrix until the time is over; gives the receipts' paths."""
    before, end = _receipts(root), time.time() + seconds
    for k, one in enumerate(MATRIX):
        left = end - time.time()
        if left <= 0:
            break
        progress(f"{k + 1}/{len(MATRIX)}: {described(one)}")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")]),
        }
        try:
            subprocess.run(
                [sys.executable, "-m", "vram_lens.bench", json.dumps(one), root], env=environment, timeout=max(30, left), check=False
            )
        except subprocess.TimeoutExpired:
            break
        time.sleep(max(0, 1.05 - (time.time() % 1)))  # receipts are named after the second
    return sorted(_receipts(root) - before)


def _receipts(root):
    folder = os.path.join(root, ".vramlens", "receipts")
    return {os.path.join(folder, name) for name in os.listdir(folder)} if os.path.isdir(folder) else set()


def _decoder(torch, one):
    layer = torch.nn.TransformerEncoderLayer(one["width"], one["width"] // 64, 4 * one["width"], dropout=0.0, batch_first=True)
    body = torch.nn.TransformerEncoder(layer, one["layers"], enable_nested_tensor=False)
    model = torch.nn.Sequential(torch.nn.Embedding(32000, one["width"]), body, torch.nn.Linear(one["width"], 32000))
    return model, lambda: torch.randint(0, 32000, (one["batch"], one["length"]), device="cuda")


def _network(torch, one):
    width = one["channels"]
    block = lambda a, b: [torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.BatchNorm2d(b), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    model = torch.nn.Sequential(*block(3, width), *block(width, 2 * width), torch.nn.Flatten(1), torch.nn.LazyLinear(100))
    return model, lambda: torch.randn(one["batch"], 3, one["side"], one["side"], device="cuda")


def main(one, root):
    """One run of the matrix."""
    import torch

    from . import receipts

    model, sample = (_decoder if "width" in one else _network)(torch, one)
    settings = {
        "micro_batch_size": one["batch"],
        "sequence_length": one.get("length"),
        "optimizer": one["optimizer"],
        "compute_dtype": one["precision"],
    }
    watching = receipts.watch(settings={k: v for k, v in settings.items() if v is not None}, model=f"bench {described(one)}", root=root)
    model = model.to("cuda", torch.bfloat16 if one["precision"] == "bfloat16" else None)
    optimizer = None
    for _ in range(4):
        x = sample()
        x = x.bfloat16() if one["precision"] == "bfloat16" and x.is_floating_point() else x
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=one["precision"] == "bf16-autocast"):
            loss = model(x).float().square().mean()
        loss.backward()
        optimizer = optimizer or getattr(torch.optim, one["optimizer"])(model.parameters(), lr=1e-4)
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    watching.write()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
