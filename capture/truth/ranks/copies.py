"""Copies of the model on every rank: torch's own DistributedDataParallel and its reducer, on fake CUDA tensors.

The reducer times itself with events, which `fakecudart.so` (capture/fakecudart.cpp, preloaded too) answers.
"""

import types

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.parallel import DistributedDataParallel, distributed
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

OPTIONS = ("find_unused_parameters", "static_graph", "gradient_as_bucket_view", "bucket_cap_mb")


class Numbers(TorchDispatchMode):
    """Tensors on the host are real; all others are the modes' below."""

    def __init__(self, modes):
        super().__init__()
        self.modes = modes

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [one for one in args if isinstance(one, torch.Tensor)]
        on_host = torch.device(kwargs.get("device") or "cpu").type == "cpu"
        if func._overloadpacket is torch.ops.aten.empty and on_host:
            return func(*args, **kwargs)
        if tensors and not any(isinstance(one, FakeTensor) for one in tensors):
            return func(*args, **kwargs)
        # Other ranks' numbers are this rank's.
        if func is torch.ops.aten.copy_.default and not isinstance(args[0], FakeTensor):
            return args[0]
        with self.modes[0], self.modes[1]:
            return func(*args, **kwargs)


def counting_on_host(oracle):
    """The reducer's counts of what was used lie in host memory, pinned or not, and are compared by their addresses."""
    dispatch, aten = oracle.Ledger.__torch_dispatch__, torch.ops.aten
    makes = (aten.empty, aten.zeros, aten.empty_strided)

    def inside(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func._overloadpacket is aten.is_pinned:
            return True
        # Every parameter is used.
        if func._overloadpacket is aten._local_scalar_dense and args[0].dtype is torch.int32:
            return 1
        if func._overloadpacket in makes and kwargs.get("dtype") is torch.int32 and "cuda" not in str(kwargs.get("device")):
            kwargs["pin_memory"] = False
            with _disable_current_modes():
                return func(*args, **kwargs)
        return dispatch(self, func, types, args, kwargs)

    oracle.Ledger.__torch_dispatch__ = inside


def with_numbers(modes, ask):
    """A function that compares numbers among ranks on its way, with these real."""

    def asked(*args):
        with _disable_current_modes(), Numbers(modes):
            return ask(*args)

    return asked


def same_everywhere(_, bucket):
    """The other ranks' gradients are this rank's: what a hook of communication gives back."""
    done = torch.futures.Future()
    done.set_result(bucket.buffer())
    return done


def summed_at_once(tensor, *_, **__):
    """A sum over the ranks whose future is done: the fake group's is never asked for its value."""
    done = torch.futures.Future()
    done.set_result([tensor])
    return types.SimpleNamespace(get_future=lambda: done)


def hook_of(told):
    """What compresses gradients; PowerSGD begins with the second step, of which the third is like all that follow."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    if told is None:
        return None, same_everywhere
    dist.all_reduce = summed_at_once
    if "casts" in told:
        return None, {"float16": default_hooks.fp16_compress_hook, "bfloat16": default_hooks.bf16_compress_hook}[told["casts"]]
    state = powerSGD_hook.PowerSGDState(
        process_group=None,
        matrix_approximation_rank=told["rank"],
        start_powerSGD_iter=2,
        use_error_feedback=told.get("feedback", True),
        warm_start=told.get("warm", True),
    )
    state.start_powerSGD_iter = 1
    return state, powerSGD_hook.powerSGD_hook


def wrapped(case, model, modes):
    """`Accelerator.prepare_model` (accelerate/accelerator.py) with what the Trainer tells it (transformers/trainer.py)."""
    from accelerate.utils.operations import convert_outputs_to_fp32

    torch.cuda.is_available = lambda: False
    distributed._verify_param_shape_across_processes = lambda *_, **__: None
    if not hasattr(dist.Reducer, "known"):
        dist.Reducer.known = dist.Reducer._rebuild_buckets
    dist.Reducer._rebuild_buckets = with_numbers(modes, dist.Reducer.known)
    ranks = case["ranks"]
    if case.get("bf16"):
        model.forward = types.MethodType(torch.autocast("cuda", dtype=torch.bfloat16)(model.forward.__func__), model)
        model.forward = types.MethodType(convert_outputs_to_fp32(model.forward.__func__), model)
    options = {name: ranks[name] for name in OPTIONS if name in ranks}
    options.setdefault("find_unused_parameters", "peft" in case or not case["gradient_checkpointing"])
    copies = DistributedDataParallel(model, **options)
    copies.register_comm_hook(*hook_of(ranks.get("compression")))
    return copies
