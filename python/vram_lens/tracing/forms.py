"""What a trace becomes when its layers are folded: functions, and the instructions that stand in them."""

from dataclasses import dataclass, field


class NotFoldable(Exception):
    """The layers of a stack do not follow each other in a way a repeat can express."""


@dataclass(frozen=True)
class Local:
    """A value by its name inside one function."""

    name: str


@dataclass
class Function:
    """`locals` maps each name to what is known of the tensor; `index` is the layer's number, None for main."""

    inputs: list
    body: list
    outputs: list
    locals: dict
    path: str = ""
    index: int | None = None
    amp: bool = False
    weights: dict = field(default_factory=dict)
    held: list = field(default_factory=list)  # shapes and dtypes of what the model keeps when main is over
    withheld: list = field(default_factory=list)  # inputs that other layers are given and this one is not
    layer: int | None = None  # of a round: the layer that its loop is in

    def weight_dtype(self, name):
        """Dtype of a parameter or buffer in this capture, None where it has none (a tied head); `{i}` is this layer."""
        found = self.weights.get(name.replace("{i}", str(self.index if self.layer is None else self.layer)).replace("{k}", str(self.index)))
        return found and found.dtype


@dataclass
class Op:
    name: str
    ins: list
    kw: dict
    outs: list
    scope: str
    noamp: bool
    nograd: bool
    leaf: bool = False
    path: str = ""


@dataclass
class Drop:
    values: list


@dataclass
class Call:
    """One call of a layer, before folding. `index` counts the calls of a `shared` layer, which is called again and again."""

    stack: str
    index: int
    keys: list
    ins: list
    outs: list
    items: list
    path: str
    checkpoint: bool
    shared: bool = False
    inward: list = field(default_factory=list)  # views the code takes for this layer before it calls it
    listed: bool = False  # a round that picks its modules from several lists
    segment: dict | None = None  # how it is computed again in backward, whatever a run says


@dataclass
class Loop:
    """Rounds of a loop over the sequence inside one layer, before folding."""

    rounds: list
    listed: bool = False


@dataclass(frozen=True)
class Many:
    """What the rounds of a repeat made and a Python list kept, in order."""

    values: tuple


@dataclass
class Repeat:
    """`functions` are the rounds from `start` on; `stop` is exclusive. `collect` has a `Many` for each output kept of every round."""

    stack: str
    start: int
    stop: int
    ins: list
    carry: list
    outs: list
    functions: list
    checkpoint: bool
    positional: list
    collect: list = field(default_factory=list)
    gone: frozenset = frozenset()  # what the rounds let go of themselves
    passing: list = field(default_factory=list)  # inputs that live through a round without being given to it
    segment: dict | None = None
