"""TRL's trainers reduced to what their losses read: no data set, no tokenizer, one process.

The loss runs TRL's own code: `_compute_loss` of the trainer class over models that carry TRL's fused head, or that give
whole logits where TRL is older than the head (1.15). Used twice: to record the loss (`losses.py`, over stand-ins of the
models) and to measure it (`trainer_truth.py`, over real models).
"""

import contextlib
import importlib
import itertools
from collections import defaultdict
from types import SimpleNamespace

from ..recording import environment, stand_ins  # noqa: F401  (before transformers)
import torch

stand_ins.answer_old_questions()

import trl
import trl.trainer.utils as trl_utils
from packaging.version import Version
from .trl_batches import HEADS, batch_of, symbols  # noqa: F401  (every module of trainers has both)


def _class(name):
    """A trainer's class, wherever this version has it; a class that nothing is of where it has none."""
    for place in ("experimental", "trainer"):
        folder = name.lower()
        module = f"trl.trainer.{folder}_trainer" if place == "trainer" else f"trl.experimental.{folder}.{folder}_trainer"
        try:
            return getattr(importlib.import_module(module), f"{name}Trainer")
        except (ImportError, AttributeError):
            continue
    return type(f"{name}Trainer", (), {})


DPOTrainer, GRPOTrainer, KTOTrainer, RewardTrainer, RLOOTrainer, SFTTrainer, CPOTrainer, ORPOTrainer, GKDTrainer = map(
    _class, ("DPO", "GRPO", "KTO", "Reward", "RLOO", "SFT", "CPO", "ORPO", "GKD")
)
try:
    from trl.models.utils import disable_gradient_checkpointing
except ImportError:  # before 0.29
    disable_gradient_checkpointing = contextlib.nullcontext

