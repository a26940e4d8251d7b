"""Writes `test/core/engine/strides.json`: strides that PyTorch gives views, copies and elementwise results of random tensors.

usage: python capture/truth/strides.py
"""

import json
import pathlib
import random

import torch

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "core" / "engine" / "strides.json"


def permuted(sizes, r):
    order = list(range(len(sizes)))
    r.shuffle(order)
    return torch.empty([sizes[k] for k in order]).permute([order.index(k) for k in range(len(sizes))])


def tensor(r):
    """A tensor that may be permuted, cut out of a larger one, or repeated with stride 0."""
    sizes = [r.choice((1, 2, 3, 4)) for _ in range(r.randint(1, 4))]
    whole = [size * r.choice((1, 1, 1, 2)) for size in sizes]
    t = permuted(whole, r) if r.random() < 0.6 else torch.empty(whole)
    t = t[tuple(slice(0, size) for size in sizes)]
    for k in range(t.dim()):
        if r.random() < 0.1:
            t = t.narrow(k, 0, 1).expand([3 if j == k else -1 for j in range(t.dim())])
    return t


def wanted(count, r):
    """Sizes with `count` elements."""
    sizes = []
    while count > 1 and r.random() < 0.8:
        sizes.append(r.choice([d for d in range(1, count + 1) if count % d == 0]))
        count //= sizes[-1]
    return [*sizes, count]


def viewed(t, sizes):
    try:
        return list(t.view(sizes).stride())
    except RuntimeError:
        return None


def case(r):
    a = tensor(r)
    b = permuted([size if r.random() < 0.7 else 1 for size in a.shape], r)
    sizes = wanted(a.numel(), r)
    return {
        "a": [list(a.shape), list(a.stride())],
        "b": [list(b.shape), list(b.stride())],
        "like": list(torch.empty_like(a).stride()),
        "sizes": sizes,
        "view": viewed(a, sizes),
        "ab": list((a + b).stride()),
        "ba": list((b + a).stride()),
    }


if __name__ == "__main__":
    random_source = random.Random(7)
    OUT.write_text("[\n" + ",\n".join(json.dumps(case(random_source), separators=(",", ":")) for _ in range(240)) + "\n]\n")
