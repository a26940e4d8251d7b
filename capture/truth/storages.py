"""What PyTorch itself allocates: two optimizer steps of a case on fake CUDA tensors, every storage followed.

The same training step as the HF Trainer's: accelerate's autocast around forward, loss, backward, clipping, AdamW,
`zero_grad(set_to_none=True)`. The answer is the peak of allocated bytes (each storage rounded up to 512 B) over the two
steps, without library workspaces.
"""

import gc
import re
import types
import weakref

from ..recording import environment, experts, pictures, host_reads, sound, picture_loops
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ..recording.run import batch_for, make_config, to_device

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}
CLASSIFIERS = {"seq-cls": "SEQ_CLS", "token-cls": "TOKEN_CLS", "qa": "QUESTION_ANS"}
aten = torch.ops.aten


def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Chooses the kernel as PyTorch does on an Ampere or later card (aten/native/transformers/cuda/sdp_utils.cpp)."""
    if torch.is_autocast_enabled("cuda"):
        low = torch.get_autocast_dtype("cuda")
        query, key, value, attn_mask = (t.to(low) if t is not None and t.is_floating_point() else t for t in (query, key, value, attn_mask))
    with torch.autocast("cuda", enabled=False):
        half, width = query.dtype != torch.float32, query.shape[-1]
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
                bias = attn_mask.expand(*query.shape[:3], key.shape[2])
            saves = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
            return aten._scaled_dot_product_efficient_attention(query, key, value, bias, saves, dropout_p, is_causal, scale=scale)[0]
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            # `scaled_dot_product_attention` does so before it chooses (convert_boolean_attn_mask)
            attn_mask = torch.where(
                attn_mask,
                *(torch.scalar_tensor(v, dtype=query.dtype, device=query.device) for v in (0.0, float("-inf"))),
            )
        return aten._scaled_dot_product_attention_math(
            query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
        )[0]


def one_hot(numbers, num_classes):
    """Zeros that ones are put into, as on a card: fake tensors are compared with a range (aten/native/Onehot.cpp)."""
    return torch.zeros(*numbers.shape, num_classes, dtype=torch.long, device=numbers.device).scatter_(-1, numbers.unsqueeze(-1), 1)


def with_positions(func, args):
    """The operands with positions in place of a boolean index, which it is made into first (aten/native/IndexingUtils.h, expandTensors)."""
    mask = pictures.mask_of(str(func).removeprefix("aten.").removesuffix(".default"), args)
    if mask is None:
        return args, None
    found = mask.nonzero()
    return (
        args[0],
        [x for index in args[1] for x in (found.unbind(1) if index is not None and index.dtype == torch.bool else (index,))],
        *args[2:],
    ), found


class Ledger(TorchDispatchMode):
    """Bytes alive on the fake device, and their maximum since `start`."""

    def __init__(self):
        super().__init__()
        self.known, self.live, self.peak = {}, 0, 0

    def start(self):
        self.peak = self.live

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, found = with_positions(func, args)
        if found is not None:
            self.follow(found.untyped_storage())
        out = func(*args, **(kwargs or {}))
        del found
        for t in tree_leaves(out):
            if isinstance(t, torch.Tensor) and t.device.type == "cuda":
                self.follow(t.untyped_storage())
        return out

    def follow(self, storage):
        key, size = storage._cdata, -(-storage.nbytes() // 512) * 512
        if key in self.known or not size:
            return
        self.live += size
        self.peak = max(self.peak, self.live)

        def dead(_, ledger=weakref.ref(self)):
            me = ledger()
            if me is not None:
                me.known.pop(key, None)
                me.live -= size

        self.known[key] = weakref.ref(storage, dead)


def replace_parameters(module, change, recurse=True):
    """nn.Module._apply by replacement: fake tensors cannot be swapped in place."""
    for child in module.children() if recurse else ():
        child._apply(change)
    for name, p in module._parameters.items():
        if p is not None:
            with torch.no_grad():
                new = change(p)
            if new is not p:
                module._parameters[name] = torch.nn.Parameter(new, requires_grad=p.requires_grad)
    for name, b in module._buffers.items():
        if b is not None:
            module._buffers[name] = change(b)
    return module


def clip(params, limit):
    grads = [p.grad for p in params if p.grad is not None]
    total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads, 2.0)), 2.0)
    torch._foreach_mul_(grads, torch.clamp(limit / (total + 1e-6), max=1.0))


def load(case):
    """The case's model in training mode, without adapters."""
    config = make_config(case["family"], case["model"])
    environment.uncached(config)
    kw = environment.implementation(case["family"], case["attention"])
    with torch.device("cuda"):
        model = environment.class_for(case["task"], config).from_config(config, dtype=DTYPES[case["dtype"]], **kw)
    to_device(model)
    sound.settle(model, case["task"])
    experts.settle(model)
    model.train()
    return config, model