# Whether losses go through TRL's fused head.
FUSED = Version(trl.__version__) >= Version("1.15")
# Name of the file they are written to.
NAME = "trl" if FUSED else f"trl-{'.'.join(trl.__version__.split('.')[:2])}"
if FUSED:
    import trl.kernels.chunked_logprob as kernels

    # What a card with Triton does: only scored positions go through the head.
    trl_utils._use_triton = lambda device: True
    kernels._use_triton = lambda device: True
    kernels._forward_kernel = kernels._backward_kernel = defaultdict(lambda: lambda *a, **k: None)
    if not kernels._TRITON_AVAILABLE:
        kernels.triton = SimpleNamespace(cdiv=lambda a, b: -(-a // b))


class Accelerator:
    """One process: nothing to gather."""

    num_processes, sync_gradients, is_main_process, parallelism_config = 1, True, True, None

    def __init__(self, device, autocast=contextlib.nullcontext):
        self.device, self.autocast = device, autocast

    def gather(self, x):
        return x

    gather_for_metrics = gather

    def pad_across_processes(self, x, **_):
        return x

    def reduce(self, x, **_):
        return x.clone()  # accelerate/utils/operations.py: reduce

    def unwrap_model(self, model):
        return model


def _trainer(cls, model, reference, accelerator, args, **attributes):
    trainer = object.__new__(cls)
    base = {
        "model": model,
        "ref_model": reference,
        "accelerator": accelerator,
        "aux_loss_enabled": False,
        "_metrics": {"train": defaultdict(list)},
        "_total_train_tokens": 0,
        "_tp_size": 1,
        "current_gradient_accumulation_steps": 1,
        "use_liger_kernel": False,
        "temperature": 1.0,
        "model_kwarg_keys": ("logits_to_keep",),
        "label_pad_token_id": -100,
        "use_liger_gkd_loss": False,
        "liger_loss": None,
        "use_liger_loss": False,
        "use_dpo_data_collator": True,
    }
    trainer.args = SimpleNamespace(gradient_checkpointing_kwargs=None, report_to=[], **args)
    for name, value in {**base, **attributes}.items():
        setattr(trainer, name, value)
    return trainer


def dpo(model, reference, accelerator, s):
    return _trainer(
        DPOTrainer,
        model,
        reference,
        accelerator,
        {"discopop_tau": 0.05},
        ld_alpha=0.5 if s.get("length_desensitized") else None,
        precompute_ref_logps=s["reference"] == "none",
        f_divergence_type="reverse_kl",
        f_alpha_divergence_coef=0.5,
        loss_types=[s["loss"]],
        loss_weights=[1.0],
        beta=0.1,
        label_smoothing=0.1,
        use_weighting=s.get("weighting", False),
    )


def kto(model, reference, accelerator, s):
    return _trainer(
        KTOTrainer,
        model,
        reference,
        accelerator,
        {},
        calculate_KL=s["loss"] == "kto",
        precompute_ref_logps=s["reference"] == "none",
        loss_type=s["loss"],
        beta=0.1,
        desirable_weight=1.0,
        undesirable_weight=1.0,
    )


def reward(model, reference, accelerator, s):
    return _trainer(RewardTrainer, model, reference, accelerator, {"center_rewards_coefficient": 0.01 if s["centered"] else None})


def grpo(model, reference, accelerator, s):
    args = {
        "delta": None,
        "use_bias_correction_kl": False,
        "steps_per_generation": 1,
        "sapo_temperature_pos": 1.0,
        "sapo_temperature_neg": 1.05,
        "vespo_k_pos": 2.0,
        "vespo_lambda_pos": 3.0,
        "vespo_k_neg": 3.0,
        "vespo_lambda_neg": 2.0,
    }
    return _trainer(
        GRPOTrainer,
        model,
        reference,
        accelerator,
        args,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        importance_sampling_level=s["level"],
        beta=0.04 if s["kl"] else 0.0,
        loss_type=s["loss"],
        epsilon_low=0.2,
        epsilon_high=0.2,
        use_vllm=s.get("vllm", False),
        vllm_importance_sampling_correction=True,
        max_completion_length=64,
        _entropy_bonus_enabled=False,
        use_adaptive_entropy=False,
    )


def rloo(model, reference, accelerator, s):
    return _trainer(RLOOTrainer, model, reference, accelerator, {}, epsilon_low=0.2, epsilon_high=0.2)


def _logits(cls, model, accelerator, **attributes):
    """The trainers that take whole logits."""
    return _trainer(
        cls,
        model,
        None,
        accelerator,
        {"device": accelerator.device},
        is_encoder_decoder=False,
        padding_value=0,
        pad_token_id=0,
        beta=0.1,
        _peft_has_been_casted_to_bf16=False,
        _stored_metrics={"train": defaultdict(list)},
        **attributes,
    )


def orpo(model, reference, accelerator, s):
    return _logits(ORPOTrainer, model, accelerator)


def cpo(model, reference, accelerator, s):
    return _logits(
        CPOTrainer,
        model,
        accelerator,
        loss_type=s["loss"],
        label_smoothing=0.1,
        alpha=0.0,
        cpo_alpha=1.0 if s["likelihood"] else 0,
        simpo_gamma=0.5,
    )


def sft(model, reference, accelerator, s):
    trainer = _trainer(
        SFTTrainer,
        model,
        None,
        accelerator,
        {"loss_type": s["loss"], "average_tokens_across_devices": True},
        compute_loss_func=None,
        label_smoother=None,
    )
    trainer.get_tp_size = lambda: 1
    return trainer


def gkd(model, reference, accelerator, s):
    """The reference's place is the teacher's."""
    trainer = _trainer(
        GKDTrainer,
        model,
        None,
        accelerator,
        {},
        teacher_model=reference,
        beta={"forward": 0.0, "reverse": 1.0, "mixed": 0.5}[s["divergence"]],
    )
    return trainer


def score(model, reference, accelerator, s):
    """The pass over generated completions: log-probabilities under the policy or under its reference."""
    return grpo(model, reference, accelerator, {"loss": "grpo", "kl": True, "level": "token", "old": False})


TRAINERS = {
    **({"gkd": gkd} if FUSED else {}),
    "sft": sft,
    "score": score,
    "orpo": orpo,
    "cpo": cpo,
    "dpo": dpo,
    "kto": kto,
    "reward": reward,
    "grpo": grpo,
    "rloo": rloo,
}
# Trainers whose loss asks the models for logits.
WHOLE = ("reward", "orpo", "cpo", "gkd") if FUSED else tuple(TRAINERS)


def fuse_head(kind, model, settings, reference=False):
    """TRL's fused head on a model, as the trainer's `__init__` puts it on; a policy without its adapter is the reference
    with the policy's own head."""
    if kind not in HEADS or not FUSED:
        return
    of_policy = HEADS[kind] + (("log_sum_sq_probs",) if settings.get("weighting") else ())
    trl_utils.add_fused_lm_head(model, outputs=("log_probs",) if reference and settings.get("reference") != "adapter" else of_policy)


# Whose loss the Trainer still divides by the accumulation steps (`num_items_in_batch` is None without labels).
DIVIDED = (ORPOTrainer, CPOTrainer, DPOTrainer, KTOTrainer, RewardTrainer, RLOOTrainer)


def scores_of(trainer, model, inputs, completion, batch_size=None, **media):
    """Log-probabilities of completions, as the trainer takes them before its steps."""
    with torch.no_grad(), disable_gradient_checkpointing(trainer.model):
        return trainer._get_per_token_logps_and_entropies(
            model, inputs["input_ids"], inputs["attention_mask"], completion, batch_size=batch_size, **media
        )[0]


def loss_of(trainer, inputs):
    """The loss as `Trainer.training_step` takes it to its backward."""
    loss = _loss(trainer, inputs)
    return loss / trainer.current_gradient_accumulation_steps if isinstance(trainer, DIVIDED) else loss


def _loss(trainer, inputs):
    if isinstance(trainer, GKDTrainer):
        return trainer.compute_loss(trainer.model, inputs, num_items_in_batch=inputs.pop("num_items_in_batch"))
    if isinstance(trainer, SFTTrainer):
        return trainer.compute_loss(trainer.model, inputs, num_items_in_batch=inputs.pop("num_items_in_batch"))
    if isinstance(trainer, (RewardTrainer, ORPOTrainer, CPOTrainer)):
        return trainer.compute_loss(trainer.model, inputs)
    if isinstance(trainer, (GRPOTrainer, RLOOTrainer)):
        return type(trainer)._compute_loss(trainer, trainer.model, inputs)
    return trainer._compute_loss(trainer.model, inputs, False)


REFERENCES = ("model", "adapter", "none")
DPO_LOSSES = (
    "sigmoid",
    "hinge",
    "ipo",
    "exo_pair",
    "nca_pair",
    "robust",
    "bco_pair",
    "sppo_hard",
    "aot",
    "aot_unpaired",
    "apo_zero",
    "apo_down",
    "discopop",
    "sft",
    "sigmoid_norm",
)
GRPO_LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "vespo", "luspo")


def terms(names):
    """DPO with a further term that reads whole logits: the likelihood of what was chosen (`rpo_alpha`), or weights of the pairs (`use_weighting`)."""
    for reference, name in itertools.product(REFERENCES, names):
        yield "dpo", {"reference": reference, "loss": "sigmoid", name: True}


def variants():
    """Every loss, by what its code branches on."""
    for reference, loss in itertools.product(REFERENCES, DPO_LOSSES):
        yield "dpo", {"reference": reference, "loss": loss}
    yield from terms(("weighting",))
    for reference, loss in itertools.product(REFERENCES, ("kto", "apo_zero_unpaired")):
        yield "kto", {"reference": reference, "loss": loss}
    for centered in (False, True):
        yield "reward", {"centered": centered}
    for loss in ("nll", "dft") if FUSED else ():  # before, the plain model's own loss
        yield "sft", {"loss": loss}
    yield "orpo", {}
    for loss, likelihood in itertools.product(("sigmoid", "hinge", "ipo", "simpo"), (True, False)):
        yield "cpo", {"loss": loss, "likelihood": likelihood}
    for loss, kl, level, old in itertools.product(GRPO_LOSSES, (False, True), ("token", "sequence"), (False, True)):
        yield "grpo", {"loss": loss, "kl": kl, "level": level, "old": old}
    yield "rloo", {}
    for divergence in ("forward", "reverse", "mixed") if FUSED else ():
        yield "gkd", {"divergence": divergence, "reference": "model"}
    for model, reference in (("policy", "none"), ("reference", "model"), ("reference", "adapter")):
        yield "score", {"model": model, "reference": reference}
