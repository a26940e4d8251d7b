"""What a recording is made of: tensors, values, weights and dtypes, and the events in which they occur."""

from dataclasses import dataclass, field
import torch


@dataclass
class Meta:
    """What is known of a tensor; `name` is set for parameters and buffers."""

    shape: tuple
    dtype: torch.dtype
    cpu: bool
    name: str | None = None


@dataclass(frozen=True)
class Value:
    """A tensor made during the forward, by its number in the trace."""

    id: int


@dataclass(frozen=True)
class Weight:
    """A parameter or buffer, by its path."""

    name: str


@dataclass(frozen=True)
class Dtype:
    """A dtype operand and the tensor whose dtype was last read with this outcome."""

    dtype: torch.dtype
    source: object = None


@dataclass
class Event:
    """`kind` is op, call, drop, enter, exit, round, rounds, segment or whole; `checkpoint` of a round: it is a layer's.

    Between a segment and a whole (its end) stands what is computed again in backward.
    """

    kind: str
    name: str = ""
    path: str = ""
    ins: list = field(default_factory=list)
    kw: dict = field(default_factory=dict)
    outs: list = field(default_factory=list)
    noamp: bool = False
    nograd: bool = False
    checkpoint: bool = False


@dataclass
class Trace:
    events: list
    values: list
    weights: dict
    batch: dict
    outputs: list
    amp: bool
    held: list  # what the model itself keeps when its outputs are gone: positions it counted
