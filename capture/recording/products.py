"""`torch.einsum` of two operands in the operators it is made of: permuted, reshaped, one batched product (aten/src/ATen/native/Linear.cpp,
`einsum` and `sumproduct_pair`). Autocast converts the operands before (aten/src/ATen/autocast_mode.h)."""

import math

import torch


def einsum_with(cast):
    """`torch.einsum` whose operands `cast` converts to autocast's dtype."""
    return lambda equation, *operands: einsum(equation, *map(cast, operands[0] if isinstance(operands[0], (list, tuple)) else operands))


def einsum(equation, *operands):
    if isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    if len(operands) != 2:
        raise TypeError(f"einsum {equation}")
    left_names, right_names, out = _names(equation, [t.dim() for t in operands])
    if any(len(set(names)) < len(names) for names in (left_names, right_names)):
        raise TypeError(f"einsum {equation}")
    left, right = operands
    size = dict(zip(left_names, left.shape)) | dict(zip(right_names, right.shape))
    both = [n for n in out if n in left_names and n in right_names]
    one, other = [n for n in out if n in left_names and n not in right_names], [n for n in out if n in right_names and n not in left_names]
    summed = sorted(n for n in left_names if n not in out)  # letters that go stand in the alphabet's order
    if (
        one and other and max(map(out.index, other)) < min(map(out.index, one))
    ):  # the right one's come first: it is multiplied from the left
        left, right, left_names, right_names, one, other = right, left, right_names, left_names, other, one
    if not summed:
        return _spread(left, left_names, out).mul(_spread(right, right_names, out))
    count = lambda names: math.prod(size[n] for n in names)
    left = left.permute([left_names.index(n) for n in (*both, *one, *summed)]).reshape(count(both), count(one), count(summed))
    right = right.permute([right_names.index(n) for n in (*both, *summed, *other)]).reshape(count(both), count(summed), count(other))
    order = [*both, *one, *other]
    return torch.bmm(left, right).view([size[n] for n in order]).permute([order.index(n) for n in out])


def _names(equation, ranks):
    """Letters of both operands and of the result; dimensions that an ellipsis stands for get capitals of their own."""
    sides, out = equation.replace(" ", "").split("->")
    names = sides.split(",")
    rest = [rank - len(side) + 3 for rank, side in zip(ranks, names) if "..." in side]
    if len(set(rest)) > 1:
        raise TypeError(f"einsum {equation}")
    spelled = "UVWXYZ"[: rest[0]] if rest else ""
    return (*(side.replace("...", spelled) for side in names), out.replace("...", spelled))


def _spread(t, names, out):
    """The tensor with a dimension for each letter of the result, one wide where it has none."""
    t = t.permute([names.index(n) for n in out if n in names])
    for k, n in enumerate(out):
        t = t if n in names else t.unsqueeze(k)
    return t
