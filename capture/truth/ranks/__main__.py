"""Makes receipts of sharded runs: drawn models and options, run by the libraries on fake CUDA tensors of one rank.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.ranks --oracle ORACLE.py [--kind fsdp2 fsdp1 blocks] [--count N] [--first N]

Receipts go to `test/core/receipts/ranks/<kind>.jsonl`, one a line; numbers already there are kept.
"""

import argparse
import contextlib
import gc
import json
import pathlib
import random
import sys
import time

from ..receipts import FAMILIES, ROOT, alone, load
from . import context, copies, evaluating, generating, group, handing, heads, packing, pipeline, replicas, saving
from .experts import ATTENTION, EXPERTS, sized
from .sharding import KINDS, Sharded, mesh_of, split_layers
from ..rows import drawn_in

KEPT = ("peak_allocated", "peak_reserved", "peak_phase", "phase_peaks")
WORLDS = (2, 3, 4, 8, 8, 16, 24, 64, 256, 1024)
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
# Families whose linear layers are all `nn.Linear`, in the dtype of the norms around them.
LINEAR = ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "olmo2", "granite", "stablelm", "starcoder2", "smollm3")
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
DEPTHS = ("num_hidden_layers", "n_layer")
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


def wrap(case, model):
    """Adapters and checkpointing as the Trainer puts them in before the model is sharded."""
    adapter = case.get("peft")
    if case["gradient_checkpointing"]:
        model.config.use_cache = False
        model.gradient_checkpointing_enable({"use_reentrant": case.get("use_reentrant", False)})
    if adapter:
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(
            model,
            LoraConfig(
                r=adapter["r"],
                lora_alpha=adapter["alpha"],
                lora_dropout=adapter["dropout"],
                target_modules=adapter["target_modules"],
                task_type="CAUSAL_LM",
                use_dora=adapter.get("dora", False),
            ),
        )
    return model


def adafactor(groups):
    from transformers.optimization import Adafactor

    return Adafactor(groups, lr=1e-4, scale_parameter=False, relative_step=False)


def in_eight_bits(kind, groups, model):
    """bitsandbytes' optimizers as the Trainer makes them: embeddings' states stay in 32 bits."""
    import bitsandbytes
    import torch

    bitsandbytes.functional.create_dynamic_map = lambda *_, **__: torch.empty(256, device="cpu")
    manager = bitsandbytes.optim.GlobalOptimManager.get_instance()
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    return getattr(bitsandbytes.optim, kind)(groups, lr=1e-4)


def optimizer_of(name, model, ndims, together=True):
    """The Trainer's optimizer, for all parameters together or one by one: weight decay goes by names, which sharding leaves alone where it flattens what they stand for."""
    import torch

    makes = {
        "adamw_torch_fused": lambda groups: torch.optim.AdamW(groups, lr=1e-4, fused=together, foreach=None if together else False),
        "adamw_torch": lambda groups: torch.optim.AdamW(groups, lr=1e-4, foreach=together),
        "sgd": lambda groups: torch.optim.SGD(groups, lr=1e-4, foreach=together),
        "sgd_momentum": lambda groups: torch.optim.SGD(groups, lr=1e-4, momentum=0.9, foreach=together),
        "rmsprop": lambda groups: torch.optim.RMSprop(groups, lr=1e-4, foreach=together),
        "adagrad": lambda groups: torch.optim.Adagrad(groups, lr=1e-4, foreach=together),
        "adafactor": adafactor,
        "adamw_bnb_8bit": lambda groups: in_eight_bits("AdamW8bit", groups, model),
        "lion_8bit": lambda groups: in_eight_bits("Lion8bit", groups, model),
    }
    decayed, others = [], []
    for path, parameter in model.named_parameters():
        plain = path.replace("_fsdp_wrapped_module.", "").replace("_checkpoint_wrapped_module.", "")
        if parameter.requires_grad:
            (decayed if ndims.get(plain, 2) > 1 else others).append(parameter)
    return makes[name]([{"params": group, "weight_decay": 0.0} for group in (decayed, others) if group])


