"""Records forwards of transformers' models: what the tracer is told of that library."""

import contextlib

import torch

from . import environment  # noqa: F401  (patches before models are imported)
from . import experts, pictures, picture_loops, releases
from vram_lens.tracing import of_transformers, record as tracer
from vram_lens.tracing.library import Library
from vram_lens.tracing.events import Event, Trace, Value

__all__ = ["Event", "Trace", "Value", "record", "trace"]

# Functions whose loop over (chunks of) the sequence becomes a repeat: as many rounds as the run's length says.
LOOPS = {"torch_chunk_gated_delta_rule", "mamba_selective_scan", "_rnn_scan", "chunk_kimi_delta_attention"}

# Autograd functions of a model's own, by the operator that stands for each: recorded whole, as the engine knows their backward.
FUNCTIONS = {"PhimoeMultiplier": "phimoe_multiplier", "SqrtBoundDerivative": "sqrt_bound_derivative"}


def _rows(name, args):
    mask = pictures.mask_of(name, args)
    return None if mask is None else pictures.picked(mask)


@contextlib.contextmanager
def _recording(recorder):
    """Loops and operators of models of pictures, and of experts, told to the recorder."""
    functional = torch.nn.functional
    functional.attention_by_parts, functional.clamp_half = _by_parts(recorder), _clamped(recorder)
    pictures.rounds, pictures.part = lambda count: recorder.each(range(count)), recorder.part
    experts.recorded_by(recorder)
    picture_loops.layers = lambda count: recorder.each(range(count), layers=True)
    try:
        yield
    finally:
        # Forwards stay rewritten: a model of the same classes runs them without a recorder, too (`stages.recomputed`).
        functional.attention_by_parts, functional.clamp_half = _parts, _same
        pictures.rounds, pictures.part = range, None
        experts.recorded_by(None)
        picture_loops.layers = range


LIBRARY = Library(
    rows=_rows,
    leaf=of_transformers.leaf,
    is_unit=lambda module: releases.checkpointed(module) or getattr(module, "checkpointed", False),
    recording=_recording,
    loops=frozenset(LOOPS),
    functions=FUNCTIONS,
)


def trace(model, batch, run, holder=None):
    """The trace of `run()`, as the tracer makes it of this library's models."""
    return tracer.trace(model, batch, run, holder, LIBRARY)


def record(model, batch, extra):
    """Runs `model(**batch, **extra)` and returns its trace; the caller holds the batch, and the outputs to the end."""
    return trace(model, batch, lambda: dict(model(**batch, **extra)))


def _parts(query, key, value, parts, eager):
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else query.dtype
    return torch.empty(query.shape[0], query.shape[2], query.shape[1], value.shape[3], dtype=dtype, device=query.device)


def _same(hidden_states, checked):
    return torch.empty_like(hidden_states)


def _by_parts(recorder):
    """Attention of every picture, or of every window of it, for itself: one operator, told how many parts there are."""

    def attention_by_parts(query, key, value, parts, eager):
        with recorder.silence():
            out = _parts(query, key, value, parts, eager)
        recorder.emit(
            Event(
                "op",
                f"{'eager_' if eager else ''}attention_by_parts",
                recorder.scopes[-1],
                [*(recorder.operand(x) for x in (query, key, value)), *pictures.parts(parts)],
            ),
            out,
        )
        return out

    return attention_by_parts


def _clamped(recorder):
    """What keeps float16 from overflowing, whatever the dtype of this capture."""

    def clamp_half(hidden_states, checked):
        with recorder.silence():
            out = _same(hidden_states, checked)
        recorder.emit(Event("op", "clamp_half", recorder.scopes[-1], [recorder.operand(hidden_states), checked]), out)
        return out

    return clamp_half
