"""A CUDA device that is not there, for autograd to run on: pure Python, no compiler, no driver.

Fake tensors need no device, but autograd's engine asks PyTorch which accelerator there is to synchronise streams with
(torch/csrc/autograd/engine.cpp, `GraphTask::stash_current_streams`; input_metadata.h). A build with CUDA answers "CUDA" though no
driver is there, and then asks the driver. Here the functions that answer say "none", as in a build for the host alone: their
first instructions in memory are replaced in this process, and in no file.
"""

import ctypes
import mmap
import os
import platform
import sys

from .sentences import say

HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "PYTORCH_JIT": "0", "PYTORCH_NVML_BASED_CUDA_CHECK": "0"}
"""What is in the environment before torch is imported: no real card is touched, and no compiler of scripts asks for one."""

ASKED = ("_ZN2at11accelerator14getAcceleratorEb", "_ZN2at14getAcceleratorEb")
"""`at::accelerator::getAccelerator(bool checked)` since 2.6, and as it was named before."""

DENIED = ("_ZN2at11accelerator13isAcceleratorEN3c1010DeviceTypeE", "_ZN2at13isAcceleratorEN3c1010DeviceTypeE")
"""`at::accelerator::isAccelerator(DeviceType)`, and as it was named before."""

STREAMS = tuple(f"_ZN3c104cuda20get{kind}CUDAStreamE{index}" for kind in ("Current", "Default") for index in "as")
"""`c10::cuda::getCurrentCUDAStream(DeviceIndex)`, which input_metadata.h asks for the stream of every tensor (before 2.10), and
`getDefaultCUDAStream`, which gradients that meet are summed on (autograd/input_buffer.cpp, `InputBuffer::add`)."""

CHOSEN = ("_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE",)
"""`c10::cuda::setCurrentCUDAStream(CUDAStream)`: there is one stream, which is never used."""

COUNTED = ("_ZN3c104cuda12device_countEv",)
"""`c10::cuda::device_count()`: before 2.10 autograd has a queue for each device (autograd/engine.cpp, `start_device_threads`)."""

CONTEXT = ("_ZN3c104cuda17hasPrimaryContextEa",)
"""`c10::cuda::hasPrimaryContext(DeviceIndex)`: no card has one, so no guard goes back to it."""

SET, GET = ("cudaSetDevice",), ("cudaGetDevice", "cudaGetDeviceCount")
"""Where a thread chooses its device, in CUDA's runtime: that succeeds, it is the first, and none is left to be looked after
(c10/cuda/CUDADeviceAssertionHost.cpp)."""

EVENTS = tuple(
    f"cuda{name}"
    for name in "EventCreate EventCreateWithFlags EventRecord EventRecordWithFlags EventQuery EventSynchronize EventElapsedTime "
    "EventDestroy StreamWaitEvent StreamSynchronize StreamQuery StreamIsCapturing".split()
)
"""What the reducer of DistributedDataParallel times and orders its work with (torch/csrc/distributed/c10d/reducer_cuda.cpp)."""

NOTHING = {
    "x86_64": bytes.fromhex("31c0c3"),  # xor eax, eax; ret
    "aarch64": bytes.fromhex("00008052c0035fd6"),  # mov w0, #0; ret
}
"""A function that returns nought, or an empty optional, by the processor's name (`platform.machine`)."""

ONE = {
    "x86_64": bytes.fromhex("b801000000c3"),  # mov eax, 1; ret
    "aarch64": bytes.fromhex("20008052c0035fd6"),  # mov w0, #1; ret
}
"""One that returns one."""

FIRST_DEVICE = {
    "x86_64": bytes.fromhex("c7070000000031c0c3"),  # mov dword ptr [rdi], 0; xor eax, eax; ret
    "aarch64": bytes.fromhex("1f0000b900008052c0035fd6"),  # str wzr, [x0]; mov w0, #0; ret
}
"""One that says it is the first device, in the place of `cudaGetDevice(int*)`."""

FIRST_STREAM = {
    "x86_64": bytes.fromhex("b80100000031d2c3"),  # mov eax, 1; xor edx, edx; ret
    "aarch64": bytes.fromhex("200080d2010080d2c0035fd6"),  # mov x0, #1; mov x1, #0; ret
}
"""One that returns the default stream of `cuda:0`: a device (kind 1, number 0) and the number nought (c10/core/Stream.h)."""

WHERE_CHECKED = {
    "x86_64": bytes.fromhex("400fb6c769c001010000c3"),  # movzx eax, dil; imul eax, eax, 0x101; ret
    "aarch64": bytes.fromhex("21208052007c011bc0035fd6"),  # mov w1, #0x101; mul w0, w0, w1; ret
}
"""One that returns its argument as an optional of kind 1: who must have an accelerator (`checked`: a device that is named by its number
alone, torch/csrc/utils/python_arg_parser.h) is given CUDA, and autograd's engine, which only asks, is given none."""

