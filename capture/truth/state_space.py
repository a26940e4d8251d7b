"""Makes receipts of models whose state-space layers run as `mamba_ssm` has them: its autograd function, its kernels doing nothing.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.state_space --oracle ORACLE.py [--count N]

mamba_ssm's sources and einops are on `PYTHONPATH`. What the Python of `ssd_combined.py` allocates is what a card allocates; the programs of Triton
are stood in for, and causal-conv1d's two functions by what their wrappers make (causal_conv1d/cpp_functions.py).
"""

import collections
import contextlib
import importlib
import inspect
import random
import sys
import types

from ..recording import stand_ins
from ..storing.stored import content_of
from .receipts import ROOT, alone, by_task, draw, keep, load
from .rows import drawn_in, with_oracle

FILE = ROOT / "test" / "core" / "receipts" / "ways" / "state-spaces.jsonl"
COMBINED = ("mamba2", "bamba", "falcon_h1", "granitemoehybrid", "nemotron_h", "zamba2")
SELECTIVE = ("mamba", "falcon_mamba")
FAMILIES = (*COMBINED, *SELECTIVE)
MULTIPROCESSORS = 108


class Kernel:
    """A program of Triton: started on a grid, it writes into what it is given."""

    best_config = types.SimpleNamespace(kwargs=collections.defaultdict(lambda: 64), num_warps=1)
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


def selective_scan(torch):
    """csrc/selective_scan/selective_scan.cpp: what its two functions make."""

    def fwd(u, delta, a, b, c, d, z, delta_bias, softplus):
        gated = torch.empty_like(z)
        chunks = -(-u.shape[2] // 2048)
        return torch.empty_like(delta), torch.empty(*u.shape[:2], chunks, 2 * a.shape[1], dtype=a.dtype, device=u.device), gated

    def bwd(u, delta, a, b, c, d, z, delta_bias, dout, x, out, dz, softplus, recompute):
        dz = torch.empty_like(z) if dz is None else dz
        gated = torch.empty_like(out) if recompute else None
        du, ddelta = torch.empty_like(u), torch.empty_like(delta)
        da, db, dc, dd, dbias = (torch.zeros_like(of, dtype=torch.float32) for of in (a, b, c, d, delta_bias))
        return du, ddelta, da, db.to(b.dtype), dc.to(c.dtype), dd, dbias, dz, *(() if gated is None else (gated,))

    return types.SimpleNamespace(fwd=fwd, bwd=bwd)


def install(torch):
    """mamba_ssm's functions in place of transformers' written-out scans."""
    kept = {name: sys.modules.get(name) for name in ("triton", "triton.language")}
    without_triton()
    stand_ins.package("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.utils")
    combined = importlib.import_module("mamba_ssm.ops.triton.ssd_combined")
    selective = importlib.import_module("mamba_ssm.ops.selective_scan_interface")
    selective.selective_scan_cuda = selective_scan(torch)
    for module in (combined, selective):
        module.causal_conv1d_fwd_function, module.causal_conv1d_bwd_function = convolutions(torch)
    for name, module in kept.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module
    torch.cuda.device = lambda index: contextlib.nullcontext()
    torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(multi_processor_count=MULTIPROCESSORS)
    called = {
        "mamba2_split_conv1d_scan_combined": (combined.mamba_split_conv1d_scan_combined, COMBINED),
        "mamba_inner_fn": (selective.mamba_inner_fn, SELECTIVE),
    }
    for name, (function, families) in called.items():
        for family in families:
            setattr(importlib.import_module(f"transformers.models.{family}.modeling_{family}"), name, fused(function))


def fused(function):
    """As transformers/integrations/hub_kernels.py calls it."""
    known = inspect.signature(function).parameters
    return lambda *operands, **options: function(*operands, **{name: value for name, value in options.items() if name in known})


def lengthened(case):
    """A drawn case with sequences of several chunks, in a dtype that kernels are for."""
    r = random.Random(case["id"])
    case |= {"id": f"state-space {case['id']}", "seq": r.randint(65, 300), "state_space_kernels": True}
    case.pop("peft", None)  # peft refuses adapters on what the function multiplies by
    case.pop("quant", None)
    case.pop("kbit_prep", None)
    return case


def main():
    parser = with_oracle(__doc__, count=3)
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    install(oracle.torch)
    run = by_task(oracle)
    have = drawn_in(FILE)
    for family in FAMILIES:
        graphs = content_of((ROOT / "models" / "graphs" / f"{family}.json").read_text())["graphs"]
        for number in range(args.count):
            case = lengthened(draw(family, number, graphs))
            if case["id"] not in have:
                alone(lambda: keep(FILE, case, run))
        print(f"{family}: done", flush=True)


if __name__ == "__main__":
    main()
