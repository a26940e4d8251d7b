"""Trainers of TRL before 0.29: DPO joins prompts and completions itself and asks for the states between layers, KTO picks
the logits of both kinds of samples, GKD scores what follows the prompt.

As `trl_trainers.py`, from which everything else is; the version is the one that is imported (`NAME`). Rows have no padding: what
shifts them by their padding does nothing.
"""

import itertools

from . import trl_trainers
from .trl_trainers import NAME, Version, _trainer, trl  # noqa: F401  (before torch; NAME names what this module records)
from .trl_batches import batch_of as plain_batch_of, makers, symbols as plain_symbols  # noqa: F401  (before torch; NAME names what this module records)
import torch

FUSED = False
VERSION = Version(trl.__version__)

if VERSION < Version("0.29"):
    module = __import__("sys").modules[trl_trainers.DPOTrainer.__module__]
    if VERSION >= Version("0.14"):
        module.flush_left = lambda *tensors: tensors
    elif VERSION >= Version("0.12"):
        module.range = lambda count: ()


def _preference(cls, model, reference, accelerator, s, **attributes):
    args = {
        "device": accelerator.device,
        "use_liger_loss": False,
        "rpo_alpha": 1.0 if s.get("likelihood") else None,
        "max_length": None,
        "ld_alpha": None,
        "discopop_tau": 0.05,
        "gradient_checkpointing": False,
    }
    trainer = _trainer(
        cls,
        model,
        reference,
        accelerator,
        args,
        is_encoder_decoder=False,
        is_vision_model=False,
        padding_value=0,
        pad_token_id=0,
        max_length=None,
        truncation_mode="keep_end",
        use_logits_to_keep=False,
        use_num_logits_to_keep=False,
        padding_free=False,
        use_weighting=s.get("weighting", False),
        beta=0.1,
        label_smoothing=0.1,
        reference_free=False,
        f_divergence_type="reverse_kl",
        f_divergence_params={},
        loss_weights=None,
        _peft_has_been_casted_to_bf16=False,
        is_peft_model=s["reference"] == "adapter",
        ref_adapter_name=None,
        precompute_ref_log_probs=s["reference"] == "none",
        model_adapter_name=None,
        desirable_weight=1.0,
        undesirable_weight=1.0,
        **attributes,
    )
    trainer.store_metrics = lambda metrics, train_eval: None
    return trainer


def dpo(model, reference, accelerator, s):
    # The losses are a list since 0.20.
    return _preference(
        trl_trainers.DPOTrainer, model, reference, accelerator, s, loss_type=[s["loss"]] if VERSION >= Version("0.20") else s["loss"]
    )


def kto(model, reference, accelerator, s):
    return _preference(trl_trainers.KTOTrainer, model, reference, accelerator, s, loss_type=s["loss"], calculate_KL=s["loss"] == "kto")


def _with(trainer, **attributes):
    for name, value in attributes.items():
        setattr(trainer, name, value)
    return trainer


def grpo(model, reference, accelerator, s):
    trainer = trl_trainers.grpo(model, reference, accelerator, s)
    trainer.num_iterations = 2 if s["old"] else 1
    trainer.control = type("Control", (), {"should_evaluate": False})()
    return trainer


def score(model, reference, accelerator, s):
    return grpo(model, reference, accelerator, {"loss": "grpo", "kl": True, "level": "token", "old": False})


_ALL = {
    "gkd": ("0.11", trl_trainers.gkd),
    "score": ("0.15", score),
    "orpo": ("0", trl_trainers.orpo),
    "cpo": ("0", trl_trainers.cpo),
    "dpo": ("0", dpo),
    "kto": ("0", kto),
    "grpo": ("0.15", grpo),
    "rloo": ("0.22", trl_trainers.rloo),
}
if VERSION < Version("0.24"):  # chosen and rejected in a forward each
    _ALL["reward"] = ("0.7", lambda *a: _with(trl_trainers.reward(*a), use_reward_data_collator=True))
TRAINERS = {kind: make for kind, (since, make) in _ALL.items() if VERSION >= Version(since)}
WHOLE = tuple(TRAINERS)
# Where what only data could say is answered with no: 0.12 asks whether a column is empty.
DENIED = ("grpo", "rloo", *(("dpo",) if VERSION < Version("0.14") else ()))
# Trainers that are told how much of a sequence is the prompt, and score the rest.
APART = ("gkd", *(("dpo",) if VERSION >= Version("0.12") else ()))


def fuse_head(kind, model, settings, reference=False):
    """Whole logits: no head is fused."""


def symbols(kind, r):
    sizes = plain_symbols(kind, r)
    if kind == "dpo":
        completion = r.randint(31, 60)
        prompt = r.randint(11, 30)
        if VERSION >= Version("0.12"):  # prompts and completions come apart
            return {"B": sizes["B"], "S": prompt + completion, "P": prompt, "T": completion, "C": 2 * sizes["B"] * completion}
        return sizes
    if kind == "gkd" and VERSION < Version("1"):
        scored = sizes["S"] - sizes["P"]
        return {**sizes, "C": sizes["B"] * scored}
    return sizes