def run_stage(oracle, case):
    """Two steps of one stage in torch's own schedule, as torchtitan calls it: the first is given tokens, the last labels."""
    import torch

    ranks, ledger = case["ranks"], oracle.Ledger()
    with contextlib.ExitStack() as within:
        shards = ranks.get("shards", 1)
        within.enter_context(group.of(ranks["world"] * shards, ranks["stage"] * shards))
        sizes = (ranks["world"], shards)
        mesh = torch.distributed.device_mesh.init_device_mesh("cuda", sizes, mesh_dim_names=("pp", "dp_shard_cp"))
        within.enter_context(oracle.FakeTensorMode(allow_non_fake_inputs=True))
        within.enter_context(ledger)
        config, model = oracle.build(case)
        each = ranks.get("stages", 1)
        all_bounds = pipeline.bounds(len(model.model.layers), ranks["world"] * each)
        bounds = [all_bounds[number] for number in pipeline.numbers(ranks)]
        model = wrap(case, model)
        parts = [pipeline.Part(model, first, end).train() for first, end in bounds]
        if shards > 1:
            # Parameters stay whole while a pipeline runs (torchtitan/models/llama3/infra/parallelize.py).
            whole = {**case, "ranks": {"reshard": False, "reduce_dtype": "float32"}}
            for part in parts:
                KINDS["blocks"](whole, part, mesh["dp_shard_cp"])
        del model
        schedule = pipeline.scheduled(case, parts, mesh, config.vocab_size)
        gc.collect()
        ledger.phase = "optimizer-init"
        loaded = len(ledger.events)
        rank = torch.nn.ModuleList(parts)
        optimizer = optimizer_of(case["optim"], rank, {name: parameter.ndim for name, parameter in rank.named_parameters()})
        parameters = list(rank.parameters())
        starts, ends = any(part.starts for part in parts), any(part.ends for part in parts)
        rows = case["batch"] * case["grad_accum"]
        for step in (1, 2):
            ledger.phase = f"data{step}"
            tokens = torch.zeros(rows, case["seq"], dtype=torch.long, device="cuda") if starts or ends else None
            ledger.phase = f"forward{step}"
            given = (tokens,) if starts else ()
            schedule.step(*given, target=tokens if ends else None, losses=[] if ends else None, return_outputs=False)
            ledger.phase = f"clip{step}"
            if case["max_grad_norm"]:
                torch.nn.utils.clip_grad_norm_(parameters, case["max_grad_norm"])
            ledger.phase = f"step{step}"
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    events = list(ledger.events)
    result = oracle.summarize(events, ledger.size, {})
    return {**result, "peak_reserved": oracle.replay_allocator(events, loaded)}, events


def whole(case, model, modes):
    """Every rank has all of it."""
    if case["ranks"]["kind"] == "replicas":
        return replicas.replicas(case, model)
    model = copies.wrapped(case, model, modes)
    return Sharded(model, accumulating=lambda last: contextlib.nullcontext() if last else model.no_sync())


