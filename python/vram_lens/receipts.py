"""Receipts: what one rank of a run took of one card, as it was measured (docs/receipts.md, schemas/receipt.schema.json).

`vram_lens.watch()` in a script, a callback of the Trainer or of Lightning, or `python -m vram_lens watch train.py`. PyTorch's own
counters are read where phases change: a few reads a step, no synchronisation, no hook on any tensor.
"""

import atexit
import contextlib
import hashlib
import importlib
import json
import os
import platform
import sys
import threading
import time

from . import __version__
from .words import relative

SCHEMA = "vram-lens/receipt/1"
PACKAGES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "bitsandbytes", "lightning", "pytorch-lightning", "liger-kernel")
MEASURED = 64
"""Steps whose phases are read one by one; later ones only count, so that a long run pays nothing."""

ASKED = (1, 15)
"""Steps after which the driver is asked, and once more at the end: that starts a program, which takes some milliseconds."""

_watches = []


def watch(*, settings=None, documents=(), model=None, root="."):
    """Writes a receipt to `<root>/.vramlens/receipts` when the process ends, or where it runs out of memory.

    `settings`: what was set, by canonical name (`{"micro_batch_size": 8}`); `documents`: configs of the run; `model`: its name.
    Returns the watch, whose `phase(name)` is a context for what hooks cannot see. One watch a process; a second call returns the first.
    """
    if not _watches:
        _watches.append(Watch(settings or {}, documents, model, root))
    return _watches[0]


class Watch:
    """Follows one process to its end."""

    def __init__(self, settings, documents, model, root):
        import torch

        self.torch, self.settings, self.model, self.root = torch, dict(settings), model, os.path.abspath(root)
        script = sys.argv[0] if sys.argv and os.path.isfile(sys.argv[0]) else None
        given = [a for a in sys.argv[1:] if a.endswith((".yaml", ".yml", ".json", ".toml")) and os.path.isfile(a)]
        self.documents = [_document(d, self.root) for d in dict.fromkeys([*documents, *([script] if script else []), *given])]
        self.command = [_relative(a, self.root) for a in sys.argv]
        self.began, self.steps, self.outcome, self.written = time.time(), 0, "finished", False
        self.peaks, self.phase_now, self.highest, self.used, self.overhead = {}, "load", [0, 0], None, None
        self.ready = self.others = None
        self.hooks, self.depth = [], 0
        self._hook()
        atexit.register(self.write)
        self._excepthook = sys.excepthook
        sys.excepthook = self._failed

    # ---- reading ------------------------------------------------------------------------------------------------
    def _there(self):
        """Whether this process has begun to use its card; asking makes no context."""
        cuda = self.torch.cuda
        if not cuda.is_available() or not cuda.is_initialized():
            return False
        if self.ready is None:
            self.ready = cuda.current_device()
            self.others = self._others()
            cuda.reset_peak_memory_stats()
        return True

    def _others(self):
        """Bytes that other processes have of the card: in use when the run began, less this process's own."""
        free, total = self.torch.cuda.mem_get_info()
        own = _own_bytes(self.torch)
        return None if own is None else max(0, total - free - own)

    def _read(self, drive=False):
        """The highest since the last read goes to the phase that ends here."""
        if not self._there():
            return
        cuda = self.torch.cuda
        allocated, reserved = cuda.max_memory_allocated(), cuda.max_memory_reserved()
        cuda.reset_peak_memory_stats()
        now = self.peaks.setdefault(self.phase_now, [0, 0, None])
        now[0], now[1] = max(now[0], allocated), max(now[1], reserved)
        self.highest = [max(a, b) for a, b in zip(self.highest, (allocated, reserved))]
        if drive:
            used = self._used()
            if used is not None:
                now[2] = max(now[2] or 0, used)
                self.used = max(self.used or 0, used)
                self.overhead = max(self.overhead or 0, used - cuda.memory_reserved())

    def _used(self):
        """What the driver shows of this process, else of the card without what others had."""
        own = _own_bytes(self.torch)
        if own is not None:
            return own
        free, total = self.torch.cuda.mem_get_info()
        return total - free - (self.others or 0)

    def enter(self, phase):
        """From here on it is another phase."""
        if phase == self.phase_now:
            return
        if self.steps < MEASURED:
            self._read()
        self.phase_now = phase

    @contextlib.contextmanager
    def phase(self, name):
        """A phase that no hook sees, as a context."""
        before = self.phase_now
        self.enter(name)
        try:
            yield
        finally:
            self.enter(before)

    # ---- hooks --------------------------------------------------------------------------------------------------
    def _hook(self):
        """Phases by what every loop calls: modules, `backward`, optimizers. Nothing of it touches a tensor."""
        torch = self.torch
        modules = torch.nn.modules.module
        self.hooks += [
            modules.register_module_forward_pre_hook(self._forward),
            modules.register_module_forward_hook(self._forwarded, always_call=True),
        ]
        optimizers = importlib.import_module("torch.optim.optimizer")  # torch.optim takes the name away
        self.hooks += [
            optimizers.register_optimizer_step_pre_hook(lambda *a: self.enter("optimizer")),
            optimizers.register_optimizer_step_post_hook(lambda *a: self._stepped()),
        ]
        self._backward = torch.autograd.backward

        def backward(*args, **kwargs):
            self.enter("backward")
            try:
                return self._backward(*args, **kwargs)
            finally:
                self.enter("clip")

        torch.autograd.backward = backward

    def _forward(self, module, args):
        if threading.current_thread() is threading.main_thread():  # backward recomputes on threads of its own
            self.depth += 1
            if self.depth == 1 and self.phase_now != "backward":
                self.enter("forward" if module.training else "evaluation")

    def _forwarded(self, module, args, out):
        if threading.current_thread() is threading.main_thread():
            self.depth = max(0, self.depth - 1)
            if self.depth == 0 and self.phase_now == "forward":
                self.enter("loss")

    def _stepped(self):
        if self.steps < MEASURED:
            self._read(drive=self.steps in ASKED)
        self.phase_now = "zero"
        self.steps += 1

    def failed(self, kind, error):
        """The run ends in an error: whether for want of memory is in the receipt."""
        if isinstance(error, getattr(self.torch, "OutOfMemoryError", ())) or "out of memory" in str(error).lower():
            self.outcome = "out-of-memory"
        else:
            self.outcome = "stopped"
        self.write()

    def _failed(self, kind, error, trace):
        self.failed(kind, error)
        self._excepthook(kind, error, trace)

    # ---- writing ------------------------------------------------------------------------------------------------
    def write(self):
        """Writes the receipt once; nothing where the card was never used. Returns the path."""
        if self.written or not self._there():
            return None
        self.written = True
        with contextlib.suppress(Exception):
            self._read(drive=True)
        for hook in self.hooks:
            hook.remove()
        self.torch.autograd.backward = self._backward
        rank = int(os.environ.get("RANK", 0))
        folder = os.path.join(self.root, ".vramlens", "receipts")
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(self.began))}-rank{rank}.json"
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(f"{path}.part", "w", encoding="utf-8") as part:
            json.dump(self.receipt(), part, indent=1)
        os.replace(f"{path}.part", path)
        return path

    def receipt(self):
        """The receipt as data."""
        torch = self.torch
        card = torch.cuda.get_device_properties(self.ready)
        phases = [
            {"phase": name, "allocatedBytes": allocated, "reservedBytes": reserved, "usedBytes": used}
            for name, (allocated, reserved, used) in self.peaks.items()
            if name in PHASES
        ]
        config = os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or ""
        run = {"documents": self.documents, "settings": self.settings, "model": self.model, "command": self.command}
        return {
            "schema": SCHEMA,
            "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.began)),
            "writer": f"vram_lens {__version__}",
            "run": {k: v for k, v in run.items() if v is not None},
            "card": {
                "name": card.name,
                "totalBytes": card.total_memory,
                "capability": f"{card.major}.{card.minor}",
                "driver": _driver(),
            },
            "versions": versions(torch),
            "world": {"size": int(os.environ.get("WORLD_SIZE", 1)), "rank": int(os.environ.get("RANK", 0))},
            "allocatorSettings": config,
            "phases": phases,
            "peak": {"allocatedBytes": self.highest[0], "reservedBytes": self.highest[1], "usedBytes": self.used},
            "overheadBytes": self.overhead,
            "othersBytes": self.others,
            "steps": self.steps,
            "outcome": self.outcome,
        }


