"""What a tracer is told of models of transformers, and how they run on a device that is not there; for whoever has that library."""

import importlib

from .library import Library


def leaf(module):
    """Modules whose forward the engine knows whole, beside those of torch."""
    name = type(module).__name__
    if name == "BloomGelu":  # an autograd function of its own, which records nothing inside
        return "Activation", {"fn": "bloom_gelu"}
    if name == "FalconLinear":  # an `nn.Linear` to peft and bitsandbytes; adds its bias afterwards
        return "Linear", {"apart": True}
    if name == "Conv1D" and type(module).__module__ == "transformers.pytorch_utils":
        return "Conv1D", {}
    return None


def is_unit(module):
    """Layers that gradient checkpointing recomputes as one (transformers/modeling_layers.py)."""
    return any(base.__name__ == "GradientCheckpointingLayer" for base in type(module).__mro__)


LIBRARY = Library(leaf=leaf, is_unit=is_unit)


def install(pads=lambda mask: False):
    """Patches the library; `pads(mask)` says whether a mask of what is none of the padding leaves anything out."""
    _whole_masks(pads)
    _no_values()
    _tagged_activations()


def _part(name):
    """A module of the library, None where this version has none of the name."""
    try:
        return importlib.import_module(f"transformers.{name}")
    except ImportError:
        return None


def _replace(module, **values):
    for name, value in values.items():
        if hasattr(module, name):
            setattr(module, name, value)


def _whole_masks(pads):
    """Batches without padding: masks that a real run would find to be all true are skipped as it skips them."""
    masks = _part("masking_utils")  # since 4.53
    if masks is None:
        return
    _replace(
        masks,
        is_tracing=lambda *a, **k: False,
        find_packed_sequence_indices=lambda *a, **k: None,
        fast_all=lambda mask: True,
        # blocks of a picture's tokens: the same comparisons without torch.func, whose modes admit no others
        _vmap_expansion_sdpa=lambda function: lambda *index: function(*masks._non_vmap_expansion_sdpa(*index)),
    )
    ignore = getattr(masks, "_ignore_bidirectional_mask_sdpa", None)
    if ignore is not None:
        masks._ignore_bidirectional_mask_sdpa = lambda padding_mask, *a, **k: not pads(padding_mask) and ignore(None, *a, **k)


def _tagged_activations():
    """Every activation module remembers the name it was asked for."""
    activations = _part("activations")
    get = activations.ClassInstantier.__getitem__

    def tagged(self, key):
        module = get(self, key)
        module.activation_name = key
        return module

    class Makers(dict):
        """Classes by name: what they make is tagged, too, unless it is made with weights of its own (Apertus' xIELU)."""

        def __getitem__(self, key):
            made = super().__getitem__(key)
            return lambda **given: made(**given) if given else activations.ACT2FN[key]

    activations.ClassInstantier.__getitem__ = tagged
    activations.ACT2CLS = Makers(activations.ACT2CLS)


def _no_values():
    """Weights have no values here, so there is nothing to initialise; tied ones are tied all the same."""
    of = _part("modeling_utils").PreTrainedModel
    if hasattr(of, "initialize_weights"):
        of.initialize_weights = lambda self: None
