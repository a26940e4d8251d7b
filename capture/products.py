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
    left_names, right_names, out = _names(equation)
    if len(operands) != 2 or "." in equation or any(len(set(names)) < len(names) for names in (left_names, right_names)):
        raise TypeError(f"einsum {equation}")
    left, right = operands
    size = dict(zip(left_names, left.shape)) | dict(zip(right_names, right.shape))
    both = [n for n in out if n in left_names and n in right_names]
    one, other = [n for n in out if n in left_names and n not in right_names], [n for n in out if n in right_names and n not in left_names]
    summed = sorted(n for n in left_names if n not in out)  # letters that go stand in the alphabet's order
    if not summed:
        return _spread(left, left_names, out).mul(_spread(right, right_names, out))
    count = lambda names: math.prod(size[n] for n in names)
    left = left.permute([left_names.index(n) for n in (*both, *one, *summed)]).reshape(count(both), count(one), count(summed))
    right = right.permute([right_names.index(n) for n in (*both, *summed, *other)]).reshape(count(both), count(summed), count(other))
    order = [*both, *one, *other]
    return torch.bmm(left, right).view([size[n] for n in order]).permute([order.index(n) for n in out])


def _names(equation):
    sides, out = equation.replace(" ", "").split("->")
    return (*sides.split(","), out)


def _spread(t, names, out):
    """The tensor with a dimension for each letter of the result, one wide where it has none."""
    t = t.permute([names.index(n) for n in out if n in names])
    for k, n in enumerate(out):
        t = t if n in names else t.unsqueeze(k)
    return t
