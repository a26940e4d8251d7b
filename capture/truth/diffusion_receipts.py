"""Receipts of diffusers' training scripts: `test/analysis/diffusion.jsonl`.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.diffusion_receipts [--count 3] [--seed N]

Random options of `train_text_to_image(_lora)(_sdxl).py` and `train_dreambooth_lora_sdxl.py`; the models that diffusers and transformers build and peft
adapts, in the loop of those scripts, on fake CUDA tensors whose storages are followed. Each row has the command and the peak of its two
steps; those there are kept. Mixed precision is float16: without a driver PyTorch takes bfloat16 convolutions for kernels of its own,
which lay gradients out as no card does.
"""

import contextlib
import gc
import pathlib
import random

from ..recording import environment  # noqa: F401  (fake devices answer as real ones)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from ..recording.diffusion_pipelines import PIPELINES, TOKENS
from vram_lens.running import ledger as storages
from vram_lens.running.kernels import attention

from .rows import draw
from .storages import Ledger

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "diffusion.jsonl"

NAMES = {
    "sd15": "stable-diffusion-v1-5/stable-diffusion-v1-5",
    "sd21": "stabilityai/stable-diffusion-2-1",
    "sdxl": "stabilityai/stable-diffusion-xl-base-1.0",
    "flux-dev": "black-forest-labs/FLUX.1-dev",
    "sd3-medium": "stabilityai/stable-diffusion-3-medium-diffusers",
}
SCRIPTS = {
    "sd15": ("train_text_to_image.py", "train_text_to_image_lora.py"),
    "sd21": ("train_text_to_image.py", "train_text_to_image_lora.py"),
    "sdxl": ("train_text_to_image_sdxl.py", "train_text_to_image_lora_sdxl.py", "train_dreambooth_lora_sdxl.py"),
    "flux-dev": ("train_dreambooth_lora_flux.py",),
    "sd3-medium": ("train_dreambooth_lora_sd3.py", "train_dreambooth_sd3.py"),
}
ATTENTION = ["to_k", "to_q", "to_v", "to_out.0"]
JOINT = [f"attn.{name}" for name in (*ATTENTION, "add_k_proj", "add_q_proj", "add_v_proj", "to_add_out")]
TARGETS = {
    "train_dreambooth_lora_flux.py": [*JOINT, "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"],
    "train_dreambooth_lora_sd3.py": JOINT,
}
WHOLE = {"train_text_to_image_lora_sdxl.py", "train_dreambooth_lora_sdxl.py", "train_dreambooth_lora_sd3.py", "train_dreambooth_sd3.py"}
"""Scripts whose autoencoder stays in float32."""
TOKENS_OF = {"train_dreambooth_lora_flux.py": 512, "train_dreambooth_lora_sd3.py": 154, "train_dreambooth_sd3.py": 154}


def case_of(name, number, seed):
    r = random.Random(f"{seed} {name} {number}")
    script = r.choice(SCRIPTS[name])
    return {
        "pipeline": name,
        "script": script,
        "train_batch_size": r.randint(1, 4),
        "resolution": 64 * r.randint(4, 12),
        "mixed_precision": r.choice(("no", "fp16", "fp16")),
        "gradient_checkpointing": r.random() < 0.5,
        "gradient_accumulation_steps": r.choice((1, 1, 2)),
        **({"rank": r.choice((4, 8, 16, 64))} if "lora" in script else {}),
    }


def command_of(case):
    said = {key: value for key, value in case.items() if key not in ("pipeline", "script")}
    flags = [f"--{key}" if value is True else f"--{key}={value}" for key, value in said.items() if value is not False]
    return f"accelerate launch {case['script']} --pretrained_model_name_or_path={NAMES[case['pipeline']]} {' '.join(flags)}\n"


def loaded(pipeline, case, half):
    """The models as the scripts put them on the device: what is trained in float32, and an autoencoder that overflows in float16."""
    lora, by_dtype = "lora" in case["script"], {}
    for dtype in {half, torch.float32}:
        torch.set_default_dtype(dtype)
        try:
            with torch.device("cuda"):
                by_dtype[dtype] = {**pipeline.models(), **(pipeline.texts() if dtype == half and lora else {})}
        finally:
            torch.set_default_dtype(torch.float32)
    whole = {*(["vae"] if case["script"] in WHOLE else []), *([] if lora else [pipeline.denoiser])}
    models = {name: by_dtype[torch.float32 if name in whole else half][name] for name in by_dtype[half]}
    for name, model in models.items():
        model.requires_grad_(not lora and name == pipeline.denoiser)
    return models


