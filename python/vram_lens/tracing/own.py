"""The graph of somebody's own model: recorded at several sizes and in several dtype regimes, its numbers explained by the sizes."""

import contextlib
import gc
import inspect
import math
import os
import platform
import time

import torch
from torch.utils._pytree import tree_leaves

from ..sentences import say
from ..words import one_line
from . import inputs as examples
from . import segments
from .fit import NotExplained
from .layers import functions
from .record import PLAIN, trace
from .events import Event
from .regimes import BF16, FP32, Capture, Regime, described
from .values import Answering
from .merging import StructureDiffers
from .write import graph
from .sizes import LENGTHS, SIDES, of_positions, task_of, terms, tries
from .fake_models import attention_by_shape, moving, to_fake

EVERY = (Regime(FP32), Regime(FP32), Regime(FP32), Regime(FP32, BF16), Regime(BF16), Regime(BF16, BF16))
"""How the points of a graph are loaded; the first three tell the sizes apart, the others the dtypes."""
FEWER = ((EVERY, ""), (EVERY[:4], "float32 weights"), ((Regime(FP32),) * 4, "float32 weights, no autocast"))
"""What is given up where a model's code does not run in some regime, and what the graph says then."""
NAMES = ("B", "S", "T", "I", "A")
CARD = 80 * 2**30
"""Bytes of the card that code sees while it is recorded: nothing is on it."""


class Fails(Exception):
    """The model could not be recorded; the sentence is for a person."""


def library():
    """What is known of the libraries that the process has loaded."""
    import sys

    if "transformers" not in sys.modules:
        return PLAIN
    from . import of_transformers

    return of_transformers.LIBRARY


def made(build, dtype, mode):
    """The model on the fake device: made there, or on the host where its code reads values while it is made."""
    with mode:
        with contextlib.suppress(Exception):
            torch.set_default_dtype(dtype)
            with torch.device("cuda"):
                model = build()
            if all(t.device.type == "cuda" for t in [*model.parameters(), *model.buffers()]):
                with moving():
                    return model.to(dtype)
    torch.set_default_dtype(torch.float32)
    with no_card():
        model = build()
    with mode:
        return to_fake(model, dtype)


@contextlib.contextmanager
def no_card():
    """No card is seen: what code would make on one has values here, and there is none to make it on."""
    seen, torch.cuda.is_available = torch.cuda.is_available, lambda: False
    try:
        yield
    finally:
        torch.cuda.is_available = seen


def attributes_there(build, mode):
    """Tensors that modules have made on the device for themselves as plain attributes: they are there from then on, and nobody moves them."""
    try:
        with mode:
            model = build()
    except Exception:  # a model that cannot be made this way is made another
        return []
    there = lambda t: isinstance(t, torch.Tensor) and t.device.type == "cuda"
    return [(path, name, t.shape, t.dtype) for path, module in model.named_modules() for name, t in vars(module).items() if there(t)]


def loss_of(out, text, given):
    """The loss of what forward returned, and how it was found: what is asked for, a loss it returns, or the mean of its output."""
    if text:
        space = {"torch": torch, "F": torch.nn.functional, "out": out, **given}
        return eval(text, space), text
    leaves = [t for t in tree_leaves(_plain(out)) if isinstance(t, torch.Tensor) and t.is_floating_point()]
    found = next((t for t in leaves if t.ndim == 0), None)
    if found is not None:
        return found, "returned"
    if not leaves:
        raise Fails(say("no-output"))
    return leaves[0].mean(), "out.mean()" if isinstance(out, torch.Tensor) else "mean of the first output"


def _plain(out):
    """Outputs of classes of their own (ModelOutput, dataclasses) as dictionaries."""
    if isinstance(out, (torch.Tensor, tuple, list, dict)):
        return dict(out) if isinstance(out, dict) else out
    return vars(out) if hasattr(out, "__dict__") else out