_READ_EXECUTE, _READ_WRITE_EXECUTE = 5, 7


class NoDevice(RuntimeError):
    """This PyTorch could not be told that a device is there."""


def hide():
    """Hides real cards from a process that has not imported torch yet."""
    os.environ.update(HIDDEN)


def pretend():
    """Has autograd accept tensors on a CUDA device that is not there; raises NoDevice where it does not."""
    import torch

    if torch.version.cuda is None and torch.version.hip is None:
        _guard(torch)
    else:
        _answer(torch)
    try:
        _tried(torch)
    except Exception as error:
        raise NoDevice(
            say(
                "no-autograd",
                version=torch.__version__,
                system=f"{platform.system()} {platform.machine()}",
                error=str(error).splitlines()[0],
            )
        ) from error


def _library(torch, name):
    """One of PyTorch's libraries, which the process has loaded already."""
    form = {"win32": "{}.dll", "darwin": "lib{}.dylib"}.get(sys.platform, "lib{}.so")
    return ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", form.format(name)))


def _answer(torch):
    """Puts functions that answer "none", or name a stream that is never used, in the place of those that are asked."""
    _replaced(_library(torch, "torch_cpu"), ASKED, WHERE_CHECKED)
    _replaced(_library(torch, "torch_cpu"), DENIED, NOTHING)
    _replaced(_library(torch, "c10_cuda"), STREAMS, FIRST_STREAM)
    if tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) < (2, 10):  # newer PyTorch asks nothing of these
        _replaced(_library(torch, "c10_cuda"), COUNTED, ONE)
        _replaced(_library(torch, "c10_cuda"), CHOSEN, NOTHING)
        without_context()
        pretend_runtime(torch)


def without_context():
    """Fake tensors would make a context on a card before anything else (torch/_subclasses/fake_tensor.py)."""
    from torch._subclasses import fake_tensor

    for name in ("init_gpu_context", "init_cuda_context"):
        if hasattr(fake_tensor, name):
            setattr(fake_tensor, name, lambda *given, **more: None)


def pretend_runtime(torch, more=()):
    """Has CUDA's runtime name the first device, choose it, and do nothing for `more` of its functions."""
    if not torch.version.cuda or sys.platform != "linux":
        return
    runtime = _runtime(torch)
    _replaced(runtime, (*SET, *more), NOTHING)
    _replaced(runtime, GET, FIRST_DEVICE)
    _replaced(_library(torch, "c10_cuda"), CONTEXT, NOTHING)


def _replaced(library, functions, code):
    """Puts an answer, by the processor's name, in the place of functions of a library, where it has them."""
    own = code.get(platform.machine())
    if own is None or sys.platform != "linux" or library is None:
        return  # a trial tells whether it does without
    for function in functions:
        found = getattr(library, function, None)
        if found is not None:
            _replace(ctypes.cast(found, ctypes.c_void_p).value, own)


def _runtime(torch):
    """CUDA's runtime as the process has loaded it; None where it is part of another library."""
    for name in (f"libcudart.so.{torch.version.cuda.split('.')[0]}", "libcudart.so.11.0"):
        try:
            return ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
        except OSError:
            continue
    return None


def _replace(at, code):
    """Writes instructions over a function's first ones, in this process alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    page = at // mmap.PAGESIZE * mmap.PAGESIZE
    length = ctypes.c_size_t(at + len(code) - page)
    if libc.mprotect(ctypes.c_void_p(page), length, _READ_WRITE_EXECUTE):
        raise NoDevice(say("no-writing", error=os.strerror(ctypes.get_errno())))
    ctypes.memmove(at, code, len(code))
    libc.mprotect(ctypes.c_void_p(page), length, _READ_EXECUTE)


def _guard(torch):
    """In a build for the host alone nothing guards a CUDA device: the host's guard, which does nothing, stands there as well.

    c10/core/impl/DeviceGuardImplInterface.h: `device_guard_impl_registry`, an array by kind of device; 0 is CPU, 1 is CUDA.
    """
    try:
        registry = (ctypes.c_void_p * 2).in_dll(_library(torch, "c10"), "_ZN3c104impl26device_guard_impl_registryE")
    except (ValueError, OSError):
        return
    if not registry[1]:
        registry[1] = registry[0]


def _tried(torch):
    """One backward on the device."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        weight = torch.zeros(2, 2, device="cuda", requires_grad=True)
        (weight @ weight).sum().backward()
        if weight.grad is None or weight.grad.device.type != "cuda":
            raise RuntimeError("backward gave nothing")
