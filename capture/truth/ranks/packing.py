"""Weights of 4 bits in words of another dtype (`bnb_4bit_quant_storage`), as sharding asks for."""

import torch

from .sharding import DTYPES

KNOWN = ("quant_state", "compress_statistics", "quant_type", "blocksize", "bnb_quantized")


def store(model, dtype):
    """Blocks of 4 bits are words of that dtype; what is known of them stays with the layer (bitsandbytes/nn/modules.py)."""
    from bitsandbytes.nn import modules

    def known_again(module):
        """`fix_4bit_weight_quant_state_from_module`, without the class that no fake tensor can have."""
        module.weight.quant_state = module.quant_state

    modules.fix_4bit_weight_quant_state_from_module = known_again
    for module in model.modules():
        packed = getattr(module, "weight", None)
        if getattr(packed, "quant_state", None) is None:
            continue
        known = {name: getattr(packed, name) for name in KNOWN}
        size, device = packed.numel() // DTYPES[dtype].itemsize, packed.device
        del module.weight, packed
        words = torch.empty(size, 1, dtype=DTYPES[dtype], device=device)
        module.weight = torch.nn.Parameter(words, requires_grad=False)
        vars(module.weight).update(known)
