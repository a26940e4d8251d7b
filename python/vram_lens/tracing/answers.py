"""Makes torch run on fake CUDA tensors the way it runs on a real device: what asks the driver, or reads values, is answered here."""

import itertools

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map


class _Number(float):
    """An element of `_Numbers`."""

    def item(self):
        return float(self)


class _Numbers(list):
    """A one-dimensional tensor of the host whose elements are read as numbers (rates of layers); the tensor itself (`made`) for all else."""

    def __init__(self, values, made):
        super().__init__(values)
        self.made = made

    def tolist(self):
        return [float(x) for x in self]

    def split(self, sizes):
        ends = list(itertools.accumulate(sizes))
        return [self[end - size : end] for size, end in zip(sizes, ends)]

    def __getitem__(self, at):
        if isinstance(at, int):
            return super().__getitem__(at)
        return _Numbers(super().__getitem__(at), lambda: self.made()[at]) if isinstance(at, slice) else self.made()[at]

    def __getattr__(self, name):
        if name == "made" or name.startswith("__"):  # what copies it asks before it is made, and of its kind
            raise AttributeError(name)
        return getattr(self.made(), name)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map(lambda a: a.made() if isinstance(a, cls) else a, (args, kwargs or {}))
        return func(*args, **kwargs)


def _calculated(name):
    """An operator of Python's that a list has none of, or another: the tensor's."""
    return lambda numbers, *other: getattr(numbers.made(), name)(*other)


for _name in "add radd sub rsub mul rmul truediv rtruediv pow rpow neg lt le gt ge matmul".split():
    setattr(_Numbers, f"__{_name}__", _calculated(f"__{_name}__"))


class _Sized:
    """`torch.FloatTensor(*size)`, which makes its tensor on the host in float32 whatever is asked for; weights of files take its
    place on the device, in the dtype they are loaded in (transformers/modeling_utils.py, `from_pretrained`)."""

    def __new__(cls, *size):
        if size and not isinstance(size[0], (int, torch.Size)):  # of numbers that are there
            return torch.tensor(*size, dtype=torch.float32)
        return torch.empty(*size)


def install(counted=torch.Tensor.numel):
    """Answers what a CUDA device would answer where torch asks the driver; `counted(mask)` is how many places a mask picks."""
    _device_constructors()  # what `with torch.device(...)` looks for, by the functions as they are now
    torch.cuda.is_available = lambda: False
    torch.cuda._lazy_init = lambda: None  # what is moved to a device by its name asks for it (torch/csrc/utils/device_lazy_init.cpp)
    torch.cuda.is_bf16_supported = lambda *a, **k: True
    torch.cuda.get_device_capability = lambda *a, **k: (8, 0)
    torch.cuda.synchronize = lambda *a, **k: None
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    torch.amp.autocast_mode.amp_definitely_not_available = lambda: False
    rand, linspace, tolist = torch.rand, torch.linspace, torch.Tensor.tolist
    torch.rand = lambda *a, **k: 1.0 if a == ([],) else rand(*a, **k)  # layer drop: never dropped

    def cpu_linspace(*a, **k):  # stochastic-depth rates are read as numbers while the model is built
        if torch.device(k.get("device") or "cpu").type != "cpu":
            return linspace(*a, **k)  # nobody reads what stands on the card
        with unset_fake_temporarily(), torch.device("cpu"), _disable_current_modes():
            values = linspace(*a, **{**k, "device": "cpu"})
            numbers = map(_Number, values.float().numpy())
        return _Numbers(numbers, lambda: linspace(*a, **k)) if values.ndim == 1 else values

    def real_tolist(t):
        if isinstance(t, FakeTensor):
            return tolist(t)
        with unset_fake_temporarily(), _disable_current_modes():
            return t.numpy().tolist()

    def on_host(method):
        """Numbers of a config that code counts with while it builds the model: tensors on the host that are none of the fake ones."""

        def on_the_host(t, *a, **k):
            if isinstance(t, FakeTensor) or t.device.type != "cpu" or t.requires_grad:
                return method(t, *a, **k)
            with unset_fake_temporarily(), _disable_current_modes():
                return method(t, *a, **k)

        return on_the_host

    def real_tensor(data, *a, **k):
        if k.get("device") == "cpu" and isinstance(data, (list, tuple)) and all(isinstance(x, int) for x in data):
            with unset_fake_temporarily(), _disable_current_modes():
                return tensor(data, *a, **k)
        lifts = torch._C._only_lift_cpu_tensors()
        torch._C._set_only_lift_cpu_tensors(True)  # of a thread: what recomputes in backward's has not heard of fake tensors
        try:
            return tensor(data, *a, **k)
        finally:
            torch._C._set_only_lift_cpu_tensors(lifts)

    def every(t, **k):
        if not isinstance(t, FakeTensor):
            return nonzero(t, **k)
        places = torch.zeros(counted(t), t.dim(), dtype=torch.long, device=t.device)
        return places.unbind(1) if k.get("as_tuple") else places

    def alike(t, **k):  # how many tokens end each text: as many in all
        return t[:1].clone() if isinstance(t, FakeTensor) else unique(t, **k)

    def filled(size, fill_value, **k):  # with a number that stands on the device (masks before transformers 4.35): its kind is enough
        if isinstance(fill_value, FakeTensor) and fill_value.device.type != "cpu":
            fill_value = 0.0 if fill_value.is_floating_point() else False if fill_value.dtype is torch.bool else 0
        return full(size, fill_value, **k)

    full, torch.full = torch.full, filled
    unique, torch.unique_consecutive = torch.unique_consecutive, alike
    nonzero = torch.Tensor.nonzero
    torch.Tensor.nonzero = every
    tensor, torch.tensor = torch.tensor, real_tensor
    for name in ("cumsum", "split"):
        setattr(torch.Tensor, name, on_host(getattr(torch.Tensor, name)))
    torch.linspace = cpu_linspace
    torch.FloatTensor = _Sized
    torch.Tensor.tolist = real_tolist
