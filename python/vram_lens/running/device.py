"""What a script asks of a CUDA device, answered for a card that is not there."""

import contextlib
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from ..device import without_context
from . import generators, legacy, streams
from .ledger import Ledger

aten = torch.ops.aten
LARGE = 2**16
"""Elements from which weights that are made on the host have no values: a model's own would fill this machine's memory."""
FACTORIES = {"empty", "empty_strided", "zeros", "ones", "full", "rand", "randn", "randint", "normal"}
MAKERS = ("__init__", "reset_parameters", "_init_weights", "init_weights")


def _operator(func):
    return func._schema.name.removeprefix("aten::")


class Device(Ledger):
    """Tensors of the device are fake, those of the host real but for large weights; what a host reads of the device is nought.

    `picked(mask)`: how many places a boolean mask on the device picks.
    """

    def __init__(self, where, picked=torch.Tensor.numel):
        super().__init__(where)
        self.fake, self.picked = FakeTensorMode(allow_non_fake_inputs=True), picked

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        if any(_is_spread(kind) for kind in kinds):
            return NotImplemented  # what it runs on local tensors is followed
        kwargs = kwargs or {}
        name = _operator(func)
        answer = ANSWERS.get(name)
        if answer is not None and any(isinstance(a, FakeTensor) for a in args if isinstance(a, torch.Tensor)):
            known, out = answer(self, args, kwargs)
            if known:
                self.made(func, out)
                return out
        if name == "is_pinned":
            return True  # what memory of the host is, nobody follows
        if name == "index" or name.startswith("index_put"):
            args = self._positions(func, args)
        if kwargs.get("pin_memory"):
            kwargs = {**kwargs, "pin_memory": False}
        device = kwargs.get("device")
        if name == "_to_copy" and device is not None and args[0].layout is torch.sparse_coo:
            return self._sparse(func, args[0])
        if name == "_to_copy" and device is not None and torch.device(device).type == "cuda" and not isinstance(args[0], FakeTensor):
            # before 2.8 a tensor of the host is moved with its values (torch/_subclasses/fake_tensor.py, "To constant propagate")
            args = (self.fake.from_tensor(args[0]), *args[1:])
        if (device is not None and torch.device(device).type == "cuda") or (name in FACTORIES and self._weights(name, args)):
            with self.fake, _unknown(name, args):
                out = func(*args, **kwargs)
        else:
            with _unknown(name, args):
                out = func(*args, **kwargs)
        self.made(func, out)
        return out

    def _sparse(self, func, t):
        """A sparse tensor stays on the host, where fake ones are not; what it has on the device lives as long as it."""
        moved = t.clone()
        parts = [(part.shape, part.dtype) for part in (t._indices(), t._values())]  # fake tensors would say that there are none
        with self.fake:
            moved.on_device = [torch.empty(shape, dtype=dtype, device="cuda") for shape, dtype in parts]
        for part in moved.on_device:
            self.made(func, part)
        return moved

    def _weights(self, name, args):
        """Whether a factory makes a large tensor while a module is made."""
        import math
        import sys

        sizes = next((a for a in args if isinstance(a, (list, tuple))), None)
        if sizes is None or not all(isinstance(x, int) for x in sizes) or math.prod(sizes) < LARGE:
            return False
        frame = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_name in MAKERS and isinstance(frame.f_locals.get("self"), torch.nn.Module):
                return True
            frame = frame.f_back
        return False

    def _positions(self, func, args):
        """A boolean index is made into positions first (aten/native/IndexingUtils.h, expandTensors)."""
        if not isinstance(args[0], FakeTensor) and not any(isinstance(i, FakeTensor) for i in args[1]):
            return args
        if not any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
            return args
        places = []
        for index in args[1]:
            if index is None or index.dtype not in (torch.bool, torch.uint8):
                places.append(index)
                continue
            with self.fake:
                found = torch.empty(self.picked(index), index.ndim, dtype=torch.int64, device=index.device)
            self.made(aten.nonzero.default, found)
            places += list(found.unbind(1))
        return (args[0], places, *args[2:])


@contextlib.contextmanager
def _unknown(name, args):
    """A tensor whose value is known is moved without it: fake tensors would move the value, too, to a card (before 2.8)."""
    known = [a for a in args if isinstance(a, FakeTensor) and a.constant is not None] if name == "_to_copy" else ()
    values = [a.constant for a in known]
    for a in known:
        a.constant = None
    try:
        yield
    finally:
        for a, value in zip(known, values):
            a.constant = value


def _is_spread(kind):
    """Whether tensors of a class are parts of larger ones on several ranks (`DTensor`)."""
    return kind.__name__ == "DTensor" and kind.__module__.startswith("torch.distributed.")


def _scalar(device, args, kwargs):
    t = args[0]
    return True, bool(getattr(t, "_truth", False)) if t.dtype == torch.bool else 0.0 if t.dtype.is_floating_point else 0


def _fresh(*shape_dtype):
    """An answer with a fresh tensor of what a function of the device and the operands says."""

    def answer(device, args, kwargs):
        shape, dtype = shape_dtype[0](device, args)
        with device.fake:
            return True, torch.empty(shape, dtype=dtype, device=args[0].device)

    return answer


