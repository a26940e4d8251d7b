"""What a model's own code computes again in backward: checkpoints that it makes, and autograd functions that do the same."""

import contextlib
import functools
import sys
import types

import torch
from torch.utils import checkpoint as checkpoints

from . import own_functions


@contextlib.contextmanager
def told(recorder, unseen, trained):
    """Tells a recorder of each, and of the names of weights that are `trained`; autograd functions whose backward is none that can be written
    down are named in `unseen`: their forward alone is recorded."""
    recorder.trained = trained
    apply, plainly = torch.autograd.Function.__dict__["apply"], checkpoints.checkpoint

    def applied(cls, *args, **kwargs):
        if not cls.__module__.startswith("torch."):
            if recomputes(cls) and args and callable(args[0]):
                how = {"reentrant": True, **({} if "autocast" in _names(cls) else {"autocast": False})}
                args = (recorder.segment(args[0], how), *args[1:])
            elif not recorder.silent and not recorder.done and torch.is_grad_enabled():
                both = not recorder.within and not kwargs
                out, both = own_functions.applied(recorder, cls, args) if both else (apply.__func__(cls, *args, **kwargs), False)
                if not both:
                    unseen.add(f"{cls.__name__} without a backward of its own")
                return out
        return apply.__func__(cls, *args, **kwargs)

    def checkpoint(function, *args, use_reentrant=None, **kwargs):
        for option in ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"):
            kwargs.pop(option, None)
        # one that does not say it is of the reentrant kind (torch/utils/checkpoint.py)
        return recorder.segment(function, {"reentrant": use_reentrant is None or bool(use_reentrant)})(*args, **kwargs)

    spaces = [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
    named = [(space, name, value) for space in spaces for name, value in list(space.items())]
    taken = [(space, name, value, checkpoint) for space, name, value in named if value is plainly]
    # `scan = Scan.apply`, as modules of people's own have it
    taken += [
        (space, name, value, functools.partial(applied, value.__self__))
        for space, name, value in named
        if isinstance(value, types.MethodType) and value.__func__ is apply.__func__
    ]
    torch.autograd.Function.apply = classmethod(applied)
    for space, name, _, own in taken:
        space[name] = own
    try:
        yield
    finally:
        torch.autograd.Function.apply = apply
        for space, name, value, _ in taken:
            space[name] = value


def recomputes(cls):
    """Whether the backward of an autograd function turns gradients on: it runs its forward again, and differentiates that."""
    return bool({"enable_grad", "set_grad_enabled"} & _names(cls))


def _names(cls):
    code = getattr(getattr(cls, "backward", None), "__code__", None)
    return set(code.co_names) if code is not None else set()
