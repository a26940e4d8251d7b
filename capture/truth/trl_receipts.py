"""What TRL's trainers allocate: two optimizer steps of their own losses over real models on fake CUDA tensors.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.trl_receipts --kind dpo [--first N] [--count N]

As `storages.py`, with the trainer's models and its loss in place of the model's own. Where a result is as long as the data
says, it is as long as the case says, and allocates what indexing by a mask allocates (aten/native/IndexingUtils.h:
positions first). Receipts go to `test/core/trainers/<file of losses>/<kind>.jsonl`.
"""

import argparse
import contextlib
import gc
import importlib
import itertools
import json
import pathlib
import random
import sys
from types import SimpleNamespace

from ..recording import environment  # noqa: F401  (before transformers)
from ..trainers import trl_trainers as code  # (before trl)
import torch
import torch.nn.functional as F
import trl.trainer.utils as trl_utils
from torch._subclasses.fake_tensor import FakeTensorMode
from trl.trainer.utils import disable_dropout_in_model
from vram_lens.running.kernels import attention
from vram_lens.running.ledger import replace_parameters

from ..recording import pictures, host_reads, picture_loops
from . import storages
from .receipt_models import FAMILIES
from .receipts import alone
from ..recording.run import batch_for
from ..trainers.trl_trainers import Accelerator
from .rows import drawn_in

