"""Names of modules, as a release of transformers builds its models, and what the newest one calls otherwise."""

import json
import re
import sys

import torch

from .environment import class_for
from .run import make_config

_LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers", "n_layers")
_ADAPTED = ("Linear", "Conv1D", "Conv2d")
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")


def model_of(name, family):
    """A model of the family's defaults without its weights, of two layers where its config says their number."""
    config = make_config(name, {})
    for key in _LAYERS:
        if isinstance(getattr(config, key, None), int):
            setattr(config, key, 2)
    with torch.device("meta"):
        return class_for(next(t for t in family.tasks if t != "multiple-choice"), config).from_config(config)


def names(families):
    """Modules that peft adapts, by family; what a release cannot build of its defaults is left out."""
    found = {}
    for name, family in families.items():
        try:
            model = model_of(name, family)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            continue
        found[name] = sorted({_NUMBER.sub("*", path) for path, part in model.named_modules() if type(part).__name__ in _ADAPTED})
    return found


def _parts(pattern):
    """A pattern of the library's as names, `*` for one of any."""
    return re.sub(r"\\\.", ".", re.sub(r"\(\\d\+\)|\\1", "*", pattern)).strip(".")


def _replaced(path, new, old):
    """The names of a path that are `new` as `old`, whose `*` are those that stood in their place."""
    pattern = re.escape(new).replace(r"\*", r"([^.]+)")
    by = iter(range(1, new.count("*") + 1))
    return re.sub(rf"(?<![^.]){pattern}(?=\.|$)", re.sub(r"\*", lambda _: rf"\{next(by)}", old), path)


def renamed(name, family, before):
    """What the release called otherwise, by the newest one's names: what the library itself renames in checkpoints that a release
    saved, the last one first. None where that does not lead to the release's own names."""
    from transformers.conversion_mapping import WeightRenaming, get_model_conversion_mapping

    model = model_of(name, family)
    now = names({name: family})[name]
    if now == before:
        return None
    told = [one for one in get_model_conversion_mapping(model, add_legacy=False) if type(one) is WeightRenaming]
    pairs = [[_parts(one.target_patterns[0]), _parts(one.source_patterns[0])] for one in reversed(told)]
    as_before = now
    for new, old in pairs:
        as_before = [_replaced(path, new, old) for path in as_before]
    return pairs if pairs and sorted(set(as_before)) == before else None


def write(families, file):
    """Writes the names of the release that is imported."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(names(families)))
