"""
Writes `src/core/graph/liger-families.json`: which of Liger's kernels `use_liger_kernel` puts into a model, by `model_type`.

usage: python -m capture.facts.liger        (needs liger-kernel; no GPU)

The Trainer calls `_apply_liger_kernel_to_instance` without arguments (transformers/integrations/liger.py), so what a family
gets is what its function switches on by itself. A model type without a function is left alone.
"""

import importlib.metadata
import inspect
from pathlib import Path

from liger_kernel.transformers.monkey_patch import MODEL_TYPE_TO_APPLY_LIGER_FN

from .data import save

FILE = Path(__file__).resolve().parent.parent.parent / "src" / "core" / "graph" / "liger-families.json"


def kernels(apply) -> list[str]:
    """Kernels that a family's function applies when it is told nothing."""
    return sorted(name for name, parameter in inspect.signature(apply).parameters.items() if parameter.default is True)


def main() -> None:
    families = {name: kernels(apply) for name, apply in sorted(MODEL_TYPE_TO_APPLY_LIGER_FN.items())}
    about = "Kernels that Liger puts into a model by itself, by `model_type`: a type that is not here is left alone."
    version = importlib.metadata.version("liger-kernel")
    source = f"liger_kernel/transformers/monkey_patch.py of {version} (MODEL_TYPE_TO_APPLY_LIGER_FN)"
    save(FILE, about, source, "liger", families=families)
    print(len(families), "families")


if __name__ == "__main__":
    main()
