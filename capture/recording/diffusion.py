"""
Graphs of what diffusers' training scripts run of a batch: the pipelines whose denoiser people fine-tune, from the pictures and
texts of a batch to the loss.

A step calls several models: an autoencoder and text encoders that nothing trains, and a denoiser. All stand in one module here,
each under the name that the pipeline has for it, so that what is frozen, adapted or loaded in a dtype of its own is told by its
name. What a script computes once before it trains (embeddings of the one prompt, latents of all pictures) comes with the batch instead.
Source: `examples/text_to_image`, `examples/dreambooth` of diffusers; shapes are those of the published pipelines' configs.
"""

import contextlib
import gc
import random

from . import environment  # noqa: F401  (before torch is used)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from vram_lens.tracing.layers import functions
from vram_lens.tracing.regimes import REGIMES, Capture, described
from vram_lens.tracing.write import graph

from .graphs import flat
from .record import trace
from .diffusion_pipelines import PIPELINES, TOKENS


FP32 = REGIMES[1]
POINTS = (FP32, FP32, FP32, *(r for r in REGIMES if r is not FP32 and not r.norms))
GRIDS = tuple(f"I//{n}" for n in (8, 16, 32, 64))

SPELLED = r"(?:.*\.)?(?:down_blocks|up_blocks|attentions|downsamplers|upsamplers|net|to_out)|vae\..*"
"""Module lists of unlike elements that are written out; residual and transformer blocks are functions, as checkpointing takes them."""
UNLIKE = rf"{SPELLED}|.*\.resnets"
"""Module lists whose elements have weights of unlike shapes."""


class Step(torch.nn.Module):
    """The models of a pipeline that a step calls, and the step."""

    def __init__(self, pipeline, latents, texts):
        super().__init__()
        models = pipeline.models()
        unused = [*(["vae"] if latents == "given" else []), *([n for n in models if n.startswith("text")] if texts == "given" else [])]
        for name, model in models.items():
            if name not in unused:
                self.add_module(name, model)
        self.pipeline, self.latents, self.texts = pipeline, latents, texts

    def forward(self, **batch):
        """The loss, and what the loop still names of the step when the next one begins."""
        models = self._modules
        if self.latents == "encoded":
            with torch.autocast("cuda", enabled=False):
                vae = models["vae"]
                latents = vae.encode(batch["pixel_values"].to(vae.encoder.conv_in.weight.dtype)).latent_dist.sample()
                latents = (latents - 0.1) * 0.18215 if self.pipeline.shifts else latents * 0.18215
                if self.pipeline.casts:
                    latents = latents.to(next(models[self.pipeline.denoiser].parameters()).dtype)
        else:
            latents = batch["latents"]
        if self.texts == "encoded":
            with torch.autocast("cuda", enabled=False):
                conditions = self.pipeline.conditions(models, batch)
        else:
            conditions = batch
        names = self.pipeline.predict(models, latents, conditions)
        names["model_pred"] = names["model_pred"].float()
        loss = self.pipeline.loss(names)
        own = {"latents": latents} if self.latents == "encoded" else {}
        return {"loss": loss, **names, **own, **(conditions if self.texts == "encoded" else {})}


def batch_of(pipeline, latents, texts, sizes, dtype, amp):
    b, side = sizes["B"], sizes["I"]
    given = {}
    if latents == "encoded":
        given["pixel_values"] = torch.zeros(b, 3, side, side, device="cuda")
    else:
        given["latents"] = torch.zeros(b, pipeline.channels, side // 8, side // 8, device="cuda", dtype=torch.float32 if amp else dtype)
    if texts == "encoded":
        given |= {name: torch.zeros(b, TOKENS, dtype=torch.long, device="cuda") for name in pipeline.ids}
    else:
        size = lambda n: sizes["S"] if n == "S" else n
        given |= {name: torch.zeros(b, *(size(n) for n in shape), device="cuda", dtype=dtype) for name, shape in pipeline.embedded.items()}
    return given


def capture(pipeline, latents, texts, sizes, regime):
    """One capture of a step."""
    gc.disable()
    try:
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        torch.set_default_dtype(regime.load)
        try:
            with mode, torch.device("cuda"):
                model = Step(pipeline, latents, texts)
        finally:
            torch.set_default_dtype(torch.float32)
        with mode:
            model.requires_grad_(False)
            model.train()
            for path, module in model.named_modules():
                module.checkpointed = path.startswith(f"{pipeline.denoiser}.") and pipeline.units(path, type(module).__name__)
            batch = batch_of(pipeline, latents, texts, sizes, regime.load, regime.amp)
            with torch.autocast("cuda", dtype=regime.amp) if regime.amp else contextlib.nullcontext():
                recorded = trace(model, batch, lambda: model(**batch))
        parameters, buffers, _ = described(model)
        c = Capture(recorded, {}, sizes, parameters, buffers, main_input=next(iter(batch)), spelled=f"{UNLIKE}|{pipeline.unlike}")
        c.function = functions(c.trace, SPELLED)
        c.load, c.states, c.raised = regime.load, regime.amp or regime.load, bool(regime.norms)
        c.trace = None
        c.settings = {}
        c.env = flat(c.config) | {term: sizes["I"] // int(term.split("//")[1]) for term in GRIDS}
        return c
    finally:
        gc.collect()


def step(name, pipeline, latents, texts):
    """The graph of one pipeline's step."""
    r = random.Random(f"{name} {latents} {texts}")
    batches = r.sample(range(2, 30), len(POINTS))
    sides = [pipeline.step * (4 + 2 * k + k % 2) for k in range(len(POINTS))]  # even and odd ones, which tables are cut by
    tokens = r.sample(range(21, 99), len(POINTS)) if any("S" in shape for shape in pipeline.embedded.values()) else None
    points = [
        capture(pipeline, latents, texts, {"B": b, "I": side, **({"S": tokens[k]} if tokens else {})}, regime)
        for k, (b, side, regime) in enumerate(zip(batches, sides, POINTS))
    ]
    when = [f"architecture == '{name}'", f"latents == '{latents}'", f"texts == '{texts}'", f"I % {pipeline.step} == 0"]
    return graph(points, "diffusion", "none", when, ["B", "S", "I", *GRIDS], [])


def parameters_of(line, name):
    """Parameters of all models of a pipeline."""
    with torch.device("meta"):
        pipeline = PIPELINES[line][name]
        models = {**pipeline.models(), **pipeline.texts()}
    return sum(p.numel() for model in models.values() for p in model.parameters())


def write(folder, lines=None, log=print):
    """Writes the files of all lines, or of those that are named."""
    import diffusers
    import transformers

    from ..storing.stored import shortest

    for line, pipelines in PIPELINES.items():
        if lines and line not in lines:
            continue
        graphs = []
        for name, pipeline in pipelines.items():
            for latents, texts in pipeline.ways:
                graphs.append(step(name, pipeline, latents, texts))
                log(f"diffusers.{line}: {name}, latents {latents}, texts {texts}")
        content = {
            "family": f"diffusers.{line}",
            "captured": {
                "diffusers": diffusers.__version__,
                "transformers": transformers.__version__,
                "torch": torch.__version__.split("+")[0],
                "license": "Apache-2.0",
            },
            "defaults": {},
            "derived": {},
            "layerKind": None,
            "aliases": {},
            "head": None,
            "graphs": graphs,
        }
        (folder / f"diffusers.{line}.json").write_text(shortest(content))