aten = torch.ops.aten
OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "core" / "trainers"
SEQUENCES = {"online-dpo": 2, "dpo": 2, "orpo": 2, "cpo": 2, "reward": 2, "rm": 2}
if code.FUSED:
    import trl.kernels.chunked_logprob as kernels
    import trl.kernels.logprob_entropy as logprob_entropy

    # The matrix product with its own accumulator allocates nothing; the fake device knows it only for some dtypes.
    kernels._addmm_fp32 = lambda *a: None
    # Kernels of Triton: launching one allocates nothing.
    logprob_entropy._forward_kernel = logprob_entropy._backward_kernel = kernels._forward_kernel
    if not hasattr(logprob_entropy, "triton"):
        logprob_entropy.triton = SimpleNamespace(cdiv=lambda a, b: -(-a // b))
    vars(trl_utils).update(_fused_logprob_entropy=logprob_entropy.selective_log_softmax_and_entropy, is_triton_available=lambda: True)


class Ledger(storages.Ledger):
    """Follows storages, and answers what only data could."""

    def __init__(self, case):
        super().__init__()
        self.case = case

    def rows(self, mask):
        case = self.case
        if mask.ndim == 1:
            return mask.shape[0] if case["kind"] in ("grpo", "rloo") else mask.shape[0] // 2
        return case["scored"] * mask.shape[0]

    def new(self, shape, dtype):
        out = torch.empty(shape, dtype=dtype, device="cuda")
        self.follow(out.untyped_storage(), None)
        return out

    def picked(self, like, mask, shape):
        positions = self.new((self.rows(mask), mask.ndim), torch.int64)
        out = self.new(shape, like.dtype)
        del positions
        return out

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default:
            return self.case["kind"] not in getattr(code, "DENIED", ("grpo", "rloo")) if args[0].dtype == torch.bool else 1
        if func is aten.logsumexp.default:  # what its kernel allocates inside (aten/native/ReduceOps.cpp)
            reduced = [d % args[0].ndim for d in args[1]]
            largest = self.new([1 if d in reduced else n for d, n in enumerate(args[0].shape)], args[0].dtype)
            absolute, infinite = self.new(largest.shape, largest.dtype), self.new(largest.shape, torch.bool)
            del absolute, infinite
            shifted = self.new(args[0].shape, args[0].dtype)
            out = super().__torch_dispatch__(func, types, args, kwargs)
            del shifted, largest
            return out
        if func is aten.nonzero.default:
            return self.new((self.rows(args[0]), args[0].ndim), torch.int64)
        if func is aten.masked_select.default:
            return self.picked(args[0], args[1], (self.rows(args[1]),))
        if func in (aten.index.Tensor, aten._index_put_impl_.default, aten.index_put_.default):
            mask = args[1][0]
            # Masks over tokens and their states are those of pictures.
            if mask is not None and mask.dtype == torch.bool and mask.ndim < 3:
                if func is aten.index.Tensor:
                    return self.picked(args[0], mask, (self.rows(mask), *args[0].shape[mask.ndim :]))
                if len(args) > 3 and args[3]:  # one value in the masked places is a masked fill instead
                    self.new((self.rows(mask), mask.ndim), torch.int64)
                return args[0]
        return super().__torch_dispatch__(func, types, args, kwargs)


def unmasked(model):
    """Batches without padding: the graphs were captured without a mask, too."""

    def drop(_, args, kwargs):
        return args, {**kwargs, "attention_mask": None}

    model.base_model.register_forward_pre_hook(drop, with_kwargs=True)
    return model


def of_grpo(*names):
    """A function of GRPO's, wherever and under whatever name the version has it; none: it does without."""
    trainer = importlib.import_module("trl.trainer.grpo_trainer")
    found = (getattr(module, name, None) for name in names for module in (trl_utils, trainer))
    return next((function for function in found if function is not None), lambda batch: batch)


def rollout(trainer, case, media):
    """Completions as `_generate_and_score_completions` leaves them, scored as it scores them, split as `_prepare_inputs` does."""
    rows, settings = case["sequences"], case["variant"]
    shown = media(rows)
    if shown:
        shown["num_images"] = [1] * rows
    batch = code.batch_of(
        case["kind"], {**settings, "old": False, "kl": False}, {"B": rows, "P": case["prompt"], "T": case["completion"], "C": 0}, "cuda"
    )
    whole = {
        "input_ids": torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1),
        "attention_mask": torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1),
    }
    old = code.scores_of(trainer, trainer.model, whole, case["completion"], case["batch"], **shown) if case["scores"] else None
    reference = None
    if case["reference"] != "none":
        with trainer.model.disable_adapter() if case["reference"] == "adapter" else contextlib.nullcontext():
            reference = code.scores_of(trainer, trainer.ref_model or trainer.model, whole, case["completion"], case["batch"], **shown)
    if case["kind"] == "rloo":  # the reference is in the rewards
        batch["old_logps"] = (old * batch["completion_mask"]).sum(1)
    else:
        batch.update(
            {name: value for name, value in (("old_per_token_logps", old), ("ref_per_token_logps", reference)) if value is not None}
        )
    del old, reference
    del whole
    count = {"num_items_in_batch": batch.pop("num_items_in_batch")} if "num_items_in_batch" in batch else {}
    batch = of_grpo("split_pixel_values_by_grid")({**batch, **shown})
    del shown
    batch = of_grpo("shuffle_sequence_dict", "shuffle_tensor_dict")(batch)
    parts = of_grpo("split_tensor_dict")(batch, rows // case["batch"])
    return [{**of_grpo("unsplit_pixel_values_by_grid")(part), **count} for part in parts]


class Counts(list):
    """Numbers of pictures, which the trainer adds up on the host: fake tensors would not tell them."""

    def cumsum(self, _):
        return list(itertools.accumulate(self))


def seen(case, config, policy, sequences):
    """What makes the pictures of a micro-batch, one a sequence; nothing for models that read text alone."""
    if case["task"] != "image-text-to-text":
        return lambda rows=0: {}
    pictures.install()
    picture_loops.state(policy)
    host_reads.settle(policy)
    made_of, torch.tensor = (
        torch.tensor,
        lambda data, **kw: Counts(data) if isinstance(data, list) and not kw and data[:1] == [0] else made_of(data, **kw),
    )
    sizes = {**case["sizes"], "S": case["seq"]}
    of_text = ("input_ids", "labels", "attention_mask")

    def made(rows=sequences):
        batch = batch_for(case["task"], {**sizes, "B": rows}, config, torch.float32)
        return {k: v for k, v in batch.items() if k not in of_text}

    return made


def peak(case):
    """Peak bytes of the case's two steps, and what is counted of its models."""
    F.scaled_dot_product_attention, apply = attention, torch.nn.Module._apply
    torch.nn.Module._apply = replace_parameters
    kind, settings, sequences = case["kind"], case["variant"], case["batch"] * SEQUENCES.get(case["kind"], 1)
    sizes = {
        "B": case["batch"],
        "S": case["seq"],
        "P": case.get("prompt", 0),
        "T": case.get("completion", 0),
        "C": sequences * case.get("scored", 0),
    }
    ledger = Ledger(case)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), ledger:
            config, policy = storages.load(case)
            media = seen(case, config, policy, sequences)
            code.fuse_head(kind, unmasked(policy), settings)
            policy = storages.adapt(case, policy)
            if kind == "rm":
                policy = code.with_value_head(policy)
            reference = None
            if case.get("reference", settings.get("reference")) == "model":
                reference = unmasked(storages.load({**case, **case.get("teacher", {})})[1])
                reference.eval()
                reference.config.use_cache = "teacher" in case  # the Trainer switches it off for the model it trains
                code.fuse_head(kind, reference, settings, True)
            if case["disable_dropout"]:
                disable_dropout_in_model(policy)
            reward = None
            if settings.get("rewards") == "model":
                scorer = {**case, "task": "seq-cls", "model": {**case["model"], "num_labels": 1, "pad_token_id": 0}, "checkpointing": False}
                reward = unmasked(storages.load({key: value for key, value in scorer.items() if key != "lora"})[1])
                reward.eval()
                reward.config.use_cache = True
            if "rewards" in settings and reference is not None:
                reference.config.use_cache = not case["checkpointing"]  # copied when checkpointing had switched it off
            models = [storages.wrap(case, m) for m in (policy, reference) if m is not None]
            autocast = (lambda: torch.autocast("cuda", dtype=storages.AMP[case["amp"]])) if case.get("amp") else contextlib.nullcontext
            trainer = code.TRAINERS[kind](models[0], models[1] if reference is not None else None, Accelerator("cuda", autocast), settings)
            trainer.current_gradient_accumulation_steps = case["grad_accum"]
            if reward is not None or "rewards" in settings:
                trainer.others = {} if reward is None else {"reward": storages.wrap(case, reward)}
                trainer.accelerator.backward = lambda loss: (loss / case["grad_accum"]).backward()
            gc.collect()
            params, optimizer = [p for p in policy.parameters() if p.requires_grad], storages.optimizer_of(policy)
            ledger.start()
            buffered = None
            for _ in range(2):
                for micro in range(case["grad_accum"]):
                    if "sequences" in case and micro % case["every"] == 0:
                        buffered = rollout(trainer, case, media)
                    batch = (
                        {**code.batch_of(kind, settings, sizes, "cuda"), **media()}
                        if buffered is None
                        else dict(buffered[micro % len(buffered)])
                    )
                    loss = code.loss_of(trainer, batch)
                    del batch
                    trainer._metrics["train"].clear()
                    if "rewards" not in settings:  # others go back in a step of their own
                        loss.backward()
                    del loss
                storages.clip(params, 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            return {"peak_allocated": ledger.peak, "params": sum(p.numel() for m in models for p in m.parameters())}
    finally:
        torch.nn.Module._apply = apply
        gc.collect()


FAMILY = ("llama", "qwen3", "gemma2", "qwen2", "mistral", "phi3", "gpt2")


def draw(kind, number):
    """The case of a number."""
    r = random.Random(f"{kind}-{number}")
    family = r.choice(FAMILY)
    model = FAMILIES[family][0](r)
    model["vocab_size"] = r.choice((r.randint(200, 900), r.randint(30000, 70000)))
    lora = r.random() < 0.5 and kind != "reward"
    settings = r.choice(
        [
            s
            for k, s in code.variants()
            if k == kind and (kind == "gkd" or s.get("reference", "none") in ("none", "adapter" if lora else "model"))
        ]
    )
    case = {
        "id": f"{kind}-{number}",
        "kind": kind,
        "variant": settings,
        "family": family,
        "model": model,
        "task": "seq-cls" if kind == "reward" else "causal-lm",
        "attention": "sdpa",
    }
    if kind == "reward":
        model["num_labels"], model["pad_token_id"] = 1, 0
    case["batch"], case["seq"] = r.choice((1, 2, 4)), r.randint(20, 300)
    if kind == "kto" or kind in ("grpo", "rloo"):
        case["batch"] = r.choice((2, 4, 6))
    if kind in ("grpo", "rloo", "online-dpo", "xpo", "nash-md"):
        case["completion"] = r.randint(10, 200)
        case["prompt"] = r.randint(8, 100)
        case["seq"] = case["prompt"] + case["completion"]
    if kind in ("orpo", "cpo"):
        case["prompt"] = r.randint(5, 19)
    apart = getattr(code, "APART", ())  # what comes as prompt and completion
    if kind in apart:
        case["prompt"] = r.randint(5, 19)
        case["completion"] = case["seq"] - case["prompt"]
    if kind not in ("reward", "orpo", "cpo", "rm"):
        case["scored"] = case.get("completion") or 2 * r.randint(4, case["seq"] // 2 - 1)
    case["dtype"], case["amp"] = r.choice((("float32", "bf16"), ("bfloat16", "bf16"), ("bfloat16", None), ("float32", None)))
    case["checkpointing"] = r.random() < 0.5
    case["disable_dropout"] = kind not in ("grpo", "rloo", "rm")
    case["grad_accum"] = r.choice((1, 2))
    if kind in ("grpo", "rloo"):
        case["grad_accum"] = r.choice((1, 2, 4))
        steps = r.choice((1, 2, 4))
        case["sequences"], case["every"] = case["batch"] * steps, steps
        case["scores"] = kind == "rloo" or settings["old"]
        kl = settings.get("kl", r.random() < 0.5)
        case["reference"] = "none" if not kl else "adapter" if lora else "model"
    if kind == "gkd":
        teacher = r.choice(FAMILY)
        own = FAMILIES[teacher][0](r)
        case["teacher"] = {
            "family": teacher,
            "model": {**own, "vocab_size": model["vocab_size"]},
            "dtype": r.choice(("float32", "bfloat16")),
        }
        case.setdefault("prompt", r.randint(5, 19))
    if lora:
        case["lora"] = {"r": r.choice((1, 8, 16)), "dropout": r.choice((0.0, 0.05)), "target_modules": list(FAMILIES[family][1])}
    return case


SIGHTED = ("qwen2_vl", "qwen2_5_vl", "llava", "internvl", "mistral3")
"""Families that read pictures, too."""
SEE = ("sft", "dpo", "kto", "grpo", "rloo")
"""Trainers that hand pictures on."""


def draw_sighted(kind, number):
    """The case of a number whose samples have a picture each."""
    from .receipts import as_captured

    case, r = draw(kind, number), random.Random(f"sights-{kind}-{number}")
    # What cuts pictures apart by the numbers of their patches reads these on the host.
    family = "llava" if kind in ("grpo", "rloo") else SIGHTED[number % len(SIGHTED)]
    model, sizes, _ = as_captured(family, "image-text-to-text", r)
    case |= {
        "id": f"sights-{kind}-{number}",
        "family": family,
        "model": model,
        "task": "image-text-to-text",
        "seq": sizes["S"],
        "sizes": {"I": sizes["I"]},
    }
    if kind in ("grpo", "rloo"):
        case["prompt"] = case["seq"] - case["completion"] if case["seq"] > case["completion"] else case["seq"] // 2
        case["completion"] = case["scored"] = case["seq"] - case["prompt"]
    else:
        case["batch"] = 2 if kind == "kto" else r.choice((1, 2))
        case["scored"] = 2 * r.randint(2, max(2, sizes["S"] // 4))
    if "lora" in case:
        case["lora"]["target_modules"] = ["q_proj", "v_proj", "down_proj"]
    return case


def keep(out, case):
    try:
        result = peak(case)
    except Exception as error:
        import traceback

        traceback.print_exc()
        print(f"{case['id']}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        return
    with out.open("a") as file:
        file.write(json.dumps({"case": case, "result": result}, separators=(",", ":")) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="*", help="default: all of them")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--sights", action="store_true", help="models that read pictures, too")
    parser.add_argument("--of", choices=("trl", "earlier", "llama-factory", "online"), default="trl")
    args = parser.parse_args()
    torch.set_num_threads(1)
    global code
    if args.of == "llama-factory":
        from ..trainers import llama_factory as code
    elif args.of == "online":
        from ..trainers import trl_online as code
    elif args.of == "earlier":
        from ..trainers import trl_before_029 as code
    OUT.mkdir(parents=True, exist_ok=True)
    for kind in args.kind or (SEE if args.sights else code.TRAINERS):
        out = OUT / code.NAME / f"{kind}{'-sights' if args.sights else ''}.jsonl"
        out.parent.mkdir(exist_ok=True)
        have = drawn_in(out)
        for number in range(args.first, args.first + args.count):
            case = draw_sighted(kind, number) if args.sights else draw(kind, number)
            if case["id"] not in have:
                alone(lambda: keep(out, case))


if __name__ == "__main__":
    main()
