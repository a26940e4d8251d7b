"""Makes receipts of litgpt's LoRA on several GPUs: its own `parallelize_fn` under torch's fake process group.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.litgpt_sharded_receipts --oracle ORACLE.py [--count 60] [--seed sharded] [--out FILE]

Shards and context are those of Lightning's `ModelParallelStrategy`, loop and model those of `litgpt_receipts`.
"""

from . import litgpt_receipts
from .ranks import group
from .receipt_files import add, arguments


def draw(r):
    """What a run is, and its config as text."""
    while True:
        c, text = litgpt_receipts.draw(r)
        if c["lora"] and "quantize" not in c:
            break
    world = r.choice((2, 4, 8))
    total = c["batch"] * c["accumulation"]
    text = text.replace("devices: 1\n", f"devices: {world}\n")
    text = text.replace(f"global_batch_size: {total}\n", f"global_batch_size: {total * world}\n")
    return c | {"world": world}, text


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
    options.set_defaults(seed="sharded")
    add(options.parse_args(), draw, peak)
