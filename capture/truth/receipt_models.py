"""Models of receipts: for each family that receipts are drawn of first, how its config keys are drawn, and its linear layers."""

ACTIVATIONS = ("silu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu2")


LLAMA_LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


WIDTHS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 26, 32, 40, 64, 72)


def drop(r):
    return r.choice((0.0, 0.0, 0.1, 0.25))


def base(r, layers="num_hidden_layers", vocab=True):
    d = {layers: r.choice((2, 2, 3))}
    if vocab:
        d["vocab_size"] = r.choice((r.randint(200, 900), r.randint(3000, 9000)))
    return d


def attention_heads(r, d, hidden="hidden_size", heads="num_attention_heads", widths=WIDTHS):
    d[heads] = r.randint(2, 9)
    d[hidden] = d[heads] * r.choice(widths)
    return d


def grouped(r, d, head_dim=True):
    """Grouped or full key-value heads; sometimes a head width that hidden size does not give."""
    kv = r.randint(1, 4)
    d["num_key_value_heads"] = kv
    d["num_attention_heads"] = kv * r.choice((1, 1, 2, 3))
    width = r.choice(WIDTHS)
    d["hidden_size"] = d["num_attention_heads"] * width
    if head_dim and r.random() < 0.5:
        d["head_dim"] = r.choice(WIDTHS)
    d["intermediate_size"] = r.randint(31, 700)
    d["max_position_embeddings"] = 2048
    return d


def decoder(r, head_dim=True, act="hidden_act", biases=(), more=None):
    d = grouped(r, base(r), head_dim)
    d["pad_token_id"] = 0
    d["tie_word_embeddings"] = r.random() < 0.5
    if r.random() < 0.5:
        d["attention_dropout"] = drop(r)
    if r.random() < 0.5:
        d[act] = r.choice(ACTIVATIONS)
    for bias in biases:
        d[bias] = r.random() < 0.5
    if more:
        more(r, d)
    return d


def window(r, d):
    d["sliding_window"] = r.choice((None, r.randint(5, 60), 4096))


def late_window(r, d):
    if r.random() < 0.4:
        d.update(use_sliding_window=True, sliding_window=r.randint(5, 90), max_window_layers=r.randint(0, d["num_hidden_layers"]))


def phi_more(r, d):
    window(r, d)
    d["resid_pdrop"], d["embd_pdrop"] = drop(r), drop(r)


def gemma_more(r, d):
    d["sliding_window"] = r.choice((r.randint(5, 60), 4096))
    d.setdefault("head_dim", r.choice(WIDTHS))


def starcoder_more(r, d):
    window(r, d)
    d["residual_dropout"], d["embedding_dropout"] = drop(r), drop(r)


def phi_classic_more(r, d):
    d["resid_pdrop"], d["embd_pdrop"], d["partial_rotary_factor"] = drop(r), drop(r), 0.5
    d["hidden_size"] = d["num_attention_heads"] * r.choice((8, 16, 24, 32, 64))


def gemma3_more(r, d):
    gemma_more(r, d)
    d["num_hidden_layers"] = r.choice((6, 7))  # every sixth layer attends to everything


def stablelm_more(r, d):
    d["hidden_dropout"] = drop(r)


def olmo3_more(r, d):
    d["sliding_window"] = r.choice((r.randint(5, 60), 4096))


def bloom(r):
    d = attention_heads(r, base(r, "n_layer"), "hidden_size", "n_head")
    d.update(hidden_dropout=drop(r), attention_dropout=drop(r), pad_token_id=0)
    return d


def glm_more(r, d):
    d["head_dim"] = r.choice((8, 16, 32, 64))


