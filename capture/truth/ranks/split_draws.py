"""Draws runs whose model, or whose sequences, are divided: tensor parallelism, experts, contexts, pipelines."""

from ..receipt_models import FAMILIES
from . import pipeline
from .experts import ATTENTION, EXPERTS, sized
from .options import DEPTHS, OPTIMIZERS, adapter, usual


PLANNED = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "phi3",
    "olmo",
    "olmo2",
    "granite",
    "starcoder2",
    "phi",
    "glm4",
    "cohere",
    "smollm3",
    "seed_oss",
)


# Families whose attention is causal and full in every layer, in modules that accelerate finds by their name.
WHOLE = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "phi3",
    "olmo",
    "olmo2",
    "granite",
    "starcoder2",
    "phi",
    "stablelm",
    "glm4",
    "cohere",
    "nemotron",
    "smollm3",
    "seed_oss",
    "mixtral",
)


# Families whose layers take the states as the layer before left them.
STAGED = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "phi3",
    "olmo",
    "olmo2",
    "starcoder2",
    "stablelm",
    "glm4",
    "nemotron",
    "smollm3",
    "seed_oss",
    "mixtral",
)


def split(r, number, more=False):
    """
    A run whose linear layers are split by transformers' plan: sizes that divide, heads of their own. `more`: with tied heads
    and adapters on what is split.
    """
    family = r.choice(PLANNED)
    dims, _ = FAMILIES[family]
    degree = r.choice((2, 4, 8))
    model = {"model_type": family, **dims(r)}
    for depth in DEPTHS:
        if depth in model and "layer_types" not in model and family not in ("gemma3_text", "cohere2"):
            model[depth] = r.choice((2, 3, 5))
    for rate in [key for key in model if "drop" in key]:
        model[rate] = 0.0
    groups, width = r.choice((1, 1, 2)), r.choice((8, 16, 32))
    heads = groups * degree * r.choice((1, 2, 3))
    model.update(
        num_key_value_heads=groups * degree,
        num_attention_heads=heads,
        hidden_size=heads * width,
        intermediate_size=degree * 8 * r.randint(3, 40),
        vocab_size=degree * r.randint(40, 1200),
        tie_word_embeddings=False,
    )
    if "head_dim" in model:
        model["head_dim"] = width
    case = {
        "id": f"tensor-{number}-{family}",
        "model": model,
        "task": "causal-lm",
        **usual(r, ("adamw_torch_fused", "adamw_torch"), (1, 1, 2, 3)),
        "ranks": {"kind": "tensor", "world": degree},
    }
    if case["gradient_checkpointing"] and r.random() < 0.3:
        case["use_reentrant"] = True
    if more:
        case["id"] = f"tensor-more-{number}-{family}"
        model["tie_word_embeddings"] = r.random() < 0.5
        linears = FAMILIES[family][1]
        if r.random() < 0.7:
            case["peft"] = adapter(r, linears)
            case.pop("use_reentrant", None)
    return case


def routed(r, number, by_experts):
    """A run whose experts are split by transformers' plan: each by its columns and rows, or whole ones over GPUs (`enable_expert_parallel`)."""
    family = r.choice(tuple(EXPERTS))
    degree = r.choice((2, 4, 8))
    kind = f"tensor-{'experts' if by_experts else 'routed'}"
    case = {
        "id": f"{kind}-{number}-{family}",
        "model": {"model_type": family, **sized(r, EXPERTS[family](r), degree), "tie_word_embeddings": False},
        "task": "causal-lm",
        **usual(r, ("adamw_torch_fused", "adamw_torch"), (1, 1, 2, 3)),
        "ranks": {"kind": "tensor", "world": degree, "by_experts": by_experts},
    }
    # Grouped products are of 16 bits, which autocast leaves as they are.
    case["load_dtype"] = "bfloat16"
    if r.random() < 0.3:
        case["peft"] = adapter(r, ATTENTION)
    return case


def exchanging(r, number):
    """A run whose sequences are split by exchanging tokens for heads; lengths are the whole sequences'."""
    case = around(r, number)
    ranks, model = case["ranks"], case["model"]
    degree = ranks.pop("context")
    for key in ("rotate", "rank"):
        ranks.pop(key, None)
    groups = r.choice((1, 2, degree, 2 * degree))
    width = r.choice((8, 16, 32, 64))
    model.update(num_key_value_heads=groups, num_attention_heads=degree * groups * r.choice((1, 2)))
    model["hidden_size"] = model["num_attention_heads"] * width
    if "head_dim" in model:
        model["head_dim"] = width
    ranks["exchange"] = degree
    return {**case, "id": f"exchange-{number}-{model['model_type']}"}


