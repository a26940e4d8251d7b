"""Models sharded as accelerate shards them, by its own functions where they can be called alone."""

import contextlib
import functools
import types

import torch
from torch.distributed.device_mesh import init_device_mesh

DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


class Sharded:
    """A wrapped model: how it is called, how gradients of one of several micro-batches are kept, how they are clipped,
    whether the optimizer steps on all parameters together."""

    def __init__(self, model, forward=None, accumulating=None, clip=None, together=True):
        self.model = model
        self.forward = forward or model
        self.together = together
        self.accumulating = accumulating or (lambda last: contextlib.nullcontext())
        self.clip = clip or (lambda parameters, limit: torch.nn.utils.clip_grad_norm_(parameters, limit))


def mesh_of(ranks):
    """Ranks as accelerate names them; made of real numbers, outside of fake tensors."""
    degree = ranks.get("context", 1)
    if degree > 1:
        mesh = init_device_mesh("cuda", (ranks["world"] // degree, degree), mesh_dim_names=("dp_shard", "cp"))
        mesh["dp_shard", "cp"]._flatten("dp_shard_cp")
        return mesh
    copies = ranks.get("replicas", 1)
    if copies > 1:
        return init_device_mesh("cuda", (copies, ranks["world"] // copies), mesh_dim_names=("dp_replicate", "dp_shard_cp"))
    return init_device_mesh("cuda", (ranks["world"],), mesh_dim_names=("tp" if ranks["kind"] == "tensor" else "dp_shard_cp",))


def fsdp2(case, model, mesh):
    """`Accelerator._prepare_fsdp2` (accelerate/accelerator.py)."""
    from accelerate.utils import FullyShardedDataParallelPlugin
    from accelerate.utils.fsdp_utils import fsdp2_apply_ac, fsdp2_prepare_model

    ranks = case["ranks"]
    precision = "bf16" if case.get("bf16") else "no"
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        reshard_after_forward=ranks.get("reshard", True) is not False,
        auto_wrap_policy="TRANSFORMER_BASED_WRAP",
        activation_checkpointing=bool(ranks.get("activation_checkpointing")),
        cpu_offload=bool(ranks.get("cpu_offload")),
        cpu_ram_efficient_loading=False,
    )
    if not isinstance(ranks.get("reshard", True), bool):
        plugin.reshard_after_forward = ranks["reshard"]
    if precision != "no":
        plugin.set_mixed_precision(precision)
    accelerator = types.SimpleNamespace(
        state=types.SimpleNamespace(fsdp_plugin=plugin),
        torch_device_mesh=mesh,
        parallelism_config=types.SimpleNamespace(fsdp_dim_names=mesh.mesh_dim_names),
        mixed_precision=precision,
        is_main_process=False,
        device=torch.device("cuda"),
    )
    plugin.set_auto_wrap_policy(model)
    if plugin.activation_checkpointing:
        model = fsdp2_apply_ac(accelerator, model)
    model = fsdp2_prepare_model(accelerator, model)

    @contextlib.contextmanager
    def accumulating(last):
        model.set_requires_gradient_sync(last)
        yield

    return Sharded(model, accumulating=accumulating)


def blocks(case, model, mesh):
    """`fully_shard` of every layer and of the model, as recipes without accelerate do it; every micro-batch reduces."""
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard

    ranks = case["ranks"]
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if case.get("bf16") else None, reduce_dtype=DTYPES.get(ranks.get("reduce_dtype"))
    )
    settings = {"mesh": mesh, "mp_policy": policy, "reshard_after_forward": ranks.get("reshard", True)}
    if ranks.get("cpu_offload"):
        settings["offload_policy"] = CPUOffloadPolicy()
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    for layer in max(lists, key=len):
        fully_shard(layer, **settings)
    fully_shard(model, **settings)
    return Sharded(model)


def started(wrapped):
    """Initializes FSDP1's root, which alone asks whether there is a device."""
    from torch.distributed.fsdp import _runtime_utils

    there = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    _runtime_utils._lazy_init(wrapped, wrapped)
    torch.cuda.is_available = there


def fsdp1(case, model, _):
    """`Accelerator.prepare_model` (accelerate/accelerator.py): autocast inside, flat parameters around."""
    from accelerate.utils.operations import convert_outputs_to_fp32
    from torch.distributed.fsdp import (
        BackwardPrefetch,
        CPUOffload,
        FullyShardedDataParallel,
        MixedPrecision,
        ShardingStrategy,
        _init_utils,
    )
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    ranks = case["ranks"]
    if ranks.get("cpu_offload"):
        # The Trainer leaves a model that is sharded where it was loaded.
        model = model.to("cpu")
        model.tie_weights()
        _init_utils._get_compute_device = lambda *_: torch.device("cuda", 0)
    mixed = None
    if case.get("bf16"):
        model.forward = types.MethodType(torch.autocast("cuda", dtype=torch.bfloat16)(model.forward.__func__), model)
        model.forward = types.MethodType(convert_outputs_to_fp32(model.forward.__func__), model)
        mixed = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16)
    layers = {type(module) for module in model.modules() if type(module).__name__ in set(model._no_split_modules or ())}
    if case.get("peft"):
        from peft.utils.other import fsdp_auto_wrap_policy

        policy = fsdp_auto_wrap_policy(model)
    else:
        policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls=layers)
    wrapped = FullyShardedDataParallel(
        model,
        auto_wrap_policy=policy,
        mixed_precision=mixed,
        sharding_strategy=getattr(ShardingStrategy, ranks.get("strategy", "FULL_SHARD")),
        backward_prefetch=getattr(BackwardPrefetch, ranks["prefetch"]) if ranks.get("prefetch") else None,
        use_orig_params=ranks.get("original", True),
        cpu_offload=CPUOffload(offload_params=bool(ranks.get("cpu_offload"))),
        device_id=torch.device("cuda", 0),
        limit_all_gathers=True,
        sync_module_states=False,
    )
    if ranks.get("activation_checkpointing"):
        from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
            CheckpointImpl,
            apply_activation_checkpointing,
            checkpoint_wrapper,
        )

        kind = functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
        apply_activation_checkpointing(wrapped, checkpoint_wrapper_fn=kind, auto_wrap_policy=policy)
    if case.get("bf16"):
        for module in FullyShardedDataParallel.fsdp_modules(wrapped):
            if not module._has_params:
                continue
            flat = module._flat_param
            if flat.dtype != torch.float32 and flat.requires_grad:
                flat.data = flat.data.to(torch.float32)
                module._handle._orig_param_dtype = torch.float32
    started(wrapped)

    def accumulating(last):
        return contextlib.nullcontext() if last else wrapped.no_sync()

    return Sharded(wrapped, accumulating=accumulating, clip=lambda _, limit: wrapped.clip_grad_norm_(limit))


