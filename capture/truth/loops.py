"""Makes receipts of training loops of one's own: plain PyTorch around a model of transformers.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.loops --oracle ORACLE.py [--count N]

Where the Trainer lets go of a micro-batch's results before its backward, a loop's own names hold them until the next ones are
there: the loss, or the outputs with their logits and, in models that write, their keys and values. Lightning's hold nothing, and clear the
gradients between forward and backward. Models and sizes are drawn
as the plain receipts draw them. Receipts go to `test/core/receipts/ways/loops.jsonl`; those there are kept.
"""

import contextlib
import gc
import random

from .receipt_models import FAMILIES
from .receipts import ROOT, alone, keep, load
from .rows import drawn_in, with_oracle

DRAWN = {
    "gpt2": "causal-lm",
    "llama": "causal-lm",
    "qwen3": "causal-lm",
    "bert": "masked-lm",
    "distilbert": "seq-cls",
    "vit": "image-cls",
    "bart": "seq2seq-lm",
    "t5": "seq2seq-lm",
}
"""Families by what they are trained for."""
DTYPES = {"bf16": "bfloat16", "fp16": "float16"}


def case_of(family, number):
    r = random.Random(f"loop-{family}-{number}")
    task = DRAWN[family]
    model = {"model_type": family, **FAMILIES[family][0](r)}
    case = {"id": f"loop-{family}-{number}", "model": model, "task": task, "batch": r.choice((1, 2, 3, 5)), "attn": "sdpa"}
    case |= {"image": model["image_size"]} if task == "image-cls" else {"seq": r.randint(20, 260)}
    if task == "seq2seq-lm":
        case["target_seq"] = r.randint(5, 120)
    case["load_dtype"], case["amp"] = r.choice((("float32", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", None)))
    case["gradient_checkpointing"] = r.random() < 0.25
    case["optim"] = r.choice(("adamw_torch", "adamw_torch_fused", "sgd_momentum"))
    case["grad_accum"] = r.choice((1, 1, 3))
    case["max_grad_norm"] = r.choice((1.0, 0))
    model.pop("use_sliding_window", None)
    # Given labels, BART's code switches it off; T5's does not.
    writes = task in ("causal-lm", "seq2seq-lm") and family != "bart" and not case["gradient_checkpointing"]
    kind = r.choice(({"holds": "loss"}, {"holds": "outputs"}, {"holds": "nothing", "zeros_late": True}))
    return {**case, "loop": {**kind, "caches": writes}}


def optimizer_of(oracle, case, parameters):
    torch = oracle.torch
    made = {
        "adamw_torch": lambda: torch.optim.AdamW(parameters, foreach=True),
        "adamw_torch_fused": lambda: torch.optim.AdamW(parameters, fused=True),
        "sgd_momentum": lambda: torch.optim.SGD(parameters, momentum=0.9, foreach=True),
    }
    return made[case["optim"]]()


def forward(model, batch):
    """A function of its own, whose names go when it returns, as those of a `training_step` do."""
    outputs = model(**batch)
    return outputs.loss


def run(oracle, case):
    """The steps as such loops are written; what the names held is what PyTorch kept."""
    torch = oracle.torch
    ledger = oracle.Ledger()
    with oracle.FakeTensorMode(allow_non_fake_inputs=True), ledger:
        config, model = oracle.build(case)
        model.train()
        if case["gradient_checkpointing"]:
            model.gradient_checkpointing_enable()
        gc.collect()
        loaded, ledger.phase = len(ledger.events), "optimizer-init"
        parameters, late = list(model.parameters()), case["loop"].get("zeros_late")
        optimizer = optimizer_of(oracle, case, parameters)
        for step in (1, 2):
            for first in [True] + [False] * (case["grad_accum"] - 1):
                ledger.phase = f"data{step}"
                batch = oracle.inputs_for(case, config)
                if case["task"] == "causal-lm":
                    batch["num_items_in_batch"] = torch.zeros((), dtype=torch.long, device="cuda")
                ledger.phase = f"forward{step}"
                with torch.autocast("cuda", dtype=getattr(torch, DTYPES[case["amp"]])) if case["amp"] else contextlib.nullcontext():
                    if case["loop"]["holds"] == "outputs":
                        outputs = model(**batch)
                        loss = outputs.loss
                    else:
                        loss = forward(model, batch) if late else model(**batch).loss
                if late and first:
                    optimizer.zero_grad(set_to_none=True)
                ledger.phase = f"backward{step}"
                loss.backward()
                if late:
                    del loss
            ledger.phase = f"clip{step}"
            if case["max_grad_norm"]:
                oracle.clip(parameters, case["max_grad_norm"])
            ledger.phase = f"step{step}"
            optimizer.step()
            ledger.phase = f"zero{step}"
            if not late:
                optimizer.zero_grad(set_to_none=True)
        held = locals().get("outputs")  # until the ledger has ended
    events = list(ledger.events)
    result = oracle.summarize(events, ledger.size, {})
    count = sum(p.numel() for p in parameters)
    del held
    return {**result, "params": count, "trainable": count, "peak_reserved": oracle.replay_allocator(events, loaded)}


def main():
    parser = with_oracle(__doc__, count=4)
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    out = ROOT / "test" / "core" / "receipts" / "ways" / "loops.jsonl"
    have = drawn_in(out)
    for family in DRAWN:
        for number in range(args.count):
            case = case_of(family, number)
            if case["id"] not in have:
                alone(lambda: keep(out, case, lambda case: run(oracle, case)))


if __name__ == "__main__":
    main()
