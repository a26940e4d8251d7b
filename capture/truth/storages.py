"""What PyTorch itself allocates: two optimizer steps of a case on fake CUDA tensors, every storage followed.

The same training step as the HF Trainer's: accelerate's autocast around forward, loss, backward, clipping, AdamW,
`zero_grad(set_to_none=True)`. The answer is the peak of allocated bytes (each storage rounded up to 512 B) over the two
steps, without library workspaces.
"""

import gc
import re
import types

from ..recording import environment, experts, pictures, host_reads, sound, picture_loops
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from vram_lens.running import ledger
from vram_lens.running.kernels import attention, one_hot

from ..recording.run import batch_for, make_config, to_device

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
AMP = {"bf16": torch.bfloat16, "fp16": torch.float16}
CLASSIFIERS = {"seq-cls": "SEQ_CLS", "token-cls": "TOKEN_CLS", "qa": "QUESTION_ANS"}


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


class Ledger(ledger.Ledger):
    """Bytes alive on the fake device, and their maximum since `start`."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, found = with_positions(func, args)
        if found is not None:
            self.follow(found.untyped_storage(), func)
        out = super().__torch_dispatch__(func, types, args, kwargs)
        del found
        return out


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
    torch.nn.Module._apply = ledger.replace_parameters
    alive = Ledger()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), alive:
            config, model = load(case)
            pictures.install()
            picture_loops.state(model)
            host_reads.settle(model)
            model = wrap(case, adapt(case, model))
            gc.collect()
            optimizer, params = optimizer_of(model), [p for p in model.parameters() if p.requires_grad]
            extra = environment.asked(case["task"])
            alive.start()
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
            return alive.peak
    finally:
        torch.nn.Module._apply = apply
        gc.collect()
