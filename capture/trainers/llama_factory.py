"""LLaMA-Factory's own preference trainers, reduced to what their losses read (llamafactory/train/{dpo,kto,rm}/trainer.py).

They take log-probabilities with a whole `log_softmax` of float32 logits, and leave the losses themselves to the TRL they are
pinned to. Its reward model is the language model with TRL's value head on every token. To be run with that TRL and
LLaMA-Factory on `PYTHONPATH`.
"""

import os
from collections import defaultdict
from types import SimpleNamespace

os.environ.setdefault("DISABLE_VERSION_CHECK", "1")

from ..recording import environment, stand_ins  # noqa: F401  (before transformers)
import torch
import transformers  # noqa: F401  (before the stand-ins)

stand_ins.install("torchaudio", "av", "librosa", "omegaconf", "fire")

from llamafactory.train.dpo.trainer import CustomDPOTrainer
from llamafactory.train.kto.trainer import CustomKTOTrainer
from llamafactory.train.rm.trainer import PairwiseTrainer

from trl import AutoModelForCausalLMWithValueHead

from .trl_trainers import _trainer
from .trl_batches import scored_mask

NAME = "llama-factory"
FUSED = False


def _factory(cls, model, reference, accelerator, s, **attributes):
    reference_free = s["reference"] == "none"
    trainer = _trainer(
        cls,
        model,
        reference,
        accelerator,
        {"device": accelerator.device},
        finetuning_args=SimpleNamespace(use_ref_model=not reference_free),
        beta=0.1,
        reference_free=False,
        f_divergence_type="reverse_kl",
        f_divergence_params={},
        label_smoothing=0.1,
        _peft_has_been_casted_to_bf16=False,
        _stored_metrics=defaultdict(lambda: defaultdict(list)),
        ftx_gamma=1e-3 if s.get("sft") else 0.0,
        **attributes,
    )
    trainer.args.use_liger_loss = False
    return trainer


def dpo(model, reference, accelerator, s):
    return _factory(CustomDPOTrainer, model, reference, accelerator, s, loss_type=s["loss"], bco_gemma=0.0, simpo_gamma=0.5, ld_alpha=None)


def kto(model, reference, accelerator, s):
    return _factory(
        CustomKTOTrainer, model, reference, accelerator, s, calculate_KL=True, loss_type="kto", desirable_weight=1.0, undesirable_weight=1.0
    )


def rm(model, reference, accelerator, s):
    return _trainer(PairwiseTrainer, model, None, accelerator, {})


def with_value_head(model):
    """The model as `load_model` wraps it (llamafactory/model/loader.py)."""
    with torch.device("cuda"):
        wrapped = AutoModelForCausalLMWithValueHead(model)
    wrapped.is_peft_model = hasattr(model, "peft_config")
    return wrapped


TRAINERS = {"dpo": dpo, "kto": kto, "rm": rm}
WHOLE = tuple(TRAINERS)
# Losses of the TRL below that it calls without naming one: all are the first one's (dpo_loss, `loss_type="sigmoid"`).
LOSSES = ("sigmoid", "hinge", "ipo", "kto_pair", "orpo", "simpo")


def variants():
    for loss in LOSSES:
        references = ("none",) if loss in ("orpo", "simpo") else ("model", "adapter")
        for reference in references:
            yield "dpo", {"reference": reference, "loss": loss}
    for reference in ("model", "adapter"):
        yield "kto", {"reference": reference, "loss": "kto"}
    yield "rm", {}


def fuse_head(kind, model, settings, reference=False):
    """Whole logits: no head is fused."""


def symbols(kind, r):
    sizes = {"B": 2 * r.randint(2, 9), "S": r.randint(31, 60)}
    if kind == "rm":
        return sizes
    rows = sizes["B"] * (2 if kind == "dpo" else 1)
    return {**sizes, "C": rows * r.randint(5, sizes["S"] - 2)}


def batch_of(kind, settings, sizes, device):
    b, s = sizes["B"], sizes["S"]
    rows = b if kind == "kto" else 2 * b
    long = lambda: torch.zeros(rows, s, dtype=torch.long, device=device)
    batch = {}
    for prefix in ("", "kl_") if kind == "kto" else ("",):
        labels = long()
        if device == "cpu" and kind != "rm":
            labels[scored_mask(rows, s, sizes["C"], device) == 0] = -100
        batch.update({f"{prefix}input_ids": long(), f"{prefix}attention_mask": torch.ones_like(labels), f"{prefix}labels": labels})
    if kind == "kto":
        tags = torch.zeros(b, dtype=torch.bool, device=device)
        if device == "cpu":
            tags[: b // 2] = True
        batch["kto_tags"] = tags
    return batch


def scores_of(*_):
    raise NotImplementedError("LLaMA-Factory generates nothing here")


def loss_of(trainer, inputs):
    """The loss as `Trainer.training_step` takes it to its backward (`model_accepts_loss_kwargs` is off)."""
    loss = trainer.compute_loss(trainer.model, inputs)
    return loss / trainer.current_gradient_accumulation_steps
