"""What earlier releases of transformers call otherwise, so that the same recording runs on them."""

import functools
import importlib
import importlib.util
import inspect

import torch
import transformers

VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])


def has(module):
    """Whether the release has a module of this name."""
    try:
        return importlib.util.find_spec(f"transformers.{module}") is not None
    except ValueError:  # one that is imported lazily, without a specification (4.44)
        return True


def made_in(dtype):
    """How a class is told the dtype of its weights: `dtype` since 4.56."""
    return {"dtype": dtype} if VERSION >= (4, 56) else {"torch_dtype": dtype}


def handed(model, batch):
    """The batch as the release's models take it: they made their masks themselves before 4.53 and look at the one of the collator, which
    is all ones; how many words count is for those only that are handed on what their loss asks for (trainer.py, `model_accepts_loss_kwargs`).
    """
    taken = inspect.signature(model.forward).parameters
    rest = {k: v for k, v in batch.items() if k != "num_items_in_batch" or takes_rest(taken)}
    if VERSION >= (4, 53) or "attention_mask" in rest or "attention_mask" not in taken or "input_ids" not in rest:
        return rest
    return {**rest, "attention_mask": rest["input_ids"].clone()}


def settle(model):
    """Marks the layers that the model's code recomputes where their class does not say it: before `GradientCheckpointingLayer` (4.52) it
    called them through a function of its own.
    """
    if _layer() is not None:
        return
    for module in model.modules():
        if hasattr(module, "gradient_checkpointing") and "_gradient_checkpointing_func(" in _source(type(module)):
            for layers in module.children():
                if isinstance(layers, torch.nn.ModuleList):
                    for layer in layers:
                        layer.recomputed = True


def checkpointed(module):
    """Whether a module's call is what checkpointing recomputes."""
    return isinstance(module, _layer()) if _layer() is not None else getattr(module, "recomputed", False)


@functools.cache
def _layer():
    return importlib.import_module("transformers.modeling_layers").GradientCheckpointingLayer if has("modeling_layers") else None


@functools.cache
def _source(cls):
    return inspect.getsource(cls)


def takes_rest(parameters):
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
