"""One rank of several, in one process: torch's fake process group, in the place of the one that a script asks for.

Collectives of it allocate what the caller of them allocates, and move nothing. What it leaves out is said: NCCL's own buffers.
"""

import contextlib
import functools
import os

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from .. import device as fake_device
from ..sentences import say
from ..words import Stopped
from .ledger import become

PER_NODE = 8
"""Cards of a node, unless a world is smaller."""


def environment(world):
    """What a launcher sets before a script runs (torch/distributed/elastic/agent), for the first of so many ranks."""
    local = min(world, PER_NODE)
    os.environ.update(
        RANK="0",
        LOCAL_RANK="0",
        GROUP_RANK="0",
        WORLD_SIZE=str(world),
        LOCAL_WORLD_SIZE=str(local),
        MASTER_ADDR="localhost",
        MASTER_PORT="29500",
        DS_ACCELERATOR="cuda",
    )
    return local


def launched(config, script):
    """The environment that `accelerate launch --config_file` gives a script, by its own functions; gives the number of ranks."""
    try:
        from accelerate.commands.launch import _validate_launch_command, launch_command_parser
        from accelerate.utils import launch
    except ImportError as error:
        raise Stopped(say("no-accelerate", error=error)) from None
    if not os.path.isfile(config):
        raise Stopped(say("no-file", file=config), 2)
    asked, defaults, mixed = _validate_launch_command(launch_command_parser().parse_args(["--config_file", config, script]))
    if asked.use_deepspeed:
        fields = [*(defaults.deepspeed_config if defaults else ()), *(["mixed_precision"] if mixed else [])]
        asked.deepspeed_fields_from_accelerate_config = ",".join(fields)  # accelerate/commands/launch.py, launch_command
        _, given = launch.prepare_deepspeed_cmd_env(asked)
    elif (asked.num_processes or 1) > 1 or asked.use_fsdp:
        given = launch.prepare_multi_gpu_env(asked)
    else:
        _, given = launch.prepare_simple_launcher_cmd_env(asked)
    os.environ.update({name: value for name, value in given.items() if name.startswith(("ACCELERATE_", "FSDP_", "PARALLELISM_", "TORCH"))})
    return int(asked.num_processes or 1)


def install(world, ledger, notes):
    """Has every process group be the fake one, of so many ranks of which this is the first."""
    import torch.distributed as dist
    import torch.distributed.distributed_c10d as c10d

    if not dist.is_available():
        raise Stopped(say("no-distributed"))
    from torch.testing._internal.distributed.fake_pg import FakeStore

    if world > 1:
        notes.add(say("first-rank", world=world))
    begin, group = c10d.init_process_group, c10d.new_group

    def init_process_group(*given, **more):
        if not dist.is_initialized():
            with _disable_current_modes():
                begin("fake", store=FakeStore(), rank=0, world_size=world)

    def new_group(ranks=None, timeout=None, *given, **more):
        with _disable_current_modes():
            return group(ranks)

    answers = {
        "init_process_group": init_process_group,
        "new_group": new_group,
        "barrier": lambda *given, **more: None,
        "monitored_barrier": lambda *given, **more: None,
        "broadcast_object_list": lambda *given, **more: None,  # it comes from this rank, or nobody knows it
        "all_gather_object": _all_alike,
        "gather_object": lambda one, into=None, *given, **more: into and _all_alike(into, one),
        "scatter_object_list": _first,
    }
    for name, answer in answers.items():
        for module in (dist, c10d):
            setattr(module, name, answer)
    fake_device.pretend_runtime(torch, fake_device.EVENTS)
    torch._C._get_accelerator = lambda *given: torch.device("cuda")  # whose cards a mesh is of
    dist._verify_params_across_processes = lambda *given, **more: None
    torch.distributed._functional_collectives.wait_tensor = lambda tensor: tensor  # the shapes alone would make another one
    _reduced()
    _same_on_all_ranks()
    _addresses()
    _resizing(ledger)
    _moves()


def when_asked(ledger, notes):
    """A script that is alone, and makes a process group all the same, has the fake one."""
    import torch.distributed as dist
    import torch.distributed.distributed_c10d as c10d

    def init_process_group(*given, **more):
        install(1, ledger, notes)
        dist.init_process_group(*given, **more)

    if dist.is_available():
        dist.init_process_group = c10d.init_process_group = _later(c10d.init_process_group, init_process_group)


def _later(begin, instead):
    """`instead` the first time, with the function it stands for put back before."""

    @functools.wraps(begin)
    def init_process_group(*given, **more):
        import torch.distributed.distributed_c10d as c10d

        c10d.init_process_group = begin
        instead(*given, **more)

    return init_process_group


def _all_alike(into, one, *given, **more):
    into[:] = [one] * len(into)


def _first(into, ones, *given, **more):
    into[:1] = (ones or [None])[:1]


def _reduced():
    """Buckets of DistributedDataParallel are what this rank has of them: a fake collective's future has no result of its own."""
    kind = torch.nn.parallel.DistributedDataParallel
    made, register = kind.__init__, kind.register_comm_hook

    def reduced(state, bucket):
        found = torch.futures.Future()
        found.set_result(bucket.buffer())
        return found

    def init(self, *given, **more):
        made(self, *given, **more)
        register(self, None, reduced)

    kind.__init__, kind.register_comm_hook = init, lambda self, *given: None


def _same_on_all_ranks():
    """Meshes hold numbers of ranks, which are there: they are made of real ones."""
    import torch.distributed.device_mesh as meshes

    for kind, name in ((meshes.DeviceMesh, "__init__"), (meshes.DeviceMesh, "__getitem__"), (meshes.DeviceMesh, "_flatten")):
        made = getattr(kind, name, None)
        if made is not None:
            setattr(kind, name, _outside(made))
    with contextlib.suppress(ImportError):
        from torch.distributed.fsdp._fully_shard import _fully_shard

        _fully_shard._get_post_forward_mesh_info = _outside(_fully_shard._get_post_forward_mesh_info)


def _outside(function):
    """A function whose tensors are the host's own."""

    def run(*given, **more):
        with _disable_current_modes():
            return function(*given, **more)

    return run


def _addresses():
    """Addresses tell whose memory is whose, and that there is any."""
    of_storage, of_tensor = torch.UntypedStorage.data_ptr, torch.Tensor.data_ptr

    def storage(one):
        if one.device.type == "cpu":
            return of_storage(one)
        return one._cdata if one.nbytes() else 0

    def tensor(one):
        if not isinstance(one, FakeTensor):
            return of_tensor(one)
        memory = one.untyped_storage()
        return memory._cdata + one.storage_offset() * one.itemsize if memory.nbytes() else 0

    torch.UntypedStorage.data_ptr, torch.Tensor.data_ptr = storage, tensor


def _resizing(ledger):
    resize = torch.UntypedStorage.resize_

    def resized(storage, size):
        result = resize(storage, size)
        ledger.resized(storage, size)
        return result

    torch.UntypedStorage.resize_ = resized


def _moves():
    """A tensor whose data are another's is where these are, and of its kind."""
    data = torch.Tensor.data

    def move(tensor, other):
        if isinstance(other, FakeTensor) and not isinstance(tensor, FakeTensor):
            become(tensor, other.detach().requires_grad_(tensor.requires_grad))
            return
        data.__set__(tensor, other)
        if isinstance(other, FakeTensor):
            tensor.fake_device = other.fake_device

    torch.Tensor.data = property(lambda tensor: data.__get__(tensor), move)
