"""LLM.int8 on fake tensors: bitsandbytes' own layers over packed weights, its kernels' Python sides without the kernels.

The operators of bitsandbytes answer fake tensors with as many outliers as nobody knows, and hide what they allocate inside.
Here they run as `bitsandbytes/backends/cuda/ops.py` and `backends/default/ops.py` have them, for inputs without outliers.
"""

THRESHOLD = 6.0
"""`llm_int8_threshold` unless a config says otherwise (transformers/utils/quantization_config.py)."""


def quantized_rows(A, threshold=0.0):
    import torch

    scales = torch.empty(A.numel() // A.shape[-1], device=A.device, dtype=torch.float32)
    codes = torch.empty(A.shape, device=A.device, dtype=torch.int8)
    if threshold == 0.0:
        return codes, scales, None
    outliers = A.abs() >= threshold
    outliers.any()
    return codes, scales, torch.empty(0, device=A.device, dtype=torch.int64)


def multiplied(A, CA, CB, SCA, SCB, outlier_cols=None, bias=None):
    import torch

    none = torch.empty(0, device=A.device, dtype=A.dtype)
    products = torch.empty((*CA.shape[:-1], CB.shape[0]), device=A.device, dtype=torch.int32)
    if CA.shape[-1] % 4:  # cuBLASLt has no such product: it goes through float32
        products.copy_(torch.matmul(CA.float(), CB.float().t()).to(torch.int32))
    out = torch.empty_like(products, dtype=torch.float16)
    if bias is not None and bias.dtype != torch.float16:
        out.add_(bias)
    return out.to(A.dtype), none


def pack(model, dtype):
    """Every linear layer but the head as `Linear8bitLt` with a byte a weight and a scale a row."""
    import bitsandbytes as bnb
    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    bnb.functional.int8_vectorwise_quant = quantized_rows
    torch.ops.bitsandbytes.int8_mixed_scaled_mm = multiplied
    head = model.get_output_embeddings()
    for parent in list(model.modules()):
        for name, m in list(parent.named_children()):
            if type(m) is torch.nn.Linear and m is not head:
                with unset_fake_temporarily(), torch.device("cpu"):
                    new = bnb.nn.Linear8bitLt(
                        m.in_features, m.out_features, bias=m.bias is not None, has_fp16_weights=False, threshold=THRESHOLD, device="meta"
                    )
                codes = torch.empty(m.out_features, m.in_features, dtype=torch.int8, device="cuda")
                del new.weight
                new.weight = torch.nn.Parameter(codes, requires_grad=False)
                new.weight.CB, new.weight.SCB, new.weight.has_fp16_weights = (
                    codes,
                    torch.empty(m.out_features, dtype=torch.float32, device="cuda"),
                    False,
                )
                new.bias = m.bias
                new.train(m.training)
                parent._modules[name] = new
                del codes
    model.is_loaded_in_8bit = model.is_quantized = True
