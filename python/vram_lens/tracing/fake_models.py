"""Somebody's own model on fake tensors: made, moved and called where there is no device."""

import contextlib

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.utils._python_dispatch import _disable_current_modes

from ..running.ledger import move_parameters


def to_fake(model, dtype):
    """The same model with its tensors on the fake device; tied ones stay tied."""
    made = {}

    def fresh(t):
        if id(t) not in made:
            of = dtype if t.is_floating_point() else t.dtype
            made[id(t)] = (t, torch.empty(t.shape, dtype=of, device="cuda"))
        return made[id(t)][1]

    parameters = {}
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None:
                key = id(p)
                if key not in parameters:
                    parameters[key] = (p, torch.nn.Parameter(fresh(p), requires_grad=p.requires_grad))
                module._parameters[name] = parameters[key][1]
        for name, b in list(module._buffers.items()):
            if b is not None and b.layout is torch.sparse_coo:
                # its values and its indices are blocks of their own (aten/src/ATen/SparseTensorImpl.h); nothing here records what runs on them
                with unset_fake_temporarily(), _disable_current_modes():  # fake tensors would say that there are none
                    parts = b._values(), b._indices()
                module._buffers[name], module._buffers[f"{name}_indices"] = map(fresh, parts)
            elif b is not None:
                module._buffers[name] = fresh(b)
        for name, t in vars(module).items():
            if isinstance(t, torch.Tensor):  # a plain attribute: it stays where it was made
                module.__dict__[name] = torch.empty(t.shape, dtype=t.dtype, device=t.device)
    return model


@contextlib.contextmanager
def moving():
    """Parameters that somebody has a weak reference to are moved, too."""
    apply, torch.nn.Module._apply = torch.nn.Module._apply, move_parameters
    try:
        yield
    finally:
        torch.nn.Module._apply = apply


@contextlib.contextmanager
def attention_by_shape():
    """Attention that makes its result alone: which kernel runs is asked of a card (before 2.9)."""
    functional = torch.nn.functional
    own = functional.scaled_dot_product_attention

    def attention(query, key, value, *args, **kwargs):
        return torch.empty(*query.shape[:-1], value.shape[-1], dtype=query.dtype, device=query.device)

    functional.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = own
