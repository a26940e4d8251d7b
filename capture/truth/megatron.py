"""Ranks of Megatron-core: its own layers, gradient buffers, distributed optimizer and schedules on fake CUDA tensors.

usage: python -m capture.truth.megatron draw --seed N --count 40 > cases.jsonl
       LD_PRELOAD=fakecuda.so PYTHONPATH=MEGATRON_CORE python -O -m capture.truth.megatron truth --oracle ORACLE.py cases.jsonl > rows.jsonl

The layers are the local ones (no Transformer Engine, no Apex), which hold the matrix of attention scores. A case says which
stage of the pipeline is followed; its rank is the first of that stage. Without assertions (-O), as torch's norms refuse sequence
parallelism. What a fake group leaves out: NCCL's own buffers.
"""

import contextlib
import functools
import gc
import importlib.util
import json
import os
import random
import sys
import traceback
import types

from .rows import drawer, printed


def draw(seed, count):
    r = random.Random(seed)
    for number in range(count):
        tensor, stages = r.choice((1, 1, 2, 4)), r.choice((1, 1, 2, 4))
        experts = r.choice((1, 1, 1, 2)) if stages == 1 else 1
        data = r.choice((1, 2, 4, 8)) * experts
        heads = r.choice((8, 16))
        stage = r.choice((0, stages - 1)) if stages > 1 else 0
        yield {
            "id": f"m{number:03d}-tp{tensor}-pp{stages}.{stage}-dp{data}-ep{experts}",
            "hidden": 64 * heads,
            "ffn": 64 * heads * r.choice((2, 4)),
            "layers": stages * r.choice((2, 3)),
            "heads": heads,
            "groups": r.choice((heads, 4)),
            "vocab": r.choice((8192, 32768)),
            "swiglu": r.random() < 0.5,
            "rope": r.random() < 0.7,
            "tied": r.random() < 0.5,
            "experts": r.choice((4, 8)) if experts > 1 else 0,
            "batch": r.choice((1, 2)),
            "seq": r.choice((256, 512)),
            "tensor": tensor,
            "sequence": tensor > 1 and (experts > 1 or r.random() < 0.6),
            "stages": stages,
            "stage": stage,
            "data": data,
            "expert": experts,
            "micro": r.choice((1, 2, 4)) * stages,
            "distributed": r.random() < 0.7,
            "fp32_gradients": r.random() < 0.8,
            "recompute": r.choice((None, "full", "selective")),
        }


def load(path):
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prepare(oracle):
    import torch

    from .ranks import group

    group.prepare(oracle)
    torch.cuda.get_rng_state = lambda *_: torch.zeros(16, dtype=torch.uint8)
    torch.cuda.manual_seed = torch.cuda.set_rng_state = torch.cuda.synchronize = torch.cuda.empty_cache = lambda *_, **__: None
    torch.cuda.is_available = lambda: False

    def gather(found, own, *_, **__):
        """Every rank says what this one says."""
        found[:] = [own] * len(found)

    torch.distributed.all_gather_object = gather
    # A number alone means a device of the driver's.
    torch.cuda.current_device = lambda: torch.device("cuda:0")
    from megatron.core.distributed import param_and_grad_buffer
    from megatron.core.tensor_parallel import random as states

    @contextlib.contextmanager
    def apart(*_, **__):
        """Collectives that would be sent together go one by one: what they allocate is theirs."""
        yield types.SimpleNamespace(wait=lambda: None)

    param_and_grad_buffer._coalescing_manager = apart
    import megatron.core.optimizer
    from megatron.core.optimizer import clip_grads

    # Norms and scaling are one kernel of Apex or Transformer Engine, which gives a number or writes where it read.
    clip_grads.multi_tensor_applier = lambda *_, **__: (torch.zeros(1), None)

    states._set_cuda_rng_state = lambda *_, **__: None
    states._get_cuda_rng_state = lambda *_, **__: torch.zeros(16, dtype=torch.uint8)

    class Tracker(states.CudaRNGStatesTracker):
        @contextlib.contextmanager
        def fork(self, *_):
            yield

    tracker = Tracker()
    states.initialize_rng_tracker = lambda *_, **__: None
    states._CUDA_RNG_STATE_TRACKER, states._CUDA_RNG_STATE_TRACKER_INITIALIZED = tracker, True
    from megatron.core.transformer.moe import moe_utils

    moe_utils.te_general_gemm = None
    # Apex's and Transformer Engine's Adam is one kernel.
    megatron.core.optimizer.Adam = functools.partial(torch.optim.AdamW, fused=True)
    # What a recomputation reads back from a tensor has no value here: masks are causal.
    from megatron.core.transformer.enums import AttnMaskType

    AttnMaskType._missing_ = classmethod(lambda kind, _: kind.causal)
    import torch._subclasses.fake_impls as implementations

    scalar = torch.ops.aten._local_scalar_dense.default
    implementations.op_implementations_dict[scalar] = lambda mode, func, tensor, *_, **__: (
        1.0 if tensor.is_floating_point() else False if tensor.dtype == torch.bool else 0
    )


