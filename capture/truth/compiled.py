"""What a compiled model allocates: the code that inductor generates for a case, run on fake CUDA tensors.

AOT autograd traces forward and backward into one graph, the partitioner cuts it, inductor fuses and writes a program of buffers
and kernels for either half. No kernel is compiled or run: the program's allocations, reuses and frees are what is wanted, and
they are followed storage by storage (`storages.Ledger`). The Trainer's forward with an attention mask, as its collators give one.

    LD_PRELOAD=fakecuda.so python -m capture.truth.compiled CASE.json
"""

import contextlib
import itertools
import json
import sys
import types

from ..recording import environment
from . import storages
from ..recording.run import batch_for
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from vram_lens.running.kernels import attention
from vram_lens.running.ledger import replace_parameters

CARD = types.SimpleNamespace(
    name="A100",
    major=8,
    minor=0,
    multi_processor_count=108,
    total_memory=80 << 30,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    warp_size=32,
    gcnArchName="",
    shared_memory_per_block_optin=166912,
    shared_memory_per_block=49152,
    shared_memory_per_multiprocessor=167936,
    L2_cache_size=40 << 20,
)


def install():
    """Answers what the card's driver and Triton's would answer while code is generated."""
    import torch._dynamo.device_interface as interface
    import torch._inductor.codegen.triton
    import torch._inductor.runtime.hints as hints
    import torch.utils._triton
    import triton.runtime.driver as driver
    from triton.backends.compiler import GPUTarget

    device = hints.DeviceProperties(
        type="cuda",
        index=0,
        multi_processor_count=108,
        cc=80,
        major=8,
        regs_per_multiprocessor=65536,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        warp_size=32,
    )
    hints.DeviceProperties.create = staticmethod(lambda device_: device)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("torch") and "has_triton" in vars(module):
            module.has_triton = lambda *a, **k: True
    torch.utils._triton.triton_hash_with_backend = lambda: "x"
    torch.cuda.get_device_properties = lambda *a, **k: CARD
    torch.cuda.current_device = lambda: 0
    torch.cuda._lazy_init = lambda *a, **k: None
    interface.CudaInterface.Worker.get_device_properties = staticmethod(lambda *a: CARD)
    interface.CudaInterface.get_compute_capability = staticmethod(lambda *a: 80)
    interface.CudaInterface.current_device = staticmethod(lambda: 0)
    driver.set_active(
        types.SimpleNamespace(
            get_current_target=lambda: GPUTarget("cuda", 80, 32),
            get_current_device=lambda: 0,
            get_current_stream=lambda d=0: 0,
            get_device_interface=lambda: None,
            utils=None,
        )
    )


def program(graph, is_backward):
    """The Python program that inductor writes for a graph, as a module's globals."""
    from torch._dynamo.utils import detect_fake_mode
    from torch._inductor.compile_fx import _recursive_post_grad_passes, view_to_reshape
    from torch._inductor.debug import DebugContext
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    inputs = [n.meta["val"] for n in graph.graph.nodes if n.op == "placeholder"]
    with V.set_fake_mode(detect_fake_mode(inputs)), V.set_debug_handler(DebugContext()):
        view_to_reshape(graph)
        _recursive_post_grad_passes(graph, is_inference=False)
        lowering = GraphLowering(graph, example_inputs=inputs, is_backward=is_backward, is_inference=False)
        with V.set_graph_handler(lowering):
            lowering.run(*inputs)
            code, _ = lowering.codegen()
    return getattr(code, "value", code)


class _Kernels:
    """Stands for whatever only writes into buffers."""

    def __getattr__(self, name):
        return self

    def __call__(self, *a, **k):
        return self


def module_of(code):
    """The generated program with kernels that do nothing."""
    empty = lambda sizes, strides, dtype: torch.empty_strided(sizes, strides, dtype=dtype, device="cuda")
    names = {}
    head = code.replace("async_compile = AsyncCompile()", "async_compile = _kernels").replace("async_compile.wait(globals())", "")
    head = head.replace("torch._C._dynamo.guards._empty_strided_cuda", "_empty").replace(
        "torch._C._dynamo.guards._reinterpret_tensor", "_reinterpret"
    )
    head = head.replace("torch._C._dynamo.guards.assert_size_stride", "_kernels").replace(
        "torch._C._dynamo.guards.assert_alignment", "_kernels"
    )
    head = head.replace("from torch._inductor.select_algorithm import extern_kernels", "extern_kernels = _kernels")
    head = head.replace("from torch._C import _cuda_getCurrentRawStream as get_raw_stream", "get_raw_stream = _kernels")
    head = head.replace("torch.cuda._DeviceGuard(0)", "_guard()").replace("torch.cuda.set_device(0)", "pass")
    names.update(
        _kernels=_Kernels(),
        _empty=empty,
        _guard=contextlib.nullcontext,
        _reinterpret=lambda t, sizes, strides, offset=0: torch.as_strided(t, sizes, strides, t.storage_offset() + offset),
    )
    names["__name__"] = "generated"
    exec(compile(head, "generated", "exec"), names)  # noqa: S102
    return names["call"]


def masked(model, batch):
    """The batch as collators make it; the mask cannot be read while the code is traced, so it is not left out."""
    import transformers.masking_utils as masks

    if "input_ids" in batch:
        batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    masks.is_tracing = lambda *a, **k: True
    return batch


