"""What is known of a library's models beside what torch says; a tracer is given one of these."""

import contextlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Library:
    """Answers for models of one library; these are the answers for models of none.

    `rows(name, args)`: how many rows an operator's boolean index picks, None where it has none.
    `leaf(module)`: kind and attributes of a module that the engine knows whole, or None.
    `is_unit(module)`: whether gradient checkpointing recomputes the module as one.
    `recording(recorder)`: what is patched while a recorder runs, as a context.
    `loops`: functions whose loop over (chunks of) the sequence becomes a repeat.
    `functions`: autograd functions by the operator that stands for each, as the engine knows their backward.
    """

    rows: callable = lambda name, args: None
    leaf: callable = lambda module: None
    is_unit: callable = lambda module: False
    recording: callable = lambda recorder: contextlib.nullcontext()
    loops: frozenset = frozenset()
    functions: dict = field(default_factory=dict)