def adapted(denoiser, case, half):
    """LoRA as the scripts put it on; they raise its factors for float16."""
    from peft import LoraConfig

    targets = TARGETS.get(case["script"], ATTENTION)
    alpha = 4 if "flux" in case["script"] else case["rank"]
    denoiser.add_adapter(LoraConfig(r=case["rank"], lora_alpha=alpha, init_lora_weights="gaussian", target_modules=targets))
    denoiser.to("cuda")
    for p in denoiser.parameters():
        if p.requires_grad and half == torch.float16:
            p.data = p.data.float()


def given(pipeline, case, half):
    """Embeddings that were made before the first step."""
    size = lambda n: TOKENS_OF[case["script"]] if n == "S" else n
    shapes = pipeline.embedded.items()
    return {name: torch.zeros(case["train_batch_size"], *(size(n) for n in shape), device="cuda", dtype=half) for name, shape in shapes}


def encoded(vae, pipeline, case, half):
    side = case["resolution"]
    pixels = torch.zeros(case["train_batch_size"], 3, side, side, device="cuda")
    latents = vae.encode(pixels.to(vae.dtype)).latent_dist.sample()
    latents = (latents - 0.1) * 0.5 if pipeline.shifts else latents * 0.5
    return pixels, latents.to(half) if pipeline.casts else latents


def peak(case):
    """Most bytes allocated in two steps of the script's loop, and before them where text encoders are deleted."""
    line = next(line for line, pipelines in PIPELINES.items() if case["pipeline"] in pipelines)
    pipeline, script, batch, side = PIPELINES[line][case["pipeline"]], case["script"], case["train_batch_size"], case["resolution"]
    half = torch.float16 if case["mixed_precision"] == "fp16" else torch.float32
    latents_given = script == "train_text_to_image_sdxl.py"
    texts_given = latents_given or "dreambooth" in script and case["pipeline"] != "sd15" and case["pipeline"] != "sd21"
    functional.scaled_dot_product_attention, apply = attention, torch.nn.Module._apply
    torch.nn.Module._apply = storages.replace_parameters
    ledger = Ledger()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            models = loaded(pipeline, case, half)
            denoiser, vae = models[pipeline.denoiser], models["vae"]
            if "lora" in script:
                adapted(denoiser, case, half)
            denoiser.train()
            if case["gradient_checkpointing"]:
                denoiser.enable_gradient_checkpointing()
            parameters = [p for p in denoiser.parameters() if p.requires_grad]
            optimizer = torch.optim.AdamW(parameters, foreach=True)
            gc.collect()
            if "lora" in script:
                ledger.start()
            if texts_given:
                models = {pipeline.denoiser: denoiser}
            if latents_given:
                vae = None
            gc.collect()
            if "lora" not in script:
                ledger.start()
            conditions = given(pipeline, case, half) if texts_given else None
            loss = latents = names = pixels = ids = None
            for _ in range(2):
                for _ in range(case["gradient_accumulation_steps"]):
                    if latents_given:
                        latents = torch.zeros(batch, 4, side // 8, side // 8, device="cuda")
                    else:
                        pixels = None  # the loader's next batch takes the name before anything is made of it
                        pixels, latents = encoded(vae, pipeline, case, half)
                    if not texts_given:
                        ids = {n: torch.zeros(batch, TOKENS, dtype=torch.long, device="cuda") for n in pipeline.ids}
                        conditions = pipeline.conditions(models, ids)
                    with torch.autocast("cuda", dtype=torch.float16) if half == torch.float16 else contextlib.nullcontext():
                        names = pipeline.predict(models, latents, conditions)
                    names["model_pred"] = names["model_pred"].float()
                    loss = pipeline.loss(names)
                    loss.backward()
                torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
                optimizer.step()
                optimizer.zero_grad()
            return ledger.peak
    finally:
        torch.nn.Module._apply = apply
        gc.collect()


def row_of(name, number, seed):
    case = case_of(name, number, seed)
    return {"command": command_of(case), "allocated": peak(case)}


if __name__ == "__main__":
    draw(FILE, "pipeline", NAMES, 4, row_of)