def bart(r):
    d = attention_heads(r, base(r, "encoder_layers"), "d_model", "encoder_attention_heads")
    d.update(
        decoder_layers=r.choice((2, 3)),
        decoder_attention_heads=d["encoder_attention_heads"],
        encoder_ffn_dim=r.randint(40, 500),
        decoder_ffn_dim=r.randint(40, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        max_position_embeddings=1024,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    return d


def mixtral_more(r, d):
    window(r, d)
    d["num_local_experts"], d["num_experts_per_tok"] = r.randint(4, 8), 2


def gpt2(r):
    d = attention_heads(r, base(r, "n_layer"), "n_embd", "n_head")
    d.update(
        n_positions=1024, resid_pdrop=drop(r), embd_pdrop=drop(r), attn_pdrop=drop(r), tie_word_embeddings=r.random() < 0.7, pad_token_id=0
    )
    if r.random() < 0.5:
        d["n_inner"] = r.randint(40, 700)
    if r.random() < 0.5:
        d["activation_function"] = r.choice(ACTIVATIONS)
    return d


def opt(r):
    d = attention_heads(r, base(r))
    d.update(
        ffn_dim=r.randint(40, 700),
        max_position_embeddings=1024,
        dropout=drop(r),
        attention_dropout=drop(r),
        tie_word_embeddings=r.random() < 0.7,
        enable_bias=r.random() < 0.7,
        do_layer_norm_before=r.random() < 0.6,
    )
    d["word_embed_proj_dim"] = r.choice((d["hidden_size"], d["hidden_size"], r.randint(20, 200)))
    if r.random() < 0.4:
        d["activation_function"] = r.choice(ACTIVATIONS)
    return d


def gpt_neox(r):
    d = attention_heads(r, base(r), widths=(8, 16, 24, 32, 64, 72))
    d.update(
        intermediate_size=r.randint(40, 700),
        max_position_embeddings=1024,
        hidden_dropout=drop(r),
        attention_dropout=drop(r),
        tie_word_embeddings=r.random() < 0.3,
        use_parallel_residual=r.random() < 0.6,
        attention_bias=r.random() < 0.7,
        pad_token_id=0,
        rotary_pct=r.choice((0.25, 0.5)),
    )
    return d


def bert(r):
    d = attention_heads(r, base(r))
    d.update(
        intermediate_size=r.randint(40, 700),
        max_position_embeddings=1024,
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        type_vocab_size=r.randint(1, 3),
    )
    if r.random() < 0.4:
        d["hidden_act"] = r.choice(ACTIVATIONS)
    return d


def distilbert(r):
    d = attention_heads(r, base(r, "n_layers"), "dim", "n_heads")
    d.update(
        hidden_dim=r.randint(40, 700),
        max_position_embeddings=1024,
        dropout=drop(r),
        attention_dropout=drop(r),
        seq_classif_dropout=drop(r),
        activation=r.choice(("gelu", "relu")),
    )
    return d


def vit(r):
    d = attention_heads(r, base(r, vocab=False))
    d.update(
        intermediate_size=r.randint(40, 700),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        qkv_bias=r.random() < 0.7,
        patch_size=r.choice((4, 7, 8, 16)),
        num_labels=r.randint(2, 30),
    )
    d["image_size"] = d["patch_size"] * r.randint(3, 12)
    return d


def t5(r):
    d = base(r, "num_layers")
    d.update(
        num_decoder_layers=r.choice((2, 3)),
        num_heads=r.randint(2, 8),
        d_kv=r.choice(WIDTHS),
        d_model=r.randint(40, 300),
        d_ff=r.randint(40, 700),
        dropout_rate=drop(r),
        feed_forward_proj=r.choice(("relu", "gated-gelu", "gated-silu")),
        tie_word_embeddings=r.random() < 0.6,
    )
    return d


FAMILIES = {
    "llama": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "mistral": (lambda r: decoder(r, more=window), LLAMA_LINEARS),
    "qwen2": (lambda r: decoder(r, head_dim=False, more=late_window), LLAMA_LINEARS),
    "qwen3": (lambda r: decoder(r, biases=("attention_bias",), more=late_window), LLAMA_LINEARS),
    "gemma2": (lambda r: decoder(r, act="hidden_activation", biases=("attention_bias",), more=gemma_more), LLAMA_LINEARS),
    "phi3": (lambda r: decoder(r, head_dim=False, more=phi_more), ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")),
    "mixtral": (lambda r: decoder(r, more=mixtral_more), LLAMA_LINEARS[:4]),
    "gpt2": (gpt2, ("c_attn", "c_proj", "c_fc")),
    "opt": (opt, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "gpt_neox": (gpt_neox, ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")),
    "bert": (bert, ("query", "key", "value", "dense")),
    "roberta": (bert, ("query", "key", "value", "dense")),
    "distilbert": (distilbert, ("q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2")),
    "vit": (vit, ("q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2")),
    "xlm-roberta": (bert, ("query", "key", "value", "dense")),
    "electra": (lambda r: {**bert(r), "embedding_size": r.randint(20, 90)}, ("query", "key", "value", "dense")),
    "gemma": (
        lambda r: decoder(
            r, act="hidden_activation", biases=("attention_bias",), more=lambda r, d: d.setdefault("head_dim", r.choice(WIDTHS))
        ),
        LLAMA_LINEARS,
    ),
    "gemma3_text": (lambda r: decoder(r, act="hidden_activation", biases=("attention_bias",), more=gemma3_more), LLAMA_LINEARS),
    "olmo2": (lambda r: decoder(r, head_dim=False, biases=("attention_bias",)), LLAMA_LINEARS),
    "granite": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "ministral": (lambda r: decoder(r, more=gemma_more), LLAMA_LINEARS),
    "starcoder2": (
        lambda r: decoder(r, head_dim=False, biases=("use_bias",), more=starcoder_more),
        ("q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj"),
    ),
    "phi": (lambda r: decoder(r, head_dim=False, more=phi_classic_more), ("q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2")),
    "gpt_bigcode": (lambda r: gpt2(r), ("c_attn", "c_proj", "c_fc")),
    "stablelm": (lambda r: decoder(r, head_dim=False, biases=("use_qkv_bias", "use_parallel_residual"), more=stablelm_more), LLAMA_LINEARS),
    "glm": (lambda r: decoder(r, biases=("attention_bias",), more=glm_more), LLAMA_LINEARS[:4]),
    "glm4": (lambda r: decoder(r, biases=("attention_bias",), more=glm_more), LLAMA_LINEARS[:4]),
    "cohere": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "use_qk_norm")), LLAMA_LINEARS),
    "nemotron": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "olmo": (lambda r: decoder(r, head_dim=False, biases=("attention_bias",)), LLAMA_LINEARS),
    "smollm3": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "exaone4": (lambda r: {**decoder(r), "num_hidden_layers": r.choice((4, 5))}, LLAMA_LINEARS),
    "bart": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "mt5": (t5, ("q", "k", "v", "o", "wi_0", "wi_1", "wo")),
    "mbart": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "pegasus": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "deit": (vit, ("q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2")),
    "seed_oss": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "cohere2": (lambda r: {**decoder(r, biases=("attention_bias",), more=gemma_more), "num_hidden_layers": 4}, LLAMA_LINEARS),
    "olmo3": (lambda r: {**decoder(r, head_dim=False, biases=("attention_bias",), more=olmo3_more), "num_hidden_layers": 4}, LLAMA_LINEARS),
    "bloom": (bloom, ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")),
    "t5": (t5, ("q", "k", "v", "o", "wi", "wo")),
}
