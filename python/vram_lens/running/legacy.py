"""`torch.cuda.FloatTensor` and its like, which older scripts make tensors of and cast them to: C++ asks the driver for them."""

import torch

KINDS = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}
"""Types by name (torch/csrc/tensor/python_tensor.cpp)."""


class _Kind(type):
    """A type of tensors on the card: an instance is any tensor there of its dtype."""

    def __instancecheck__(cls, one):
        return isinstance(one, torch.Tensor) and one.dtype == cls.dtype and one.device.type == "cuda"

    def __call__(cls, *given, **more):
        """Without values of as many elements as numbers say, else of the values (torch/csrc/utils/tensor_new.cpp, legacy_tensor_ctor)."""
        if len(given) == 1 and not isinstance(given[0], (int, torch.Size)):
            return torch.as_tensor(given[0]).to("cuda", cls.dtype)
        return torch.empty(*given, dtype=cls.dtype, device="cuda")


def install():
    """Puts these in the place of torch's."""
    kinds = {}
    for name, dtype in KINDS.items():
        kind = _Kind(name, (), {"dtype": dtype, "is_cuda": True, "__module__": "torch.cuda"})
        setattr(torch.cuda, name, kind)
        kinds[f"torch.cuda.{name}"] = dtype
    of = torch.Tensor.type

    def cast(tensor, kind=None, *given, **more):
        dtype = kind.dtype if isinstance(kind, _Kind) else kinds.get(kind) if isinstance(kind, str) else None
        if dtype is not None:
            return tensor.to(dtype) if tensor.device.type == "cuda" else tensor.to("cuda", dtype)
        return of(tensor, *(() if kind is None else (kind,)), *given, **more)

    torch.Tensor.type = cast