PHASES = ("load", "data", "forward", "loss", "backward", "clip", "optimizer", "zero", "evaluation", "generation")


def versions(torch):
    """Libraries that are installed, by name."""
    import importlib.metadata

    found = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0]}
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _relative(path, root):
    """A path below the root as it is seen from there; others by their last part, which says nothing of the machine."""
    if not os.path.isabs(path) and not os.path.exists(path):
        return path
    seen = relative(os.path.realpath(path), os.path.realpath(root))
    return os.path.basename(path) if seen.startswith("..") or os.path.isabs(seen) else seen


def _document(path, root):
    with open(path, "rb") as file:
        return {"path": _relative(path, root), "sha256": hashlib.sha256(file.read()).hexdigest()}


def _smi(*query):
    """Lines of nvidia-smi; none where it is not there or says nothing."""
    import subprocess

    with contextlib.suppress(OSError, subprocess.SubprocessError):
        out = subprocess.run(["nvidia-smi", *query, "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=5)
        if out.returncode == 0:
            return [line.strip() for line in out.stdout.splitlines() if line.strip()]
    return []


def _driver():
    return next(iter(_smi("--query-gpu=driver_version")), None)


def _own_bytes(torch):
    """What the driver shows of this process on all cards it uses, None where it does not say (containers, Windows)."""
    for line in _smi("--query-compute-apps=pid,used_memory"):
        pid, _, used = line.partition(",")
        if pid.strip() == str(os.getpid()) and used.strip().isdigit():
            return int(used) * 2**20
    return None


def TrainerCallback(**options):
    """A callback for transformers' Trainer: `Trainer(..., callbacks=[vram_lens.TrainerCallback()])`."""
    from transformers import TrainerCallback as Base

    class Receipts(Base):
        def on_train_begin(self, args, state, control, model=None, **kwargs):
            said = {"micro_batch_size": args.per_device_train_batch_size, "gradient_accumulation_steps": args.gradient_accumulation_steps}
            name = getattr(getattr(model, "config", None), "_name_or_path", None)
            self.watch = watch(**{"settings": said, "model": name or None, **options})

        def on_train_end(self, args, state, control, **kwargs):
            self.watch.write()

    return Receipts()


def LightningCallback(**options):
    """A callback for Lightning: `Trainer(callbacks=[vram_lens.LightningCallback()])`."""
    try:
        from lightning.pytorch import Callback as Base
    except ImportError:
        from pytorch_lightning import Callback as Base

    class Receipts(Base):
        def on_fit_start(self, trainer, module):
            self.watch = watch(**options)

        def on_fit_end(self, trainer, module):
            self.watch.write()

    return Receipts()
