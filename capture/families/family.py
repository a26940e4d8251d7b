"""What is stated per family: which config keys give dimensions, which switch code branches, and how to draw values for them.

`spelled` matches paths of module lists whose elements are unlike and fixed in number (the stages of a pyramid).
`inputs_follow`: the code takes images or sound as they are, so a half-precision model runs without autocast only when the
collator converts them first; otherwise it converts them itself (a predicate of the settings where parts differ).
`aliases` are further names of keys, as older files spell them.
`kernels` names packages that would replace the code of a module with fused kernels where they are installed.
`assumes` says, for tasks, what of the data decides which code runs, and what the graph takes it to be.
`depths` are numbers of layers that the code computes, in brackets: layers before and behind them differ.
`heads` gives, for a task, the keys that its class asks for besides those of `dims`.
`parts` are sides of the config that are configs of other families: how each of those is drawn.
`terms` are quotients that the code computes from config keys and uses as names; `hidden` names are not used at all.
`points` config points are captured in the first regime and one more in each other regime.
`regimes` are the dtypes it is captured in, where its code does not run in all of them (`run.REGIMES`).
A family's `dims` draws one config from a random source; every drawn key is a name expressions may use. `axes` are the
branches: each option has the condition that goes into a graph's `when` and settings laid over the drawn ones.
"""

from dataclasses import dataclass, field
from typing import Callable


@dataclass(frozen=True)
class Option:
    """One branch: `when` conditions (empty: always), and a change of the drawn settings and sizes."""

    when: str
    change: Callable


@dataclass(frozen=True)
class Family:
    dims: Callable
    tasks: tuple = ("causal-lm", "seq-cls")
    axes: tuple = ()
    attention: tuple = ("sdpa", "eager")
    derived: dict = field(default_factory=dict)
    sizes: Callable | None = None
    kind: str | None = None
    points: int = 3
    regimes: tuple = ()
    terms: tuple = ()
    depths: tuple = ()
    hidden: tuple = ()
    kernels: dict | None = None
    assumes: tuple = ()
    spelled: str | None = None
    inputs_follow: bool | Callable = False
    aliases: dict = field(default_factory=dict)
    heads: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)

    def suited(self, task, settings, r):
        """The settings with what the task's class asks of a config besides (`heads`)."""
        if task == "qa":
            settings["num_labels"] = 2  # where an answer begins and where it ends
        if task in ("seq-cls", "token-cls") and "num_labels" not in settings:  # of every config class, which some drawings leave out
            settings["num_labels"] = r.randint(3, 19)
        if task in self.heads:
            settings |= self.heads[task](settings, r)

    def follows(self, settings):
        """Whether pictures and sound come in the dtype of the weights, for one config."""
        return self.inputs_follow(settings) if callable(self.inputs_follow) else self.inputs_follow
