"""Parameters of every captured family's class default, as PyTorch builds it without memory: test/models/default-counts.json.

usage: python -m capture.facts.parameter_counts

Sizes of a class's defaults are those of a published model, deeper and wider than captures draw them, so that an expression that
fits by accident shows. Defaults from which the class makes no model are left out.
"""

import json

from ..families.every_family import FAMILIES  # (environment before transformers)
from ..recording.environment import TASKS
from ..truth.receipts import ROOT
from ..storing.stored import content_of

OUT = ROOT / "test" / "models" / "default-counts.json"


def count(family, task):
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(family)
    with torch.device("meta"):
        model = getattr(transformers, TASKS[task]).from_config(config)
    return sum(p.numel() for p in model.parameters())


def main():
    counts = {}
    for family in FAMILIES:
        file = ROOT / "models" / "graphs" / f"{family}.json"
        if not file.exists():
            continue
        task = content_of(file.read_text())["graphs"][0]["task"]
        try:
            counts[family] = [task, count(family, task)]
        except Exception as error:
            print(f"{family}: {type(error).__name__}: {str(error)[:100]}")
    OUT.write_text("{\n" + ",\n".join(f"  {json.dumps(name)}: {json.dumps(counts[name])}" for name in sorted(counts)) + "\n}\n")


if __name__ == "__main__":
    main()
