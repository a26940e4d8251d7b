"""VRAM Lens for PyTorch: a model of one's own becomes a graph, a script runs on a device that is not there, a run leaves a receipt.

`python -m vram_lens --help` says what there is. `vram_lens.watch()` in a training script writes a receipt of what the run took.
"""

__version__ = "0.1.0"
LATER = ("watch", "TrainerCallback", "LightningCallback")


def __getattr__(name):
    """What needs torch is imported when it is asked for."""
    if name in LATER:
        from . import receipts

        return getattr(receipts, name)
    raise AttributeError(f"module 'vram_lens' has no attribute '{name}'")
