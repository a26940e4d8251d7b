"""Pipelines whose denoiser people fine-tune: their models, and what the training scripts make of a batch with them.

Source: `examples/text_to_image`, `examples/dreambooth` of diffusers; shapes are those of the published pipelines' configs.
"""

from dataclasses import dataclass, field
from typing import Callable
import torch
from torch.nn import functional


TOKENS = 77
"""What every script pads a prompt to for CLIP."""


@dataclass(frozen=True)
class Pipeline:
    """One published line of pipelines: its models, and what a step makes of them."""

    models: Callable
    """Models by the names that the pipeline has for them, the denoiser among them."""
    predict: Callable
    """`(models, latents, conditions)`: what a step computes of them, by the names that the scripts have for it: `model_pred` and `target`
    of the loss among it, and what else those names keep until the next step's takes their place."""
    conditions: Callable
    """`(models, ids)`: what the text encoders give the denoiser."""
    ids: tuple
    """Names of the batch's texts, one a text encoder."""
    embedded: dict
    """Shapes of what `conditions` gives, behind the batch's size; `S`: tokens of the prompt."""
    ways: tuple
    """Which of latents and texts the scripts make in the step, as pairs of `encoded` and `given`."""
    step: int = 64
    """The number that a picture's side must be a multiple of."""
    loss: Callable = lambda names: functional.mse_loss(names["model_pred"], names["target"].float(), reduction="mean")
    """The loss of what `predict` gives, whose `model_pred` is float32 by then."""
    channels: int = 4
    shifts: bool = False
    """Latents are moved before they are scaled."""
    texts: Callable = dict
    """Text encoders that embed the prompts before the run and are not in the graph: they are only counted."""
    casts: bool = False
    """Latents are converted to the denoiser's dtype, as the autoencoder is in float32 (SDXL's is not stable in float16)."""
    denoiser: str = "unet"
    unlike: str = "(?!)"
    """Module lists of the denoiser whose elements have weights of unlike shapes, beside those that all pipelines have."""
    units: Callable = field(default=lambda path, kind: False)
    """Whether gradient checkpointing recomputes a module of the denoiser as one, by its path and class."""


def noised(latents):
    """Noise, the steps it is of, and the latents with it (`DDPMScheduler.add_noise`; its table moves to the device once)."""
    noise = torch.randn_like(latents)
    steps = torch.randint(0, 1000, (latents.shape[0],), device=latents.device).long()
    kept = torch.zeros(1000, device=latents.device, dtype=latents.dtype)
    root = (kept[steps] ** 0.5).flatten()
    while len(root.shape) < len(latents.shape):
        root = root.unsqueeze(-1)
    rest = ((1 - kept[steps]) ** 0.5).flatten()
    while len(rest.shape) < len(latents.shape):
        rest = rest.unsqueeze(-1)
    return noise, steps, root * latents + rest * noise


def clip(projection=None, **config):
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    made = CLIPTextConfig(**config, **({"projection_dim": projection} if projection else {}))
    return (CLIPTextModelWithProjection if projection else CLIPTextModel)(made)


SMALL = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}


LARGE = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 23, "num_attention_heads": 16, "hidden_act": "gelu"}


HUGE = {"hidden_size": 1280, "intermediate_size": 5120, "num_hidden_layers": 32, "num_attention_heads": 20, "hidden_act": "gelu"}


def autoencoder(**config):
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(128, 256, 512, 512),
        down_block_types=("DownEncoderBlock2D",) * 4,
        up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=2,
        **config,
    )


def unet(**config):
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(**config)


def stable_diffusion(text, **config):
    return lambda: {"vae": autoencoder(latent_channels=4), "text_encoder": clip(**text), "unet": unet(**config)}


def prompt(models, ids):
    return {"prompt_embeds": models["text_encoder"](ids["input_ids"], return_dict=False)[0]}


def predicted(models, latents, conditions):
    noise, timesteps, noisy = noised(latents)
    made = models["unet"](noisy, timesteps, conditions["prompt_embeds"], return_dict=False)[0]
    return {"model_pred": made, "target": noise, "timesteps": timesteps, "noisy_latents": noisy}


