"""Settings of small models that ways of training are drawn on."""

GROUPED = {"num_hidden_layers": 2, "num_key_value_heads": 2, "pad_token_id": 0, "max_position_embeddings": 2048}
DTYPES = ("float32", "bfloat16")


def llama(r):
    heads = r.choice((2, 4, 6))
    return {
        "model_type": "llama",
        **GROUPED,
        "num_attention_heads": heads,
        "hidden_size": heads * r.choice((16, 24, 40)),
        "intermediate_size": r.randint(120, 500),
        "vocab_size": r.randint(200, 3000),
        "tie_word_embeddings": r.random() < 0.5,
        "attention_bias": r.random() < 0.5,
    }


def gpt2(r):
    heads = r.choice((2, 4))
    return {
        "model_type": "gpt2",
        "n_layer": 2,
        "n_head": heads,
        "n_embd": heads * r.choice((16, 24, 40)),
        "vocab_size": r.randint(200, 3000),
    }
