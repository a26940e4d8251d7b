"""Functions of torch that are recorded as one operator each, where the dispatcher would see their parts or nothing."""

import torch
from torch.overrides import TorchFunctionMode
from .events import Event


class Functions(TorchFunctionMode):
    """Sees dtype reads and the two calls that Python would answer without reaching the dispatcher."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, kinds, args=(), kwargs=None):
        if func == _dtype_get:
            out = func(*args)
            if self.recorder.known(args[0]):
                self.recorder.reads[out] = self.recorder.see(args[0])
            return out
        if func == _requires_grad_get and self.recorder.trained is not None and self.recorder.known(args[0]):
            return self.recorder.differentiable(self.recorder.see(args[0]))
        if func is torch.Tensor.contiguous and not kwargs:
            return torch.ops.aten.contiguous.default(*args)
        return func(*args, **(kwargs or {}))


_dtype_get, _requires_grad_get = torch.Tensor.dtype.__get__, torch.Tensor.requires_grad.__get__


def attention_with(recorder):
    """scaled_dot_product_attention as one operator."""

    def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        with recorder.silence():
            dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else query.dtype
            out = _attended(query, key, value, dtype)
        kw = {"enable_gqa": True} if enable_gqa else {}
        recorder.emit(
            Event(
                "op",
                "scaled_dot_product_attention",
                recorder.scopes[-1],
                [recorder.operand(x) for x in (query, key, value, attn_mask, float(dropout_p), is_causal)],
                kw,
            ),
            out,
        )
        return out

    return sdpa


def _attended(query, key, value, dtype):
    """The result of attention: by the fused kernels its tokens stand before its heads; they take four dimensions, and with any other
    number the last product of matrices gives it (aten/src/ATen/native/transformers/sdp_utils_cpp.h, check_tensor_shapes)."""
    if query.ndim == 4:
        batch, heads, tokens, _ = query.shape
        return torch.empty(batch, tokens, heads, value.shape[3], dtype=dtype, device=query.device).transpose(1, 2)
    before = torch.broadcast_shapes(*(t.shape[:-2] for t in (query, key, value)))
    return torch.empty(*before, query.shape[-2], value.shape[-1], dtype=dtype, device=query.device)


def ctc_with(recorder):
    """The loss over alignments as one operator."""

    def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
        with recorder.silence():
            out = torch.empty((), dtype=log_probs.dtype, device=log_probs.device)
        recorder.emit(
            Event(
                "op",
                "ctc_loss",
                recorder.scopes[-1],
                [recorder.operand(log_probs), recorder.operand(targets), *([] if reduction == "sum" else [reduction])],
            ),
            out,
        )
        return out

    return ctc_loss


def grouped_with(recorder):
    """Matrix products of experts as one operator (the fake device knows only some dtypes of it)."""

    def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
        with recorder.silence():
            out = torch.empty(mat_a.shape[0], mat_b.shape[-1], dtype=mat_a.dtype, device=mat_a.device)
        recorder.emit(Event("op", "_grouped_mm", recorder.scopes[-1], [recorder.operand(x) for x in (mat_a, mat_b, offs)]), out)
        return out

    return grouped_mm
