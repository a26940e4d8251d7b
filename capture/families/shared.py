"""What families share: how usual dimensions are drawn, the branches that many of them have, and architectures that several have in common."""

from .family import Family, Option
from .usual_keys import ACTIVATIONS, draw, drop


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
    d.update(
        intermediate_size=r.randint(31, 190),
        vocab_size=r.randint(200, 900),
        num_hidden_layers=r.randint(3, 4),
        max_position_embeddings=r.randint(1000, 2000),
        attention_dropout=r.choice((0.05, 0.11, 0.13, 0.17, 0.23)),
        pad_token_id=0,
        num_labels=r.randint(3, 19),
    )
    d[act] = r.choice(ACTIVATIONS)
    if tie:
        d["tie_word_embeddings"] = r.random() < 0.5
    for b in biases:
        d[b] = r.random() < 0.5
    d.update(extra(r, d) if extra else {})
    return d


def _multi_head(d, sizes, r):
    d["num_key_value_heads"] = d["num_attention_heads"]


WIDTHS_OF_EMBEDDINGS = (
    Option("embedding_size != hidden_size", lambda d, s, r: None),
    Option("embedding_size == hidden_size", lambda d, s, r: d.update(embedding_size=d["hidden_size"])),
)
"""Embeddings as wide as the layers have no projection between them."""
GQA = (
    Option("num_key_value_heads != num_attention_heads", lambda d, s, r: None),
    Option("num_key_value_heads == num_attention_heads", _multi_head),
)


def _sets(**values):
    return lambda d, s, r: d.update(values)


def _window(inside, **more):
    """Draws a sliding window above or below the sequence."""

    def change(d, s, r):
        d["sliding_window"] = s["S"] + r.randint(1, 40) if inside else s["S"] - r.randint(0, 6)
        d.update(more)

    return change


WINDOW = (
    Option("sliding_window != null and S < sliding_window", _window(True)),
    Option("sliding_window != null and S >= sliding_window", _window(False)),
    Option("sliding_window == null", _sets(sliding_window=None)),
)


def _late_window(inside):
    """Sliding windows from a layer on (Qwen)."""

    def change(d, s, r):
        _window(inside, use_sliding_window=True)(d, s, r)
        d["max_window_layers"] = r.randint(1, d["num_hidden_layers"] - 2)

    return change


LATE_WINDOW = (
    Option("not use_sliding_window or max_window_layers >= num_hidden_layers", _sets(use_sliding_window=False)),
    Option("use_sliding_window and S < sliding_window", _late_window(True)),
    Option("use_sliding_window and S >= sliding_window", _late_window(False)),
)
LATE_KIND = "use_sliding_window and sliding_window != null and i >= max_window_layers and 'sliding_attention' or 'full_attention'"


def gpt2(r):
    d = heads(r, {}, "n_embd", "n_head")
    d.update(
        n_layer=r.randint(3, 5),
        n_inner=r.randint(40, 200),
        vocab_size=r.randint(200, 900),
        n_positions=r.randint(100, 200),
        activation_function=r.choice(ACTIVATIONS),
        pad_token_id=0,
        resid_pdrop=drop(r),
        embd_pdrop=drop(r),
        attn_pdrop=drop(r),
        tie_word_embeddings=r.random() < 0.5,
        num_labels=r.randint(3, 19),
    )
    return d


def bert(r):
    d = heads(r, {})
    d.update(
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 200),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
        type_vocab_size=r.randint(2, 9),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        classifier_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
        tie_word_embeddings=r.random() < 0.5,
    )
    return d


def vit(r):
    d = heads(r, {})
    d.update(
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 200),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        num_labels=r.randint(3, 19),
        patch_size=r.randint(3, 7),
        num_channels=r.randint(3, 5),
        qkv_bias=r.random() < 0.5,
    )
    d["image_size"] = d["patch_size"] * r.randint(3, 9)
    return d


def _image(d, s, r):
    s["I"] = d["image_size"]


def t5(r):
    n, width = r.randint(3, 9), 2 * r.randint(3, 12)
    return dict(
        num_heads=n,
        d_kv=width,
        d_model=r.randint(40, 120),
        d_ff=r.randint(121, 240),
        num_layers=r.randint(3, 4),
        num_decoder_layers=r.randint(3, 5),
        vocab_size=r.randint(200, 900),
        relative_attention_num_buckets=4 * r.randint(5, 12),
        dropout_rate=drop(r),
        decoder_start_token_id=0,
    )


T5_AXES = (
    (
        Option("not is_gated_act", lambda d, s, r: d.update(feed_forward_proj=r.choice(("relu", "gelu")))),
        Option("is_gated_act", lambda d, s, r: d.update(feed_forward_proj=r.choice(("gated-gelu", "gated-silu")))),
    ),
    (Option("scale_decoder_outputs", lambda d, s, r: None), Option("not scale_decoder_outputs", _sets(tie_word_embeddings=False))),
)
T5_DERIVED = {
    "is_gated_act": "feed_forward_proj == 'gated-gelu' or feed_forward_proj == 'gated-silu'",
    "scale_decoder_outputs": "tie_word_embeddings != false",
    "dense_act_fn": "feed_forward_proj == 'gated-gelu' and 'gelu_new' or feed_forward_proj == 'gated-silu' and 'silu' or feed_forward_proj",
}
CLASSIFIER = {"classifier_dropout": "hidden_dropout_prob"}
HEAD = "hidden_size//num_attention_heads"


def own_width(extra):
    """Draws a head width as well: the code asks for a key that its config class does not name, and published files have it."""
    return lambda r, d: {"head_dim": d["hidden_size"] // d["num_attention_heads"] + 8 * r.randint(1, 3), **(extra(r, d) if extra else {})}


def standard(name, tasks=("causal-lm",), axes=(), fixed=(), extra=None, width=False, **more):
    """A family whose config class uses the usual key names; with `width`, files may name a `head_dim` that the class does not."""
    grouped = any(GQA[0] in axis for axis in axes)
    if "derived" not in more and "partial_rotary_factor" in more.pop("needs", ()):
        more["derived"] = {"partial_rotary_factor": "rope_parameters.partial_rotary_factor"}
    if width:
        more["derived"], extra = {"head_dim": HEAD, **more.get("derived", {})}, own_width(extra)
    return Family(lambda r: draw(name, r, grouped, fixed, extra), tasks=tasks, axes=axes, terms=more.pop("terms", (HEAD,)), **more)


PARTIAL = {"needs": ("partial_rotary_factor",)}
ENCODER = ("masked-lm", "seq-cls", "token-cls")
SEQ2SEQ = ("seq2seq-lm",)
BOTH_WINDOWS = WINDOW[:2]


def _switch(key):
    return (Option(key, _sets(**{key: True})), Option(f"not {key}", _sets(**{key: False})))
