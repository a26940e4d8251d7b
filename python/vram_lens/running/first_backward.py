"""The model that a script trains: the script is run on a card that is not there until its first backward, with what it gave the model."""

import copy
import inspect
import os
import sys
import types

import torch

from ..tracing import inputs
from ..sentences import say
from ..words import Stopped
from . import device, script

DEFAULTS = {"card": "80GB", "steps": 2, "rows": 64, "words": 4096, "catalogue": ""}
"""What `check` may be told of the card and of what stands in, as a trace has it."""


class Reached(BaseException):
    """Backward begins; no `except Exception` of a script stops it."""


class _Calls:
    """The module with the most parameters among those that the script itself calls, and its inputs as they are described."""

    def __init__(self):
        self.depth, self.model, self.given, self.count = 0, None, None, 0

    def call(self, plainly, module, args, kwargs):
        if self.depth == 0 and torch.is_grad_enabled():
            count = sum(p.numel() for p in module.parameters())
            if count > self.count:
                wrapped = isinstance(module, torch.nn.parallel.DistributedDataParallel)
                self.model, self.count = module.module if wrapped else module, count
                self.given = described(self.model.forward, args, kwargs)
        self.depth += 1
        try:
            return plainly(module, *args, **kwargs)
        finally:
            self.depth -= 1


def found(path, arguments, speech):
    """`(class's name, function that makes the model, inputs, the script as a module)` of the model that a script trains."""
    asked = types.SimpleNamespace(script=path, arguments=arguments, **DEFAULTS)
    where = script.Where(os.path.dirname(os.path.abspath(path)))
    ledger = device.Device(where)
    source, notes = script.installed(asked, where, ledger)
    calls, plainly = _Calls(), torch.nn.Module.__call__

    def backward(*args, **kwargs):
        raise Reached

    torch.nn.Module.__call__ = lambda module, *args, **kwargs: calls.call(plainly, module, args, kwargs)
    torch.autograd.backward = backward
    speech.progress(f"running {path} until its first backward")
    try:
        stopped = script.executed(asked, source, notes, ledger, Reached)
    finally:
        torch.nn.Module.__call__ = plainly
    if not stopped or calls.model is None:
        raise Stopped(say("no-backward", path=path))
    model = without_data(calls.model)
    return type(model).__name__, lambda: copy.deepcopy(model), calls.given, sys.modules["__main__"]


def without_data(model):
    """The model with the shapes and dtypes of its tensors alone, none of them on any device; tied ones stay tied."""
    made = {}

    def bare(t):
        if id(t) not in made:
            new = torch.empty(t.shape, dtype=t.dtype, device="meta")
            is_parameter = isinstance(t, torch.nn.Parameter)
            made[id(t)] = (t, torch.nn.Parameter(new, requires_grad=t.requires_grad) if is_parameter else new)
        return made[id(t)][1]

    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            tensors.update({name: bare(t) for name, t in tensors.items() if t is not None})
    return model


def described(forward, args, kwargs):
    """What a forward was given, by the sizes of a run where a side is one of these."""
    bound = inspect.signature(forward).bind(*args, **kwargs)
    values = {}
    for name, value in bound.arguments.items():
        kind = bound.signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            raise Stopped(say("any-inputs"))
        values.update(value if kind is inspect.Parameter.VAR_KEYWORD else {name: value})
    sizes, result = {}, []
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            kind = "float" if value.is_floating_point() else str(value.dtype).removeprefix("torch.")
            result.append(inputs.Tensor(name, kind, tuple(_side(value, k, sizes) for k in range(value.ndim))))
        elif isinstance(value, (bool, int, float, str)):
            result.append(inputs.Plain(name, repr(value)))
        elif value is not None:
            raise Stopped(say("input-kind", name=name, kind=type(value).__name__))
    return result


def _side(t, k, sizes):
    """The size of a run that a side of a tensor is: samples first, then tokens, or the sides of a picture; else its number."""
    whole, letter = not t.is_floating_point(), ""
    if k == 0:
        letter = "B"
    elif t.ndim == 4 and t.shape[2] == t.shape[3] and not whole:
        letter = "I" if k > 1 else ""
    elif k == 1 and (t.ndim == 3 or (t.ndim == 2 and whole)):
        letter = "S"
    return letter if letter and sizes.setdefault(letter, t.shape[k]) == t.shape[k] else str(t.shape[k])
