"""How a model is loaded at the points it is recorded at, and what one recording is."""

from dataclasses import dataclass, field

import torch

BF16, FP32 = torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Regime:
    """How weights are loaded and what autocast does: the ways that tell a constant dtype from a followed one."""

    load: torch.dtype
    amp: torch.dtype | None = None
    norms: torch.dtype | None = None


REGIMES = (Regime(BF16), Regime(FP32), Regime(FP32, BF16), Regime(BF16, BF16), Regime(BF16, BF16, FP32))


@dataclass(eq=False)
class Capture:
    """One trace with everything its numbers are explained by."""

    trace: object
    config: dict
    sizes: dict
    parameters: list = field(default_factory=list)
    buffers: list = field(default_factory=list)
    tied: dict = field(default_factory=dict)
    frozen: frozenset = frozenset()  # parameters the library itself never trains
    main_input: str = "input_ids"  # what the class says its input is
    turns: dict = field(default_factory=dict)  # names of tensors in layers that are other layers'
    spelled: str | None = None  # module lists that are not stacks of layers


def described(model):
    """Parameters and buffers as (name, shape, dtype, class of the owner), and other names of tied ones with the first."""
    owner = {
        f"{path}.{name}".lstrip("."): type(module).__name__
        for path, module in model.named_modules()
        for name in [*module._parameters, *module._buffers]
    }
    of = lambda tensors: [(n, tuple(t.shape), t.dtype, owner[n]) for n, t in tensors]
    first, tied = {}, {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in first:
            tied[name] = first[id(p)]
        first.setdefault(id(p), name)
    return of(model.named_parameters()), of(model.named_buffers()), tied


def raise_norms(model, dtype):
    """Puts weights of norms into a dtype of their own, as trainers that keep them in float32 do; `None` leaves them."""
    if dtype is None:
        return
    for module in model.modules():
        if not module._modules and "Norm" in type(module).__name__:
            for p in module._parameters.values():
                if p is not None:
                    p.data = p.data.to(dtype)
