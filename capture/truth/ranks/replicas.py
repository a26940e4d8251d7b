"""The first GPU of one process that several GPUs are visible to: torch's own DataParallel, its copies on the others left out.

What its functions in C++ (torch/csrc/cuda/comm.cpp) and NCCL allocate on the first device is made here; what lies on the others is not.
"""

import contextlib

import torch
from torch._utils import _flatten_dense_tensors
from torch.nn.parallel import comm
from torch.nn.parallel.replicate import replicate

from .sharding import Sharded


def taken(tensors, limit):
    """`take_tensors` (torch/csrc/utils/tensor_flatten.cpp): a chunk of a dtype is whole once it has as much as the limit."""
    chunks, open_ones = [], {}
    for tensor in tensors:
        chunk = open_ones.setdefault(tensor.dtype, [])
        chunk.append(tensor)
        if sum(one.nbytes for one in chunk) >= limit:
            chunks.append(open_ones.pop(tensor.dtype))
    return [*chunks, *open_ones.values()]


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """`broadcast_coalesced`: each chunk is put together on the first device before it is sent."""
    for chunk in taken(tensors, buffer_size):
        _flatten_dense_tensors(chunk)
    return [list(tensors)]


def scatter(tensor, devices, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """`scatter`: a part is a view where the tensor is there already."""
    return tuple(tensor.split(list(chunk_sizes), dim) if chunk_sizes else tensor.chunk(len(devices), dim))


def gather(tensors, dim=0, destination=None, *, out=None):
    """`gather`."""
    shape = list(tensors[0].shape)
    shape[dim] = sum(tensor.shape[dim] for tensor in tensors)
    return torch.empty(shape, dtype=tensors[0].dtype, device=tensors[0].device)


def like(value):
    """Another copy's outputs."""
    return value.detach() if isinstance(value, torch.Tensor) else type(value)({key: like(each) for key, each in value.items()})


class First(torch.nn.DataParallel):
    """`DataParallel` whose other copies give what the first gives."""

    def __init__(self, model, world):
        torch.nn.Module.__init__(self)
        self.dim, self.module = 0, model
        self.device_ids, self.output_device = list(range(world)), 0
        self.src_device_obj = torch.device("cuda:0")

    def replicate(self, module, device_ids):
        return replicate(module, device_ids[:1], not torch.is_grad_enabled())

    def parallel_apply(self, copies, inputs, kwargs):
        own = copies[0](*inputs[0], **kwargs[0])
        return [own, *(like(own) for _ in inputs[1:])]


def replicas(case, model):
    """`Trainer._wrap_model` (transformers/trainer.py); accelerate prepares no model that is wrapped already: there is no autocast."""
    comm.broadcast_coalesced, comm.scatter, comm.gather = broadcast_coalesced, scatter, gather
    comm.reduce_add = lambda parts, destination: torch.empty_like(parts[0])
    world = case["ranks"]["world"]
    wrapped = First(model, world)

    def forward(num_items_in_batch, **batch):
        outputs = wrapped(**batch, num_items_in_batch=num_items_in_batch.unsqueeze(0).expand(world, -1))
        return {"loss": outputs["loss"].mean()}

    return Sharded(wrapped, forward=forward, accumulating=lambda _: contextlib.nullcontext())