def split_layers(model, mesh, by_experts=False):
    """`apply_tensor_parallelism` (transformers/distributed/tensor_parallel.py), as `from_pretrained` with a `tp_plan` calls it."""
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    # What peft asks before it splits adapters (peft/tuners/lora/model.py, get_tp_plan_and_mesh).
    model._device_mesh, model._tp_size = mesh, mesh.size()
    model.config.distributed_config = types.SimpleNamespace(tp_size=mesh.size(), enable_expert_parallel=by_experts)
    apply_tensor_parallelism(model, mesh)
    # Loading ends with it (transformers/modeling_utils.py, _finalize_model_loading).
    model.tie_weights()


def tensor(case, model, mesh):
    """The Trainer around a model that is split already."""
    forward = torch.autocast("cuda", dtype=torch.bfloat16)(model.forward) if case.get("bf16") else model.forward
    if case.get("bf16"):
        from accelerate.utils.operations import convert_outputs_to_fp32

        forward = convert_outputs_to_fp32(forward)
    from transformers import Trainer

    # Sharded and whole parameters are clipped apart and stepped on one by one (`has_mixed_dtensor`).
    return Sharded(
        model,
        forward=forward,
        clip=lambda _, limit: Trainer._mixed_mesh_grad_norm(None, model, limit),
        together=False,
    )


KINDS = {"tensor": tensor, "fsdp2": fsdp2, "blocks": blocks, "fsdp1": fsdp1}
