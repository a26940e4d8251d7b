"""DeepSpeed's options beside its stages: runs drawn for each, and DeepSpeed's own engine with stand-ins for compiled kernels.

usage: python -m capture.truth.deepspeed_options draw --seed N --count 90 > cases.jsonl
       LD_PRELOAD=fakecuda.so python -m capture.truth.deepspeed_options truth --oracle ORACLE_ZERO.py cases.jsonl rows.jsonl
       python -m capture.truth.deepspeed receipts rows.jsonl > test/core/zero/options.jsonl

Every case has a process of its own, copied from one that has loaded the library. What the kernels of ZeRO++ return is of the shapes in csrc/quantization/pt_binding.cpp;
a node has eight GPUs. What does not run is a row with its error.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import traceback

from .deepspeed import drawn
from .ranks import handing
from .rows import drawer, drawn_in, printed

WORLDS = [2, 8, 16, 64]


def stage3(zero, **more):
    return {**zero, "stage": 3, **more}


def any_offload(r, **more):
    return {"device": "cpu", "pin_memory": r.random() < 0.5, **more}


# What is set for each kind: of the zero block, and of the whole document ("engine").
KINDS = {
    "qwz": lambda r, zero: stage3(zero, zero_quantized_weights=True),
    "qwz-hpz": lambda r, zero: stage3(zero, zero_quantized_weights=True, zero_hpz_partition_size=2),
    "qgz": lambda r, zero: stage3(zero, zero_quantized_gradients=True),
    "zeropp": lambda r, zero: stage3(zero, zero_quantized_weights=True, zero_quantized_gradients=True, zero_hpz_partition_size=8),
    "frozen-quantized": lambda r, zero: stage3(zero, zero_quantized_nontrainable_weights=True),
    "twin-flow": lambda r, zero: stage3(
        zero, offload_optimizer=any_offload(r, ratio=r.choice([0.3, 0.5, 0.8])), sub_group_size=r.choice([10**5, 10**6, 4 * 10**6])
    ),
    "plain-linear": lambda r, zero: stage3(zero, memory_efficient_linear=False),
    "granularity": lambda r, zero: stage3(zero, stage3_module_granularity_threshold=r.choice([10**5, 10**6, 10**7])),
    "sequential": lambda r, zero: stage3(zero, stage3_allgather_sequential=True),
    "all-reduce": lambda r, zero: stage3(zero, stage3_use_all_reduce_for_fetch_params=True),
    "not-contiguous": lambda r, zero: {**zero, "stage": r.choice([2, 3]), "contiguous_gradients": False},
    "all-reduced-gradients": lambda r, zero: stage3(zero, reduce_scatter=False),
    "host12": lambda r, zero: {**zero, "stage": r.choice([1, 2]), "offload_optimizer": any_offload(r)},
    "host3": lambda r, zero: stage3(zero, offload_optimizer=any_offload(r)),
    "frozen": lambda r, zero: {**zero, "stage": r.choice([1, 2, 3])},
    "wide-communication": lambda r, zero: {**zero, "stage": r.choice([1, 2, 3])},
    "half-states": lambda r, zero: {**zero, "stage": r.choice([1, 2, 3])},
    "half-states-here": lambda r, zero: {**zero, "stage": r.choice([1, 2, 3])},
    "zenflow": lambda r, zero: {**zero, "stage": 2, "offload_optimizer": any_offload(r), "zenflow": {"topk_ratio": 0.1}},
    "super-offload": lambda r, zero: stage3(zero, offload_optimizer=any_offload(r, super_offload=True)),
    "own-adam": lambda r, zero: {**zero, "stage": r.choice([0, 1, 2, 3])},
    "saved": lambda r, zero: stage3(zero, stage3_gather_16bit_weights_on_model_save=True),
    "handed": lambda r, zero: stage3(zero),
}
OFTEN = ("qwz", "qwz-hpz", "qgz", "zeropp", "twin-flow", "plain-linear", "not-contiguous", "host12", "frozen", "all-reduced-gradients")


def drawn_for(kind, number, r):
    case = drawn(number, r)
    while case["zero"]["precision"] == "fp32" and kind.startswith("half-states"):
        case = drawn(number, r)
    case["id"] = f"o{number:03d}-{kind}"
    zero = case["zero"]
    zero["world"] = r.choice([16, 64]) if kind in ("qgz", "zeropp") else r.choice(WORLDS)
    base = {key: value for key, value in zero["config"].items() if key not in ("stage", "offload_optimizer")}
    zero["config"] = KINDS[kind](r, base)
    if zero["config"]["stage"] == 3:
        for key in ("round_robin_gradients",):
            zero["config"].pop(key, None)
    layers = next(key for key in ("num_hidden_layers", "n_layer") if key in case["model"])
    case["model"][layers] = min(case["model"][layers], 4)
    if kind == "frozen":
        zero["frozen"] = r.choice(["embed", "layers.0", "mlp"])
    adapts = kind == "frozen-quantized" or (kind == "handed" and r.random() < 0.5)
    if adapts and "peft" not in case and case["model"]["model_type"] not in ("gpt2", "opt", "gpt_neox"):
        case["peft"] = {"r": 16, "target_modules": "all-linear"}
    if kind == "wide-communication":
        zero["engine"] = {"communication_data_type": "fp32"}
    if kind == "half-states":
        own = {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": r.random() < 0.5}
        zero["precision"], zero["engine"] = "bf16", {"bf16": {"enabled": True, **own}}
        zero["config"]["offload_optimizer"] = any_offload(r)
    if kind == "half-states-here":
        own = {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}
        zero["precision"], zero["engine"] = "bf16", {"bf16": {"enabled": True, **own}}
    if kind == "own-adam":
        zero["engine"] = {"optimizer": {"type": r.choice(["Adam", "AdamW", "Lion"]), "params": {"lr": 1e-5}}}
    if kind == "handed":
        zero["hands_over"] = True
        if r.random() < 0.3:
            zero["config"]["offload_param"] = any_offload(r)
    if kind in ("half-states", "twin-flow", "super-offload", "zenflow"):
        zero.setdefault("engine", {})["optimizer"] = {"type": "AdamW", "params": {"lr": 1e-5}}
    return case


def draw(seed, count, only=()):
    r = random.Random(seed)
    kinds = only or [*KINDS, *OFTEN]
    return [drawn_for(kinds[number % len(kinds)], number, r) for number in range(count)]


class Quantizer:
    """The compiled module of ZeRO++: what its functions allocate."""

    Symmetric = 0

    @staticmethod
    def quantize(values, groups, bits, kind):
        import torch

        *rest, last = values.shape
        return (
            torch.empty([*rest, last if bits == 8 else last // 2], dtype=torch.int8, device=values.device),
            torch.empty([groups, 1], dtype=torch.float32, device=values.device),
        )

    @staticmethod
    def dequantize(values, scales, groups, bits, kind):
        import torch

        *rest, last = values.shape
        return torch.empty([*rest, last if bits == 8 else last * 2], dtype=torch.float16, device=values.device)

    @staticmethod
    def swizzle_quant(values, groups, bits, kind, pipeline, nodes, per_node):
        import torch

        scales = torch.empty([groups, 1], dtype=torch.float32, device=values.device)
        return torch.empty([values.numel() // (8 // bits)], dtype=torch.int8, device=values.device), scales

    @staticmethod
    def quantized_reduction(values, scales, groups_in, groups_out, bits, kind, per_node):
        import torch

        own = torch.empty([groups_out, 1], dtype=torch.float32, device=values.device)
        *rest, last = values.shape
        return torch.empty([*rest, last // per_node], dtype=torch.int8, device=values.device), own


class Steps:
    """The compiled steps of DeepSpeed's own optimizers: they write into what they are given."""

    def __getattr__(self, name):
        return lambda *_, **__: None


