"""Libraries around a script: weights, tokenizers and data that are not on this machine have stand-ins, and nothing is saved."""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys

import torch

from ..sentences import say
from ..words import Stopped
from . import absent, packed, pictures, quiet, ranks, rows

NAMES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "lightning", "pytorch-lightning", "bitsandbytes", "datasets")


def versions():
    found = {}
    for name in NAMES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def install(asked, source):
    """Patches what is imported later, as it is imported; gives the set that notes are added to.

    `asked`: `script`, `catalogue`, `rows` and `words` of the command; `source`: the script's bytes, whose columns stand-in rows have.
    """
    catalogue = absent.Catalogue(asked.catalogue)
    todo = {
        "transformers": lambda m: _transformers(m, catalogue),
        "datasets": lambda m: _datasets(m, asked, source, catalogue.notes),
        "triton": _triton,
        "deepspeed": _deepspeed,
        "bitsandbytes.functional": packed.paged,
        "lightning.pytorch": _lightning,
        "pytorch_lightning": _lightning,
        "torchvision.datasets": lambda m: pictures.torchvision_data(m, asked.rows, catalogue.notes),
        "torchvision.models._api": lambda m: pictures.torchvision_weights(m, catalogue.notes),
        "timm.models._builder": lambda m: pictures.timm_weights(m, catalogue.notes),
        "torch.utils.tensorboard": quiet.tensorboard,
        "evaluate": lambda m: pictures.metrics(m, catalogue.notes),
    }
    pictures.weights(catalogue.notes)
    for name in todo.keys() & sys.modules.keys():
        todo[name](sys.modules[name])
    root = os.path.dirname(os.path.abspath(asked.script)) + os.sep
    sys.meta_path.insert(0, _After(todo, root))
    quiet.trackers(lambda file: of_person(file, root), catalogue.notes)
    return catalogue.notes


class _After:
    """Calls a function with a package once it is imported; a file of the person's own, below `root`, may have the same name."""

    def __init__(self, todo, root):
        self.todo, self.root, self.busy = todo, root, set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.todo or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.remove(name)  # who only asks whether it is there (datasets, trl) does not import it
        if spec is None or spec.loader is None or of_person(spec.origin or "", self.root):
            return spec
        then, run = self.todo[name], spec.loader.exec_module

        def exec_module(module):
            run(module)
            then(sys.modules[name])  # a package may put another in its place (transformers' _LazyModule)

        spec.loader.exec_module = exec_module
        return spec


def of_person(file, root):
    """Whether a file is one of the person's own, below the folder `root`, which may hold an environment's packages as well."""
    return file.startswith(root) and "site-packages" not in file


def _triton(triton):
    """Kernels of Triton write into tensors that are there already: without a card they are not started."""
    runtime = importlib.import_module("triton.runtime")
    for kind in ("JITFunction", "Autotuner", "Heuristics"):
        if hasattr(runtime, kind):
            getattr(runtime, kind).run = lambda self, *args, **given: None
    if "driver.active" in inspect.getsource(runtime.Autotuner.__init__):  # before 3.4 a kernel asks for the driver where it is defined
        runtime.driver.set_active(_Silent())


def _deepspeed(deepspeed):
    """Its kernels write into tensors that are there already; what flattens is torch's own (csrc/utils/flatten_unflatten.cpp)."""
    if "RANK" not in os.environ:
        ranks.environment(1)  # as its launcher says it: without one it looks for MPI (deepspeed/comm/comm.py, mpi_discovery)
    builders = importlib.import_module("deepspeed.ops.op_builder.builder")
    builders.OpBuilder.load = lambda self, *given, **more: _Kernels()
    builders.OpBuilder.is_compatible = lambda self, *given, **more: True
    accelerator = deepspeed.accelerator.get_accelerator()
    accelerator.is_available, accelerator.is_synchronized_device = lambda: True, lambda: False
    accelerator.pin_memory = lambda tensor, *given, **more: tensor
    ranks_agree = ("assert_ints_same_as_other_ranks", "assert_lst_len_same_as_other_ranks")
    for module in [m for name, m in list(sys.modules.items()) if name.startswith("deepspeed")]:
        for name in ranks_agree:
            if name in vars(module):
                setattr(module, name, lambda *given, **more: None)


