"""Makes receipts of ways of training: optimizers and adapters the plain receipts do not draw.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.optimizers_and_adapters --oracle ORACLE.py [optimizers|adapters|experts ...] [--only NAME ...] [--count N]

The optimizer is made by transformers' own handlers (`trainer_optimizer.py`) or is the class of torch.optim with the name;
the adapter by peft from its own config class. Optimizers of other packages need those: galore-torch, apollo-torch, grokadamw,
schedulefree, lomo-optim, badam, adam-mini. Those that compile or launch kernels of their own (torchao, torch-optimi, paged states) cannot be
run on fake tensors. Receipts go to `test/core/receipts/ways/<kind>.jsonl`; those there are kept.
"""

from . import adapter_initialization
from .adapter_cases import adapter_cases, convolution_cases, expert_cases, run_adapter, token_cases
from .receipts import ROOT, alone, keep, load
from .rows import drawn_in, with_oracle
from .float8_cases import float8_cases, run_float8
from .loss_cases import loss_cases, run_loss
from .witness import with_tasks
from .optimizer_cases import TRAINER, optimizer_cases, prepare, run_optimizer


TRAINER["sgd"] = ({}, {"momentum": "0.9"}, {"momentum": "0.9", "weight_decay": "0.1"})
TRAINER["rmsprop"] = ({}, {"momentum": "0.9"}, {"centered": "True"})
TRAINER["galore_adamw"] = (
    *TRAINER["galore_adamw"],
    {"rank": "8", "proj_type": "reverse_std"},
    {"rank": "8", "proj_type": "right"},
    {"rank": "8", "proj_type": "full"},
)
TRAINER["apollo_adamw"] = (
    *TRAINER["apollo_adamw"],
    {"rank": "8", "scale_type": "tensor"},
    {"rank": "1", "scale_type": "tensor"},
    {"rank": "8", "proj": "svd"},
)


KINDS = {
    "initializations": adapter_initialization.cases,
    "losses": loss_cases,
    "optimizers": optimizer_cases,
    "adapters": adapter_cases,
    "convolutions": convolution_cases,
    "experts": expert_cases,
    "tokens": token_cases,
    "float8": float8_cases,
}
RUNS = {
    "initializations": adapter_initialization.run,
    "losses": run_loss,
    "optimizers": run_optimizer,
    "adapters": run_adapter,
    "convolutions": run_adapter,
    "experts": run_adapter,
    "tokens": run_adapter,
    "float8": run_float8,
}


def main():
    parser = with_oracle(__doc__, count=1)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    prepare()
    with_tasks(oracle)
    for kind in args.kinds or KINDS:
        cases, run = KINDS[kind], RUNS[kind]
        out = ROOT / "test" / "core" / "receipts" / "ways" / f"{kind}.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        have = drawn_in(out)
        for case in cases(args.count):
            if case["id"] not in have and (not args.only or any(name in case["id"] for name in args.only)):
                alone(lambda: keep(out, case, lambda case: run(oracle, case)))


if __name__ == "__main__":
    main()
