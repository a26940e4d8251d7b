"""Draws sharded runs: models, options and ranks of a kind and a number."""

import random
from ..receipt_models import FAMILIES
from .experts import ATTENTION, EXPERTS
from .sharding import KINDS
from .options import DEPTHS, LINEAR, OPTIMIZERS, WORLDS, adapter, usual
from .split_draws import around, exchanging, routed, split, staged


DECODERS = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "phi3",
    "gpt2",
    "opt",
    "gpt_neox",
    "olmo",
    "olmo2",
    "granite",
    "starcoder2",
    "phi",
    "gpt_bigcode",
    "stablelm",
    "glm4",
    "cohere",
    "nemotron",
    "smollm3",
    "cohere2",
    "bloom",
    "seed_oss",
)


SPLIT = (
    "context",
    "exchange",
    "tensor-more",
    "tensor-routed",
    "tensor-experts",
    "pipeline",
    "pipeline-sharded",
    "pipeline-interleaved",
    "pipeline-bubbles",
)


OFFLOADED = ("fsdp2-offload", "blocks-offload", "fsdp1-offload")


SAVED = ("fsdp2-saved", "fsdp1-saved")


EVALUATED = ("fsdp2-evaluated", "fsdp1-evaluated")


HANDED = ("fsdp2-handed", "fsdp1-handed")


GENERATED = ("fsdp2-generated", "fsdp1-generated")


PACKED = ("fsdp1-packed", "fsdp2-packed")


MORE = ("fsdp1-more", "fsdp2-more")


ROUTED = ("fsdp2-experts", "fsdp1-experts")


COPIED = ("ddp", "ddp-packed", "ddp-compressed", "replicas")


EVERY = (*KINDS, *COPIED, *OFFLOADED, *SAVED, *EVALUATED, *HANDED, *GENERATED, *PACKED, *MORE, *ROUTED, *SPLIT)


