"""A script, run as it is for some optimizer steps on a card that is not there."""

import contextlib
import functools
import gc
import json
import os
import re
import sys
import time
import types

import torch
import torch.optim.optimizer as optimizers
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes

from ..sentences import say
from ..words import Stopped, one_line, relative
from . import device, kernels, libraries, outside, quiet, ranks
from .ledger import move_parameters


class Done(BaseException):
    """So many steps were made; no `except Exception` of a script stops it."""


class Where:
    """The phase, the module and the line that run."""

    def __init__(self, root):
        self.root, self.phase, self.stack, self.paths, self.stepping = root, "load", [], {}, False

    def __call__(self):
        frame, file, line = sys._getframe(3), "", 0
        while frame is not None:  # the innermost line of the person's own code
            name = frame.f_code.co_filename
            if name.startswith(self.root) and "site-packages" not in name and "vram_lens" not in name:
                file, line = relative(name, self.root), frame.f_lineno
                break
            frame = frame.f_back
        return self.phase, self.stack[-1] if self.stack else "", file, line

    def entered(self, module, args):
        if not self.stack:
            self.paths = {id(m): path for path, m in module.named_modules()}
            if self.phase != "backward":
                self.phase = "forward" if torch.is_grad_enabled() else "evaluation"
        self.stack.append(self.paths.get(id(module), type(module).__name__))

    def left(self, module, args, out):
        if self.stack:
            self.stack.pop()
        if not self.stack and self.phase in ("forward", "evaluation"):
            self.phase = "loss"


def _bytes(text):
    found = re.fullmatch(r"([\d.]+)\s*(GB|GiB|MB|MiB)?", text.strip(), re.IGNORECASE)
    if not found:
        raise Stopped(say("size", text=text), 2)
    return int(float(found[1]) * (2**20 if (found[2] or "G")[0].upper() == "M" else 2**30))


def _real(function):
    """A function that reads data: its tensors are the host's own."""

    @functools.wraps(function)
    def run(*args, **kwargs):
        with _disable_current_modes():
            return function(*args, **kwargs)

    return run


def _patched(where, ledger, steps):
    """Patches torch for the run: where phases begin, what a device would choose, data on the host, nothing saved."""
    functional = torch.nn.functional
    functional.scaled_dot_product_attention, functional.one_hot = kernels.attention, kernels.one_hot
    kernels.no_recurrent()
    torch.nn.Module._apply = move_parameters
    torch.backends.mha.set_fastpath_enabled(False)  # what evaluates a whole layer of nn.TransformerEncoder at once needs values
    if FakeTensor not in optimizers._foreach_supported_types:
        optimizers._foreach_supported_types.append(FakeTensor)
    modules = torch.nn.modules.module
    modules.register_module_forward_pre_hook(where.entered)
    modules.register_module_forward_hook(where.left, always_call=True)
    backward, by_hand = torch.autograd.backward, [0]

    def phased(*args, **kwargs):
        if by_hand:  # no optimizer was made: parameters are changed by hand after each backward
            by_hand[0] += 1
            if by_hand[0] > steps:
                raise Done
        where.phase = "backward"
        out = backward(*args, **kwargs)
        where.phase = "optimizer" if where.stepping else "clip"  # a step that is given a closure has it run inside
        return out

    torch.autograd.backward = phased
    counts = {}
    made = optimizers.Optimizer.__init__

    def with_optimizer(*args, **kwargs):
        by_hand.clear()
        made(*args, **kwargs)

    optimizers.Optimizer.__init__ = with_optimizer

    def before(optimizer, *a):
        where.phase, where.stepping = "optimizer", True

    def after(optimizer, *a):
        where.phase, where.stepping = "zero", False
        counts[id(optimizer)] = counts.get(id(optimizer), 0) + 1
        if counts[id(optimizer)] >= steps:
            raise Done

    optimizers.register_optimizer_step_pre_hook(before)
    optimizers.register_optimizer_step_post_hook(after)
    _data()
    torch.save = lambda *a, **k: None
    torch.compile = lambda model=None, *a, **k: model if model is not None else (lambda f: f)
    _read()


def _data():
    """Loaders read on this process, where their tensors are real."""
    from torch.utils.data import DataLoader
    from torch.utils.data._utils import fetch

    for name in ("_MapDatasetFetcher", "_IterableDatasetFetcher"):
        kind = getattr(fetch, name)
        kind.fetch = _real(kind.fetch)
    made = DataLoader.__init__

    @functools.wraps(made)
    def alone(self, *args, **kwargs):
        if len(args) > 5:
            args = (*args[:5], 0, *args[6:])
        else:
            kwargs["num_workers"] = 0
        for name in ("pin_memory", "persistent_workers"):
            if name in kwargs:
                kwargs[name] = False
        for name in ("prefetch_factor", "multiprocessing_context"):
            kwargs.pop(name, None)
        made(self, *args, **kwargs)

    DataLoader.__init__ = alone


