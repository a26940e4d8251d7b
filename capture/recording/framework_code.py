"""Graphs of models that a framework's own builder makes from dimensions: one file a line of models."""

import contextlib
import gc
import itertools
import json
import pathlib

from . import environment  # noqa: F401  (before torch is used)
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from vram_lens.tracing.layers import functions
from vram_lens.tracing.regimes import REGIMES, Capture, described, raise_norms
from vram_lens.tracing.write import graph

from ..storing.stored import content_of, shortest
from .graphs import flat, minimal, point
from .record import trace

GRAPHS = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "graphs"


def batch_of(sizes):
    b, s = sizes["B"], sizes["S"]
    return {name: torch.zeros(b, s, dtype=torch.long, device="cuda") for name in ("input_ids", "labels")}


def built(code, config, sizes, dtype):
    torch.set_default_dtype(dtype)
    try:
        with torch.device("cuda"):
            model = code.build(config, sizes)
    finally:
        torch.set_default_dtype(torch.float32)
    model.supports_gradient_checkpointing = True  # frameworks wrap layers themselves, whatever transformers' class says
    for module in model.modules():
        module.checkpointed = type(module).__name__ == code.layer
    return model


def capture(code, options, seed, regime, attention="sdpa"):
    """One capture of the framework's model and its loss."""
    settings, sizes = point(code.family, "causal-lm", options, seed)
    gc.disable()
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            model = built(code, {**settings, "attn_implementation": attention}, sizes, regime.load)
            raise_norms(model, regime.norms)
            model.requires_grad_(False)
            model.train()
            batch = batch_of(sizes)
            with torch.autocast("cuda", dtype=regime.amp) if regime.amp else contextlib.nullcontext():
                holder = {}
                recorded = trace(model, batch, lambda: code.loss(model, batch, lambda: holder["recorder"]), holder)
        parameters, buffers, tied = described(model)
        c = Capture(recorded, settings, sizes, parameters, buffers, tied, spelled=code.family.spelled)
        c.function = functions(c.trace, c.spelled)
        c.load, c.states, c.raised = regime.load, regime.amp or regime.load, bool(regime.norms)
        c.trace = None
        c.env = flat(settings)
        c.settings = {k: v for k, v in flat(settings).items() if v is not None}
        for term in code.family.terms:
            c.env[term] = eval(term, {"__builtins__": {}}, {**c.env, **sizes})
        return c
    finally:
        gc.collect()


def capture_class(code, options, attention="sdpa"):
    """The graph of one branch: points in one regime, then one more point in each other regime."""
    first, *others = code.family.regimes or REGIMES
    seeds = range(code.family.points)
    plan = [(s, first) for s in seeds] + [(seeds[-1] + k, g) for k, g in enumerate(others, 1)]
    captures = [capture(code, options, s, g, attention) for s, g in plan]
    keys = [k for k, v in captures[0].settings.items() if isinstance(v, int) and not isinstance(v, bool)]
    numbers = (
        k
        for c in captures
        for k in [*c.settings, *(n for n in c.env if isinstance(c.env[n], (int, float, str)) and not isinstance(c.env[n], bool))]
    )
    atoms = [a for a in ["B", "S", *dict.fromkeys(numbers)] if a not in code.family.hidden]
    return graph(captures, "causal-lm", attention, [], atoms, keys, code.family.depths)


def line(code):
    """The file's content of one line of models."""
    gc.freeze()
    classes = {
        attention: [(options, capture_class(code, options, attention)) for options in itertools.product(*code.family.axes)]
        for attention in code.family.attention
    }
    like = content_of((GRAPHS / f"{code.like}.json").read_text())
    text = json.dumps([g for of in classes.values() for _, g in of])
    named = lambda values: {k: v for k, v in values.items() if k in text}
    return {
        "family": code.name,
        "captured": {**code.captured(), "torch": torch.__version__.split("+")[0]},
        "defaults": named(like["defaults"]),
        "derived": named({**like["derived"], **code.family.derived}),
        "layerKind": code.family.kind,
        "aliases": {k: v for k, v in like["aliases"].items() if v in text},
        "head": None,
        "graphs": [
            {**g, "when": [*g["when"], *code.asks]}
            for attention, of in classes.items()
            for g in minimal(of, code.family.axes, "causal-lm", attention)
        ],
    }


def write(codes, names=None, log=print):
    """Writes the file of each line, or of those that are named; one that could not be captured is told."""
    for code in (c for c in codes if names is None or c.name in names):
        try:
            text = shortest(line(code)).replace("-Infinity", "-3.4e+38").replace("Infinity", "3.4e+38")  # JSON has no infinity
            (GRAPHS / f"{code.name}.json").write_text(text)
            log(f"{code.name}: captured")
        except Exception as error:  # the others go on
            log(f"{code.name}: {type(error).__name__}: {str(error)[:900]}")
