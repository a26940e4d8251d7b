"""Makes receipts of training loops of one's own that shard their model by torch's `fully_shard`: the script itself runs, on one rank of several.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.sharded_loops --oracle ORACLE.py [--count 16]

The oracle builds the model, batches are made on the device; all else is the script's text. Receipts go to
`test/analysis/sharded-loops.jsonl`, one a line; those there are kept.
"""

import contextlib
import json
import pathlib
import random

from .ranks import group
from .receipt_models import FAMILIES
from .receipts import alone, load
from .rows import rows_of, with_oracle

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "sharded-loops.jsonl"
DRAWN = ("llama", "qwen2", "qwen3", "mistral", "olmo2", "granite", "smollm3", "seed_oss")

SCRIPT = """import torch
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from transformers import AutoConfig, AutoModelForCausalLM

torch.distributed.init_process_group("nccl")
config = AutoConfig.from_pretrained("./model")
model = AutoModelForCausalLM.from_config(config, dtype=torch.{dtype}).cuda()
model.config.use_cache = False
{before}for layer in model.model.layers:
    fully_shard(layer{options})
fully_shard(model{options})
optimizer = torch.optim.{optimizer}(model.parameters(), lr=1e-4{fused})
for step, batch in enumerate(torch.utils.data.DataLoader(data, batch_size={batch})):
    ids = batch["input_ids"].cuda()
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    {clip}optimizer.step()
    optimizer.zero_grad()
"""


def drawn(number):
    """A run's sizes, and its script."""
    r = random.Random(f"sharded loop {number}")
    family = r.choice(DRAWN)
    model = {"model_type": family, **FAMILIES[family][0](r), "num_hidden_layers": r.choice((2, 3, 5))}
    for rate in [key for key in model if "drop" in key]:
        model[rate] = 0.0
    model.pop("layer_types", None)
    dtype = r.choice(("float32", "float32", "bfloat16"))
    mixed = r.choice(("", "param_dtype=torch.bfloat16", "param_dtype=torch.bfloat16, reduce_dtype=torch.float32"))
    reshard = r.choice(("", "", ", reshard_after_forward=False"))
    before = "model.gradient_checkpointing_enable()\n" if r.random() < 0.4 else ""
    if mixed:
        before += f"policy = MixedPrecisionPolicy({mixed})\n"
    c = {"batch": r.choice((1, 2, 3)), "seq": r.choice((64, 128, 200, 333)), "world": r.choice((2, 4, 8, 64))}
    script = SCRIPT.format(
        dtype=dtype,
        before=before,
        options=(", mp_policy=policy" if mixed else "") + reshard,
        optimizer=r.choice(("AdamW", "AdamW", "SGD")),
        fused=r.choice(("", ", foreach=True")),
        batch=c["batch"],
        clip=r.choice(("", "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    ")),
    )
    return {**c, "model": model, "dtype": dtype, "script": script}


def peak(oracle, c):
    """Most bytes allocated while the script runs two steps."""
    import torch
    import transformers
    from torch.distributed.fsdp._fully_shard import _fully_shard

    ledger = oracle.Ledger()
    case = {"model": c["model"], "task": "causal-lm", "load_dtype": c["dtype"], "attn": "sdpa", "batch": c["batch"], "seq": c["seq"]}
    with contextlib.ExitStack() as within:
        within.enter_context(group.of(c["world"]))
        torch.distributed.init_process_group = lambda *_: None
        # Its numbers of ranks are real ones.
        mesh = torch.distributed.device_mesh.init_device_mesh("cuda", (c["world"],))
        _fully_shard._init_default_mesh = lambda *_: mesh
        within.enter_context(oracle.FakeTensorMode(allow_non_fake_inputs=True))
        within.enter_context(ledger)
        config, model = oracle.build(case)
        transformers.AutoConfig.from_pretrained = lambda *_: config
        built = [model]
        del model
        transformers.AutoModelForCausalLM.from_config = lambda *_, **__: built.pop()
        torch.nn.Module.cuda = lambda module: module
        torch.Tensor.cuda = lambda tensor: tensor

        def batches(*_, **__):
            for step in (1, 2):
                ledger.phase = f"step{step}"
                yield {"input_ids": torch.zeros(c["batch"], c["seq"], dtype=torch.long, device="cuda")}

        torch.utils.data.DataLoader = batches
        exec(compile(c["script"], "train.py", "exec"), {"data": None, "__name__": "__main__"})
    live = most = 0
    for event in ledger.events:
        live += event[2] if event[0] == "a" else -ledger.size[event[1]]
        if event[0] == "a" and event[4] != "load":
            most = max(most, live)
    return most


def main():
    args = with_oracle(__doc__, count=16).parse_args()
    oracle = load(args.oracle)
    group.prepare(oracle)
    known = {row["id"] for row in rows_of(FILE)}
    for number in range(args.count):
        identity = f"sharded loop {number}"
        if identity in known:
            continue

        def keep(number=number, identity=identity):
            c = drawn(number)
            try:
                row = {"id": identity, **c, "allocated": peak(oracle, c)}
            except Exception as error:  # what the libraries refuse is told, never dropped
                print(identity, f"{type(error).__name__}: {str(error)[:300]}", flush=True)
                return
            print(identity, c["model"]["model_type"], row["allocated"], flush=True)
            with open(FILE, "a") as file:
                file.write(json.dumps(row) + "\n")

        alone(keep)


if __name__ == "__main__":
    main()
