"""TRL's trainers that compare two completions of their own in every step: online DPO, XPO and Nash-MD (trl/experimental of
1.11, which has all three). Their `training_step` runs whole but for what generates; the backward is where it calls it.
"""

from collections import defaultdict
from types import SimpleNamespace

from ..recording import environment, stand_ins  # noqa: F401  (before transformers)
from .trl_trainers import REFERENCES, _trainer  # (before trl)
import torch

stand_ins.install("rich", "rich.console", "rich.table", "pandas", "datasets", "jinja2", "llm_blender")

from trl.experimental.nash_md import nash_md_trainer
from trl.experimental.online_dpo import online_dpo_trainer
from trl.experimental.xpo import xpo_trainer

NAME = "trl-online"
FUSED = False
# Recorded as what it does for autograd: `inference_mode` hides its tensors.
online_dpo_trainer.torch = SimpleNamespace(**{**vars(torch), "inference_mode": torch.no_grad})
# Ids that go to the host row by row, for functions that read them.
online_dpo_trainer.range = lambda count: ()


class Tokens:
    """A tokenizer that gives the ids it was told of."""

    pad_token_id, eos_token_id = 0, 1

    def __init__(self):
        self.tokenizer, self.given = self, None

    def batch_decode(self, ids, **_):
        return [""] * ids.shape[0]

    def __call__(self, **_):
        return {"input_ids": self.given, "attention_mask": torch.ones_like(self.given)}


def _online(cls, model, reference, accelerator, s, **attributes):
    args = {
        "use_vllm": False,
        "missing_eos_penalty": None,
        "loss_type": s.get("loss", "sigmoid"),
        "torch_empty_cache_steps": None,
        "optim": None,
        "n_gpu": 1,
        "gradient_accumulation_steps": 1,
    }
    tokens = Tokens()
    trainer = _trainer(
        cls,
        model,
        reference,
        accelerator,
        args,
        processing_class=tokens,
        _tokenizer=tokens,
        max_length=10**6,
        stats=defaultdict(list),
        reward_weights=None,
        reward_processing_classes=[tokens],
        is_vision_model=False,
        state=SimpleNamespace(global_step=1, epoch=0),
        _beta=[0.1],
        _alpha=[1e-5],
        _mixture_coef=[0.5],
    )
    for name, value in attributes.items():
        setattr(trainer, name, value)
    return trainer


def online_dpo(model, reference, accelerator, s):
    return _online(online_dpo_trainer.OnlineDPOTrainer, model, reference, accelerator, s)


def xpo(model, reference, accelerator, s):
    return _online(xpo_trainer.XPOTrainer, model, reference, accelerator, s)


def nash_md(model, reference, accelerator, s):
    return _online(nash_md_trainer.NashMDTrainer, model, reference, accelerator, s)


TRAINERS = {"online-dpo": online_dpo, "xpo": xpo, "nash-md": nash_md}
WHOLE = tuple(TRAINERS)


def variants():
    for kind in TRAINERS:
        for reference in REFERENCES[:2]:
            for loss in ("sigmoid", "ipo") if kind != "nash-md" else (None,):
                # Rewards of functions are numbers; XPO and Nash-MD know models only.
                for rewards in ("model", "function") if kind == "online-dpo" else ("model",):
                    yield kind, {"reference": reference, "rewards": rewards, **({"loss": loss} if loss else {})}


def fuse_head(kind, model, settings, reference=False):
    """Whole logits: no head is fused."""


def others(kind, settings):
    """Stand-ins of the models beside policy and reference."""
    from .losses import Logits
    from .trl_ppo import Scorer

    if settings["rewards"] == "function":
        return {}
    return {"reward": Logits(lambda ids: (ids.shape[0], 1)) if kind == "online-dpo" else Scorer()}


def symbols(kind, r):
    prompt, completion = r.randint(11, 30), r.randint(31, 60)
    return {"B": 2 * r.randint(2, 9), "S": prompt + completion, "P": prompt, "T": completion}


def batch_of(kind, settings, sizes, device):
    """What the generation leaves: both completions of every prompt."""
    long = lambda *shape: torch.full(shape, 2, dtype=torch.long, device=device)
    ones = lambda *shape: torch.ones(shape, dtype=torch.long, device=device)
    b, p, t = sizes["B"], sizes["P"], sizes["T"]
    if kind == "online-dpo":
        batch = {
            "prompt_ids": long(2 * b, p),
            "prompt_mask": ones(2 * b, p),
            "completion_ids": long(2 * b, t),
            "completion_mask": ones(2 * b, t),
        }
        return {**batch, **({"reward_ids": long(2 * b, p + t)} if settings["rewards"] == "model" else {})}
    return {"prompt_ids": long(b, p), "prompt_mask": ones(b, p), "first": long(b, p + t), "second": long(b, p + t)}


def scores_of(*_):
    raise NotImplementedError("these trainers score as they go")


def loss_of(trainer, inputs):
    """`training_step` from the generated completions on; the accelerator's `backward` is where the loss is."""
    reward = trainer.others.get("reward")
    if isinstance(trainer, (xpo_trainer.XPOTrainer, nash_md_trainer.NashMDTrainer)):
        prompts = {"prompt_input_ids": inputs["prompt_ids"], "prompt_attention_mask": inputs["prompt_mask"]}
        trainer.tokenize_row = lambda *_: None
        if not hasattr(trainer.model, "config"):
            trainer.model.config = SimpleNamespace(is_encoder_decoder=False)
        trainer.data_collator = lambda _: prompts
        trainer._prepare_inputs = lambda given: given
        trainer._generate_completions = lambda *_: (inputs["first"], inputs["second"])
        trainer.reward_funcs = reward
        rows = inputs["prompt_ids"].shape[0]
    else:
        trainer._generate = lambda *_: (inputs["prompt_ids"], inputs["prompt_mask"], inputs["completion_ids"], inputs["completion_mask"])
        trainer.processing_class.given = inputs.get("reward_ids")
        trainer.reward_funcs = [reward if reward is not None else lambda prompts, **_: [0.0] * len(prompts)]
        rows = inputs["prompt_ids"].shape[0] // 2
    loss = trainer.training_step(trainer.model, {"prompt": [""] * rows})
    trainer.processing_class.given = trainer._generate = trainer._generate_completions = trainer.data_collator = None
    trainer.stats.clear()
    return loss
