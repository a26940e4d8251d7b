"""Makes receipts of torchtitan: job configs drawn at random, each with the peak of its own model, parallelism and loop.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.torchtitan_receipts --oracle ORACLE.py [--count 60] [--seed N] [--out FILE]

The model is torchtitan's with its activation checkpointing (`distributed/activation_checkpoint.py`) and its `apply_fsdp`
(`models/*/infra/parallelize.py`) on one rank of a process group that answers nothing; the loop is `train_step` of train.py, on fake CUDA
tensors whose storages the oracle follows.
"""

import contextlib
import pathlib

from .ranks import group
from .receipt_files import add, arguments
from .torchtitan_loop import two_steps

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "torchtitan.jsonl"

# Flavors whose head is a weight of its own: what tying one to a sharded embedding after `to_empty` comes to is not followed.
FLAVORS = (("llama3", "8B"), ("llama3", "8B"), ("qwen3", "8B"), ("qwen3", "14B"))

TEXT = """[model]
name = "{model}"
flavor = "{flavor}"
converters = [{converters}]

[optimizer]
name = "AdamW"

[training]
local_batch_size = {batch}
seq_len = {seq}
compile = false

[parallelism]
data_parallel_shard_degree = -1
fsdp_reshard_after_forward = "{reshard}"

[activation_checkpoint]
mode = "{mode}"
selective_ac_option = "{option}"
"""


def draw(r):
    """What a run is, and its config as text."""
    model, flavor = r.choice(FLAVORS)
    c = {
        "model": model,
        "flavor": flavor,
        "batch": r.choice((1, 1, 2)),
        "seq": r.choice((512, 1024, 2048, 4096)),
        "world": r.choice((1, 2, 4, 8, 8, 64)),
        "reshard": r.choice(("default", "default", "always", "never")),
        "mode": r.choice(("none", "full", "selective", "selective")),
        "option": r.choice(("op", "op", "op", "2")),
    }
    c["float8"] = r.choice((None, None, None, "tensorwise", "rowwise"))
    text = TEXT.format(**c, converters='"quantize.linear.float8"' if c["float8"] else "")
    if c["float8"] == "rowwise":
        text += '\n[quantize.linear.float8]\nrecipe_name = "rowwise"\n'
    return c, f"{text}\n# world {c['world']}\n"


def model_of(c):
    """torchtitan's model of a flavor."""
    import importlib

    if c["model"] == "llama3":
        from torchtitan.models.llama3 import llama3_args as flavors
        from torchtitan.models.llama3.model.model import Transformer as Model
    else:
        from torchtitan.models.qwen3 import qwen3_args as flavors
        from torchtitan.models.qwen3.model.model import Qwen3Model as Model
    arguments = flavors[c["flavor"]]
    arguments.max_seq_len = c["seq"]
    return Model(arguments), importlib.import_module(f"torchtitan.models.{c['model']}.infra.parallelize")


def convert(model, recipe):
    """`Float8LinearConverter.convert` (components/quantization/float8.py); no `filter_fqns` leaves no layer out."""
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    config = Float8LinearConfig.from_recipe_name(recipe) if recipe == "rowwise" else Float8LinearConfig()
    convert_to_float8_training(model, config=config)


def peak(oracle, c):
    """Most bytes allocated in two steps of the loop."""
    from torch.distributed.device_mesh import init_device_mesh
    from torchtitan.config.job_config import ActivationCheckpoint
    from torchtitan.distributed.activation_checkpoint import apply_ac
    from torchtitan.models.llama3.infra.parallelize import _op_sac_save_list, apply_fsdp

    torch = oracle.torch
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    with contextlib.ExitStack() as within:
        within.enter_context(group.of(c["world"]))
        mesh = init_device_mesh("cuda", (c["world"],), mesh_dim_names=("fsdp",))
        within.enter_context(mode)
        within.enter_context(ledger)
        with torch.device("cuda"):
            model, _ = model_of(c)
        if c["float8"]:
            convert(model, c["float8"])
        if c["mode"] != "none":
            apply_ac(
                model,
                ActivationCheckpoint(mode=c["mode"], selective_ac_option=c["option"]),
                model_compile_enabled=False,
                op_sac_save_list=_op_sac_save_list,
            )
        amp = contextlib.nullcontext
        if c["world"] > 1:
            apply_fsdp(model, mesh, torch.bfloat16, torch.float32, False, reshard_after_forward_policy=c["reshard"])
        else:
            amp = lambda: torch.autocast("cuda", torch.bfloat16)  # noqa: E731
        two_steps(torch, ledger, model, c, amp)
    return oracle.summarize(list(ledger.events), ledger.size, {})


def prepared(oracle, c):
    """The streams of a device that is not there, once."""
    if not getattr(prepared, "done", False):
        group.prepare(oracle)
        prepared.done = True
    return peak(oracle, c)


if __name__ == "__main__":
    add(arguments(FILE).parse_args(), draw, prepared)
