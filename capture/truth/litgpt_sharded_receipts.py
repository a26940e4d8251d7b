"""Makes receipts of litgpt's LoRA on several GPUs: its own `parallelize_fn` under torch's fake process group.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.litgpt_sharded_receipts --oracle ORACLE.py [--flat] [--count 60] [--seed sharded] [--out FILE]

Shards and context are those of Lightning's `ModelParallelStrategy`, loop and model those of `litgpt_receipts`. With `--flat` they are those
of `FSDPStrategy` as litgpt's LoRA was given it before 0.5.8: layers are flat parameters, frozen and trained weights in one.
"""

import contextlib
import functools

from . import litgpt_receipts
from .ranks import group, sharding
from .receipt_files import add, arguments


def draw(r, flat=False):
    """What a run is, and its config as text."""
    while True:
        c, text = litgpt_receipts.draw(r)
        if c["lora"] and "quantize" not in c:
            break
    world = r.choice((2, 4, 8))
    total = c["batch"] * c["accumulation"]
    text = text.replace("devices: 1\n", f"devices: {world}\n")
    text = text.replace(f"global_batch_size: {total}\n", f"global_batch_size: {total * world}\n")
    return c | {"world": world, "flat": flat}, f"# litgpt 0.5.7\n{text}" if flat else text


def flattened(oracle, model, mixed):
    """`FSDPStrategy.setup_module` (lightning/fabric/strategies/fsdp.py) with litgpt's policies."""
    from litgpt.model import Block
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        CheckpointImpl,
        apply_activation_checkpointing,
        checkpoint_wrapper,
    )
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    torch = oracle.torch
    kinds = {kind for kind in (type(module) for module in model.modules()) if issubclass(kind, Block)}
    policy = ModuleWrapPolicy(kinds)
    dtype = torch.bfloat16 if mixed is None else mixed
    wrapped = FullyShardedDataParallel(
        model,
        auto_wrap_policy=policy,
        mixed_precision=MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype),
        use_orig_params=True,
        device_id=torch.device("cuda", 0),
        limit_all_gathers=True,
    )
    kind = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
    apply_activation_checkpointing(wrapped, checkpoint_wrapper_fn=kind, auto_wrap_policy=policy)
    sharding.started(wrapped)
    return wrapped, lambda last: contextlib.nullcontext() if last else wrapped.no_sync()


prepared = False


def peak(oracle, c):
    """Most bytes that one of the ranks allocates in two steps of the loop."""
    from lightning.fabric.strategies.model_parallel import _FSDPNoSync
    from litgpt.finetune.lora import parallelize_fn
    from torch.distributed.device_mesh import init_device_mesh

    global prepared
    if not prepared:
        group.prepare(oracle)
        prepared = True
    if c["flat"]:
        kind = oracle.torch.float32 if c["precision"] == "32-true" else None
        with group.of(c["world"]):
            return litgpt_receipts.peak(oracle, c, lambda model: flattened(oracle, model, kind))
    with group.of(c["world"]):
        mesh = init_device_mesh("cuda", (c["world"], 1), mesh_dim_names=("data_parallel", "tensor_parallel"))
        # Made of real numbers, outside of fake tensors.
        mesh["data_parallel"]

        def sharded(model):
            wrapped = parallelize_fn(model, mesh)
            return wrapped, lambda last: _FSDPNoSync(wrapped, not last)

        return litgpt_receipts.peak(oracle, c, sharded)


if __name__ == "__main__":
    options = arguments(litgpt_receipts.FILE)
    options.add_argument("--flat", action="store_true")
    options.set_defaults(seed="sharded")
    given = options.parse_args()
    add(given, lambda r: draw(r, given.flat), peak)
