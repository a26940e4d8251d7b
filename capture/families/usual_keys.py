"""Draws config points from a config class's own keys, for families that use the usual names."""

import functools

ACTIVATIONS = ("silu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_decoder_layers")
WIDTHS = (
    "intermediate_size",
    "ffn_dim",
    "ffn_hidden_size",
    "n_inner",
    "d_ff",
    "hidden_dim",
    "encoder_ffn_dim",
    "decoder_ffn_dim",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "pooler_hidden_size",
)
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len")
ACTS = ("hidden_act", "activation_function", "hidden_activation", "activation")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
PARTIAL = ("partial_rotary_factor",)


@functools.cache
def stored(name):
    """Keys and defaults of the family's config class."""
    from ..recording.run import make_config

    return make_config(name, {}).to_dict()


def drop(r):
    return r.randint(20, 300) / 1000


def draw(name, r, grouped=False, fixed=(), extra=None):
    """One config point: every key of the class whose meaning is known by its name is drawn; `fixed` keys are left alone."""
    default, d = stored(name), {"num_labels": r.randint(3, 19)}
    has = lambda keys: [k for k in keys if k in default and k not in fixed]
    kv, groups = r.randint(2, 4), r.choice((2, 3))
    heads = kv * groups if grouped else r.randint(3, 9)
    width = 8 * r.randint(1, 4)
    for k in has(HEADS):
        d[k] = heads
    for k in has(("decoder_attention_heads",)):
        d[k] = heads
    for k in has(HIDDEN):
        d[k] = heads * width
    if grouped:
        d["num_key_value_heads"] = kv
    if "head_dim" in default and "head_dim" not in fixed:
        d["head_dim"] = width + 8 * r.randint(1, 3)
    for k in has(LAYERS):
        d[k] = r.randint(3, 4)
    for k in has(WIDTHS):
        d[k] = r.randint(40, 240)
    for k in has(POSITIONS):
        d[k] = r.randint(100, 200)
    for k in has(ACTS):
        d[k] = r.choice(ACTIVATIONS)
    for k in has(EXPERTS):
        d[k] = r.randint(4, 9)
    for k in has(("num_experts_per_tok",)):
        d[k] = r.randint(2, 4)
    for k in has(PARTIAL):
        d[k] = r.choice((0.25, 0.5, 0.75))
    for k in has(("type_vocab_size", "embedding_size")):
        d[k] = r.randint(2, 9) if k == "type_vocab_size" else r.randint(12, 40)
    d["vocab_size"] = r.randint(200, 900)
    for k, v in default.items():
        if k in fixed or k in d:
            continue
        if isinstance(v, bool):
            if "bias" in k and "position" not in k and "relative" not in k:
                d[k] = r.random() < 0.5
        elif isinstance(v, (int, float)) and ("dropout" in k or "pdrop" in k) or k == "classifier_dropout":
            d[k] = drop(r)
    if "tie_word_embeddings" in default and "tie_word_embeddings" not in fixed:
        d["tie_word_embeddings"] = r.random() < 0.5
    if "pad_token_id" in default and default["pad_token_id"] is None or default.get("pad_token_id", 0) not in (0, 1):
        d["pad_token_id"] = 0
    if default.get("layer_types") and "layer_types" not in fixed:
        kinds = sorted(set(default["layer_types"]))
        n = d[has(LAYERS)[0]]
        d["layer_types"] = [*kinds, *(r.choice(kinds) for _ in range(n))][:n]
        r.shuffle(d["layer_types"])
    d.update(extra(r, d) if extra else {})
    return d