def run(oracle, case):
    """Two steps of the Trainer's loop on one rank."""
    import torch

    ledger = oracle.Ledger()
    with contextlib.ExitStack() as within:
        ranks = case["ranks"]
        within.enter_context(group.of(ranks["world"], ranks.get("rank", 0)))
        mesh = mesh_of(ranks)
        shards = mesh["dp_shard_cp"] if "context" in ranks else mesh
        if "context" in ranks:
            context.prepare(ranks)
        fake = within.enter_context(oracle.FakeTensorMode(allow_non_fake_inputs=True))
        within.enter_context(ledger)
        config, model = oracle.build(case)
        if "storage" in case.get("quant", {}):
            packing.store(model, case["quant"]["storage"])
        model.train()
        if ranks["kind"] == "tensor":
            split_layers(model, mesh, ranks.get("by_experts", False))
        model = wrap(case, model)
        ndims = {name: parameter.ndim for name, parameter in model.named_parameters()}
        if "context" in ranks:
            from accelerate.big_modeling import _attach_context_parallel_hooks

            _attach_context_parallel_hooks(model)
        if "exchange" in ranks:
            heads.prepare(model, ranks["exchange"], case["batch"])
        sharded = whole(case, model, (fake, ledger)) if ranks["kind"] in COPIED else KINDS[ranks["kind"]](case, model, shards)
        del model
        if ranks.get("hands_over"):
            handing.over(sharded.model, ledger, fsdp_version={"fsdp1": 1, "fsdp2": 2}[ranks["kind"]])
        ledger.phase = "optimizer-init"
        loaded = len(ledger.events)
        optimizer = optimizer_of(case["optim"], sharded.model, ndims, sharded.together)
        parameters = [parameter for parameter in sharded.model.parameters() if parameter.requires_grad]
        # Hooks that compress begin with the second step.
        for step in (1, 1, 2) if "compression" in ranks else (1, 2):
            for micro in range(case["grad_accum"]):
                with sharded.accumulating(micro == case["grad_accum"] - 1):
                    ledger.phase = f"data{step}"
                    exchanges = ranks.get("exchange")
                    given = {**case, "batch": case["batch"] * ranks["world"]} if ranks["kind"] == "replicas" else case
                    batch = heads.shared(case, exchanges) if exchanges else oracle.inputs_for(given, config)
                    counted = torch.zeros((), dtype=torch.long, device="cuda")
                    with context.split(mesh, batch) if "context" in ranks else contextlib.nullcontext():
                        ledger.phase = f"forward{step}"
                        outputs = sharded.forward(**batch, use_cache=False, num_items_in_batch=counted)
                        loss = outputs["loss"]
                        del outputs, batch, counted
                        ledger.phase = f"backward{step}"
                        loss.backward()
                        del loss
            ledger.phase = f"clip{step}"
            if case["max_grad_norm"]:
                sharded.clip(parameters, case["max_grad_norm"])
            ledger.phase = f"step{step}"
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if "generate" in case:
            generating.generate(oracle, case, sharded.model, ledger)
        if "eval" in case:
            evaluating.evaluate(oracle, case, sharded.model, optimizer, ledger)
        if ranks.get("saves"):
            saving.save(ranks, sharded.model, optimizer, ledger)
    events = list(ledger.events)
    result = oracle.summarize(events, ledger.size, {})
    return {**result, "peak_reserved": oracle.replay_allocator(events, loaded)}, events


def receipt(oracle, case, out):
    begun = time.time()
    try:
        result, _ = (run_stage if case["ranks"]["kind"] == "pipeline" else run)(oracle, case)
        row = {"case": case, "result": {key: result[key] for key in KEPT}}
    except Exception as error:  # what the libraries refuse is told, never dropped
        row = {"case": case, "error": f"{type(error).__name__}: {str(error)[:300]}"}
    print(case["id"], row.get("error") or row["result"]["peak_allocated"], f"{time.time() - begun:.0f} s", file=sys.stderr, flush=True)
    if "result" in row:
        with open(out, "a") as file:
            file.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--kind", nargs="+", default=EVERY, choices=EVERY)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "test" / "core" / "receipts" / "ranks")
    args = parser.parse_args()
    oracle = load(args.oracle)
    group.prepare(oracle)
    saving.prepare()
    copies.counting_on_host(oracle)
    import torch

    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    for kind in args.kind:
        out = args.out / f"{kind}.jsonl"
        known = drawn_in(out)
        for number in range(args.first, args.first + args.count):
            case = draw(kind, number)
            if case["id"] not in known:
                alone(lambda: receipt(oracle, case, out))


if __name__ == "__main__":
    main()
