"""Runs under DeepSpeed nobody has looked at, and what DeepSpeed's own engine allocates for them on one rank.

usage: python -m capture.truth.deepspeed draw --seed N --count 120 [--tiers] > cases.jsonl
       LD_PRELOAD=fakecuda.so python -m capture.truth.deepspeed truth --oracle ORACLE_ZERO.py cases.jsonl rows.jsonl
       python -m capture.truth.deepspeed receipts rows.jsonl > test/core/zero/receipts.jsonl

`truth` asks the oracle in a process per world size, stages 0 to 2 before stage 3: zero.Init replaces
`torch.nn.functional.linear` for good (deepspeed/runtime/zero/partition_parameters.py), so what comes after it in a process
is no longer what it is alone. Runs with offload or hpZ have a process each: these, too, leave something behind. `receipts` keeps the case, the peak and its phase.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

from .rows import drawer, drawn_in, printed

WORLDS = [2, 4, 8, 16, 64, 256, 1024]
OPTIMIZERS = ["adamw_torch", "adamw_torch_fused", "sgd", "sgd_momentum", "adamw_for_loop"]


def decoder(r, kind, **more):
    heads = r.choice([8, 12, 16])
    width = r.choice([64, 96, 128]) * heads // r.choice([1, 2])
    width -= width % (2 * heads)
    return {
        "model_type": kind,
        "hidden_size": width,
        "intermediate_size": int(width * r.choice([2.5, 3, 3.5, 4])) // 8 * 8,
        "num_hidden_layers": r.choice([3, 5, 7, 10, 14]),
        "num_attention_heads": heads,
        "num_key_value_heads": r.choice([heads, heads // 2, heads // 4]),
        "vocab_size": r.choice([8000, 32000, 50304, 100352]),
        "tie_word_embeddings": r.random() < 0.5,
        "max_position_embeddings": 8192,
        **more,
    }


def gpt2(r):
    heads = r.choice([8, 12, 16])
    return {
        "model_type": "gpt2",
        "n_embd": 64 * heads,
        "n_layer": r.choice([4, 6, 9, 12]),
        "n_head": heads,
        "vocab_size": r.choice([50257, 32000]),
        "n_positions": 2048,
    }


def opt(r):
    heads = r.choice([8, 12, 16])
    return {
        "model_type": "opt",
        "hidden_size": 64 * heads,
        "word_embed_proj_dim": 64 * heads,
        "ffn_dim": 256 * heads,
        "num_hidden_layers": r.choice([4, 8, 12]),
        "num_attention_heads": heads,
        "vocab_size": 50272,
        "max_position_embeddings": 2048,
    }


def neox(r):
    heads = r.choice([8, 12, 16])
    return {
        "model_type": "gpt_neox",
        "hidden_size": 64 * heads,
        "intermediate_size": 256 * heads,
        "num_hidden_layers": r.choice([4, 8, 12]),
        "num_attention_heads": heads,
        "vocab_size": 50304,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": r.random() < 0.3,
    }


MODELS = [
    lambda r: decoder(r, "llama"),
    lambda r: decoder(r, "qwen2"),
    lambda r: decoder(r, "mistral"),
    lambda r: decoder(r, "olmo2"),
    lambda r: decoder(r, "qwen3", head_dim=r.choice([64, 128])),
    lambda r: decoder(r, "granite"),
    lambda r: decoder(r, "stablelm"),
    lambda r: decoder(r, "starcoder2", num_key_value_heads=2),
    lambda r: decoder(r, "phi3", pad_token_id=0),
    gpt2,
    opt,
    neox,
]


def drawn(number, r):
    world = r.choice(WORLDS)
    stage = r.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3])
    model = r.choice(MODELS)(r)
    precision = r.choice(["bf16", "bf16", "bf16", "fp16", "fp32"])
    zero = {"stage": stage}

    def maybe(key, *values):
        if r.random() < 0.5:
            zero[key] = r.choice(values)

    if stage > 0:
        maybe("overlap_comm", True, False)
        maybe("contiguous_gradients", True, True, False)
        maybe("reduce_bucket_size", 10**6, 10**7, 5 * 10**7, 2 * 10**8, 5 * 10**8)
    if stage in (1, 2):
        maybe("round_robin_gradients", True, False)
        maybe("reduce_scatter", True, False)
    if stage == 3:
        maybe("stage3_prefetch_bucket_size", 0, 10**6, 10**7, 5 * 10**7, 5 * 10**8)
        maybe("stage3_param_persistence_threshold", 0, 10**4, 10**5, 10**6)
        maybe("stage3_max_live_parameters", 0, 10**7, 10**8, 10**9)
        maybe("stage3_max_reuse_distance", 0, 10**7, 10**8, 10**9)
        maybe("sub_group_size", 10**5, 10**6, 10**7, 10**9)
    if stage in (1, 2) and r.random() < 0.12:
        zero["offload_optimizer"] = {"device": "cpu"}
    case = {
        "id": f"z{number:03d}-{model['model_type']}",
        "model_name": model["model_type"],
        "model": model,
        "task": "causal-lm",
        "batch": r.choice([1, 1, 2, 4]),
        "seq": r.choice([128, 256, 512, 1024]),
        "attn": r.choice(["sdpa", "sdpa", "eager"]),
        "load_dtype": r.choice(["float32", {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}[precision]]),
        "amp": None if precision == "fp32" else precision,
        "gradient_checkpointing": r.random() < 0.5,
        "optim": r.choice(OPTIMIZERS),
        "grad_accum": r.choice([1, 1, 2, 3]),
        "max_grad_norm": r.choice([0, 1.0]),
        "zero": {"world": world, "precision": precision, "config": zero},
    }
    if case["gradient_checkpointing"]:
        case["use_reentrant"] = r.random() < 0.5
    if r.random() < 0.25 and model["model_type"] not in ("gpt2", "opt", "gpt_neox"):
        case["peft"] = {"r": r.choice([4, 8, 16, 64]), "target_modules": r.choice(["all-linear", ["q_proj", "v_proj"]])}
        if model["model_type"] == "phi3":
            case["peft"]["target_modules"] = "all-linear"
    return case


def tiered(number, r):
    """A run of stage 3 whose parts are elsewhere between uses: on the host, or once more within a node (hpZ)."""
    case = drawn(number, r)
    while case["zero"]["config"]["stage"] != 3:
        case = drawn(number, r)
    case["id"] = "t" + case["id"][1:]
    zero = case["zero"]["config"]
    kind = r.choice(("hpz", "hpz", "parameters", "parameters", "both", "optimizer"))
    world = case["zero"]["world"]
    if kind == "hpz":
        zero["zero_hpz_partition_size"] = r.choice([size for size in (2, 4, 8) if size <= world])
    if kind in ("parameters", "both"):
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    if kind in ("optimizer", "both"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    return case


def draw(seed, count, make):
    r = random.Random(seed)
    return [make(number, r) for number in range(count)]


def truth(oracle, cases, out):
    done = drawn_in(out)
    left = [case for case in cases if case["id"] not in done]
    together = {}
    for case in left:
        config = case["zero"]["config"]
        alone = case["id"] if any("offload" in key or "hpz" in key for key in config) else ""
        together.setdefault((case["zero"]["world"], config["stage"] == 3, alone), []).append(case)
    for (world, *_), own in sorted(together.items()):
        if own:
            with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as file:
                file.writelines(json.dumps(case) + "\n" for case in own)
            with (
                open(out, "a") as rows,
                subprocess.Popen(
                    [sys.executable, oracle, file.name],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env={**os.environ, "ZERO_WORLD": str(world), "DS_ACCELERATOR": "cuda"},
                ) as asked,
            ):
                for line in asked.stdout:
                    if line.startswith('{"case"'):
                        rows.write(line)
                        rows.flush()
            os.unlink(file.name)


def receipts(rows):
    for row in rows:
        result = row["result"]
        if "error" in result:
            continue
        causal = ("task",) if row["case"]["task"] == "causal-lm" else ()
        kept = {key: value for key, value in row["case"].items() if key not in ("model_name", "amp", *causal)}
        row = {"case": kept, "peak": result["peak_allocated"], "reserved": result["peak_reserved"], "phase": result["peak_phase"]}
        apart = {phase: result["phase_peaks"][phase] for phase in ("saving", "handover") if phase in result["phase_peaks"]}
        yield {**row, **apart}


def main():
    parser = drawer(__doc__, ["truth", "receipts"], 120, "distributed/oracle_zero.py")
    parser.add_argument("--tiers", action="store_true", help="draw runs of stage 3 with offload and hpZ")
    options = parser.parse_intermixed_args()
    if options.what == "draw":
        printed(draw(options.seed, options.count, tiered if options.tiers else drawn))
    elif options.what == "truth":
        truth(options.oracle, [json.loads(line) for line in open(options.files[0])], options.files[1])
    else:
        printed(receipts(json.loads(line) for file in options.files for line in open(file)))


if __name__ == "__main__":
    main()