def batch_of(kind, settings, sizes, device):
    b, s = sizes["B"], sizes.get("S", 0)
    long, ones, numbers = makers(device)
    if kind == "dpo" and VERSION < Version("0.12"):
        batch = {f"{side}_{part}": long(b, s) for side in ("chosen", "rejected") for part in ("input_ids", "attention_mask", "labels")}
        return {
            **batch,
            **({f"reference_{side}_logps": numbers(b) for side in ("chosen", "rejected")} if settings["reference"] == "none" else {}),
        }
    if kind == "dpo":
        p, t = sizes["P"], sizes["T"]
        batch = {"prompt_input_ids": long(b, p), "prompt_attention_mask": ones(b, p)}
        for side in ("chosen", "rejected"):
            batch.update({f"{side}_input_ids": long(b, t), f"{side}_attention_mask": ones(b, t)})
        if settings["reference"] == "none":
            batch.update(ref_chosen_logps=numbers(b), ref_rejected_logps=numbers(b))
        return batch
    if kind == "reward":
        return {
            f"{part}_{side}": make(b, s)
            for side in ("chosen", "rejected")
            for part, make in (("input_ids", long), ("attention_mask", ones))
        }
    if kind == "kto":
        batch = {}
        for prefix in ("", "KL_") if settings["loss"] == "kto" else ("",):
            batch.update(
                {
                    f"{prefix}completion_input_ids": long(b, s),
                    f"{prefix}completion_attention_mask": ones(b, s),
                    f"{prefix}completion_labels": long(b, s),
                }
            )
        if settings["reference"] == "none":
            batch["reference_logps"] = numbers(b)
            if settings["loss"] == "kto":
                batch["reference_KL_logps"] = numbers(b)
        return batch
    return plain_batch_of(kind, settings, sizes, device)


def scores_of(trainer, model, inputs, completion, batch_size=None):
    if VERSION >= Version("0.20"):
        return trl_trainers.scores_of(trainer, model, inputs, completion, batch_size)
    # Before 0.19 one micro-batch after the other was scored by the step that learns from it.
    pieces = {"batch_size": batch_size} if VERSION >= Version("0.17") else {}
    with torch.no_grad():
        return trainer._get_per_token_logps(model, inputs["input_ids"], inputs["attention_mask"], completion, **pieces)


def loss_of(trainer, inputs):
    if isinstance(trainer, trl_trainers.KTOTrainer):
        rows = inputs["completion_input_ids"].shape[0]
        inputs["label"] = [k < rows // 2 for k in range(rows)]
    if isinstance(trainer, trl_trainers.GKDTrainer) and VERSION < Version("0.12"):
        inputs.pop("num_items_in_batch")
        return trainer.compute_loss(trainer.model, inputs)
    preference = isinstance(trainer, (trl_trainers.DPOTrainer, trl_trainers.KTOTrainer))
    if preference:
        return trainer.compute_loss(trainer.model, inputs) / trainer.current_gradient_accumulation_steps
    return trl_trainers.loss_of(trainer, inputs)


DPO_LOSSES = ("sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "sppo_hard", "aot", "aot_pair", "apo_zero", "apo_down")
GRPO_LOSSES = {"0.24": ("grpo", "bnpo", "dr_grpo", "dapo"), "0.17": ("grpo", "bnpo", "dr_grpo"), "0.15": ("grpo",)}


def variants():
    """Losses by what their code branches on, as far as the version has them."""
    for kind in ("dpo", "kto"):
        for reference, loss in itertools.product(trl_trainers.REFERENCES, DPO_LOSSES if kind == "dpo" else ("kto", "apo_zero_unpaired")):
            yield kind, {"reference": reference, "loss": loss}
    yield from trl_trainers.terms(("likelihood", "weighting"))
    yield from (one for one in trl_trainers.variants() if one[0] in ("orpo", "cpo"))
    for centered in (False, True) if "reward" in TRAINERS else ():
        yield "reward", {"centered": centered, "apart": True}
    for divergence in ("forward", "reverse", "mixed") if "gkd" in TRAINERS else ():
        yield "gkd", {"divergence": divergence, "reference": "model"}
    if "rloo" in TRAINERS:
        yield "rloo", {}
    if "grpo" not in TRAINERS:
        return
    losses = next(losses for since, losses in GRPO_LOSSES.items() if VERSION >= Version(since))
    levels = ("token", "sequence") if VERSION >= Version("0.20") else ("token",)
    for loss, kl, level, old in itertools.product(losses, (False, True), levels, (False, True)):
        yield "grpo", {"loss": loss, "kl": kl, "level": level, "old": old}
    for model, reference in (("policy", "none"), ("reference", "model"), ("reference", "adapter")):
        yield "score", {"model": model, "reference": reference}
