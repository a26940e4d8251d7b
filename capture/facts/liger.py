"""
Writes `src/core/graph/liger-families.ts`: which of Liger's kernels `use_liger_kernel` puts into a model, by `model_type`.

usage: python -m capture.facts.liger        (needs liger-kernel; no GPU)

The Trainer calls `_apply_liger_kernel_to_instance` without arguments (transformers/integrations/liger.py), so what a family
gets is what its function switches on by itself. A model type without a function is left alone.
"""

import importlib.metadata
import inspect
from pathlib import Path

from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN

FILE = Path(__file__).resolve().parent.parent.parent / "src" / "core" / "graph" / "liger-families.ts"


def kernels(apply) -> list[str]:
    """Kernels that a family's function applies when it is told nothing."""
    return sorted(name for name, parameter in inspect.signature(apply).parameters.items() if parameter.default is True)


def main() -> None:
    families = {name: kernels(apply) for name, apply in MODEL_TYPE_TO_APPLY_LIGER_FN.items()}
    names = sorted({kernel for found in families.values() for kernel in found})
    rows = "".join(f'  {family}: "{" ".join(found)}",\n' for family, found in sorted(families.items()))
    kinds = "".join(f'  | "{name}"\n' for name in names).rstrip("\n")
    FILE.write_text(
        "/**\n * Kernels that Liger puts into a model by itself, by `model_type`: a type that is not here is left alone.\n"
        f" * Source: liger_kernel/transformers/monkey_patch.py of {importlib.metadata.version('liger-kernel')}"
        " (MODEL_TYPE_TO_APPLY_LIGER_FN);\n * `python -m capture.facts.liger` writes this file.\n */\n"
        'import { table } from "../../terms/table";\n\n'
        f"export type LigerKernel =\n{kinds};\n\n"
        f"/** Names of kernels, separated by blanks. */\nexport const LIGER_FAMILIES: Readonly<Record<string, string>> = table({{\n{rows}}});\n"
    )
    print(len(families), "families")


if __name__ == "__main__":
    main()
