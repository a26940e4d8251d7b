"""What PyTorch chooses on an Ampere or later card where a fake device would choose otherwise."""

import torch
import torch.nn.functional as F

from ..sentences import say
from ..words import Stopped

aten = torch.ops.aten


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """The kernel that PyTorch chooses (aten/native/transformers/cuda/sdp_utils.cpp)."""
    if torch.is_autocast_enabled("cuda"):
        low = torch.get_autocast_dtype("cuda")
        query, key, value, attn_mask = (t.to(low) if t is not None and t.is_floating_point() else t for t in (query, key, value, attn_mask))
    with torch.autocast("cuda", enabled=False):
        half, width = query.dtype != torch.float32, query.shape[-1]
        if query.dim() != 4:  # batches of heads alone (nested ones are none of ours)
            return by_products(query, key, value, attn_mask, dropout_p, is_causal, scale)
        if half and attn_mask is None and width == key.shape[-1] == value.shape[-1] <= 256:
            scale, missing = scale if scale is not None else width**-0.5, -width % 8
            if missing:
                query, key, value = (F.pad(t, (0, missing)) for t in (query, key, value))
            out = aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
            return out[..., :width] if missing else out
        aligned = 8 if half else 4
        if query.shape[1] == key.shape[1] and width % aligned == 0 and value.shape[-1] % aligned == 0:
            bias = None
            if attn_mask is not None:
                if attn_mask.dtype == torch.bool:
                    attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill_(attn_mask.logical_not(), float("-inf"))
                columns = attn_mask.shape[-1]
                if columns % 16:
                    attn_mask = F.pad(attn_mask, (0, -columns % 16))[..., :columns]
                bias = attn_mask.expand(*query.shape[:2], query.shape[2], key.shape[2])
            saves = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
            return aten._scaled_dot_product_efficient_attention(query, key, value, bias, saves, dropout_p, is_causal, scale=scale)[0]
        more = {"enable_gqa": enable_gqa} if enable_gqa else {}  # since 2.5
        return by_products(query, key, value, attn_mask, dropout_p, is_causal, scale, **more)


def by_products(query, key, value, mask, dropout_p, is_causal, scale, **more):
    """The kernel for what no other takes; a mask of booleans is made one to add before (attention.cpp, convert_boolean_attn_mask)."""
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.where(mask, *(torch.scalar_tensor(v, dtype=query.dtype, device=query.device) for v in (0.0, float("-inf"))))
    return aten._scaled_dot_product_attention_math(query, key, value, mask, dropout_p, is_causal, None, scale=scale, **more)[0]


def one_hot(numbers, num_classes):
    """Zeros that ones are put into, as on a card: fake tensors are compared with a range (aten/native/Onehot.cpp)."""
    return torch.zeros(*numbers.shape, num_classes, dtype=torch.long, device=numbers.device).scatter_(-1, numbers.unsqueeze(-1), 1)


def no_recurrent():
    """Recurrent layers on the device are refused: cuDNN alone says how much they keep for backward (aten/native/cudnn/RNN.cpp)."""
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        setattr(torch._VF, name, _refusing(getattr(torch._VF, name)))


def _refusing(plainly):
    def run(given, *args):
        if given.device.type == "cuda":
            raise Stopped(say("recurrent"))
        return plainly(given, *args)

    return run
