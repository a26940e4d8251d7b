"""Builds a model from a config on fake CUDA tensors and records one training forward."""

import contextlib
import copy
import gc

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .batches import MEDIA
from .environment import asked, class_for, implementation, uncached
from . import experts, shared_blocks, pictures, host_reads, releases, sound, picture_loops
from .guards import unguard
from vram_lens.tracing.nesting import first_list
from vram_lens.tracing.regimes import FP32, REGIMES, Capture, described, raise_norms
from .record import record

# Models that are given a box on the page with every token.
PAGES = ("layoutlm", "layoutlmv3", "lilt", "bros")


def make_config(family, settings):
    from transformers import AutoConfig

    config = AutoConfig.for_model(family, **copy.deepcopy(settings))  # classes of pairs take parts out of what they are given
    config.architectures = config.architectures or []  # families with several heads for a task: the first
    return config


def state(task, sizes, config):
    """What of the batch is known that its tensors do not tell."""
    pictures.forget()
    host_reads.state(marked=int(task == "seq-cls"))
    if (
        task == "seq-cls" and config.is_encoder_decoder
    ):  # one token ends each text, whose states are classified (BartForSequenceClassification)
        pictures.place(sizes["B"], sizes["S"], 1)


def batch_for(task, sizes, config, dtype=torch.float32):
    """The tensors the Trainer hands to the model: name, shape, dtype (`dtype` for images and sound)."""
    b, s = sizes["B"], sizes.get("S", 0)
    long = lambda *shape: torch.zeros(*shape, dtype=torch.long, device="cuda")
    state(task, sizes, config)
    if task in MEDIA:
        return {k: v.to(dtype) if v.is_floating_point() else v for k, v in MEDIA[task](sizes, config).items()}
    if task == "multiple-choice":  # every choice is a text of its own
        texts = {"input_ids": long(b, sizes["C"], s)}
        if config.model_type == "modernbert":  # asks how many words there are
            texts["attention_mask"] = long(b, sizes["C"], s)
        return {**texts, "labels": long(b)}
    batch = {"input_ids": long(b, s)}
    if config.model_type in PAGES:
        batch["bbox"] = long(b, s, 4)
    if config.model_type == "layoutlmv3":  # the page's picture beside its words (LayoutLMv3ImageProcessor)
        batch["pixel_values"] = torch.zeros(b, config.num_channels, config.input_size, config.input_size, dtype=dtype, device="cuda")
    if config.model_type == "markuplm":  # where each token stands in the page's tree (MarkupLMProcessor)
        batch |= {f"xpath_{part}_seq": long(b, s, config.max_depth) for part in ("tags", "subs")}
    if task == "qa":
        return {**batch, "start_positions": long(b), "end_positions": long(b)}
    if config.model_type == "t5gemma2":  # texts without pictures: no token ends one
        pictures.place(b, s, 0)
        pictures.place(b, sizes["T"], 0)
    batch["labels"] = long(b) if task == "seq-cls" else long(b, sizes["T"]) if task == "seq2seq-lm" else long(b, s)
    if config.model_type == "fsmt":  # made by the collator, as the class does not (DataCollatorForSeq2Seq)
        batch["decoder_input_ids"] = long(b, sizes["T"])
    if task == "causal-lm":
        batch["num_items_in_batch"] = torch.zeros((), dtype=torch.long, device="cuda")
    return batch


def to_device(model):
    """`model.to("cuda")` for what the library makes on the host whatever the default device is (`torch.Tensor(size)`)."""
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None and p.device.type == "cpu":
                module._parameters[name] = torch.nn.Parameter(p.detach().to("cuda"), requires_grad=p.requires_grad)
        module._buffers |= {name: b.to("cuda") for name, b in module._buffers.items() if b is not None and b.device.type == "cpu"}


def settle(model, dtype):
    """Positions made with the model, where they are from its first forward on: conformers convert theirs for good to the dtype of the states."""
    for module in model.modules():
        if isinstance(getattr(module, "pe", None), torch.Tensor):
            module.pe = module.pe.to(dtype)
        table = vars(module).get("weights")
        if isinstance(table, torch.Tensor):  # counted positions that are a plain attribute, which stays as a buffer does (TrOCR)
            del module.weights
            module.register_buffer("weights", table, persistent=False)


def run(family, settings, task, attention, sizes, regime=REGIMES[0], inputs_follow=False):
    """Records the family's forward for one config, one batch shape and one dtype regime."""
    gc.disable()  # a tensor goes when its last reference goes, at the same place every time
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            config = make_config(family, settings)
            uncached(config)
            kw = implementation(family, attention)
            with torch.device("cuda"):
                model = class_for(task, config).from_config(config, **releases.made_in(regime.load), **kw)
            to_device(model)
            raise_norms(model, regime.norms)
            releases.settle(model)
            sound.settle(model, task)
            experts.settle(model)
            shared_blocks.settle(model)
            host_reads.settle(model)
            unguard(model)
            picture_loops.install(model)
            if releases.VERSION >= (5, 0):  # families of pictures and texts are recorded from the newest code only
                pictures.install()
            settle(model, regime.amp or regime.load)
            frozen = frozenset(n for n, p in model.named_parameters() if not p.requires_grad)
            model.requires_grad_(False)
            model.train()
            batch = releases.handed(model, batch_for(task, sizes, config, regime.load if inputs_follow and not regime.amp else FP32))
            extra = asked(task)
            amp = torch.autocast("cuda", dtype=regime.amp) if regime.amp else contextlib.nullcontext()
            with amp:
                trace = record(model, batch, extra)
        params, buffers, tied = described(model)
        turns = shared_blocks.turns(tied, first_list)
        if turns:
            kinds_of = {path: type(module).__name__ for path, module in model.named_modules()}
            params = [  # what layers use in turn stands in each of them, for its place among them
                (n, tuple(p.shape), p.dtype, kinds_of[n.rpartition(".")[0]])
                for n, p in model.named_parameters(remove_duplicate=False)
                if n not in tied or n in turns
            ]
        stored = {k: v for k, v in config.to_dict().items()}
        kinds = getattr(config, "layer_types", None)
        if isinstance(kinds, list) and len(kinds) == getattr(
            config, "num_hidden_layers", None
        ):  # some classes compute it; ResNet's lists what it knows
            stored.setdefault("layer_types", kinds)
        sizes = {**sizes, "B": sizes["B"] * sizes.get("C", 1)}  # every choice is a text
        return Capture(
            trace, stored, sizes, params, buffers, {n: to for n, to in tied.items() if n not in turns}, frozen, model.main_input_name, turns
        )
    finally:
        gc.collect()
