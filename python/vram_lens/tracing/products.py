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
    equation = _stated(equation)
    if len(operands) == 1:
        return _alone(equation, operands[0])
    if len(operands) > 2:
        return _folded(equation, operands)
    left_names, right_names, out = _names(equation, [t.dim() for t in operands])
    if any(len(set(names)) < len(names) for names in (left_names, right_names)):
        raise TypeError(f"einsum {equation}")
    left, right = operands
    left, left_names = _without(left, left_names, right_names + out)
    right, right_names = _without(right, right_names, left_names + out)
    wide = lambda t, names: {n for n, side in zip(names, t.shape) if side != 1}
    thin = (set(left_names) - set(out)) - wide(left, left_names) - wide(right, right_names)  # nothing is summed over one place
    left, left_names = _squeezed(left, left_names, thin)
    right, right_names = _squeezed(right, right_names, thin)
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


def _stated(equation):
    """The equation with its result: where none is stated, the letters that stand once, in the alphabet's order."""
    equation = equation.replace(" ", "")
    if "->" in equation:
        return equation
    letters = equation.replace("...", "").replace(",", "")
    once = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    return f"{equation}->{'...' if '...' in equation else ''}{once}"


def _without(t, names, wanted):
    """A tensor summed over the letters that nothing else has."""
    gone = [k for k, n in enumerate(names) if n not in wanted]
    return (t.sum(gone), "".join(n for n in names if n in wanted)) if gone else (t, names)


def _squeezed(t, names, gone):
    """A tensor without the letters that are one place wide."""
    at = [k for k, n in enumerate(names) if n in gone]
    return (t.squeeze(at), "".join(n for n in names if n not in gone)) if at else (t, names)


def _alone(equation, t):
    """One operand: its sides in another order, summed over those that the result does not have."""
    names, out = _names(equation, [t.dim()])
    if len(set(names)) < len(names):
        raise TypeError(f"einsum {equation}")
    t, names = _without(t, names, out)
    return t.permute([names.index(n) for n in out])


def _folded(equation, operands):
    """Several operands, multiplied from the left to the right."""
    *names, out = _names(equation, [t.dim() for t in operands])
    result, letters = operands[0], names[0]
    for k in range(1, len(operands)):
        later = out + "".join(names[k + 1 :])
        both = set(letters) | set(names[k])
        kept = out if k + 1 == len(operands) else "".join(n for n in (*out, *sorted(both - set(out))) if n in both and n in later)
        result = einsum(f"{letters},{names[k]}->{kept}", result, operands[k])
        letters = kept
    return result


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
