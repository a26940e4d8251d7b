"""What TRL's PPO allocates: two updates of its own `train` over real models on fake CUDA tensors.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.ppo_receipts [--first N] [--count N]

Everything is `PPOTrainer.train`'s but what `generate` does inside: its ids and scores come at once. Receipts go to
`test/core/trainers/trl-ppo/trl_ppo.jsonl`.
"""

import argparse
import contextlib
import gc
import json
import random
import traceback
from types import SimpleNamespace

from ..recording import environment  # noqa: F401  (before transformers)
from ..trainers import trl_ppo
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from trl.trainer.utils import disable_dropout_in_model
from vram_lens.running.kernels import attention
from vram_lens.running.ledger import replace_parameters

from . import storages
from .receipt_models import FAMILIES
from .receipts import alone
from .trl_receipts import OUT, unmasked
from .rows import drawn_in

code = trl_ppo.code
aten = torch.ops.aten


class Ledger(storages.Ledger):
    """Follows storages, and answers what only data could: nothing is padded."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default:
            return False if args[0].dtype == torch.bool else 1
        if func is aten.logsumexp.default:  # what its kernel allocates inside (aten/native/ReduceOps.cpp)
            reduced = [d % args[0].ndim for d in args[1]]
            new = lambda shape, dtype: self.counted(torch.empty(shape, dtype=dtype, device="cuda"))
            largest = new([1 if d in reduced else n for d, n in enumerate(args[0].shape)], args[0].dtype)
            absolute, infinite = new(largest.shape, largest.dtype), new(largest.shape, torch.bool)
            del absolute, infinite
            shifted = new(args[0].shape, args[0].dtype)
            out = super().__torch_dispatch__(func, types, args, kwargs)
            del shifted, largest
            return out
        return super().__torch_dispatch__(func, types, args, kwargs)

    def counted(self, t):
        self.follow(t.untyped_storage(), None)
        return t


class Accelerator:
    """One process."""

    device = "cuda"

    def __init__(self, accumulation):
        self.accumulation, self.micro, self.sync = accumulation, 0, False

    def print(self, *_):
        pass

    @contextlib.contextmanager
    def accumulate(self, model):
        self.micro += 1
        self.sync = self.micro % self.accumulation == 0
        yield

    def backward(self, loss):
        (loss / self.accumulation).backward()

    def unwrap_model(self, model):
        return model

    def gather_for_metrics(self, x):
        return x


class Optimizer:
    """Steps when the gradients of all micro-batches are there."""

    def __init__(self, optimizer, accelerator):
        self.optimizer, self.accelerator = optimizer, accelerator

    def step(self):
        if self.accelerator.sync:
            self.optimizer.step()

    def zero_grad(self):
        if self.accelerator.sync:
            self.optimizer.zero_grad(set_to_none=True)


def generator(case):
    def generate(input_ids=None, **_):
        rows, vocabulary = input_ids.shape[0], case["model"]["vocab_size"]
        scores = tuple(torch.empty(rows, vocabulary, device="cuda") for _ in range(case["completion"]))
        return SimpleNamespace(
            scores=scores, sequences=torch.ones(rows, case["prompt"] + case["completion"], dtype=torch.long, device="cuda")
        )

    return generate


def trainer_of(case, policy, reference, value, reward):
    for model in (policy, reference, value, reward):
        if model is not None:
            disable_dropout_in_model(model)
    model = storages.wrap(case, code.PolicyAndValueWrapper(policy, value))
    trainer = object.__new__(code.PPOTrainer)
    batch, accumulation = case["batch"], case["grad_accum"]
    local = batch * accumulation
    args = SimpleNamespace(
        response_length=case["completion"],
        temperature=0.7,
        num_ppo_epochs=1,
        num_mini_batches=case["mini_batches"],
        gradient_accumulation_steps=accumulation,
        num_total_batches=2,
        batch_size=local,
        local_batch_size=local,
        local_mini_batch_size=local // case["mini_batches"],
        per_device_train_batch_size=batch,
        total_episodes=2 * local,
        local_rollout_forward_batch_size=case["piece"],
        ds3_gather_for_generation=True,
        missing_eos_penalty=None,
        kl_estimator="k1",
        kl_coef=0.05,
        whiten_rewards=False,
        gamma=1.0,
        lam=0.95,
        cliprange_value=0.2,
        cliprange=0.2,
        vf_coef=0.1,
        num_sample_generations=0,
        logging_steps=None,
        eval_steps=None,
        save_steps=None,
    )
    control = SimpleNamespace(should_save=False)
    accelerator = Accelerator(accumulation)
    trainer.args, trainer.accelerator, trainer.model, trainer.ref_model, trainer.reward_model = args, accelerator, model, reference, reward
    trainer.optimizer = Optimizer(storages.optimizer_of(model), accelerator)
    trainer.processing_class = SimpleNamespace(pad_token_id=0, eos_token_id=1)
    trainer.dataloader = [{"input_ids": torch.ones(local, case["prompt"], dtype=torch.long)}]
    trainer.state = SimpleNamespace(episode=0, global_step=0)
    trainer.is_deepspeed_enabled, trainer.is_peft_model, trainer.ref_adapter_name, trainer.stop_token_id, trainer.train_dataset_len = (
        False,
        reference is None,
        None,
        None,
        100,
    )
    trainer.control = control
    trainer.callback_handler = SimpleNamespace(
        on_train_begin=lambda *a: control, on_step_end=lambda *a: control, on_train_end=lambda *a: control
    )
    trainer.lr_scheduler = SimpleNamespace(step=lambda: None, get_last_lr=lambda: [0.0])
    trainer.log = lambda metrics: None
    policy.generate = generator(case)
    return trainer


def peak(case):
    """Peak bytes of the case's two updates, and what is counted of its models."""
    F.scaled_dot_product_attention, apply = attention, torch.nn.Module._apply
    torch.nn.Module._apply = replace_parameters
    code.unwrap_model_for_generation = lambda model, *a, **k: contextlib.nullcontext(model)
    code.empty_cache = lambda: None
    ledger = Ledger()
    scorer = {**case, "task": "seq-cls", "model": {**case["model"], "num_labels": 1, "pad_token_id": 0}}
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            policy, value, reward = (unmasked(storages.load(c)[1]) for c in (case, scorer, scorer))
            reference = None if case.get("lora") else unmasked(storages.load(case)[1]).eval()
            for model in (policy, value, *([] if reference is None else [reference])):
                model.config.use_cache = True
            policy = storages.adapt(case, policy)
            reward.eval()
            trainer = trainer_of(case, policy, reference, value, reward)
            gc.collect()
            ledger.start()
            trainer.train()
            models = [m for m in (policy, reference, value, reward) if m is not None]
            return {"peak_allocated": ledger.peak, "params": sum(p.numel() for m in models for p in m.parameters())}
    finally:
        torch.nn.Module._apply = apply
        gc.collect()