def two_prompts(models, ids):
    """`encode_prompt` of the SDXL scripts: the last state but one of both encoders, and what the second one pools."""
    found = []
    for name, key in (("text_encoder", "input_ids"), ("text_encoder_2", "input_ids_2")):
        made = models[name](ids[key], output_hidden_states=True, return_dict=False)
        pooled = made[0]
        found.append(made[-1][-2])
        del made
    return {"prompt_embeds": torch.concat(found, dim=-1), "pooled_prompt_embeds": pooled}


def predicted_xl(models, latents, conditions):
    noise, timesteps, noisy = noised(latents)
    times = torch.zeros(latents.shape[0], 6, device=latents.device, dtype=latents.dtype)
    added = {"time_ids": times, "text_embeds": conditions["pooled_prompt_embeds"]}
    made = models["unet"](noisy, timesteps, conditions["prompt_embeds"], added_cond_kwargs=added, return_dict=False)[0]
    return {"model_pred": made, "target": noise, "timesteps": timesteps, "noisy_latents": noisy, "time_ids": times}


def stable_diffusion_xl():
    return {
        "vae": autoencoder(latent_channels=4, scaling_factor=0.13025),
        "text_encoder": clip(**SMALL),
        "text_encoder_2": clip(projection=1280, **HUGE),
        "unet": unet(
            sample_size=128,
            cross_attention_dim=2048,
            block_out_channels=(320, 640, 1280),
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            transformer_layers_per_block=[1, 2, 10],
            attention_head_dim=[5, 10, 20],
            use_linear_projection=True,
            addition_embed_type="text_time",
            addition_time_embed_dim=256,
            projection_class_embeddings_input_dim=2816,
        ),
    }


def flowing(latents):
    """Noise, the steps and their sigmas, and the latents with it, as flow matching adds it (sigmas stand in a short table)."""
    noise = torch.randn_like(latents)
    timesteps = torch.zeros(latents.shape[0], device=latents.device)
    sigmas = torch.zeros(latents.shape[0], device=latents.device, dtype=latents.dtype)
    while len(sigmas.shape) < latents.ndim:
        sigmas = sigmas.unsqueeze(-1)
    return noise, timesteps, sigmas, (1.0 - sigmas) * latents + sigmas * noise


def matched(made, target, sigmas):
    """The loss of flow matching, weighted by ones (`--weighting_scheme none`)."""
    weighting = torch.ones_like(sigmas)
    loss = torch.mean((weighting.float() * (made.float() - target.float()) ** 2).reshape(target.shape[0], -1), 1)
    return loss.mean()


