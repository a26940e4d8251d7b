"""Makes receipts: what PyTorch itself says of random training runs, for the engine's tests.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.receipts --oracle ORACLE.py [--family NAME ...] [--count N] [--first N]

A case is drawn from its family and its number alone, so a receipt can be made again and more can be added later. Tasks and
attention kernels are those of `models/graphs/<family>.json`. The oracle is a Python file with `run(case) -> result`.
Receipts go to `test/core/receipts/<family>.jsonl`, one a line; numbers already there are kept.
"""

import importlib.util
import json
import os
import pathlib
import random
import sys

from ..storing.stored import content_of
from .rows import drawn_in, with_oracle
from .receipt_models import FAMILIES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ("peak_allocated", "peak_reserved", "peak_phase", "phase_peaks", "params", "trainable")
PEFT_TASKS = {"causal-lm": "CAUSAL_LM", "seq2seq-lm": "SEQ_2_SEQ_LM"}
OPTIMIZERS = (
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_for_loop",
    "sgd",
    "sgd_momentum",
    "rmsprop",
    "adagrad",
    "adafactor",
    "adamw_bnb_8bit",
    "lion_8bit",
)


def adapter(r, linears):
    """A LoRA configuration over some of the family's linear layers."""
    names = r.choice(
        (list(linears), r.sample(linears, r.randint(1, len(linears))), r.sample(linears, r.randint(1, len(linears))), "all-linear")
    )
    p = {"r": r.choice((1, 3, 8, 16, 64)), "alpha": 16, "dropout": r.choice((0.0, 0.0, 0.05)), "target_modules": names}
    if r.random() < 0.25:
        p["dora"] = True
    if r.random() < 0.2:
        p["autocast_adapter_dtype"] = False
    return p


def as_captured(family, task, r):
    """Settings and sizes as captures draw them, for families without a drawing of their own."""
    sys.path.insert(0, str(ROOT))
    from capture.families.every_family import FAMILIES as CAPTURED
    from capture.recording.graphs import draw_sizes

    captured = CAPTURED[family]
    settings, sizes = captured.dims(r), draw_sizes(r, task)
    if captured.sizes:
        captured.sizes(settings, sizes, r)
    for axis in captured.axes:
        r.choice(axis).change(settings, sizes, r)
    return settings, sizes, captured.inputs_follow


def linears_of(graphs):
    """Names of linear layers an adapter may go on; gates and experts are fused, which peft converts only together."""
    blocks = [b for g in graphs for b in g["blocks"]]
    names = {i["path"].split(".")[-1] for b in blocks for i in b["body"] if i.get("call") in ("Linear", "Conv1D")}
    return tuple(sorted(names - {"gate", "gate_proj", "up_proj", "down_proj"} if has_experts(graphs) else names))


def has_experts(graphs):
    return any("_grouped_mm" in json.dumps(g["blocks"]) for g in graphs)


def draw(family, number, graphs):
    """The case of a number: model, batch, dtypes, attention, checkpointing, optimizer, adapter, quantization."""
    r = random.Random(f"{family}-{number}")
    task, attention = r.choice(sorted({(g["task"], g["attention"]) for g in graphs}))
    if family not in FAMILIES:
        return draw_captured(family, number, graphs, task, attention, r)
    dims, linears = FAMILIES[family]
    model = {"model_type": family, **dims(r)}
    if task in ("seq-cls", "token-cls"):
        model["num_labels"] = r.randint(2, 19)
    case = {"id": f"{family}-{number}", "model": model, "task": task, "batch": r.choice((1, 2, 3, 5, 8))}
    if task == "image-cls":
        case["image"] = model["image_size"]
    else:
        case["seq"] = r.choice((r.randint(7, 65), r.randint(66, 400), 128, 256))
    if task == "seq2seq-lm":
        case["target_seq"] = r.randint(5, 200)
    if task.endswith("-cls") and "pad_token_id" in model:
        case["use_cache"] = False  # as the Trainer sets it
    case["load_dtype"] = r.choice(("float32", "float32", "bfloat16", "bfloat16", "float16"))
    case["amp"] = r.choice((None, "bf16", "fp16"))
    case["attn"] = attention
    return trained(case, r, linears)