FAMILY = ("llama", "qwen3", "qwen2", "mistral", "gpt2")


def draw(number):
    """The case of a number."""
    r = random.Random(f"ppo-{number}")
    family = r.choice(FAMILY)
    model = FAMILIES[family][0](r)
    model["vocab_size"] = r.choice((r.randint(200, 900), r.randint(30000, 70000)))
    model["pad_token_id"] = 0
    case = {
        "id": f"ppo-{number}",
        "kind": "ppo",
        "variant": {},
        "family": family,
        "model": model,
        "task": "causal-lm",
        "attention": "sdpa",
        "batch": r.choice((1, 2, 4)),
        "checkpointing": False,
        "disable_dropout": True,
    }
    case["completion"], case["prompt"] = r.randint(10, 100), r.randint(8, 100)
    case["seq"] = case["prompt"] + case["completion"]
    case["dtype"], case["amp"] = r.choice((("float32", "bf16"), ("bfloat16", "bf16"), ("float32", None)))
    case["grad_accum"] = r.choice((1, 2, 4))
    case["mini_batches"] = r.choice([n for n in (1, 2) if n <= case["grad_accum"]])
    local = case["batch"] * case["grad_accum"]
    case["sequences"], case["piece"] = local, r.choice((64, max(1, local // 2)))
    if r.random() < 0.4:
        case["lora"] = {"r": r.choice((1, 8, 16)), "dropout": r.choice((0.0, 0.05)), "target_modules": list(FAMILIES[family][1])}
    case["reference"] = "adapter" if "lora" in case else "model"
    return case


def keep(out, case):
    try:
        result = peak(case)
    except Exception:
        traceback.print_exc()
        return
    with out.open("a") as file:
        file.write(json.dumps({"case": case, "result": result}, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    out = OUT / trl_ppo.NAME / "trl_ppo.jsonl"
    out.parent.mkdir(parents=True, exist_ok=True)
    have = drawn_in(out)
    for number in range(args.first, args.first + args.count):
        case = draw(number)
        if case["id"] not in have:
            alone(lambda: keep(out, case))


if __name__ == "__main__":
    main()
