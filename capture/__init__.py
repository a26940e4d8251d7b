"""Captures architecture graphs from the code of transformers and verifies the engine against PyTorch."""

import pathlib
import sys

# What people trace their own models with stands in `python/` and is the same code.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))
