"""The oracle, asked of every task, optimizer and adapter: what it has no word for is made as the libraries make it.

The oracle is a Python file with `run(case) -> result`. It knows six tasks, nine optimizers and LoRA; batches of the other tasks are those
of `batches.py`, other optimizers and adapters those of `optimizer_cases.py`.
"""

import contextlib
import re

from ..recording import environment  # noqa: F401  (before transformers)
from . import adapter_cases, eightbit, storages, optimizer_cases
from ..recording import pictures
from .techniques import PLAIN
from .receipts import WithConvertedMasks, load, packs_transposed
from ..recording.run import PAGES, batch_for, state

SIZES = {"B": "batch", "S": "seq", "T": "target_seq", "I": "image", "A": "audio", "C": "choices"}


def with_positions(oracle):
    """The oracle's ledger also follows the positions that a boolean index is made into."""

    class Ledger(oracle.Ledger):
        def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
            args, found = storages.with_positions(func, args)
            if found is not None:
                self.see(found, "aten.nonzero")
            out = super().__torch_dispatch__(func, types_, args, kwargs)
            del found
            return out

    oracle.Ledger = Ledger


def with_tasks(oracle):
    """Models and batches of the tasks the oracle has none of, and of those whose tokens have a box on a page."""
    known, build, inputs_for, make_config = set(oracle.TASKS), oracle.build, oracle.inputs_for, oracle.make_config

    def configured(settings):
        config = make_config(settings)
        config.architectures = config.architectures or []  # families with several heads for a task: the first
        return config

    def own(case):
        return case["task"] in known and case["model"]["model_type"] not in PAGES

    def built(case):
        if own(case):
            return build(case)
        family = case["model"]["model_type"]
        settings = {k: v for k, v in case["model"].items() if k != "model_type"}
        config, model = storages.load(
            {"family": family, "model": settings, "task": case["task"], "dtype": case["load_dtype"], "attention": case["attn"]}
        )
        if case.get("quant"):
            oracle.quantize(model, case["quant"], oracle.DT[case["load_dtype"]])
        pictures.install()
        return config, model

    def batch(case, config):
        sizes = {size: case[key] for size, key in SIZES.items() if key in case}
        if own(case):
            state(case["task"], sizes, config)
            return inputs_for(case, config)
        asked = {"return_loss": True} if case["task"] == "contrastive" else {}  # stands in run_clip.py's batches
        return {**batch_for(case["task"], sizes, config), **asked}

    oracle.make_config, oracle.build, oracle.inputs_for = configured, built, batch


def loaded(path):
    """The oracle. It takes every mask of padding for true all over, which those of padded pictures are not (`environment.py`)."""
    import transformers.masking_utils as masks

    ignored = masks._ignore_bidirectional_mask_sdpa
    oracle = load(path)
    masks._ignore_bidirectional_mask_sdpa = ignored
    return oracle


def with_bytes(oracle):
    """The oracle packs in 4 bits; LLM.int8 has a byte a weight. What transformers leaves whole stays so, its Conv1D is a linear layer,
    and code that looks whether its model is packed is told (transformers/quantizers/base.py, _assign_is_quantized)."""
    quantize = oracle.quantize

    def packed(model, spec, dtype):
        as_linear(model)
        for module in model.modules():
            if getattr(module, "config", None) is not None:
                module.config._is_quantized = True
        with kept_whole(model):
            return eightbit.pack(model, dtype) if spec["type"] == "int8" else quantize(model, spec, dtype)

    oracle.quantize = packed


def as_linear(model):
    """Conv1D as the linear layer that stands in its place (transformers/integrations/bitsandbytes.py, replace_with_bnb_linear)."""
    import torch
    from transformers.pytorch_utils import Conv1D

    for parent in list(model.modules()):
        for name, module in list(parent.named_children()):
            if isinstance(module, Conv1D):
                inputs, outputs = module.weight.shape
                parent._modules[name] = torch.nn.Linear(inputs, outputs, device="cuda", dtype=module.weight.dtype)


@contextlib.contextmanager
def kept_whole(model):
    """Linear layers that a class keeps in float32 are none to those who pack (transformers/quantizers/base.py)."""
    import torch

    class Kept(torch.nn.Linear):
        pass

    names = model._keep_in_fp32_modules or ()
    kept = [
        module
        for path, module in model.named_modules()
        if type(module) is torch.nn.Linear and any(re.match(name, path) or path.endswith(name) for name in names)
    ]
    for module in kept:
        module.__class__ = Kept
    yield
    for module in kept:
        module.__class__ = torch.nn.Linear
        if module.weight.dtype == torch.float16:
            module.float()


def with_frozen(oracle):
    """Models of which only the weights are trained whose names the case's patterns are found in."""
    build = oracle.build

    def built(case):
        config, model = build(case)
        for name, parameter in model.named_parameters() if "trained" in case else ():
            parameter.requires_grad_(any(re.search(pattern, name) for pattern in case["trained"]))
            if parameter.requires_grad and case.get("trained_dtype"):
                parameter.data = parameter.data.to(oracle.DT[case["trained_dtype"]])
        return config, model

    oracle.build = built


def without_last_buffer():
    """The oracle walks over a model's buffers and is left with the last one in hand, which the model may replace."""
    import torch

    buffers = torch.nn.Module.buffers

    def and_nothing(module, recurse=True):
        yield from buffers(module, recurse)
        yield torch.empty(0, device="cpu")

    torch.nn.Module.buffers = and_nothing


def copied_whole():
    """Deep copies of fake parameters are tensors of their own, whose views share their storage."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor

    made = torch.Tensor.__deepcopy__

    def copied(tensor, memo):
        if not (isinstance(tensor, FakeTensor) and isinstance(tensor, torch.nn.Parameter)):
            return made(tensor, memo)
        if id(tensor) not in memo:
            memo[id(tensor)] = torch.nn.Parameter(torch.empty_like(tensor), requires_grad=tensor.requires_grad)
        return memo[id(tensor)]

    torch.Tensor.__deepcopy__ = copied
    FakeTensor.__deepcopy__ = copied


def witness(path):
    """`run(case) -> result` of the oracle in the file, for one case a process."""
    oracle = loaded(path)
    oracle.torch.set_num_threads(1)
    oracle.aten = WithConvertedMasks(oracle.aten)
    packs_transposed(oracle)
    with_bytes(oracle)
    with_positions(oracle)
    with_tasks(oracle)
    with_frozen(oracle)
    without_last_buffer()
    copied_whole()

    def run(case):
        if case["optim"] not in PLAIN:
            optimizer_cases.prepare()
            oracle.optimizer_for = lambda case, model: optimizer_cases.optimizer_for(oracle, case, model)
        return adapter_cases.run_adapter(oracle, case) if case.get("peft") else oracle.run(case)

    return run
