"""Receipts of EfficientNet, whose graph `src/core/networks/efficientnet.ts` writes from its config: `test/core/efficientnet.jsonl`."""

import json
import pathlib
import random

from ..families.usual_keys import ACTIVATIONS, drop
from .storages import peak

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "core" / "efficientnet.jsonl"
# Coefficients of width and depth, channels at the end, and the blocks that pad all around, as published (convert_efficientnet_to_pytorch.py).
PUBLISHED = (
    (1.0, 1.0, 1280, []),
    (1.0, 1.1, 1280, [16]),
    (1.1, 1.2, 1408, [5, 8, 16]),
    (1.2, 1.4, 1536, [5, 18]),
    (1.4, 1.8, 1792, [6]),
    (1.6, 2.2, 2048, [13, 27]),
    (1.8, 2.6, 2304, [31]),
    (2.0, 3.1, 2560, [18]),
)
PRECISIONS = (("float32", None), ("bfloat16", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", "bf16"))


def listed(r):
    """Stages that nobody has published."""
    count = r.randint(3, 5)
    widths = [8 * r.randint(1, 9) for _ in range(count + 1)]
    return dict(
        in_channels=[32, *widths[1:count]],
        out_channels=widths[1:],
        kernel_sizes=[r.choice((3, 5, 7)) for _ in range(count)],
        strides=[r.choice((1, 2)) for _ in range(count)],
        num_block_repeats=[r.randint(1, 3) for _ in range(count)],
        expand_ratios=[r.choice((1, 3, 6)) for _ in range(count)],
        width_coefficient=1.0,
        depth_coefficient=r.choice((1.0, 1.3)),
        depth_divisor=8,
        squeeze_expansion_ratio=r.choice((0.25, 0.1)),
        drop_connect_rate=drop(r),
        hidden_dim=1280,
    )


def cases():
    r = random.Random("efficientnet")
    drawn = [
        dict(width_coefficient=w, depth_coefficient=d, hidden_dim=h, depthwise_padding=square)
        for w, d, h, square in (PUBLISHED[k] for k in (0, 1, 2, 4, 7))
    ] + [listed(r) for _ in range(5)]
    for number, model in enumerate(drawn):
        dtype, amp = PRECISIONS[number % len(PRECISIONS)]
        model |= dict(num_labels=r.randint(3, 19), hidden_act=r.choice(("swish", *ACTIVATIONS)), dropout_rate=drop(r))
        yield {
            "id": f"efficientnet-{number}",
            "family": "efficientnet",
            "task": "image-cls",
            "attention": "none",
            "model": model,
            "sizes": {"B": r.randint(2, 5), "I": r.randint(70, 130)},
            "dtype": dtype,
            "amp": amp,
            "checkpointing": False,
            "inputs_follow": True,
        }


def write():
    FILE.write_text("".join(json.dumps({"case": case, "truth": peak(case)}, separators=(",", ":")) + "\n" for case in cases()))