def several(oracle, file):
    """The oracle's own run of each case, with what the case says of the document, frozen parameters and kernels.

    The library is loaded once; each case is a copy of the process, so that none finds what another left behind.
    """
    spec = importlib.util.spec_from_file_location("oracle_zero", oracle)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import deepspeed
    import peft  # noqa: F401
    import torch

    builders = deepspeed.ops.op_builder
    builders.QuantizerBuilder.load = lambda *_, **__: Quantizer
    for builder in (builders.CPUAdamBuilder, builders.CPULionBuilder, builders.FusedAdamBuilder, builders.FusedLionBuilder):
        builder.load = lambda *_, **__: Steps()
    for line in open(file):
        case = json.loads(line)
        torch.cuda.device_count = lambda world=case["zero"]["world"]: min(8, world)
        child = os.fork()
        if child == 0:
            asked(module, deepspeed, case)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)


def asked(module, deepspeed, case):
    initialize, build = deepspeed.initialize, module.o.build

    def with_document(config, optimizer, **more):
        config.update(case["zero"].get("engine", {}))
        return initialize(config=config, optimizer=None if "optimizer" in config else optimizer, **more)

    def frozen(case):
        config, model = build(case)
        for name, parameter in model.named_parameters():
            if case["zero"].get("frozen", " ") in name:
                parameter.requires_grad_(False)
        return config, model

    def saving(**more):
        """The Trainer's `save_model` after the last step (transformers/trainer.py)."""
        engine, *rest = with_document(**more)
        step, left = engine.step, [2 * case["grad_accum"]]

        def stepped():
            step()
            left[0] -= 1
            if left[0] == 0:
                module.f.LED[0].phase = "saving"
                engine._zero3_consolidated_16bit_state_dict(exclude_frozen_parameters="peft" in case)

        engine.step = stepped
        return engine, *rest

    def handing_over(**more):
        """TRL's synchronization with vLLM before the first step."""
        engine, *rest = with_document(**more)
        handing.over(engine.module, module.f.LED[0], zero_stage=3)
        return engine, *rest

    gathers = case["zero"]["config"].get("stage3_gather_16bit_weights_on_model_save")
    hands_over = case["zero"].get("hands_over")
    deepspeed.initialize = saving if gathers else handing_over if hands_over else with_document
    module.o.build = frozen
    module.signal.alarm(200)
    try:
        result = module.run(case)
    except BaseException as error:
        result = {"error": f"{type(error).__name__}: {error}"[:300], "where": traceback.format_exc()[-900:]}
    print(json.dumps({"case": case, "result": result}), flush=True)


