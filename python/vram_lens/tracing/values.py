"""Values that a model's code asks of tensors without values: nought and false, as a check on a card that is not there answers
(`running/device.py`, `ANSWERS`); where it asks is kept, as another value may take another branch."""

import os
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

aten = torch.ops.aten
_TORCH = os.path.dirname(torch.__file__) + os.sep
_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _number(t):
    return False if t.dtype == torch.bool else 0.0 if t.dtype.is_floating_point else 0


_ANSWERS = {aten._local_scalar_dense.default: _number, aten.equal.default: lambda t, other: True}


class Answering(FakeTensorMode):
    """A mode of fake tensors whose values are nought where somebody asks; `asked` is given the file and line of each question."""

    def __init__(self, asked):
        super().__init__(allow_non_fake_inputs=True)
        self.asked = asked

    def dispatch(self, func, types, args=(), kwargs=None):
        answer = _ANSWERS.get(func)
        if answer is None or any(isinstance(a, FakeTensor) and a.constant is not None for a in args):
            return super().dispatch(func, types, args, kwargs)
        self.asked(_place())
        return answer(*args)


def _place():
    """The file's name and the line of the innermost code that is neither torch's nor ours."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_TORCH, _OURS, "<")):
            return f"{os.path.basename(name)}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"