class _Silent:
    """Something whose functions do nothing."""

    def __init__(self, *given, **more):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __getattr__(self, name):
        return lambda *given, **more: None


class _Kernels(_Silent):
    """A compiled extension whose functions allocate nothing."""

    flatten = staticmethod(torch._utils._flatten_dense_tensors)
    unflatten = staticmethod(torch._utils._unflatten_dense_tensors)


def _lightning(lightning):
    """A fit stops after as many steps as are asked for without writing anything."""
    trainer = lightning.Trainer
    trainer.save_checkpoint = lambda self, *given, **more: None


def _transformers(transformers, catalogue):
    from ..tracing import of_transformers

    notes, since5 = catalogue.notes, absent.since_5(transformers)
    absent.install(transformers, catalogue)

    # the same answers as for a graph: batches without padding, weights without values
    of_transformers.install()
    from transformers import PreTrainedModel

    def dtype_of(asked, config):
        asked = asked if asked is not None else "auto" if since5 else None
        if asked == "auto":
            asked = getattr(config, "dtype", None) or getattr(config, "torch_dtype", None)
        return getattr(torch, asked) if isinstance(asked, str) else asked or torch.float32

    def from_pretrained(cls, name, *args, config=None, dtype=None, torch_dtype=None, device_map=None, **given):
        # the class's own arguments beside its config (models/bert/modeling_bert.py, BertModel)
        own = {k: given.pop(k) for k in ("attn_implementation", "add_pooling_layer") if k in given}
        bits = _bits(given)
        if config is None:
            config = transformers.AutoConfig.from_pretrained(name, **absent.of_config(given))
        asked = dtype if dtype is not None else torch_dtype
        if bits is not None and asked is None and not since5:
            asked = torch.float16  # quantizers/quantizer_bnb_4bit.py, update_torch_dtype
        kind = dtype_of(asked, config)
        key = "dtype" if since5 else "torch_dtype"
        make = cls._from_config if issubclass(cls, PreTrainedModel) else cls.from_config
        model = make(config, **{key: kind}, **own)
        notes.add(say("by-config"))
        if bits is not None:
            packed.pack(model, bits)
        if device_map is not None:
            if bits is None:
                model.to("cuda")  # a weight that is tied is put there once, as a load does it, which makes modules without memory
            model.hf_device_map = {"": torch.device("cuda", 0)}  # accelerate compares its number (accelerator.py, prepare_model)
        return model.eval()

    PreTrainedModel.from_pretrained = classmethod(from_pretrained)
    for name in [one for one in dir(transformers) if one.startswith("AutoModel")]:
        with contextlib.suppress(Exception):  # of a package that is not here
            getattr(transformers, name).from_pretrained = classmethod(from_pretrained)
    PreTrainedModel.save_pretrained = lambda self, *a, **k: None
    with contextlib.suppress(Exception):
        from transformers import Trainer

        for name in ("save_model", "save_state", "_save_checkpoint", "push_to_hub", "create_model_card"):
            if hasattr(Trainer, name):
                setattr(Trainer, name, lambda self, *a, **k: None)


def _bits(given):
    """The `BitsAndBytesConfig` of four bits among the arguments of a load, which it is taken from; None where there is none."""
    from transformers import BitsAndBytesConfig

    asked, four, eight = (given.pop(name, None) for name in ("quantization_config", "load_in_4bit", "load_in_8bit"))
    if isinstance(asked, dict):
        asked = BitsAndBytesConfig.from_dict(asked)
    if asked is None and (four or eight):
        asked = BitsAndBytesConfig(load_in_4bit=bool(four), load_in_8bit=bool(eight))
    if asked is not None and not getattr(asked, "load_in_4bit", False):
        raise Stopped(say("eight-bit"))
    return asked


def _datasets(datasets, asked, source, notes):
    datasets.disable_caching()
    rows.install(datasets, source, asked.rows, asked.words, notes)
