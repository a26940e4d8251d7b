"""Modules that peft takes where none are named, by model type: src/core/training/adapters/peft-targets.json.

usage: python -m capture.facts.peft_targets
"""

import importlib.metadata
from pathlib import Path

from peft.utils import constants

from .data import save

OUT = Path(__file__).resolve().parent.parent.parent / "src" / "core" / "training" / "adapters" / "peft-targets.json"
LORA = constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
ADALORA = constants.TRANSFORMERS_MODELS_TO_ADALORA_TARGET_MODULES_MAPPING


def main():
    about = (
        "Modules that peft takes where none are named, by model type; `adalora` where it differs from `lora`, "
        "`ia3Feedforward` those whose input is scaled."
    )
    save(
        OUT,
        about,
        f"peft/utils/constants.py of {importlib.metadata.version('peft')}",
        "peft_targets",
        lora=LORA,
        adalora={family: names for family, names in ADALORA.items() if names != LORA.get(family)},
        ia3=constants.TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING,
        ia3Feedforward=constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING,
        lnTuning=constants.TRANSFORMERS_MODELS_TO_LNTUNING_TARGET_MODULES_MAPPING,
    )


if __name__ == "__main__":
    main()
