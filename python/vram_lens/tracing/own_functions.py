"""Autograd functions of somebody's own: both of their directions in a graph, and what stays between them.

A function's forward is a block that runs without gradients, its backward another one behind it, which the graph's reader runs when the
gradients of the first one's outputs are there (torch/csrc/autograd/python_function.cpp).
"""

import os
import traceback

import torch
from torch.utils._pytree import tree_leaves

from .events import Event, Value


class Unseen(Exception):
    """A backward that does what is not written down: it differentiates something itself."""


class Context:
    """What a function's `ctx` does, without a node of autograd's behind it."""

    def __init__(self, needs):
        self.needs_input_grad, self.saved_tensors, self.never, self.zeros = needs, (), (), True

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    @property
    def saved_variables(self):
        """What it was called before (torch/autograd/function.py)."""
        return self.saved_tensors

    def save_for_forward(self, *tensors):
        pass

    def mark_dirty(self, *tensors):
        pass

    def mark_non_differentiable(self, *tensors):
        self.never = tuple(map(id, tensors))

    def set_materialize_grads(self, value):
        self.zeros = value

    def attributes(self):
        """Tensors that it has besides those saved for backward."""
        own = {k: v for k, v in vars(self).items() if k not in ("saved_tensors", "never", "needs_input_grad", "zeros")}
        return [t for t in tree_leaves(own) if isinstance(t, torch.Tensor)]


def _raise(*given, **more):
    raise Unseen


class _Undifferentiated:
    """Nothing in it is differentiated."""

    def __enter__(self):
        self.before = torch.autograd.backward, torch.autograd.grad, torch.Tensor.backward
        torch.autograd.backward = torch.autograd.grad = torch.Tensor.backward = _raise

    def __exit__(self, *error):
        torch.autograd.backward, torch.autograd.grad, torch.Tensor.backward = self.before
        return False


def _forward(cls, ctx, args):
    with torch.no_grad():
        if cls.setup_context is torch.autograd.Function.setup_context:
            return cls.forward(ctx, *args)
        out = cls.forward(*args)
        cls.setup_context(ctx, args, out)
        return out


def _distinct(out, args):
    """What the function returns; an input that it hands back is a tensor of its own (`_process_backward_mode_ad`)."""
    given = {id(a) for a in args if isinstance(a, torch.Tensor)}
    again = lambda t: torch.ops.aten.alias.default(t) if isinstance(t, torch.Tensor) and id(t) in given else t
    return tuple(map(again, out)) if isinstance(out, (tuple, list)) else again(out)


def _backward(cls, ctx, gradients):
    with torch.no_grad(), torch.autocast("cuda", enabled=False), _Undifferentiated():
        found = cls.backward(ctx, *gradients)
    return found if isinstance(found, tuple) else (found,)


class Part:
    """One direction of a function, which what is recorded meanwhile is; `how` says what the graph's reader needs of it.

    `ins` and, behind them, `gradients` are what it is given.
    """

    def __init__(self, recorder, how, ins, gradients=()):
        self.recorder, self.how = recorder, how
        self.ins = [(f"x.{k}", False, recorder.operand(t)) for k, t in enumerate(ins)]
        self.ins += [(f"gradient.{k}", True, recorder.operand(t)) for k, t in enumerate(gradients)]
        self.begin, self.end = Event("segment", path=recorder.scopes[-1], ins=self.ins, kw=how), Event("whole")

    def __enter__(self):
        self.at = len(self.recorder.events), len(self.recorder.values)
        self.recorder.events.append(self.begin)
        self.recorder.within = True
        return self

    def __exit__(self, *error):
        self.recorder.within = False
        if error[0] is not None:
            self.undo()

    def give(self, out):
        self.end.outs = [self.recorder.operand(t) for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        self.recorder.events.append(self.end)

    def undo(self):
        """Takes back what was recorded in it; what it let go of stays let go of."""
        events, (first, known) = self.recorder.events, self.at
        events[first:] = [e for e in events[first:] if e.kind == "drop" and e.outs[0].id < known]

    def plainly(self):
        """What was recorded in it stands for itself."""
        self.recorder.events[:] = [e for e in self.recorder.events if e is not self.begin and e is not self.end]


def applied(recorder, cls, args):
    """Records a call of a function, and gives its outputs and whether its backward was recorded, too: one that differentiates is not."""
    values = [k for k, a in enumerate(args) if isinstance(a, torch.Tensor) and id(a) not in recorder.weights]
    weights = [k for k, a in enumerate(args) if isinstance(a, torch.Tensor) and id(a) in recorder.weights]
    ctx = Context(tuple(isinstance(a, torch.Tensor) and recorder.differentiable(recorder.operand(a)) for a in args))
    with Part(recorder, {}, [args[k] for k in values]) as forward:
        out = _distinct(_forward(cls, ctx, args), args)
        forward.give(out)
    outs = out if isinstance(out, tuple) else (out,)
    of = [isinstance(t, torch.Tensor) and t.is_floating_point() and id(t) not in ctx.never for t in outs]
    # a gradient has the form of its output, of which a view stands for it: nothing reads it
    gradients = [torch.ops.aten.alias.default(t) if told else None for t, told in zip(outs, of)]
    saved = [t for t in ctx.saved_tensors if isinstance(t, torch.Tensor)]
    given = [t for t in gradients if t is not None]
    try:
        with Part(recorder, {}, [*saved, *ctx.attributes()], given) as back:
            found = _backward(cls, ctx, gradients)
            back.give(found)
    except Exception:
        if os.environ.get("VRAM_LENS_TRACEBACK"):
            traceback.print_exc()
        forward.plainly()
        return out, False
    numbers = [k for k, t in enumerate(outs) if isinstance(t, torch.Tensor)]
    places = [k for k, t in enumerate(found) if isinstance(t, torch.Tensor)]
    forward.how["gradients"] = [numbers.index(k) for k, told in enumerate(of) if told]
    forward.how["zeros"] = [numbers.index(k) for k in numbers if not of[k] and ctx.zeros]
    forward.how["weights"] = [recorder.operand(args[k]).name for k in weights]
    back.how["saved"] = sum(isinstance(ref, Value) for _, _, ref in back.ins[: len(saved)])
    back.how["to"] = [[*values, *weights].index(k) for k in places]
    return out, True
