"""Makes receipts of models whose state-space layers run as `mamba_ssm` has them: its autograd function, its kernels doing nothing.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.state_space --oracle ORACLE.py [--count N]

mamba_ssm's sources and einops are on `PYTHONPATH`. What the Python of `ssd_combined.py` allocates is what a card allocates; the programs of Triton
are stood in for, and causal-conv1d's two functions by what their wrappers make (causal_conv1d/cpp_functions.py).
"""

import argparse
import collections
import contextlib
import importlib
import inspect
import json
import random
import sys
import types

from ..recording import stand_ins
from ..storing.stored import content_of
from .receipts import ROOT, alone, by_task, draw, keep, load

FILE = ROOT / "test" / "core" / "receipts" / "ways" / "state-spaces.jsonl"
FAMILIES = ("mamba2", "bamba", "falcon_h1", "granitemoehybrid", "nemotron_h", "zamba2")
MULTIPROCESSORS = 108


class Kernel:
    """A program of Triton: started on a grid, it writes into what it is given."""

    best_config = types.SimpleNamespace(kwargs=collections.defaultdict(lambda: 64))
    configs = [best_config]

    def __getitem__(self, grid):
        return lambda *operands, **options: None


def without_triton():
    triton = stand_ins.Nothing("triton")
    triton.__version__ = "3.6.0"
    triton.jit = lambda function: Kernel()
    triton.autotune = triton.heuristics = lambda *_, **__: lambda function: function
    triton.Config = lambda *_, **__: Kernel.best_config
    triton.cdiv = lambda a, b: -(-a // b)
    triton.next_power_of_2 = lambda n: 1 << (n - 1).bit_length()
    sys.modules |= {"triton": triton, "triton.language": stand_ins.Nothing("triton.language")}


def convolutions(torch):
    """causal_conv1d/cpp_functions.py"""

    def forward(x, weight, bias, seq_idx, initial, final, activated):
        return torch.empty_like(x)

    def backward(x, weight, bias, dout, seq_idx, initial, final, dx, returns, activated):
        dx = torch.empty_like(x) if dx is None else dx
        of_weight, of_bias = (None if of is None else torch.zeros_like(of, dtype=torch.float32).type_as(of) for of in (weight, bias))
        return dx, of_weight, of_bias, None

    return forward, backward


def install(torch):
    """mamba_ssm's function in place of transformers' written-out scan."""
    kept = {name: sys.modules.get(name) for name in ("triton", "triton.language")}
    without_triton()
    stand_ins.package("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.utils")
    combined = importlib.import_module("mamba_ssm.ops.triton.ssd_combined")
    combined.causal_conv1d_fwd_function, combined.causal_conv1d_bwd_function = convolutions(torch)
    for name, module in kept.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module
    torch.cuda.device = lambda index: contextlib.nullcontext()
    torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(multi_processor_count=MULTIPROCESSORS)
    function = combined.mamba_split_conv1d_scan_combined
    known = inspect.signature(function).parameters

    def fused(*operands, **options):  # as transformers/integrations/hub_kernels.py calls it
        return function(*operands, **{name: value for name, value in options.items() if name in known})

    for family in FAMILIES:
        module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
        module.mamba2_split_conv1d_scan_combined = fused


def lengthened(case):
    """A drawn case with sequences of several chunks, in a dtype that kernels are for."""
    r = random.Random(case["id"])
    case |= {"id": f"state-space {case['id']}", "seq": r.randint(65, 300), "state_space_kernels": True}
    case.pop("peft", None)  # peft refuses adapters on what the function multiplies by
    case.pop("quant", None)
    case.pop("kbit_prep", None)
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--count", type=int, default=3)
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    install(oracle.torch)
    run = by_task(oracle)
    have = {json.loads(line)["case"]["id"] for line in FILE.read_text().splitlines()} if FILE.exists() else set()
    for family in FAMILIES:
        graphs = content_of((ROOT / "models" / "graphs" / f"{family}.json").read_text())["graphs"]
        for number in range(args.count):
            case = lengthened(draw(family, number, graphs))
            if case["id"] not in have:
                alone(lambda: keep(FILE, case, run))
        print(f"{family}: done", flush=True)


if __name__ == "__main__":
    main()