def truth(oracle, cases, out, program="capture.truth.deepspeed_options"):
    done = drawn_in(out)
    worlds = {}
    for case in cases:
        if case["id"] not in done:
            worlds.setdefault(case["zero"]["world"], []).append(case)
    for world, own in worlds.items():
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl", delete=False) as file:
            file.writelines(json.dumps(case) + "\n" for case in own)
        command = [sys.executable, "-m", program, "several", file.name, "--oracle", oracle]
        environment = {**os.environ, "ZERO_WORLD": str(world), "DS_ACCELERATOR": "cuda"}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with open(out, "a") as rows, subprocess.Popen(command, env=environment, **streams) as process:
            for line in process.stdout:
                if line.startswith('{"case"'):
                    rows.write(line)
                    rows.flush()
        os.unlink(file.name)


def main():
    parser = drawer(__doc__, ["truth", "several"], 90, "distributed/oracle_zero.py")
    parser.add_argument("--kind", nargs="+", default=(), choices=KINDS, help="draw only these")
    options = parser.parse_intermixed_args()
    if options.what == "draw":
        printed(draw(options.seed, options.count, options.kind))
    elif options.what == "several":
        several(options.oracle, options.files[0])
    else:
        truth(options.oracle, [json.loads(line) for line in open(options.files[0])], options.files[1])


if __name__ == "__main__":
    main()
