"""Modules that peft takes where none are named, by model type: src/core/training/adapters/peft-targets.ts.

usage: python -m capture.facts.peft_targets
"""

import importlib.metadata
import json
from pathlib import Path

from peft.utils import constants

OUT = Path(__file__).resolve().parent.parent.parent / "src" / "core" / "training" / "adapters" / "peft-targets.ts"
LORA = constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING

TABLES = {
    "PEFT_TARGETS": ("LoRA, VeRA, LoHa, LoKr, OFT and most others.", LORA, "readonly string[] | string"),
    "ADALORA_TARGETS": ("AdaLoRA where it differs from LoRA.", constants.TRANSFORMERS_MODELS_TO_ADALORA_TARGET_MODULES_MAPPING, ""),
    "IA3_TARGETS": ("IA3.", constants.TRANSFORMERS_MODELS_TO_IA3_TARGET_MODULES_MAPPING, ""),
    "IA3_FEEDFORWARD": ("IA3: those whose input is scaled.", constants.TRANSFORMERS_MODELS_TO_IA3_FEEDFORWARD_MODULES_MAPPING, ""),
    "LN_TUNING_TARGETS": ("LN tuning.", constants.TRANSFORMERS_MODELS_TO_LNTUNING_TARGET_MODULES_MAPPING, ""),
}


def main():
    parts = []
    for name, (said, found, kind) in TABLES.items():
        kept = {family: names for family, names in found.items() if name != "ADALORA_TARGETS" or names != LORA.get(family)}
        rows = "".join(f"  {json.dumps(family)}: {json.dumps(names)},\n" for family, names in kept.items())
        kind = kind or "readonly string[]"
        parts.append(f"/** {said} */\nexport const {name}: Readonly<Record<string, {kind}>> = table({{\n{rows}}});\n")
    OUT.write_text(
        f"/**\n * Modules peft takes when none are named, by model type. Source: peft/utils/constants.py of {importlib.metadata.version('peft')};\n"
        " * `python -m capture.facts.peft_targets` writes this file.\n */\n"
        'import { table } from "../../../terms/table";\n\n' + "\n".join(parts)
    )


if __name__ == "__main__":
    main()