def draw(kind, number):
    """The case of a number."""
    r = random.Random(f"{kind}-{number}")
    if kind.startswith("pipeline"):
        return staged(r, number, kind.endswith("sharded"), kind.endswith(("interleaved", "bubbles")), kind.endswith("bubbles"))
    if kind == "tensor-more":
        return split(r, number, more=True)
    if kind == "exchange":
        return exchanging(r, number)
    if kind in ("tensor-routed", "tensor-experts"):
        return routed(r, number, by_experts=kind == "tensor-experts")
    kind, _, how = kind.partition("-")
    if kind == "tensor":
        return split(r, number)
    if kind == "context":
        return around(r, number)
    if how == "experts":
        family = r.choice(tuple(EXPERTS))
        dims, linears = EXPERTS[family], ATTENTION
    else:
        family = r.choice(LINEAR if how == "packed" else DECODERS)
        dims, linears = FAMILIES[family]
    model = {"model_type": family, **dims(r)}
    for depth in DEPTHS:
        if depth in model and "layer_types" not in model and family not in ("gemma3_text", "cohere2"):
            model[depth] = r.choice((2, 3, 5, 9))
    for rate in [key for key in model if "drop" in key]:
        model[rate] = 0.0
    world = r.choice(WORLDS)
    case = {
        "id": f"{kind}{how and '-'}{how}-{number}-{family}",
        "model": model,
        "task": "causal-lm",
        **usual(r, OPTIMIZERS, (1, 1, 2, 3, 5)),
        "ranks": {"kind": kind, "world": world},
    }
    if case["gradient_checkpointing"] and r.random() < 0.3:
        case["use_reentrant"] = True
    ranks = case["ranks"]
    if kind == "blocks":
        case["grad_accum"] = r.choice((1, 1, 2, 3))
        ranks["reduce_dtype"] = r.choice((None, "float32"))
        ranks["reshard"] = r.random() < 0.7
    else:
        if r.random() < 0.3:
            case["peft"] = adapter(r, linears)
        if not case["gradient_checkpointing"] and r.random() < 0.3:
            ranks["activation_checkpointing"] = True
    if kind == "ddp":
        ranks |= {
            option: r.choice(values)
            for option, values in {
                "find_unused_parameters": (True, False),
                "static_graph": (True,),
                "gradient_as_bucket_view": (True,),
                "bucket_cap_mb": (1, 5, 100),
            }.items()
            if r.random() < 0.3
        }
        ranks.pop("activation_checkpointing", None)
        # What becomes of logits is seen where they are large.
        model["vocab_size"] = r.choice((model["vocab_size"], 9000, 30000))
    if kind == "replicas":
        # One process has no autocast around its copies, and no more GPUs than a machine (transformers/trainer.py, _wrap_model).
        case["bf16"] = False
        ranks["world"] = r.choice((2, 3, 4, 8))
        ranks.pop("activation_checkpointing", None)
        case.pop("use_reentrant", None)
    if kind == "fsdp2":
        fewer = [size for size in (2, 4, 8) if world % size == 0 and size < world]
        ranks["reshard"] = r.choice((True, True, True, False, *fewer[:1]))
        if world % 8 == 0 and world > 8 and r.random() < 0.3:
            ranks["replicas"] = world // 8
            ranks["reshard"] = bool(ranks["reshard"])
    if kind == "fsdp1":
        ranks["strategy"] = r.choice(("FULL_SHARD", "FULL_SHARD", "SHARD_GRAD_OP"))
        ranks["prefetch"] = r.choice((None, "BACKWARD_PRE", "BACKWARD_POST"))
        if "peft" not in case:
            ranks["original"] = r.random() < 0.7
    if how == "offload":
        ranks["cpu_offload"] = True
    if how == "saved":
        ranks["saves"] = True
        if r.random() < 0.25:
            ranks["cpu_offload"] = True
    if how == "packed":
        case.update(load_dtype="bfloat16", bf16=True, quant={"type": "nf4", "double": r.random() < 0.5, "storage": "bfloat16"})
        case["peft"] = adapter(r, linears)
        ranks.pop("original", None)
        if kind == "ddp":
            case["quant"].pop("storage")
    if how == "compressed":
        for option in ("static_graph", "gradient_as_bucket_view", "find_unused_parameters"):
            ranks.pop(option, None)
        ranks["compression"] = r.choice(
            (
                {"casts": "float16"},
                {"casts": "bfloat16"},
                {"rank": 1},
                {"rank": 2},
                {"rank": 4, "feedback": False},
                {"rank": 1, "warm": False},
            )
        )
        ranks["find_unused_parameters"] = False
    if how == "more":
        # DoRA, a copy for every machine, states in 8 bits or factored.
        if r.random() < 0.5:
            case["peft"] = {**adapter(r, linears), "dora": True}
            # Parts of factors that keep their names have no rows to be asked for (peft/tuners/lora/dora.py, get_lora_weight).
            ranks["original"] = False
        case["optim"] = r.choice(
            ("adafactor", "adamw_bnb_8bit", "lion_8bit", "adamw_torch") if kind == "fsdp1" else ("adafactor", "adamw_torch")
        )
        if kind == "fsdp1" and world % 8 == 0 and world > 8:
            ranks["replicas"] = world // 8
            ranks["strategy"] = "HYBRID_SHARD"
    if how == "experts":
        case["bf16"] = True
    if how == "handed":
        ranks["hands_over"] = True
        # Flat parameters have no adapters merged into their parts.
        if kind == "fsdp1":
            case.pop("peft", None)
    if how == "generated":
        # Rows of embeddings are many, answers outlast a step's logits.
        model["vocab_size"] = r.choice((model["vocab_size"], 9000, 30000))
        case.update(batch=1, seq=r.randint(7, 40))
        case["generate"] = {"batch": r.choice((1, 2, 4)), "prompt": r.randint(5, 200), "new_tokens": r.choice((2, 9, 40))}
        if kind == "fsdp1" and r.random() < 0.4:
            case["generate"]["summons"] = "all"
    if how == "evaluated":
        ranks["world"] = r.choice((2, 4, 8, 16))
        ranks.pop("replicas", None)
        ranks["reshard"] = ranks.get("reshard", True) is not False
        case["eval"] = {
            "batch": r.choice((1, 2, 4, 8)),
            "batches": r.choice((1, 2, 3, 5)),
            "keeps": r.choice(("loss", "logits", "logits", "argmax")),
            "accumulation_steps": r.choice((None, None, 1, 2)),
            "concat": r.random() < 0.8,
        }
    return case