def around(r, number):
    """A run whose sequences are split: attention is causal and full in every layer, as accelerate asks for."""
    family = r.choice(WHOLE)
    dims, linears = FAMILIES[family]
    model = {"model_type": family, **dims(r)}
    for depth in DEPTHS:
        if depth in model:
            model[depth] = r.choice((2, 3, 5))
    for rate in [key for key in model if "drop" in key]:
        model[rate] = 0.0
    if model.get("sliding_window"):
        model["sliding_window"] = None
    model.pop("use_sliding_window", None)
    # Heads of other widths would be padded, which torch's distributed tensors undo the split for.
    width = r.choice((8, 16, 24, 32, 64, 128))
    model["hidden_size"] = model["num_attention_heads"] * width
    if "head_dim" in model:
        model["head_dim"] = width
    degree = r.choice((2, 2, 4, 8))
    kind = r.choice(("fsdp2", "fsdp2", "blocks"))
    case = {
        "id": f"context-{number}-{family}",
        "model": model,
        "task": "causal-lm",
        "batch": r.choice((1, 1, 2, 3)),
        "seq": 2 * degree * r.randint(3, 90),
        "load_dtype": r.choice(("float32", "bfloat16")),
        "bf16": r.random() < 0.85,
        "attn": "sdpa",
        "attention_mask": True,
        "gradient_checkpointing": r.random() < 0.3,
        "optim": r.choice(OPTIMIZERS),
        "grad_accum": r.choice((1, 1, 2, 3)),
        "max_grad_norm": r.choice((1.0, 1.0, 0)),
        "ranks": {"kind": kind, "world": degree * r.choice((1, 1, 2, 4, 8)), "context": degree},
    }
    ranks = case["ranks"]
    if r.random() < 0.4:
        ranks["rotate"] = "alltoall"
    if r.random() < 0.5:
        ranks["rank"] = r.randint(1, degree - 1)
    if kind == "fsdp2" and r.random() < 0.3:
        case["peft"] = adapter(r, linears)
    # Parameters that do not divide leave later ranks smaller shards; the first is the fullest.
    uneven = any(model.get(size, 0) % ranks["world"] for size in ("hidden_size", "intermediate_size", "vocab_size"))
    if "peft" in case or uneven:
        ranks.pop("rank", None)
    return case


def depth_of(model):
    return next(depth for depth in DEPTHS if depth in model)


def staged(r, number, sharded, interleaved=False, bubbles=False):
    """A run whose layers are divided over the stages of a pipeline, and which of them is looked at; each may be spread over ranks."""
    family = r.choice(STAGED)
    dims, _ = FAMILIES[family]
    stages = r.choice((2, 2, 3, 4, 8))
    model = {"model_type": family, **dims(r), "tie_word_embeddings": False}
    for depth in DEPTHS:
        if depth in model:
            model[depth] = stages * r.choice((1, 2, 3)) + r.choice((0, 0, 1))
    for rate in [key for key in model if "drop" in key]:
        model[rate] = 0.0
    if model.get("sliding_window"):
        model["sliding_window"] = None
    model.pop("use_sliding_window", None)
    case = {
        "id": f"pipeline-{'sharded-' * sharded}{number}-{family}",
        "model": model,
        "task": "causal-lm",
        "batch": r.choice((1, 1, 2, 4)),
        "seq": r.choice((r.randint(7, 65), r.randint(66, 400), 128, 256)),
        "load_dtype": r.choice(("float32", "bfloat16", "bfloat16")),
        "bf16": False,
        "attn": r.choice(("sdpa", "sdpa", "eager")),
        "gradient_checkpointing": r.random() < 0.3,
        "optim": r.choice(OPTIMIZERS),
        "grad_accum": stages * r.choice((1, 1, 2)) + r.choice((0, 0, 1)),
        "max_grad_norm": r.choice((1.0, 1.0, 0)),
        "ranks": {
            "kind": "pipeline",
            "world": stages,
            "schedule": r.choice(("1F1B", "1F1B", "GPipe")),
            "stage": r.choice((0, 0, stages - 1, min(1, stages - 1))),
        },
    }
    if interleaved:
        each = r.choice((2, 2, 3))
        model[depth_of(model)] = stages * each * r.choice((1, 2))
        case["grad_accum"] = stages * r.choice((1, 2, 2, 3))
        case["ranks"] |= {"schedule": "Interleaved1F1B", "stages": each}
        case["id"] = f"pipeline-interleaved-{number}-{family}"
    if bubbles:
        schedule = r.choice(("LoopedBFS", "InterleavedZeroBubble", "InterleavedZeroBubble", "ZBVZeroBubble", "ZBVZeroBubble", "DualPipeV"))
        if schedule in pipeline.FOLDED:
            each = 2
            model[depth_of(model)] = stages * each * r.choice((1, 2))
            case["grad_accum"] = 2 * stages * r.choice((1, 2))
        case["ranks"] |= {"schedule": schedule, "stages": each}
        case["gradient_checkpointing"] = False
        case["id"] = f"pipeline-bubbles-{number}-{family}"
    if sharded:
        case["ranks"]["shards"] = r.choice((2, 4, 8, 64))
        case["bf16"] = r.random() < 0.8
        case["load_dtype"] = "float32"
    return case
