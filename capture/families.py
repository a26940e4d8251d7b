"""Per family: which config keys give dimensions, which switch code branches, and how to draw values for them.

A family's `dims` draws one config from a random source; every drawn key is a name expressions may use. `axes` are the
branches: each option has the condition that goes into a graph's `when` and settings laid over the drawn ones.
"""
from dataclasses import dataclass, field
from typing import Callable

ACTIVATIONS = ("silu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh")


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


def even(r, low, high):
    return 2 * r.randint(low // 2, high // 2)


def heads(r, d, hidden="hidden_size", count="num_attention_heads", groups=None, dim=None):
    """Draws a head layout: hidden = heads x width, key-value heads by `groups`, explicit `dim` different from the width."""
    kv, g = r.randint(2, 5), r.choice((2, 3, 4))
    n = kv * g if groups else r.randint(3, 11)
    width = even(r, 6, 30)
    d[count], d[hidden] = n, n * width
    if groups:
        d[groups] = kv
    if dim:
        d[dim] = width + 2 * r.choice((1, 2, 3, 4, 5))
    return d


def llama_like(r, head_dim=True, act="hidden_act", biases=(), tie=True, extra=None):
    d = heads(r, {}, groups="num_key_value_heads", dim="head_dim" if head_dim else None)
    d.update(intermediate_size=r.randint(31, 190), vocab_size=r.randint(200, 900), num_hidden_layers=r.randint(3, 6), max_position_embeddings=r.randint(1000, 2000),
             attention_dropout=r.choice((0.05, 0.11, 0.13, 0.17, 0.23)), pad_token_id=0, num_labels=r.randint(3, 19))
    d[act] = r.choice(ACTIVATIONS)
    if tie:
        d["tie_word_embeddings"] = r.random() < 0.5
    for b in biases:
        d[b] = r.random() < 0.5
    d.update(extra(r, d) if extra else {})
    return d


def _multi_head(d, sizes, r):
    d["num_key_value_heads"] = d["num_attention_heads"]


GQA = (Option("num_key_value_heads != num_attention_heads", lambda d, s, r: None), Option("num_key_value_heads == num_attention_heads", _multi_head))

FAMILIES = {
    "llama": Family(lambda r: llama_like(r, biases=("attention_bias", "mlp_bias")), axes=(GQA,)),
}
