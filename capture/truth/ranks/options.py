"""What every drawn run on ranks may have: worlds, optimizers, adapters, batch and precision."""

WORLDS = (2, 3, 4, 8, 8, 16, 24, 64, 256, 1024)


# Families whose linear layers are all `nn.Linear`, in the dtype of the norms around them.
LINEAR = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "olmo2", "granite", "stablelm", "starcoder2", "smollm3")


DEPTHS = ("num_hidden_layers", "n_layer")


OPTIMIZERS = ("adamw_torch_fused", "adamw_torch", "sgd", "sgd_momentum", "rmsprop", "adagrad")


def adapter(r, linears):
    """LoRA on some of a family's linear layers."""
    return {
        "r": r.choice((1, 3, 8, 16, 64)),
        "alpha": 16,
        "dropout": 0.0,
        "target_modules": r.sample(list(linears), r.randint(1, len(linears))),
    }


def usual(r, optimizers, accumulations):
    """Batch, precision, attention and step of a run, drawn in this order."""
    return {
        "batch": r.choice((1, 2, 3)),
        "seq": r.choice((r.randint(7, 65), r.randint(66, 400), 128, 256)),
        "load_dtype": r.choice(("float32", "bfloat16")),
        "bf16": r.random() < 0.7,
        "attn": r.choice(("sdpa", "sdpa", "eager")),
        "gradient_checkpointing": r.random() < 0.3,
        "optim": r.choice(optimizers),
        "grad_accum": r.choice(accumulations),
        "max_grad_norm": r.choice((1.0, 1.0, 0)),
    }