# Where models of pictures and text keep each part; a projector inside the picture side is a projector.
PARTS = {
    "projector": r"multi_modal_projector|connector|visual\.(merger|deepstack_merger_list)",
    "vision": r"visual|vision_tower|vision_model",
    "language": r"language_model|text_model|lm_head",
}


def freeze(case, model):
    """Leaves parts of the model as they are."""
    for name, p in model.named_parameters():
        part = next((part for part, place in PARTS.items() if re.search(rf"(^|\.)({place})(\.|$)", name)), None)
        if part in case.get("frozen", ()):
            p.requires_grad_(False)


def adapt(case, model):
    """The model with the case's adapter and checkpointing."""
    freeze(case, model)
    if case.get("lora"):
        from peft import LoraConfig, get_peft_model

        told = CLASSIFIERS.get(case["task"])  # peft trains the head of these whole
        model = get_peft_model(
            model,
            LoraConfig(
                r=case["lora"]["r"],
                lora_alpha=16,
                lora_dropout=case["lora"]["dropout"],
                target_modules=case["lora"]["target_modules"],
                task_type=told,
            ),
        )
    if case.get("checkpointing"):
        reentrant = case.get("use_reentrant", False)
        kinds = {"gradient_checkpointing_kwargs": {"use_reentrant": True}} if reentrant else {}
        model.gradient_checkpointing_enable(**kinds)
        if reentrant and case.get("lora"):
            model.enable_input_require_grads()
    return model


def wrap(case, model):
    """Accelerate's autocast around the forward."""
    if case.get("amp"):
        from accelerate.utils import convert_outputs_to_fp32

        forward = torch.autocast("cuda", dtype=AMP[case["amp"]])(model.forward.__func__)
        model.forward = types.MethodType(forward, model)
        model.forward = types.MethodType(convert_outputs_to_fp32(model.forward.__func__), model)
    return model


def optimizer_of(model):
    groups = [
        [p for p in model.parameters() if p.requires_grad and p.ndim > 1],
        [p for p in model.parameters() if p.requires_grad and p.ndim <= 1],
    ]
    return torch.optim.AdamW([{"params": g, "weight_decay": 0.0} for g in groups if g], lr=1e-4, foreach=True)


def peak(case):
    """Peak bytes of the case's two steps."""
    F.scaled_dot_product_attention, F.one_hot, apply = attention, one_hot, torch.nn.Module._apply
    torch.nn.Module._apply = replace_parameters
    ledger = Ledger()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            config, model = load(case)
            pictures.install()
            picture_loops.state(model)
            host_reads.settle(model)
            model = wrap(case, adapt(case, model))
            gc.collect()
            optimizer, params = optimizer_of(model), [p for p in model.parameters() if p.requires_grad]
            extra = environment.asked(case["task"])
            ledger.start()
            for _ in range(2):
                batch = batch_for(
                    case["task"],
                    case["sizes"],
                    config,
                    DTYPES[case["dtype"]] if case.get("inputs_follow") and not case["amp"] else torch.float32,
                )
                out = model(**batch, **extra)
                loss = out["loss"]
                del out, batch
                loss.backward()
                del loss
                clip(params, 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            return ledger.peak
    finally:
        torch.nn.Module._apply = apply
        gc.collect()
