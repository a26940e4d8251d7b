"""Counts the parameters of every model of models/catalogue.json with PyTorch and checks them.

    python capture/facts/catalogue.py            # recount, rewrite the file (one entry a line, sorted by family)
    python capture/facts/catalogue.py --check    # recount, change nothing, exit 1 on any difference

To add a model, write a line with `name`, `license`, `task` (absent: causal-lm), `stated` (the count its page states)
and `config` (what its config.json says, only keys that decide memory) and run this. Each model is built from its config on the
meta device, so nothing is downloaded and no memory is used. A count that differs from the stated one by more than
its rounding is an error, because the dimensions are wrong, unless a `note` says why the library builds another one.
"""

import argparse
import copy
import json
import pathlib
import re
import sys

import torch
import transformers

PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "catalogue.json"
UNITS = {"K": 1e3, "M": 1e6, "B": 1e9}

# The class that training code builds for a task; "none" is the bare encoder.
CLASSES = {
    "causal-lm": "AutoModelForCausalLM",
    "masked-lm": "AutoModelForMaskedLM",
    "seq-cls": "AutoModelForSequenceClassification",
    "seq2seq-lm": "AutoModelForSeq2SeqLM",
    "image-cls": "AutoModelForImageClassification",
    "image-text-to-text": "AutoModelForImageTextToText",
    "image-segmentation": "AutoModelForSemanticSegmentation",
    "speech-seq2seq": "AutoModelForSpeechSeq2Seq",
    "ctc": "AutoModelForCTC",
    "audio-cls": "AutoModelForAudioClassification",
    "contrastive": "AutoModel",
    "none": "AutoModel",
}


def count(entry: dict) -> int:
    """Parameters of the entry's model, tied ones once."""
    if entry["config"]["model_type"].startswith("diffusers."):  # a pipeline: all of its models
        sys.path.insert(0, str(PATH.parent.parent))
        from capture.recording.diffusion import parameters_of

        return parameters_of(entry["config"]["model_type"].removeprefix("diffusers."), entry["config"]["architecture"])
    if "architecture" in entry["config"]:  # a network that another library builds by name
        sys.path.insert(0, str(PATH.parent.parent))
        from capture.recording.networks import parameters_of

        return parameters_of(*entry["name"].split("/"), entry["config"]["num_labels"])
    # Some classes take keys out of the parts that they are given.
    config = transformers.AutoConfig.for_model(**copy.deepcopy(entry["config"]))
    with torch.device("meta"):
        model = getattr(transformers, CLASSES[entry.get("task", "causal-lm")]).from_config(config)
    model.tie_weights()
    return sum(parameter.numel() for parameter in model.parameters())


def agrees(stated: str, parameters: int) -> bool:
    """Whether the count rounds to the stated one (one unit of its last digit either way)."""
    number, unit = re.fullmatch(r"([\d.]+)([KMB])", stated).groups()
    digits = len(number.split(".")[1]) if "." in number else 0
    step = UNITS[unit] / 10**digits
    return abs(float(number) * UNITS[unit] - parameters) <= max(step, 0.002 * parameters)


def is_default(family: str, key: str, value: object) -> bool:
    """Whether the head's tying, which nearly every config states, is what the family does anyway."""
    return key == "tie_word_embeddings" and getattr(transformers.AutoConfig.for_model(family), key, None) == value


def compact(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def line(entry: dict) -> str:
    """One entry in the order that people read it."""
    order = ["name", "aliases", "task", "license", "stated", "note", "parameters", "config"]
    family = entry["config"]["model_type"]
    config = {key: value for key, value in entry["config"].items() if not is_default(family, key, value)}
    entry = {**entry, "config": config}
    return compact({key: entry[key] for key in order if entry.get(key) not in (None, [])})


def page(catalogue: dict) -> str:
    """The file's text: compact, one entry a line, so that a change is one line of a diff."""
    versions = compact({"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]})
    mirrors = compact(catalogue["mirrors"])
    models = ",\n".join(line(entry) for entry in catalogue["models"])
    return f'{{"schema":"vram-lens/catalogue/1","counted":{versions},"mirrors":{mirrors},"models":[\n{models}\n]}}\n'


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--check", action="store_true", help="change nothing; exit 1 on any difference")
    check = arguments.parse_args().check
    catalogue = json.loads(PATH.read_text())
    wrong = 0
    for entry in catalogue["models"]:
        try:
            parameters = count(entry)
        except Exception as error:  # a config that the library refuses is reported with the rest
            print(f"{entry['name']}: {type(error).__name__}: {str(error)[:200]}")
            wrong += 1
            continue
        if "note" not in entry and not agrees(entry["stated"], parameters):
            print(f"{entry['name']}: {parameters:,} parameters, its page states {entry['stated']}")
            wrong += 1
        if check and entry.get("parameters") != parameters:
            print(f"{entry['name']}: {parameters:,} parameters, the file says {entry.get('parameters')}")
            wrong += 1
        entry["parameters"] = parameters
    if not check:
        PATH.write_text(page(catalogue))
    print(f"{len(catalogue['models'])} models, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