class Own:
    """A model, its inputs and its loss, ready to be recorded at any size."""

    def __init__(self, build, inputs, loss=""):
        self.build, self.loss, self.found = build, loss, ""
        self.inputs, self.pinned = examples.pinned(inputs)
        self.tried, self.unseen, self.read, self.base, self.there = None, set(), set(), {}, None

    def recorded(self, sizes, regime):
        """One capture at some sizes and in one regime."""
        gc.disable()  # a tensor goes when its last reference goes, at the same place every time
        try:
            mode = Answering(self.read.add)
            if self.there is None:
                self.there = attributes_there(self.build, mode)
            model = made(self.build, regime.load, mode)
            with mode, moving():
                for path, name, shape, dtype in self.there:
                    module = model.get_submodule(path)
                    if module.__dict__.pop(name, None) is not None:
                        module.register_buffer(name, torch.empty(shape, dtype=dtype, device="cuda"), persistent=False)
                frozen = frozenset(name for name, p in model.named_parameters() if not p.requires_grad)
                trained = {name for name, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
                model.requires_grad_(False)
                model.train()
                follows = FP32 if regime.amp else regime.load
                given = {one.name: one.at(sizes, follows) for one in self.inputs}
                before = described(model)
                batch = {name: t for name, t in given.items() if isinstance(t, torch.Tensor)}

                def run():
                    out = self.called(model, given)
                    at = len(recorders[0].events)
                    loss, self.found = loss_of(out, self.loss, given)
                    if self.found != "returned":  # a loop's name of what comes out is bound before its loss is taken
                        recorders[0].events.insert(at, Event("op", "loop_binds"))
                    return {"loss": loss, "out": [t for t in tree_leaves(_plain(out)) if t is not loss]}

                with torch.autocast("cuda", dtype=regime.amp) if regime.amp else contextlib.nullcontext():
                    recorders = []
                    around = lambda recorder: recorders.append(recorder) or segments.told(recorder, self.unseen, trained)
                    recorded = trace(model, batch, run, library=library(), around=around)
            parameters, buffers, tied = before  # what a forward registers is made by it
            c = Capture(recorded, {}, sizes, parameters, buffers, tied, frozen, main_input=next(iter(batch), "x"), spelled=".*")
            c.function = functions(c.trace, c.spelled)
            c.load, c.states, c.raised, c.trace, c.settings = regime.load, regime.amp or regime.load, False, None, {}
            c.env = {term: eval(term, {"__builtins__": {}, "ceil_div": lambda a, b: -(-a // b)}, dict(sizes)) for term in terms(sizes)}
            return c
        finally:
            torch.set_default_dtype(torch.float32)
            gc.enable()
            gc.collect()

    def made(self):
        """The model and the mode of its tensors, made once: whether it runs at some sizes leaves nothing behind that decides memory."""
        if self.tried is None:
            mode = Answering(self.read.add)
            try:
                self.tried = (made(self.build, FP32, mode), mode)
            finally:
                torch.set_default_dtype(torch.float32)
        return self.tried

    def stated(self):
        """Sizes that the model states, the likeliest first: attributes of it or of a config it keeps, then what its positions are made for."""
        found, (model, _) = {}, self.made()
        for module in model.modules():
            for place in (vars(module), getattr(vars(module).get("config"), "__dict__", {})):
                for letter, names in (("I", SIDES), ("S", LENGTHS)):
                    for name in names:
                        value = place.get(name)
                        value = value[0] if isinstance(value, (tuple, list)) and value else value
                        if isinstance(value, int) and not isinstance(value, bool) and 1 < value < 5000:
                            found.setdefault(letter, []).append(value)
        found["I"] = [*found.get("I", []), *of_positions(model)]
        return {letter: list(dict.fromkeys(of))[:6] for letter, of in found.items() if of}

    def called(self, model, given):
        """What forward returns; inputs that it has no names for stand by their places."""
        kinds = inspect.signature(model.forward).parameters
        if not any(p.kind is p.VAR_POSITIONAL for p in kinds.values()):
            return model(**given)
        return model(*(t for name, t in given.items() if name not in kinds), **{n: t for n, t in given.items() if n in kinds})

    def runs(self, sizes):
        """What stops a forward at some sizes in float32; None where nothing does."""
        try:
            model, mode = self.made()
            with mode, moving(), torch.no_grad(), attention_by_shape():
                given = {one.name: one.at(sizes, FP32) for one in self.inputs}
                loss_of(self.called(model, given), self.loss, given)
            return None
        except Exception as error:
            return error
        finally:
            torch.set_default_dtype(torch.float32)


def free(own, count=6, seed=0):
    """Values of every size that the inputs name, at which the model runs: `(values by letter, conditions, fixed ones)`."""
    letters = examples.letters(own.inputs)
    base = own.base = _working(own, letters)
    values, conditions = {}, []
    for letter in letters:
        for step in () if letter in own.pinned else examples.LADDERS[letter]:
            drawn = examples.drawn(letter, step, count, seed)
            if all(own.runs({**base, letter: v}) is None for v in (min(drawn), max(drawn))):
                values[letter] = drawn
                if step > 1:
                    conditions.append(f"{letter} % {step} == 0")
                break
        else:
            values[letter] = [base[letter]] * count
            conditions.append(f"{letter} == {base[letter]}")
    return values, conditions


def _working(own, letters):
    """Sizes at which the model runs at all."""
    error = None
    for sizes in tries(own.stated(), letters):
        sizes = {**sizes, **own.pinned}
        found = own.runs(sizes)
        if found is None:
            return sizes
        error = error or found  # at the likeliest sizes
    raise Fails(say("not-run", inputs=", ".join(map(str, own.inputs)), error=_said(error)))


def _said(error):
    return one_line(error, 300)


def guessed(build, loss=""):
    """The inputs that a model takes, found by its signature and its first weights: the first guess that forward runs on."""
    mode = Answering(lambda place: None)
    model = made(build, FP32, mode)
    torch.set_default_dtype(torch.float32)
    error, tried = None, []
    for inputs in examples.guesses(model):
        tried.append(" ".join(map(str, inputs)))
        own = Own(build, inputs, loss)
        own.tried = (model, mode)
        letters = examples.letters(inputs)
        stated = own.stated()
        for sizes in tries(stated, letters)[: 4 + sum(map(len, stated.values()))]:
            error = own.runs(sizes)
            if error is None:
                return inputs
        if len(tried) >= 12:
            break
    names = ", ".join(inspect.signature(model.forward).parameters)
    raise Fails(say("not-guessed", names=names, last=tried[-1] if tried else "-", error=_said(error)))


def traced(own, progress=lambda text: None):
    """The graph of a model of one's own and what it holds for: every size, or one of each that its code counts or branches by."""
    values, conditions = free(own)
    error = None
    far, near = values, conditions
    for letter, drawn in beyond(own, values).items():
        far = {**far, letter: drawn}
        near = [*near, f"{letter} < {max(values[letter]) + 1}"]
    tries = [(far, conditions)]
    if far is not values:  # what steps by windows that are longer than what is drawn is known for what is drawn alone
        tries.append((values, near))
    for letter in [x for x in values if x != "B" and len(set(values[x])) > 1]:
        values = {**values, letter: [own.base[letter]] * len(values[letter])}
        near = [*(one for one in near if one[0] != letter), f"{letter} == {own.base[letter]}"]
        tries.append((values, near))
    for points, holding in tries:
        for regimes, holds in FEWER:
            try:
                return recorded_at(own, points, holding, regimes, holds, progress)
            except (NotExplained, StructureDiffers, TypeError, ValueError, RuntimeError, KeyError, IndexError) as failed:
                error = failed
                if isinstance(failed, StructureDiffers):
                    break  # of sizes, not of dtypes
    raise Fails(say("no-graph", error=_said(error))) from error


def beyond(own, values):
    """Lengths with one among them that is far longer than the others, where the model runs on it: windows and blocks of code show there."""
    found = {}
    for letter, drawn in values.items():
        far = examples.FAR.get(letter)
        if far is None or len(set(drawn)) == 1:
            continue
        step = math.gcd(*drawn)
        longer = max(drawn) + far // step * step
        if own.runs({**own.base, letter: longer}) is None:
            found[letter] = [drawn[0], longer, *drawn[2:]]
    return found


def recorded_at(own, values, conditions, regimes, holds, progress):
    """The graph of captures at some sizes in some regimes, and what it holds for."""
    points = [{letter: of[k] for letter, of in values.items()} for k in range(len(regimes))]
    captures = []
    for sizes, regime in zip(points, regimes):
        progress(f"recording at {', '.join(f'{k} = {v}' for k, v in sizes.items())}")
        captures.append(own.recorded(sizes, regime))
    moving = [x for x, of in values.items() if len(set(of)) > 1]
    atoms = [*moving, *(term for term in captures[0].env if term.split("(")[-1][0] in moving)]
    made = graph(captures, task_of(own.inputs), "none", [*conditions], atoms, [])
    return made, {"holds": [*([holds] if holds else []), *conditions, *sorted(own.unseen), *read_at(own)], "loss": own.found}


def read_at(own):
    """Where the model's code asks for values, which a graph has none of."""
    places = sorted(own.read)
    return [f"values taken as 0 in {', '.join(places[:3])}{' and elsewhere' if len(places) > 3 else ''}"] if places else []


def versions():
    found = {"python": platform.python_version(), "torch": torch.__version__.split("+")[0]}
    import importlib.metadata

    for name in ("transformers", "timm", "einops", "torchvision"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def stored(name, made, facts, said):
    """The content of a graph's file; `said` is what is known of the tracing: entry, sources, inputs."""
    return {
        "schema": "vram-lens/graphs/4",
        "parts": [],
        "family": f"own.{name}",
        "captured": {**versions(), "license": "own"},
        "traced": {**said, **facts, "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())},
        "defaults": {},
        "derived": {},
        "layerKind": None,
        "aliases": {},
        "head": None,
        "graphs": [_finite(made)],
    }


def _finite(x):
    """Numbers that JSON has: what a mask is filled with decides no memory."""
    if isinstance(x, float) and not -1e308 < x < 1e308:
        return 0.0 if x != x else 1e308 if x > 0 else -1e308
    if isinstance(x, dict):
        return {k: _finite(v) for k, v in x.items()}
    return [_finite(y) for y in x] if isinstance(x, list) else x


def quiet():
    """Makes torch and the libraries run without a device, without values and without a word."""
    import logging
    import warnings

    warnings.filterwarnings("ignore")
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # a size that does not run is no fault
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from ..running import device
    from . import answers

    answers.install()
    device.answered(CARD)  # code asks whether there is a card, and makes its tensors there
