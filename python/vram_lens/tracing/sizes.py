"""Sizes that a model of somebody's own may run at: those that it states, those of its tables, and quotients of them."""

import math
import torch
from . import inputs as examples


TERMS = ("ceil_div({},{})", "{}//{}")


PARTS = (2, 4, 8, 14, 16, 32)


def task_of(inputs):
    """The task whose sizes a run is asked for: what the inputs name decides it, not what the model is for."""
    letters = set(examples.letters(inputs))
    if "A" in letters:
        return "ctc" if "T" in letters else "audio-cls"
    if "I" in letters:
        return "image-text-to-text" if "S" in letters else "image-cls"
    return "seq2seq-lm" if "T" in letters else "token-cls"


def terms(sizes):
    """Quotients of sizes that code of convolutions and patches counts with."""
    return [form.format(name, n) for name in sizes if name != "B" for n in PARTS for form in TERMS]


SIDES = ("image_size", "img_size", "input_size", "image_dim", "resolution", "input_resolution")


LENGTHS = ("block_size", "max_seq_len", "max_position_embeddings", "n_positions", "seq_len", "seq_length", "context_length", "n_ctx")


def tries(stated, letters):
    """Sizes to try, those that the model itself states first."""
    values = {x: list(dict.fromkeys([*stated.get(x, []), *examples.USUAL[x]])) for x in letters}
    return [{x: of[min(k, len(of) - 1)] for x, of in values.items()} for k in range(8)]


def of_positions(model):
    """Sides of pictures that tables of positions are made for: a row a patch, and one for the class where there is such a token."""
    steps, rows, product = [], [], 1
    for module in model.modules():
        if isinstance(module, torch.nn.Conv2d) and product < 64:
            product *= module.stride[0]
            steps.append(product)
        steps += [n for n in getattr(module, "axes_lengths", {}).values() if isinstance(n, int)]  # einops' Rearrange
    for t in [*model.parameters(), *model.buffers()]:
        if 1 < t.ndim < 4:
            rows.append(t.shape[-2])
    sides = [math.isqrt(n - extra) for n in dict.fromkeys(rows) for extra in (0, 1) if n > 15 and math.isqrt(n - extra) ** 2 == n - extra]
    return [
        side * step for step in dict.fromkeys(reversed(steps)) if step > 1 for side in dict.fromkeys(sides) if 16 <= side * step <= 1024
    ]