def recomputed():
    """
    Checkpointing as dynamo hands it on (torch/_higher_order_ops/wrap.py, TagActivationCheckpoint): what runs inside carries a
    tag that tells the partitioner to compute it again.
    """
    from torch.utils.checkpoint import CheckpointPolicy
    import torch.fx.traceback as traceback
    import transformers.modeling_utils as library

    regions = itertools.count()

    def checkpoint(function, *args, use_reentrant=None, **kwargs):
        before = dict(traceback.current_meta)
        with traceback.preserve_node_meta():
            traceback.current_meta.update(recompute=CheckpointPolicy.PREFER_RECOMPUTE, ac_graph_id=next(regions))
            try:
                return function(*args, **kwargs)
            finally:
                traceback.current_meta.clear()
                traceback.current_meta.update(before)

    library.checkpoint = checkpoint


class Step(torch.nn.Module):
    """The model with its batch in a fixed order: the loss, and the logits that the caller is given as well."""

    def __init__(self, model, keys, task):
        super().__init__()
        self.model, self.keys = model, keys
        self.extra = {"use_cache": False} if task in environment.GENERATIVE else {}

    def forward(self, *given):
        out = self.model(**dict(zip(self.keys, given)), **self.extra)
        return out["loss"], out["logits"]


def run(case, mask=True, show=False):
    """Bytes: parameters, what forward keeps, and the most that forward and backward hold beside the parameters."""
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch._inductor.compile_fx import partition_fn
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.virtualized import V
    import torch._inductor.config as settings

    # Constants that move to the card would be computed there to be known while tracing.
    torch.fx.experimental.proxy_tensor.CONSTANT_NUMEL_LIMIT = -1
    settings.max_autotune = False
    torch._functorch.config.force_non_lazy_backward_lowering = True
    settings.joint_graph_constant_folding = False  # would compute on the card
    settings.shape_padding = False  # measures products on the card
    F.scaled_dot_product_attention = attention
    apply, torch.nn.Module._apply = torch.nn.Module._apply, replace_parameters
    programs, graphs, tracing = {}, {}, environment_is_tracing()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch._guards.tracing(torch._guards.TracingContext(mode)):
            config, model = storages.load(case)
            recomputed()
            # Generators of random numbers are no memory of the pool.
            torch._functorch.partitioners.functionalize_rng_ops = lambda joint, forward, backward, symbols: (forward, backward)
            model = storages.wrap(case, storages.adapt(case, model))
            batch = batch_for(case["task"], case["sizes"], config, torch.float32)
            if mask:
                batch = masked(model, batch)
            values = [t for named in (model.named_parameters, model.named_buffers) for _, t in named(remove_duplicate=False)]

            def cut(*a, **k):
                with V.set_fake_mode(mode):
                    return partition_fn(*a, **k)

            def compiler(which):
                def compile_graph(graph, inputs):
                    programs[which], graphs[which] = program(graph, which == "backward"), graph
                    return graph

                return compile_graph

            aot_module_simplified(
                Step(model, list(batch), case["task"]),
                tuple(batch.values()),
                fw_compiler=compiler("forward"),
                bw_compiler=compiler("backward"),
                decompositions=select_decomp_table(),
                partition_fn=cut,
                keep_inference_input_mutations=True,
            )
            if show:
                for which, code in programs.items():
                    print(f"# {which}\n{code[code.index('def call') :]}" if "def call" in code else code)
            ledger = storages.Ledger()
            forward, backward = module_of(programs["forward"]), module_of(programs["backward"])
            given = [*values, *batch.values()]
            order = [n.name for n in graphs["forward"].graph.nodes if n.op == "placeholder"]
            if len(order) != len(given):
                raise SystemExit(f"{len(order)} inputs, {len(given)} given")
            for t in given:  # there before the step
                ledger.known[t.untyped_storage()._cdata] = None
            with ledger:
                outputs = list(forward(list(given)))
                wanted = [n.name for n in graphs["backward"].graph.nodes if n.op == "placeholder"]
                count = 2 if outputs[1] is not None else 1
                result, kept = outputs[:count], outputs[count:]
                end_forward, forward_peak = ledger.live, ledger.peak
                ledger.start()
                logits = result[1] if len(result) > 1 else None
                del outputs, result, logits
                saved = ledger.live
                tangents = [name for name in wanted if name.startswith("tangents")]
                given = kept + [torch.empty((), dtype=torch.float32, device="cuda") for _ in tangents]
                if len(given) != len(wanted):
                    raise SystemExit(f"backward takes {wanted[-5:]} of {len(wanted)}, given {len(given)}")
                del kept
                gradients = backward(given)
                backward_peak, after = ledger.peak, ledger.live
                del gradients
            return {
                "parameters": sum(-(-p.untyped_storage().nbytes() // 512) * 512 for p in model.parameters()),
                "saved": saved,
                "forwardEnd": end_forward,
                "forward": forward_peak,
                "backward": backward_peak,
                "gradients": after,
            }
    finally:
        torch.nn.Module._apply = apply
        restore(tracing)


def environment_is_tracing():
    import transformers.masking_utils as masks

    return masks.is_tracing


def restore(tracing):
    import transformers.masking_utils as masks

    masks.is_tracing = tracing


def main():
    install()
    case = json.loads(sys.argv[1])
    print(json.dumps(run(case, mask="--no-mask" not in sys.argv, show="--show" in sys.argv)))


if __name__ == "__main__":
    main()
