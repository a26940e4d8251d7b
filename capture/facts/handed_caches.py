"""Families whose models hand out keys and values as tuples, which accelerate copies to float32 under mixed precision as it does every
output, and no cache object: src/analysis/handed-caches.json, by release of transformers.

usage: python -m capture.facts.handed_caches   (with the Python of the release)
"""

import json
from pathlib import Path

from ..families.every_family import FAMILIES  # (environment before torch and transformers)
import torch

from ..recording.environment import class_for
from ..recording.graphs import point
from ..recording.releases import VERSION, has
from ..recording.run import make_config
from .data import save

OUT = Path(__file__).resolve().parent.parent.parent / "src" / "analysis" / "handed-caches.json"
WRITERS = ("causal-lm", "seq2seq-lm")


def hands_out_tuples(name, task):
    """Whether the first branch of a family answers with tuples of tensors."""
    settings, _ = point(FAMILIES[name], task, [options[0] for options in FAMILIES[name].axes], 0)
    config = make_config(name, settings)
    model = class_for(task, config).from_config(config).train()
    ids = torch.ones(2, 24, dtype=torch.long)
    answer = model(input_ids=ids, **({"decoder_input_ids": ids} if task == "seq2seq-lm" else {}))
    return isinstance(answer.get("past_key_values"), tuple)


def main():
    found = []
    for name in FAMILIES:
        task = next((task for task in WRITERS if task in FAMILIES[name].tasks), None)
        if task is None or not has(f"models.{name.replace('-', '_')}"):
            continue
        try:
            found += [name] if hands_out_tuples(name, task) else []
        except Exception as error:  # a branch that the release does not have
            print(f"{name}: {type(error).__name__}: {str(error)[:160]}")
    known = json.loads(OUT.read_text())["releases"] if OUT.exists() else {}
    releases = dict(sorted({**known, ".".join(map(str, VERSION)): sorted(found)}.items()))
    about = "Families whose models hand out keys and values as tuples of tensors, by release of transformers."
    save(OUT, about, "models of those releases", "handed_caches", releases=releases)


if __name__ == "__main__":
    main()