def run(case, oracle):
    import torch
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.transformer import TransformerConfig
    from torch.testing._internal.distributed.fake_pg import FakeStore

    world = case["tensor"] * case["stages"] * case["data"]
    rank = case["stage"] * case["tensor"] * case["data"]
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    parallel_state.initialize_model_parallel(
        case["tensor"], case["stages"], expert_model_parallel_size=case["expert"], create_gloo_process_groups=False
    )
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    with mode, ledger, torch.device("cuda"):
        moe = {"num_moe_experts": case["experts"], "moe_token_dispatcher_type": "alltoall", "moe_router_topk": 2} if case["experts"] else {}
        config = TransformerConfig(
            num_layers=case["layers"],
            hidden_size=case["hidden"],
            ffn_hidden_size=case["ffn"],
            num_attention_heads=case["heads"],
            num_query_groups=case["groups"],
            gated_linear_unit=case["swiglu"],
            activation_func=torch.nn.functional.silu if case["swiglu"] else torch.nn.functional.gelu,
            bias_activation_fusion=False,
            add_bias_linear=not case["swiglu"],
            tensor_model_parallel_size=case["tensor"],
            pipeline_model_parallel_size=case["stages"],
            expert_model_parallel_size=case["expert"],
            sequence_parallel=case["sequence"],
            pipeline_dtype=torch.bfloat16,
            params_dtype=torch.bfloat16,
            bf16=True,
            perform_initialization=False,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            recompute_granularity=case["recompute"],
            **({"recompute_method": "uniform", "recompute_num_layers": 1} if case["recompute"] == "full" else {}),
            **moe,
        )
        first, last = parallel_state.is_pipeline_first_stage(), parallel_state.is_pipeline_last_stage()
        model = (
            GPTModel(
                config,
                get_gpt_layer_local_spec(num_experts=case["experts"] or None),
                vocab_size=case["vocab"],
                max_sequence_length=case["seq"],
                pre_process=first,
                post_process=last,
                share_embeddings_and_output_weights=case["tied"],
                position_embedding_type="rope" if case["rope"] else "learned_absolute",
            )
            .cuda()
            .bfloat16()
        )
        settings = DistributedDataParallelConfig(
            grad_reduce_in_fp32=case["fp32_gradients"], use_distributed_optimizer=case["distributed"], overlap_grad_reduce=False
        )
        model = DistributedDataParallel(config, settings, model)
        config.no_sync_func = model.no_sync
        config.finalize_model_grads_func = finalize_model_grads
        optimizer = get_megatron_optimizer(
            OptimizerConfig(
                optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16, use_distributed_optimizer=case["distributed"]
            ),
            [model],
            use_gloo_process_groups=False,
        )
        shapes = [(name, parameter.shape) for name, parameter in model.named_parameters()]
        gc.collect()
        ledger.resident = ledger.live

        def batch():
            ledger.phase = "forward" + ledger.phase[-1]
            tokens = torch.zeros(case["batch"], case["seq"], dtype=torch.long)
            mask = torch.zeros(1, 1, case["seq"], case["seq"], dtype=torch.bool)
            return tokens, mask

        def forward(iterator, model):
            tokens, mask = batch()
            output = model(tokens, tokens, mask, labels=tokens)

            def loss(output):
                value = output.float().mean()
                return value, {"loss": value.detach().clone()}

            return output, loss

        work = get_forward_backward_func()
        marks = {}
        for step in (1, 2):
            ledger.phase = f"forward{step}"
            model.zero_grad_buffer()
            optimizer.zero_grad()
            losses = work(
                forward_step_func=forward,
                data_iterator=iter(range(10**6)),
                model=[model],
                num_microbatches=case["micro"],
                seq_length=case["seq"],
                micro_batch_size=case["batch"],
                forward_only=False,
            )
            ledger.phase = f"step{step}"
            optimizer.step()
            del losses
            marks[f"after_step{step}"] = ledger.live
    live, peaks, sizes, phase = 0, {}, {}, None
    for event in ledger.events:
        if event[0] == "a":
            sizes[event[1]] = event[2]
            live, phase = live + event[2], event[4]
        else:
            live -= sizes.pop(event[1], 0)
        if live > peaks.get(phase, 0):
            peaks[phase] = live
    best = max((name for name in peaks if name[-1] in "12"), key=peaks.get)
    return {
        "peak_allocated": peaks[best],
        "peak_phase": best,
        "phase_peaks": peaks,
        "resident": ledger.resident,
        **marks,
        "parameters": [[name.removeprefix("module."), list(shape)] for name, shape in shapes],
    }


def main():
    options = drawer(__doc__, ["truth"], 40, "oracle.py").parse_intermixed_args()
    if options.what == "draw":
        printed(draw(options.seed, options.count))
        return
    oracle = load(options.oracle)
    prepare(oracle)
    import megatron.core.distributed  # noqa: F401
    import megatron.core.models.gpt  # noqa: F401

    for line in open(options.files[0]):
        if os.fork() == 0:
            case = json.loads(line)
            try:
                result = run(case, oracle)
            except BaseException as error:
                result = {"error": f"{type(error).__name__}: {error}"[:300], "where": traceback.format_exc()[-1200:]}
            print(json.dumps({"case": case, "result": result}), flush=True)
            os._exit(0)
        os.wait()
    sys.stdout.flush()


if __name__ == "__main__":
    main()
