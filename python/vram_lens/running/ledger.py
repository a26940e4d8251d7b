"""The event stream of a process: what is allocated on the fake device and freed, by which operator, module and line."""

import sys
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

BLOCK = 512
"""Bytes that the caching allocator rounds sizes up to (c10/cuda/CUDACachingAllocator.cpp, kMinBlockSize)."""


class Ledger(TorchDispatchMode):
    """Bytes alive on the fake device, their maximum, and every event.

    `events` has `(id, bytes, operator, place)` for what is allocated and `~id` for what is freed; `place` is an index into `places`,
    which are `(phase, module, file, line)`.
    """

    def __init__(self, where=lambda: ("", "", "", 0)):
        super().__init__()
        self.where, self.known, self.live, self.peak, self.peak_at = where, {}, 0, 0, 0
        self.events, self.places, self._index, self.count = [], [], {}, 0

    def start(self):
        """Forgets the highest so far."""
        self.peak = self.live

    def place(self):
        at = self.where()
        if at not in self._index:
            self._index[at] = len(self.places)
            self.places.append(at)
        return self._index[at]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.made(func, out)
        return out

    def made(self, func, out):
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor) and t.device.type == "cuda":
                self.follow(t.untyped_storage(), func)

    def follow(self, storage, func):
        key, size = storage._cdata, -(-storage.nbytes() // BLOCK) * BLOCK
        if key in self.known or not size:
            return
        number = self.count
        self.count += 1
        self.live += size
        self.events.append((number, size, str(getattr(func, "_overloadpacket", func)).removeprefix("aten."), self.place()))
        if self.live > self.peak:
            self.peak, self.peak_at = self.live, len(self.events)

        def dead(_, ledger=weakref.ref(self)):
            me = ledger()
            if me is not None:
                me.known.pop(key, None)
                me.live -= size
                me.events.append(~number)

        self.known[key] = weakref.ref(storage, dead)


def replace_parameters(module, change, recurse=True):
    """nn.Module._apply by replacement: fake tensors cannot be swapped in place. Tied parameters stay tied."""
    for child in module.children() if recurse else ():
        child._apply(change)
    for name, p in module._parameters.items():
        if p is not None:
            moved = p.__dict__.get("_moved")
            if moved is not None:
                module._parameters[name] = moved
                continue
            with torch.no_grad():
                new = change(p)
            if new is not p:
                made = torch.nn.Parameter(new, requires_grad=p.requires_grad)
                if sys.getrefcount(p) > 4:  # somebody else has it, too
                    p.__dict__["_moved"] = made
                module._parameters[name] = made
    for name, b in module._buffers.items():
        if b is not None:
            module._buffers[name] = change(b)
    return module