def _product(device, args, kwargs):
    """A product that is made in another dtype than its operands' (`out_dtype`), which fake tensors have no rule for."""
    given = [*args, *kwargs.values()]
    at = next((k for k, one in enumerate(given) if isinstance(one, torch.dtype)), None)
    if at is None:
        return False, None
    out = kwargs.get("out")
    if out is None:
        a, b = [one for one in given[:at] if isinstance(one, torch.Tensor)][-2:]
        with device.fake:
            out = torch.empty((*a.shape[:-1], b.shape[-1]), dtype=given[at], device=a.device)
    return True, out


def _log_sum(device, args, kwargs):
    """The highest of each row, which is taken from every number, is there for a moment (aten/native/ReduceOps.cpp, logsumexp_out_impl)."""
    t, dims = args[0], args[1]

    def one(made, packet):
        device.made(packet, made)
        return made

    with device.fake:
        if not t.is_floating_point():
            return False, None
        highest = one(t.amax(dims, True), aten.amax)
        apart = one(highest.abs(), aten.abs)
        apart = one(apart == 0, aten.eq)
        del apart
        shifted = one(t - highest, aten.sub)
        out = one(aten.logsumexp.default(*args, **kwargs), aten.logsumexp)
        del shifted, highest
    return True, out


ANSWERS = {
    "logsumexp": _log_sum,
    "_local_scalar_dense": _scalar,
    "is_nonzero": lambda device, args, kwargs: (True, bool(getattr(args[0], "_truth", False))),
    "equal": lambda device, args, kwargs: (True, True),
    "nonzero": _fresh(lambda device, args: ((device.picked(args[0]), args[0].ndim), torch.int64)),
    "masked_select": _fresh(lambda device, args: ((device.picked(args[1]),), args[0].dtype)),
    **dict.fromkeys(("mm", "addmm", "bmm", "baddbmm"), _product),
    "_amp_foreach_non_finite_check_and_unscale_": lambda device, args, kwargs: (True, None),
    "_amp_update_scale_": lambda device, args, kwargs: (True, args[0]),
}


class _Nothing:
    """What is entered and left, and does nothing."""

    def __init__(self, *given, **more):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def install(total, ledger, count=1):
    """Answers of torch.cuda for so many cards of so many bytes, on the first of which the ledger follows tensors."""
    answered(total, count)
    cuda = torch.cuda
    live, peak = lambda *a, **k: ledger.live, lambda *a, **k: ledger.peak
    cuda.mem_get_info = lambda *a, **k: (max(0, total - ledger.live), total)
    cuda.memory_allocated = cuda.memory_reserved = cuda.memory_cached = live
    cuda.max_memory_allocated = cuda.max_memory_reserved = cuda.max_memory_cached = peak
    if hasattr(torch, "accelerator"):  # since 2.6
        here = torch.device("cuda")
        torch.accelerator.current_accelerator = lambda *a, **k: here
        torch.accelerator.is_available = lambda: True
        torch.accelerator.device_count = lambda: count
    torch.Tensor.pin_memory = lambda tensor, *a, **k: tensor  # memory of the host is not followed, pinned or not
    # `torch.tensor(…, device="cuda")` makes its tensor on the host and moves it where it is seen (torch/csrc/utils/tensor_new.cpp)
    if hasattr(torch._C, "_set_only_lift_cpu_tensors"):
        torch._C._set_only_lift_cpu_tensors(True)
    torch.cuda.amp.common.amp_definitely_not_available = lambda: False
    import torch.amp.autocast_mode as autocast

    autocast.amp_definitely_not_available = lambda *a: False


def answered(total, count=1):
    """What torch.cuda says of so many cards of so many bytes where nobody follows what is on them."""
    cuda = torch.cuda
    properties = types.SimpleNamespace(
        name="a card that is not there",
        major=8,
        minor=0,
        total_memory=total,
        multi_processor_count=108,
        gcnArchName="",
        uuid="",
        is_integrated=0,
    )
    answers = {
        "is_available": True,
        "is_initialized": True,
        "device_count": count,
        "current_device": 0,
        "get_device_capability": (8, 0),
        "get_device_name": properties.name,
        "get_device_properties": properties,
        "is_bf16_supported": True,
        "is_current_stream_capturing": False,
        "get_rng_state": torch.zeros(16, dtype=torch.uint8),
        "get_rng_state_all": [],
        "memory_stats": {},
        "memory_summary": "",
        "utilization": 0,
        "ipc_collect": None,
        **dict.fromkeys(
            "init _lazy_init set_device synchronize empty_cache manual_seed manual_seed_all seed seed_all reset_peak_memory_stats "
            "reset_max_memory_allocated set_rng_state set_rng_state_all set_per_process_memory_fraction".split()
        ),
    }
    for name, value in answers.items():
        if hasattr(cuda, name):
            setattr(cuda, name, lambda *a, _value=value, **k: _value)
    cuda.mem_get_info = lambda *a, **k: (total, total)
    streams.install()
    legacy.install()
    generators.install()
    cuda.CUDAGraph = cuda.device = cuda.device_of = cuda._DeviceGuard = _Nothing
    cuda.graphs.is_current_stream_capturing = lambda *a, **k: False
    without_context()
    if hasattr(FakeTensorMode, "avoid_device_init"):
        FakeTensorMode.avoid_device_init = property(lambda self: True)
