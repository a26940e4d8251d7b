"""Runs under DeepSpeed of other families than decoders: encoders, pairs of encoder and decoder, pictures, experts; optimizers and 4-bit bases.

usage: python -m capture.truth.deepspeed_families draw --seed N --count 60 > cases.jsonl
       LD_PRELOAD=fakecuda.so python -m capture.truth.deepspeed_families truth --oracle ORACLE_ZERO.py cases.jsonl rows.jsonl
       python -m capture.truth.deepspeed receipts rows.jsonl > test/core/zero/families.jsonl

Models and ways of training are those of `receipts.py`. Every case is run as those of `deepspeed_options` are.
"""

import json
import random

from ..storing.stored import content_of
from . import deepspeed_options, receipts
from .ranks.experts import ATTENTION, EXPERTS
from .rows import drawer, printed

WORLDS = (2, 4, 8, 16, 64, 256, 1024)
# What the oracle has inputs for.
TASKS = ("causal-lm", "seq-cls", "masked-lm", "image-cls", "seq2seq-lm", "token-cls")
FAMILIES = (
    *("bert", "roberta", "distilbert", "electra", "albert", "modernbert"),
    *("bart", "mbart", "pegasus", "marian", "m2m_100"),
    *("vit", "deit", "dinov2", "swin"),
    *(
        "gemma2",
        "gemma3_text",
        "phi3",
        "gpt_bigcode",
        "glm4",
        "cohere2",
        "bloom",
        "falcon",
        "gptj",
        "xglm",
        "apertus",
        "helium",
        "lfm2",
        "olmo3",
    ),
    *EXPERTS,
)
HALVES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def trained(family, r):
    """A case of the family as `receipts.py` draws it, without what DeepSpeed decides."""
    if family in EXPERTS:
        sizes = {"batch": r.choice((1, 2, 3)), "seq": r.choice((64, 128, 200)), "attn": r.choice(("sdpa", "eager"))}
        case = {"model": {"model_type": family, **EXPERTS[family](r)}, "task": "causal-lm", **sizes}
        return receipts.trained(case, r, ATTENTION)
    graphs = content_of((receipts.ROOT / "models" / "graphs" / f"{family}.json").read_text())["graphs"]
    return receipts.draw(family, r.randint(10**6, 10**7), graphs)


def some(r, options):
    """Each option in two runs of five, with one of its values."""
    return {key: r.choice(values) for key, values in options.items() if r.random() < 0.4}


def zero_of(stage, r):
    zero = {"stage": stage}
    if stage > 0:
        zero |= some(
            r,
            {
                "overlap_comm": (True, False),
                "contiguous_gradients": (True, False),
                "reduce_bucket_size": (10**4, 10**5, 10**6, 10**7, 5 * 10**8),
                "allgather_bucket_size": (10**5, 10**6, 10**8),
            },
        )
    if stage in (1, 2):
        zero |= some(r, {"round_robin_gradients": (True,), "reduce_scatter": (True, False)})
    if stage == 3:
        zero |= some(
            r,
            {
                "stage3_prefetch_bucket_size": (0, 10**4, 10**5, 10**6, 5 * 10**7),
                "stage3_param_persistence_threshold": (0, 10**3, 10**4, 10**5, 10**6),
                "stage3_max_live_parameters": (0, 10**5, 10**6, 10**9),
                "stage3_max_reuse_distance": (0, 10**5, 10**6, 10**9),
                "sub_group_size": (10**4, 10**5, 10**6, 10**9),
            },
        )
    host = {"device": "cpu", "pin_memory": r.random() < 0.5}
    if stage > 0 and r.random() < 0.15:
        zero["offload_optimizer"] = host
    if stage == 3 and r.random() < 0.12:
        zero["offload_param"] = host
    return zero


def drawn(number, r):
    family = r.choice(FAMILIES)
    case = trained(family, r)
    while case["task"] not in TASKS:
        case = trained(family, r)
    precision = "bf16" if family in EXPERTS else r.choice(("bf16", "bf16", "fp16", "fp32"))
    stage = r.choice((0, 1, 1, 2, 2, 3, 3, 3))
    case.pop("kbit_prep", None)
    # Its states of the parameters as they were loaded stay beside those of the partitions; what these dtypes were is forgotten here.
    if case["optim"] == "adagrad":
        case["optim"] = "rmsprop"
    case.get("peft", {}).pop("autocast_adapter_dtype", None)
    as_loaded = HALVES[precision] if family in EXPERTS or "quant" in case else r.choice(("float32", HALVES[precision]))
    zero = {"world": r.choice(WORLDS), "precision": precision, "config": zero_of(stage, r)}
    if precision != "fp32" and stage > 0 and r.random() < 0.2:
        zero["engine"] = {"data_types": {"grad_accum_dtype": r.choice(("fp32", "fp32", precision))}}
    return {**case, "id": f"f{number:03d}-{family}", "amp": None, "load_dtype": as_loaded, "zero": zero}


def draw(seed, count):
    r = random.Random(seed)
    return [drawn(number, r) for number in range(count)]


def with_tasks(asked):
    """The oracle's run of a case that is no causal model: peft is told the task, the model no cache."""

    def run(module, deepspeed, case):
        import peft

        config, build = peft.LoraConfig, module.o.build
        told = {"task_type": receipts.PEFT_TASKS.get(case["task"]), "use_dora": case.get("peft", {}).get("dora", False)}
        peft.LoraConfig = lambda **settings: config(**{**settings, **told})
        # A case may wait long for its processor.
        module.signal.alarm = lambda *_: None

        def without_cache(case):
            config, model = build(case)
            if case["task"] not in ("causal-lm", "seq2seq-lm"):
                # As the Trainer sets it, where nothing is said in the call.
                config.use_cache = False
                forward = model.forward
                model.forward = lambda *inputs, use_cache=None, **named: forward(*inputs, **named)
            return config, model

        module.o.build = without_cache
        asked(module, deepspeed, case)

    return run


def main():
    options = drawer(__doc__, ["truth", "several"], 60, "distributed/oracle_zero.py").parse_intermixed_args()
    if options.what == "draw":
        printed(draw(options.seed, options.count))
    elif options.what == "several":
        deepspeed_options.asked = with_tasks(deepspeed_options.asked)
        deepspeed_options.several(options.oracle, options.files[0])
    else:
        cases = [json.loads(line) for line in open(options.files[0])]
        deepspeed_options.truth(options.oracle, cases, options.files[1], "capture.truth.deepspeed_families")


if __name__ == "__main__":
    main()
