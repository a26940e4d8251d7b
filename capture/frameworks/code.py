"""What a framework's model code needs to be captured: dimensions in, a model and its loss out.

Configs are spelled with transformers' keys, as frameworks' configs name published models: `build` says what the framework's own
builder makes of the same dimensions.
"""

from dataclasses import dataclass
from typing import Callable

from ..families.family import Family
from ..families.shared import llama_like


@dataclass(frozen=True)
class Code:
    """One line of a framework's models, in a file of its own."""

    name: str
    """Its file, `<framework>.<line>`."""
    like: str
    """The family of transformers whose defaults of config keys hold, too."""
    family: Family
    """How dimensions are drawn, and the branches."""
    build: Callable
    """A model on the default device, in the default dtype, from a config and the sizes of the batch."""
    loss: Callable
    """The framework's loss of `(model, batch, recorder)`: a dict that holds `loss` first, then what its loop still names; `recorder()` gives
    the recorder, for what is one operator."""
    layer: str
    """Class of a layer that its checkpointing wraps."""
    captured: Callable
    """Version and licence of the package."""
    asks: tuple = ()
    """What of a config every graph asks, besides its branches: the code has others that were not captured."""


def dimensions(*, tie, head_dim=False, **more):
    """Draws dimensions that frameworks' builders take, spelled as transformers' keys; `more` are functions of the random numbers and those."""

    def draw(r):
        d = llama_like(r, head_dim=head_dim, tie=tie)
        for key in ("num_labels", "attention_dropout", "pad_token_id", "hidden_act"):
            del d[key]
        if not head_dim:
            d["head_dim"] = d["hidden_size"] // d["num_attention_heads"]
        return {**d, **{k: v(r, d) for k, v in more.items()}}

    return draw
