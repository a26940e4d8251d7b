"""Models of a folder whose config.json names its own code (`auto_map`), as transformers makes them with `trust_remote_code`.

Source: transformers/dynamic_module_utils.py (`get_class_from_dynamic_module`): `FILE.CLASS`, with `REPOSITORY--` before it where the
code stands elsewhere, which is not fetched here.
"""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys

from ..sentences import say
from ..words import relative
from .entry import NotFound

_PACKAGE = "vram_lens_model_folder"

# The classes a trainer would take, the likeliest first, with the inputs that theirs are given; others are guessed.
_KINDS = {
    "AutoModelForCausalLM": "input_ids=int64[B,S] labels=int64[B,S]",
    "AutoModelForSeq2SeqLM": "input_ids=int64[B,S] labels=int64[B,T]",
    "AutoModelForMaskedLM": "input_ids=int64[B,S] labels=int64[B,S]",
    "AutoModelForSequenceClassification": "",
    "AutoModelForImageClassification": "",
    "AutoModel": "",
}


def _config(folder):
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as error:
        raise NotFound(say("no-config", folder=folder)) from error
    if not isinstance(config, dict) or not isinstance(config.get("auto_map"), dict):
        raise NotFound(say("no-own-code", folder=folder))
    return config


def _class(folder, reference):
    """The class that `FILE.CLASS` names, with the folder as a package, so that its files can import one another."""
    if isinstance(reference, (list, tuple)):
        reference = reference[0]
    repository, _, own = str(reference).rpartition("--")
    file, _, name = own.rpartition(".")
    if not file or not os.path.isfile(os.path.join(folder, f"{file}.py")):
        raise NotFound(say("code-elsewhere", code=reference, folder=folder))
    if _PACKAGE not in sys.modules:
        spec = importlib.machinery.ModuleSpec(_PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [os.path.abspath(folder)]
        sys.modules[_PACKAGE] = importlib.util.module_from_spec(spec)
    found = getattr(importlib.import_module(f"{_PACKAGE}.{file}"), name, None)
    if found is None:
        raise NotFound(say("no-class", file=f"{folder}/{file}.py", name=name))
    return found


def builder(folder):
    """`(name, expression, function that makes the model, inputs)`: the inputs are "" where they are to be guessed."""
    config = _config(folder)
    codes = config["auto_map"]
    kind = next((one for one in _KINDS if one in codes), None)
    if kind is None or "AutoConfig" not in codes:
        raise NotFound(say("no-model-code", folder=folder, names=", ".join(codes)))
    made, of = _class(folder, codes[kind]), _class(folder, codes["AutoConfig"])
    values = {key: value for key, value in config.items() if key not in ("auto_map", "architectures", "transformers_version")}
    return made.__name__, f"{made.__name__}(config.json)", lambda: made(of(**values)), _KINDS[kind]


def sources(folder, root):
    """Files of the folder that the model is made of, by their paths under `root`, with the SHA-256 of each."""
    found = []
    for name in sorted(os.listdir(folder)):
        path = os.path.realpath(os.path.join(folder, name))
        if (name.endswith(".py") or name == "config.json") and os.path.isfile(path):
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            found.append({"path": relative(path, os.path.realpath(root)), "sha256": digest})
    return found
