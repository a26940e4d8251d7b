"""What a model's own code computes again in backward: checkpoints that it makes, and autograd functions that do the same."""

import contextlib
import sys

import torch
from torch.utils import checkpoint as checkpoints


@contextlib.contextmanager
def told(recorder, unseen):
    """Tells a recorder of each; autograd functions whose backward is another one are named in `unseen`: their forward alone is recorded."""
    apply, plainly = torch.autograd.Function.__dict__["apply"], checkpoints.checkpoint

    def applied(cls, *args, **kwargs):
        if not cls.__module__.startswith("torch."):
            if recomputes(cls) and args and callable(args[0]):
                how = {"reentrant": True, **({} if "autocast" in _names(cls) else {"autocast": False})}
                args = (recorder.segment(args[0], how), *args[1:])
            elif not recorder.silent:
                unseen.add(f"{cls.__name__} without a backward of its own")
        return apply.__func__(cls, *args, **kwargs)

    def checkpoint(function, *args, use_reentrant=None, **kwargs):
        for option in ("preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"):
            kwargs.pop(option, None)
        # one that does not say it is of the reentrant kind (torch/utils/checkpoint.py)
        return recorder.segment(function, {"reentrant": use_reentrant is None or bool(use_reentrant)})(*args, **kwargs)

    taken = [
        (space, name)
        for space in [vars(module) for module in list(sys.modules.values()) if hasattr(module, "__dict__")]
        for name in [name for name, value in list(space.items()) if value is plainly]
    ]
    torch.autograd.Function.apply = classmethod(applied)
    for space, name in taken:
        space[name] = checkpoint
    try:
        yield
    finally:
        torch.autograd.Function.apply = apply
        for space, name in taken:
            space[name] = plainly


def recomputes(cls):
    """Whether the backward of an autograd function turns gradients on: it runs its forward again, and differentiates that."""
    return bool({"enable_grad", "set_grad_enabled"} & _names(cls))


def _names(cls):
    code = getattr(getattr(cls, "backward", None), "__code__", None)
    return set(code.co_names) if code is not None else set()
