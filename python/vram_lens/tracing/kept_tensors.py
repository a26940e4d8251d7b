"""Tensors that a module keeps on itself to its next forward, and where it lets go of them."""

import torch
from .events import Event


def keeping(recorder, plainly):
    """`Module.__setattr__` that tells of tensors a module keeps to its next forward, and of where it lets go of them."""

    def keep(module, name, value):
        path = recorder.paths.get(id(module))
        if path is not None and not recorder.silent and not recorder.done:
            if isinstance(value, torch.Tensor) and id(value) in recorder.live:
                recorder.events.append(Event("op", "keep", path, [recorder.see(value)], {"of": name}))
            elif value is None and name in vars(module):
                recorder.events.append(Event("op", "forget", path, [], {"of": name}))
        plainly(module, name, value)

    return keep


def registering(recorder, plainly):
    """`Module.register_buffer` that tells of a tensor which a forward made and keeps as one."""

    def register(module, name, tensor, *args, **kwargs):
        path = recorder.paths.get(id(module))
        if (
            path is not None
            and not recorder.silent
            and not recorder.done
            and isinstance(tensor, torch.Tensor)
            and id(tensor) in recorder.live
        ):
            recorder.events.append(Event("op", "keep", path, [recorder.see(tensor)], {"of": name}))
        return plainly(module, name, tensor, *args, **kwargs)

    return register


def settle(model, recorder):
    """What modules still name when the forward is over is let go of where its module ends: keeping it is an operator of its own."""
    kept = {(e.path, e.kw["of"]) for e in recorder.events if e.name == "keep"}
    recorder.events[:] = [e for e in recorder.events if e.name != "forget" or (e.path, e.kw["of"]) in kept]
    for path, module in model.named_modules():
        for name, t in [*vars(module).items(), *module._buffers.items()]:
            if (path, name) in kept and isinstance(t, torch.Tensor) and id(t) in recorder.live:
                end = max(k for k, e in enumerate(recorder.events) if e.kind == "exit" and e.path == path)
                recorder.events.insert(end, Event("drop", outs=[recorder.see(t)]))
