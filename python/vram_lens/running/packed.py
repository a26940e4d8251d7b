"""Linear layers of four bits on a card that is not there: bitsandbytes' own layers over packed weights that have no values."""

import torch
from torch.utils._python_dispatch import _disable_current_modes

BLOCK, BLOCK_OF_SCALES = 64, 256
"""Weights that share a scale, and scales that share one of theirs (bitsandbytes/functional.py, quantize_4bit)."""


def pack(model, asked):
    """Replaces every linear layer but the head's by `Linear4bit`, its weights on the device, and moves the rest there.

    `asked`: a `BitsAndBytesConfig`. Which layers stay: transformers/quantizers/base.py, get_modules_to_not_convert.
    """
    import bitsandbytes as bnb

    kept = asked.llm_int8_skip_modules or []
    head = model.get_output_embeddings()
    for path, parent in list(model.named_modules()):
        for name, module in list(parent.named_children()):
            whole = f"{path}.{name}" if path else name
            if type(module) is not torch.nn.Linear or module is head or any(one in whole for one in kept):
                continue
            weight = module.weight.detach().to("cuda")  # put there whole, then packed
            # bitsandbytes' own class of parameters cannot wrap a tensor without values
            with _disable_current_modes():
                new = bnb.nn.Linear4bit(
                    module.in_features,
                    module.out_features,
                    bias=module.bias is not None,
                    compute_dtype=asked.bnb_4bit_compute_dtype,
                    compress_statistics=asked.bnb_4bit_use_double_quant,
                    quant_type=asked.bnb_4bit_quant_type,
                    device="meta",
                )
            del new.weight
            new.weight = _packed(weight, asked)
            new.quant_state, new.bias = new.weight.quant_state, module.bias
            new.train(module.training)
            parent._modules[name] = new
    model.to("cuda")
    _marked(model, asked)


def _packed(weight, asked):
    from bitsandbytes.functional import QuantState

    count = weight.numel()
    scales = -(-count // BLOCK)
    on = {"device": "cuda"}
    codes = torch.empty((count + 1) // 2, 1, dtype=torch.uint8, **on)
    state = {"shape": weight.shape, "code": torch.empty(16, **on), "blocksize": BLOCK, "dtype": weight.dtype}
    state["quant_type"] = asked.bnb_4bit_quant_type
    if asked.bnb_4bit_use_double_quant:
        of_scales = torch.empty(-(-scales // BLOCK_OF_SCALES), **on)
        second = QuantState(absmax=of_scales, code=torch.empty(256, **on), blocksize=BLOCK_OF_SCALES, dtype=torch.float32)
        state |= {"absmax": torch.empty(scales, dtype=torch.uint8, **on), "offset": torch.empty((), **on), "state2": second}
    else:
        state["absmax"] = torch.empty(scales, **on)
    made = torch.nn.Parameter(codes, requires_grad=False)
    made.quant_state, made.bnb_quantized, made.blocksize = QuantState(**state), True, BLOCK
    made.quant_type, made.compress_statistics = asked.bnb_4bit_quant_type, asked.bnb_4bit_use_double_quant
    return made


def _marked(model, asked):
    """What trainers and peft ask of a model to know that it is packed."""
    from transformers.quantizers.auto import AutoHfQuantizer
    from transformers.utils.quantization_config import QuantizationMethod

    model.is_loaded_in_4bit = model.is_quantized = True
    model.quantization_method = QuantizationMethod.BITS_AND_BYTES
    model.hf_quantizer = AutoHfQuantizer.from_config(asked, pre_quantized=False)
    model.config.quantization_config = asked


def paged(functional):
    """States that the driver moves between host and card stand outside of PyTorch's pool (bitsandbytes/functional.py, `get_paged`); what
    updates them writes into tensors that are there."""

    def made(*shape, dtype=torch.float32, device=None):
        out = torch.empty(shape, dtype=dtype, device="cpu")
        out.is_paged, out.page_deviceid = True, getattr(device, "index", 0)
        return out

    functional.get_paged = made
    for name in ("fill", "prefetch_tensor", "optimizer_update_32bit", "optimizer_update_8bit_blockwise"):
        if hasattr(functional, name):
            setattr(functional, name, lambda *given, **more: None)