def predicted_flux(models, latents, conditions):
    """`train_dreambooth_lora_flux.py`; `_pack_latents` and `_prepare_latent_image_ids` of the pipeline."""
    b, channels, height, width = latents.shape
    ids = torch.zeros(height // 2, width // 2, 3).reshape(height // 2 * (width // 2), 3).to(device=latents.device, dtype=latents.dtype)
    noise, timesteps, sigmas, noisy = flowing(latents)
    packed = noisy.view(b, channels, height // 2, 2, width // 2, 2).permute(0, 2, 4, 1, 3, 5)
    packed = packed.reshape(b, (height // 2) * (width // 2), channels * 4)
    guidance = torch.zeros(1, device=latents.device).expand(b)
    made = models["transformer"](
        hidden_states=packed,
        timestep=timesteps / 1000,
        guidance=guidance,
        pooled_projections=conditions["pooled_prompt_embeds"],
        encoder_hidden_states=conditions["prompt_embeds"],
        txt_ids=torch.zeros(conditions["prompt_embeds"].shape[1], 3, device=latents.device, dtype=latents.dtype),
        img_ids=ids,
        return_dict=False,
    )[0]
    made = made.float()
    made = made.view(b, height // 2, width // 2, channels, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, channels, height, width)
    return {"model_pred": made, "target": noise - latents, "noise": noise, "sigmas": sigmas, "noisy": noisy, "packed": packed, "ids": ids}


def flow_loss(names):
    return matched(names["model_pred"], names["target"], names["sigmas"])


def predicted_sd3(models, latents, conditions):
    noise, timesteps, sigmas, noisy = flowing(latents)
    made = models["transformer"](
        hidden_states=noisy,
        timestep=timesteps,
        encoder_hidden_states=conditions["prompt_embeds"],
        pooled_projections=conditions["pooled_prompt_embeds"],
        return_dict=False,
    )[0]
    return {"model_pred": made, "target": noise - latents, "noise": noise, "sigmas": sigmas, "noisy": noisy}


def flux():
    from diffusers import FluxTransformer2DModel

    vae = autoencoder(latent_channels=16, use_quant_conv=False, use_post_quant_conv=False)
    return {"vae": vae, "transformer": FluxTransformer2DModel(guidance_embeds=True)}


def stable_diffusion_3(**config):
    from diffusers import SD3Transformer2DModel

    vae = autoencoder(latent_channels=16, use_quant_conv=False, use_post_quant_conv=False)
    return {"vae": vae, "transformer": SD3Transformer2DModel(joint_attention_dim=4096, pos_embed_max_size=192, **config)}


def of_transformer(path, kind):
    """Blocks that a transformer hands to `_gradient_checkpointing_func`."""
    return kind in ("FluxTransformerBlock", "FluxSingleTransformerBlock", "JointTransformerBlock")


def of_unet(path, kind):
    """What the blocks of a U-Net hand to `_gradient_checkpointing_func` (models/unets/unet_2d_blocks.py): the first of the middle's is not among it."""
    return kind in ("ResnetBlock2D", "BasicTransformerBlock") and not path.endswith("mid_block.resnets.0")


def t5():
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(
        T5Config(d_model=4096, d_kv=64, d_ff=10240, num_layers=24, num_heads=64, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    )


def mmdit(**config):
    return Pipeline(
        lambda: stable_diffusion_3(**config),
        predicted_sd3,
        dict,
        (),
        {"prompt_embeds": ("S", 4096), "pooled_prompt_embeds": (2048,)},
        GIVEN,
        step=16,
        loss=flow_loss,
        channels=16,
        shifts=True,
        texts=lambda: {
            "text_encoder": clip(projection=768, **SMALL),
            "text_encoder_2": clip(projection=1280, **HUGE),
            "text_encoder_3": t5(),
        },
        casts=True,
        denoiser="transformer",
        unlike=r"transformer\.transformer_blocks",  # the last block gives no texts on
        units=of_transformer,
    )


GIVEN = (("encoded", "given"),)


BOTH = (("encoded", "encoded"), ("given", "encoded"))


PIPELINES = {
    "unet": {
        "sd15": Pipeline(
            stable_diffusion(SMALL, sample_size=64, cross_attention_dim=768, attention_head_dim=8),
            predicted,
            prompt,
            ("input_ids",),
            {"prompt_embeds": (TOKENS, 768)},
            BOTH,
            units=of_unet,
        ),
        "sd21": Pipeline(
            stable_diffusion(
                LARGE, sample_size=96, cross_attention_dim=1024, attention_head_dim=[5, 10, 20, 20], use_linear_projection=True
            ),
            predicted,
            prompt,
            ("input_ids",),
            {"prompt_embeds": (TOKENS, 1024)},
            BOTH,
            units=of_unet,
        ),
        "sdxl": Pipeline(
            stable_diffusion_xl,
            predicted_xl,
            two_prompts,
            ("input_ids", "input_ids_2"),
            {"prompt_embeds": (TOKENS, 2048), "pooled_prompt_embeds": (1280,)},
            (*BOTH, ("encoded", "given"), ("given", "given")),
            step=32,
            casts=True,
            units=of_unet,
        ),
    },
    "transformer": {
        "flux-dev": Pipeline(
            flux,
            predicted_flux,
            dict,
            (),
            {"prompt_embeds": ("S", 4096), "pooled_prompt_embeds": (768,)},
            (*GIVEN, ("given", "given")),
            step=16,
            loss=flow_loss,
            channels=16,
            shifts=True,
            texts=lambda: {"text_encoder": clip(**SMALL), "text_encoder_2": t5()},
            casts=True,
            denoiser="transformer",
            units=of_transformer,
        ),
        "sd3-medium": mmdit(sample_size=128, num_layers=24, num_attention_heads=24, caption_projection_dim=1536),
    },
}
"""Pipelines by line: those of a line share blocks, and stand in one file."""
