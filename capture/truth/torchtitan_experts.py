"""Makes receipts of torchtitan's models with experts: its own parallelism on one rank, the experts spread over ranks or not.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.torchtitan_experts --oracle ORACLE.py [--count 40] [--seed N] [--out FILE]

Everything is torchtitan's: the model, `parallelize_deepseekv3` (models/deepseek_v3/infra/parallelize.py: expert parallelism, activation
checkpointing, FSDP with its prefetching) and `train_step`. Three things stand in for a device: the kernel that writes where rows go
(models/moe/kernels.py) writes nothing, what ranks tell each other about their rows is even, and a compiled attention by blocks gives
what flex attention gives (its result and a number of every query).
"""

import contextlib
import pathlib

from ..recording import stand_ins
from .ranks import group
from .receipt_files import add, arguments
from .torchtitan_loop import two_steps

stand_ins.install("torch.utils.tensorboard")

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "torchtitan-experts.jsonl"

TEXT = """[model]
name = "{model}"
flavor = "{flavor}"

[optimizer]
name = "AdamW"

[training]
local_batch_size = {batch}
seq_len = {seq}

[compile]
enable = false

[parallelism]
data_parallel_shard_degree = -1
fsdp_reshard_after_forward = "{reshard}"
expert_parallel_degree = {experts}

[activation_checkpoint]
mode = "{mode}"
selective_ac_option = "{option}"
"""

FLAVORS = (("deepseek_v3", "16B"), ("qwen3", "30B-A3B"))


def draw(r):
    """What a run is, and its config as text."""
    model, flavor = r.choice(FLAVORS)
    world = r.choice((2, 4, 8, 8, 16, 64))
    c = {
        "model": model,
        "flavor": flavor,
        "batch": r.choice((1, 1, 2, 4)),
        "seq": r.choice((512, 1024, 2048, 4096)),
        "world": world,
        "experts": r.choice([e for e in (1, 2, 4, 8) if e <= world]),
        "reshard": r.choice(("default", "default", "always", "never")),
        "mode": r.choice(("none", "full", "selective", "selective")),
        "option": r.choice(("op", "op", "op", "2")),
    }
    c["replicas"] = r.choice((1, 1, 1, 2)) if world // c["experts"] % 2 == 0 else 1
    text = TEXT.format(**c)
    if c["replicas"] > 1:
        text = text.replace("[parallelism]", f"[parallelism]\ndata_parallel_replicate_degree = {c['replicas']}")
    return c, text + f"\n# world {world}\n"


def stand_in(torch):
    """What has no device, or no other ranks, to run on."""
    import torchtitan.tools.utils

    torchtitan.tools.utils.has_cuda_capability = lambda *_: True
    import torchtitan.distributed.expert_parallel as experts
    import torchtitan.models.attention as attention
    import torchtitan.models.moe.kernels as kernels

    class Nothing:
        def __getitem__(self, _):
            return lambda *_, **__: None

    kernels._fill_indices_kernel = Nothing()

    def even(tokens, *_, **__):
        return torch.empty_like(tokens)

    experts.all_to_all_single = even
    from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
    from torch.utils._python_dispatch import _disable_current_modes
    from torchtitan.distributed import ParallelDims

    # Numbers of rows that nobody counted; `exchanged` takes as many as there are.
    FakeTensor.tolist = lambda tensor: [0] * tensor.numel()

    from torch.distributed.device_mesh import DeviceMesh

    def real(function):
        """Meshes hold real numbers of ranks."""

        def outside(*args):
            with unset_fake_temporarily(), _disable_current_modes():
                return function(*args)

        return outside

    ParallelDims.get_optional_mesh = real(ParallelDims.get_optional_mesh)
    DeviceMesh.__getitem__ = real(DeviceMesh.__getitem__)
    DeviceMesh._concatenate = staticmethod(real(DeviceMesh._concatenate))

    def exchanged(rows, output_splits, input_splits, group):
        """As many rows come as go."""
        return torch.ops._c10d_functional_autograd.all_to_all_single(rows, [rows.shape[0]], [rows.shape[0]], _name(group))

    from torch.distributed._functional_collectives import _resolve_group_name as _name

    experts.all_to_all_single_autograd = exchanged

    from torch.nn.attention import SDPBackend, sdpa_kernel

    def blocks(self, q, k, v, *, scale=None, **_):
        """Flex attention's result and a sum of every query, which is what the kernel of unlike widths keeps, too."""
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    attention.FlexAttentionWrapper.forward = blocks
    import torchtitan.models.deepseek_v3.model.model as deepseek

    deepseek.BlockMask = type(None)


def peak(oracle, c):
    """Most bytes allocated in two steps of the loop."""
    import importlib

    torch = oracle.torch
    from torchtitan.config import JobConfig
    from torchtitan.distributed import ParallelDims

    spec = importlib.import_module(f"torchtitan.models.{c['model']}").get_train_spec()
    job = JobConfig()
    job.training.local_batch_size, job.training.seq_len = c["batch"], c["seq"]
    job.parallelism.expert_parallel_degree = c["experts"]
    job.parallelism.fsdp_reshard_after_forward = c["reshard"]
    job.activation_checkpoint.mode, job.activation_checkpoint.selective_ac_option = c["mode"], c["option"]
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    with contextlib.ExitStack() as within:
        within.enter_context(group.of(c["world"]))
        dims = ParallelDims(dp_replicate=c["replicas"], dp_shard=-1, cp=1, tp=1, pp=1, ep=c["experts"], etp=1, world_size=c["world"])
        dims.build_mesh()
        within.enter_context(mode)
        within.enter_context(ledger)
        arguments = spec.model_args[c["flavor"]]
        arguments.update_from_config(job)
        with torch.device("cuda"):
            model = spec.model_cls(arguments)
        spec.parallelize_fn(model, dims, job)
        two_steps(torch, ledger, model, c, ep_enabled=dims.ep_enabled)
    return oracle.summarize(list(ledger.events), ledger.size, {})


def prepared(oracle, c):
    """The streams of a device that is not there, once."""
    if not getattr(prepared, "done", False):
        group.prepare(oracle)
        stand_in(oracle.torch)
        prepared.done = True
    return peak(oracle, c)


if __name__ == "__main__":
    add(arguments(FILE).parse_args(), draw, prepared)