def _read():
    """What a host makes of tensors that have no values."""
    nested = lambda shape: 0 if not shape else [nested(shape[1:]) for _ in range(shape[0])]
    tolist, numpy, copied = torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__deepcopy__

    def as_numpy(t, *a, **k):
        if not isinstance(t, FakeTensor):
            return numpy(t, *a, **k)
        import numpy as np

        kind = {torch.bfloat16: "float32", torch.bool: "bool"}.get(t.dtype, str(t.dtype).removeprefix("torch."))
        return np.zeros(tuple(t.shape), dtype=kind)

    def deep(t, memo):
        if not isinstance(t, FakeTensor):
            return copied(t, memo)
        if id(t) not in memo:
            new = torch.empty_like(t)
            memo[id(t)] = torch.nn.Parameter(new, requires_grad=t.requires_grad) if isinstance(t, torch.nn.Parameter) else new
        return memo[id(t)]

    def shown(t, form):
        return t.item().__format__(form) if t.dim() == 0 else object.__format__(t, form)

    FakeTensor.__format__ = shown
    torch.Tensor.tolist = lambda t: nested(list(t.shape)) if isinstance(t, FakeTensor) else tolist(t)
    torch.Tensor.numpy = as_numpy
    torch.Tensor.__deepcopy__ = FakeTensor.__deepcopy__ = deep
    FakeTensor.__reduce_ex__ = lambda t, protocol: (torch.empty, (tuple(t.shape),))  # code that tries whether it can be kept


def installed(arguments, where, ledger, world=1):
    """Everything around a script that is to run on a card that is not there; gives its source and the notes of what stands in."""
    path = os.path.abspath(arguments.script)
    device.install(_bytes(arguments.card), ledger, ranks.environment(world) if world > 1 else 1)
    _patched(where, ledger, arguments.steps)
    with open(path, "rb") as file:
        source = file.read()
    notes = libraries.install(arguments, source)
    if world > 1:
        ranks.install(world, ledger, notes)
    else:
        ranks.when_asked(ledger, notes)
    os.environ.update(
        WANDB_MODE="disabled",
        WANDB_DISABLED="true",
        HF_HUB_OFFLINE="1",
        HF_DATASETS_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
        CUDA_LAUNCH_BLOCKING="0",
    )
    return source, notes


def executed(arguments, source, notes, ledger, until):
    """Runs the source as a program, as `__main__`, until it raises what ends it (`until`) or ends by itself: whether it was stopped."""
    path = os.path.abspath(arguments.script)
    sys.argv = [arguments.script, *arguments.arguments]
    sys.path.insert(0, os.path.dirname(path))
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    this = os.getpid()
    try:
        code = compile(source, path, "exec")
        torch.manual_seed(0)
        with quiet.terminal(), outside.closed(os.path.dirname(path), notes), ledger:
            exec(code, main.__dict__)
    except until:
        return True
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise Stopped(say("left", script=arguments.script, status=leaving.code)) from None
    except Stopped:
        raise
    except SyntaxError as error:
        raise Stopped(say("syntax", script=arguments.script, error=one_line(error))) from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or os.environ.get("VRAM_LENS_TRACEBACK"):
            raise
        raise Stopped(say("failed", script=arguments.script, place=_place(error, os.path.dirname(path)), error=one_line(error))) from error
    finally:
        if os.getpid() != this:  # the script forked: what it does there is of no interest, and the result is this process's
            os._exit(0)
    return False


def checked(arguments, speech):
    """Runs the script; gives its peaks by phase and, where it was asked for, writes every event."""
    path = os.path.abspath(arguments.script)
    where = Where(os.path.dirname(path))
    ledger = device.Device(where)
    world = ranks.launched(arguments.accelerate, path) if arguments.accelerate else arguments.ranks
    source, notes = installed(arguments, where, ledger, world)
    began = time.time()
    speech.progress(f"running {arguments.script}")
    stopped = executed(arguments, source, notes, ledger, Done)
    ended = say("steps", count=arguments.steps) if stopped else say("ended")
    gc.collect()
    if not ledger.count:
        raise Stopped(say("no-device", script=arguments.script))
    found = {
        "allocatedPeakBytes": ledger.peak,
        "peak": dict(zip(("phase", "module", "file", "line"), _at(ledger))),
        "phases": phases(ledger),
        "ended": ended,
        "notes": sorted(notes),
        "seconds": round(time.time() - began, 1),
        "versions": {"torch": torch.__version__.split("+")[0], **libraries.versions()},
    }
    if arguments.events:
        write_events(arguments.events, ledger, found)
    return found


def _place(error, root):
    """The last line of the person's own code that an error went through."""
    trace, place = error.__traceback__, "its own start"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(root) and "vram_lens" not in name:
            place = f"{relative(name, root)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _at(ledger):
    last = next(e for e in reversed(ledger.events[: ledger.peak_at]) if isinstance(e, tuple))
    return ledger.places[last[3]]


def phases(ledger):
    """Highest bytes alive in each phase."""
    live, sizes, found, phase = 0, {}, {}, "load"
    for event in ledger.events:
        if isinstance(event, tuple):
            sizes[event[0]] = event[1]
            live += event[1]
            phase = ledger.places[event[3]][0]
        else:
            live -= sizes.pop(~event)
        found[phase] = max(found.get(phase, 0), live)
    return found


def write_events(path, ledger, found):
    """Every event as JSON: places once, then what is allocated (`[id, bytes, operator, place]`) and freed (`~id`)."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": "vram-lens/events/1", **found, "places": ledger.places, "events": ledger.events}, file)


def sentence(found):
    """The result for a terminal."""
    gib = lambda n: f"{n / 2**30:.2f} GiB"
    at = found["peak"]
    place = f", {at['module']}" if at["module"] else ""
    line = f" ({at['file']}:{at['line']})" if at["file"] else ""
    rows = "  ".join(f"{name} {gib(n)}" for name, n in found["phases"].items())
    notes = "".join(f"\n  {note}" for note in found["notes"])
    return f"allocated peak {gib(found['allocatedPeakBytes'])} in {at['phase']}{place}{line}, {found['ended']}\n  {rows}{notes}"
