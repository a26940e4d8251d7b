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
        key = storage._cdata
        if key in self.known or not storage.nbytes():
            return
        block = self._block(storage.nbytes(), str(getattr(func, "_overloadpacket", func)).removeprefix("aten."))

        def dead(_, ledger=weakref.ref(self)):
            me = ledger()
            if me is not None:
                me._freed(me.known.pop(key, None))

        self.known[key] = _Followed(weakref.ref(storage, dead), block)

    def resized(self, storage, size):
        """A storage that gives its memory back, or takes some again, is another block of the allocator's."""
        followed = self.known.get(storage._cdata)
        if followed is not None:
            self._freed(followed)
            followed.block = self._block(size, "resize_") if size else None

    def _block(self, size, operator):
        number, size = self.count, -(-size // BLOCK) * BLOCK
        self.count += 1
        self.live += size
        self.events.append((number, size, operator, self.place()))
        if self.live > self.peak:
            self.peak, self.peak_at = self.live, len(self.events)
        return number, size

    def _freed(self, followed):
        if followed is not None and followed.block is not None:
            number, size = followed.block
            self.live -= size
            self.events.append(~number)


class _Followed:
    """A storage, which this does not keep alive, and the number and bytes of its block; None while it has none."""

    __slots__ = ("storage", "block")

    def __init__(self, storage, block):
        self.storage, self.block = storage, block


def move_parameters(module, change, recurse=True):
    """nn.Module._apply, as it is: what has a parameter already (an optimizer, a list) has it where it is moved to.

    Its own ways ask for tensors of one kind on both sides, or for none that anybody has a weak reference to (torch/utils,
    `swap_tensors`), as fake ones always have.
    """
    for child in module.children() if recurse else ():
        child._apply(change)
    for p in module._parameters.values():
        if p is None:
            continue
        with torch.no_grad():
            new, grad = change(p), p.grad if p.grad is None else change(p.grad)
        if new is not p:
            p.grad = None
            become(p, torch.nn.Parameter(new, requires_grad=p.requires_grad))
            p.grad = grad
    for name, b in module._buffers.items():
        if b is not None:
            module._buffers[name] = change(b)
    return module


def become(old, new):
    """Has one tensor be the other, for all who have it."""
    old.__class__, new.__class__ = new.__class__, old.__class__
    old.__dict__, new.__dict__ = new.__dict__, old.__dict__
    torch._C._swap_tensor_impl(old, new)


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