def draw_captured(family, number, graphs, task, attention, r):
    settings, sizes, follow = as_captured(family, task, r)
    if task == "qa":
        settings["num_labels"] = 2
    if task in ("causal-lm", "seq-cls", "seq2seq-lm"):
        settings["use_cache"] = False  # as the Trainer sets it
    dtype, amp = r.choice((("float32", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", None), ("bfloat16", "bf16")))
    if (
        follow and amp is None
    ):  # the oracle's images are float32, which a half-precision model refuses (fake convolutions without biases do not)
        dtype = "float32"
    if has_experts(graphs):  # the fake device multiplies groups only in bfloat16 and for rows of whole 16 bytes
        dtype, amp = "bfloat16", r.choice((None, "bf16"))
        settings |= {k: -(-v // 8) * 8 for k, v in settings.items() if k.endswith("intermediate_size")}
    case = {
        "id": f"{family}-{number}",
        "model": {"model_type": family, **settings},
        "task": task,
        "batch": sizes["B"],
        **({"seq": sizes["S"]} if "S" in sizes else {}),
        "load_dtype": dtype,
        "amp": amp,
        "attn": "eager" if attention == "none" else attention,
    }
    if task == "image-cls":
        case["image"] = sizes["I"]
    if "T" in sizes:
        case["target_seq"] = sizes["T"]
    case = trained(case, r, linears_of(graphs))
    if (
        has_experts(graphs) and case.get("peft", {}).get("target_modules") == "all-linear"
    ):  # reaches the experts, which the engine has a band for
        case["peft"]["target_modules"] = list(linears_of(graphs))
    return case


def trained(case, r, linears):
    """The case with how it is trained."""
    task = case["task"]
    case["gradient_checkpointing"] = r.random() < 0.5
    if case["gradient_checkpointing"]:
        kind = r.choice((None, True, False))
        if kind is not None:
            case["use_reentrant"] = kind
    case["optim"] = r.choice(OPTIMIZERS)
    case["grad_accum"] = r.choice((1, 1, 2, 3))
    case["max_grad_norm"] = r.choice((1.0, 1.0, 0))
    way = r.choice(("full", "full", "lora", "lora", "qlora")) if linears else "full"
    if way != "full":
        case["peft"] = adapter(r, linears)
        if task.endswith("-cls") and case["peft"]["target_modules"] == "all-linear":
            case["peft"]["target_modules"] = list(linears)  # what it means depends on peft's kind of task
    if way == "qlora" and task in PEFT_TASKS:  # of other tasks the oracle also packs the head, which transformers does not
        case["quant"] = {"type": r.choice(("nf4", "fp4")), "double": r.random() < 0.5}
        case["kbit_prep"] = r.random() < 0.5
        # adapters on fake packed weights can only be made in float32
        case["peft"].pop("autocast_adapter_dtype", None)
    return case


def load(path):
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_task(oracle):
    """The oracle's run, with the task peft is told to be the case's: only causal models have what that kind asks for."""
    import peft

    config, told = peft.LoraConfig, {}
    peft.LoraConfig = lambda **settings: config(**{**settings, **told})

    def run(case):
        told["task_type"] = PEFT_TASKS.get(case["task"])
        return oracle.run(case)

    return run


def packs_transposed(oracle):
    """The oracle's 4-bit layers also in place of transformers' Conv1D, whose weight is transposed first (replace_with_bnb_linear)."""
    import torch
    from transformers.pytorch_utils import Conv1D

    quantize = oracle.quantize

    def whole(model, *settings):
        for parent in list(model.modules()):
            for name, module in list(parent.named_children()):
                if isinstance(module, Conv1D):
                    inputs, outputs = module.weight.shape
                    parent._modules[name] = torch.nn.Linear(inputs, outputs, device="cuda", dtype=module.weight.dtype)
                    parent._modules[name].bias = module.bias
        quantize(model, *settings)

    oracle.quantize = whole


class WithConvertedMasks:
    """ATen's operators, with the step that `scaled_dot_product_attention` takes before its math path: additive masks."""

    def __init__(self, aten):
        self._aten = aten

    def __getattr__(self, name):
        return getattr(self._aten, name)

    def _scaled_dot_product_attention_math(self, query, key, value, mask, *rest, **options):
        import torch

        if mask is not None and mask.dtype == torch.bool:
            mask = torch.where(mask, 0.0, torch.scalar_tensor(-torch.inf, dtype=query.dtype, device=mask.device))
        return self._aten._scaled_dot_product_attention_math(query, key, value, mask, *rest, **options)


def alone(work):
    """Runs in a process of its own: libraries keep state between models, and fake tensors may bring the process down."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            sys.stderr.flush()
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(f"ended with {status}", file=sys.stderr)


def keep(out, case, run):
    try:
        result = run(case)
    except Exception as error:
        print(f"{case['id']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return
    with out.open("a") as file:
        file.write(json.dumps({"case": case, "result": {k: result[k] for k in KEPT}}, separators=(",", ":")) + "\n")


def main():
    parser = with_oracle(__doc__, count=15)
    parser.add_argument("--family", nargs="*", default=list(FAMILIES))
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    oracle.aten = WithConvertedMasks(oracle.aten)
    packs_transposed(oracle)
    run = by_task(oracle)
    for family in args.family:
        graphs = ROOT / "models" / "graphs" / f"{family}.json"
        if not graphs.exists():
            print(f"{family}: no graphs", file=sys.stderr)
            continue
        graphs = content_of(graphs.read_text())["graphs"]
        out = ROOT / "test" / "core" / "receipts" / f"{family}.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        have = drawn_in(out)
        for number in range(args.first, args.first + args.count):
            case = draw(family, number, graphs)
            if case["id"] not in have:
                alone(lambda: keep(out, case, run))
        print(f"{family}: done", flush=True)


if __name__ == "__main__":
    main()
