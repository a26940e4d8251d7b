"""How a drawn model is trained: one value of every technique, chosen so that together the cases hold each pair of values.

A fault that shows in one family with one technique is found by drawing; one that needs two techniques at once is found sooner
when no pair is left out. `choose` takes, of several drawn cases, the one whose pairs nobody has seen.
"""

import itertools
import re

from .adapter_cases import EXPERTS

PEFT_TASKS = ("causal-lm", "seq2seq-lm")
"""Tasks for which peft has a kind of model of its own that the oracle's models take."""
PRECISIONS = (
    *(("float32", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", None), ("bfloat16", "bf16")) * 3,
    ("float16", None),
    ("float16", "fp16"),
    ("float16", "bf16"),
    ("bfloat16", "fp16"),
)
PLAIN = ("adamw_torch", "adamw_torch_fused", "sgd", "sgd_momentum", "rmsprop", "adagrad", "adafactor", "adamw_bnb_8bit", "lion_8bit")
"""Optimizers the oracle makes itself."""
OTHERS = (
    "adamw_8bit",
    "lion_32bit",
    "ademamix",
    "ademamix_8bit",
    "rmsprop_bnb",
    "rmsprop_bnb_8bit",
    "rmsprop_bnb_32bit",
    "grokadamw",
    "schedule_free_adamw",
    "schedule_free_radam",
    "schedule_free_sgd",
    "lomo",
    "adalomo",
)
"""Further values of `optim` that run on fake tensors, made as transformers makes them."""
PROJECTED = ("galore_adamw", "galore_adafactor", "galore_adamw_8bit", "apollo_adamw")
"""Those that stand for an adapter, and are drawn without one."""
CHECKPOINTING = (
    {},
    {"gradient_checkpointing": True},
    {"gradient_checkpointing": True, "use_reentrant": True},
    {"gradient_checkpointing": True, "use_reentrant": False},
)
BASES = (
    None,
    None,
    None,
    {"type": "int8"},
    {"type": "int8"},
    *({"type": kind, "double": double} for kind in ("nf4", "fp4") for double in (True, False)),
)
RANKS = (4, 8, 16, 64, 7, 1)

ADAPTERS = {
    "full": ({},),
    "lora": (
        {},
        {"dropout": 0.05},
        {"bias": "all"},
        {"bias": "lora_only"},
        {"autocast_adapter_dtype": False},
        {"layers_to_transform": [1]},
    ),
    "rslora": ({"use_rslora": True},),
    "dora": ({"dora": True}, {"dora": True, "dropout": 0.05}),
    "lora and whole modules": ({"modules_to_save": True},),
    "lora and tokens": ({"trainable_token_indices": [1, 5, 7]},),
    "ia3": ({},),
    "vera": ({"r": 64}, {"r": 16, "dropout": 0.1}),
    "adalora": ({"r": 12},),
    "loha": ({},),
    "lokr": ({}, {"decompose_both": True}),
    "oft": ({}, {"block_share": True}),
    "boft": ({},),
    "prompt-tuning": ({"num_virtual_tokens": 20}, {"num_virtual_tokens": 7}),
    "p-tuning": ({"num_virtual_tokens": 20, "encoder_hidden_size": 64},),
    "prefix-tuning": ({"num_virtual_tokens": 20}, {"num_virtual_tokens": 9, "prefix_projection": True, "encoder_hidden_size": 64}),
    "trainable-tokens": ({"token_indices": [1, 2, 3]},),
    "ln-tuning": ({},),
    "lora on parameters": ({},),
}
"""Adapters with the options each is drawn with."""
WEIGHTS = {"full": 10, "lora": 8, "dora": 3, "rslora": 2, "lora and whole modules": 2}
PROMPTS = ("prompt-tuning", "p-tuning", "prefix-tuning")
ON_LINEAR = ("lora", "rslora", "dora", "lora and whole modules")
ON_PARAMETERS = "lora on parameters"
ON_PACKED = ("lora", "rslora", "lora and whole modules")
"""Adapters of LoRA's class, and those that go on 4-bit layers of fake tensors: DoRA asks for the weight as it was."""
FROZEN = (r"\.1\.", r"\.0\.", r"bias$", r"norm|ln_|LayerNorm", r"attn|attention", r"score|classifier|lm_head", r"^(?!.*(embed|wte|wpe))")
"""Names of the weights that are trained where the rest is left as it is: a layer, biases, norms, a head, all but the embeddings."""
LN_TUNING = ("llama", "bloom", "t5", "mt5", "bart", "gpt2", "gptj", "falcon", "mistral", "phi", "gemma", "qwen2")
"""Families whose norms peft knows (peft/utils/constants.py) and that stand without pictures."""
FREEZES_ROOTS = {"mamba": ("out_proj",), "mamba2": ("out_proj",), "falcon_mamba": ("out_proj",), "falcon_h1": ("out_proj",)}
"""Modules peft refuses to adapt (peft/tuners/tuners_utils.py, `_check_target_module_compatiblity`)."""


def targets(r, family, linears, task, kind):
    """Modules the adapter goes on: names, a pattern over them, or every linear layer."""
    names = sorted(set(linears) - set(FREEZES_ROOTS.get(family, ())))
    chosen = r.choice((names, sorted(r.sample(names, r.randint(1, len(names))))))
    if task == "causal-lm" and kind.startswith(("lora", "dora", "rslora")) and family not in FREEZES_ROOTS:
        return r.choice((chosen, chosen, "all-linear", rf".*\.({'|'.join(chosen)})"))
    return chosen


def adapter(r, family, facts, task):
    """`(kind, settings)` of an adapter the model can take; the settings of full training are none."""
    kinds = [k for k in ADAPTERS if k == "full" or facts["linears"]]
    if task != "causal-lm":
        kinds = [k for k in kinds if k not in (*PROMPTS, "trainable-tokens", "lora and tokens")]
    if family not in LN_TUNING:
        kinds = [k for k in kinds if k != "ln-tuning"]
    if facts["experts"]:  # what else of peft meets experts on the fake device is not told apart here
        kinds = [k for k in kinds if k in ("full", *ON_LINEAR, *((ON_PARAMETERS,) if facts["stacks"] else ()))]
    else:
        kinds = [k for k in kinds if k != ON_PARAMETERS]
    kind = r.choices(kinds, [WEIGHTS.get(k, 1) for k in kinds])[0]
    options = dict(r.choice(ADAPTERS[kind]))
    if kind == "full":
        return kind, None
    tuner = "lora" if kind in (*ON_LINEAR, ON_PARAMETERS, "lora and tokens") else kind
    peft = {"type": tuner, "r": options.pop("r", r.choice(RANKS)), "dropout": options.pop("dropout", 0.0), "target_modules": []}
    if kind == ON_PARAMETERS:  # peft asks for modules, too, or takes those of the family
        chosen = sorted(r.sample(facts["stacks"], r.randint(1, len(facts["stacks"]))))
        return kind, {**peft, "target_modules": sorted(r.sample(facts["linears"], 1)), "target_parameters": chosen}
    if kind not in (*PROMPTS, "trainable-tokens", "ln-tuning"):
        peft["target_modules"] = targets(r, family, facts["linears"], task, kind)
    if options.pop("modules_to_save", False):
        if not facts["heads"]:
            return "lora", peft
        peft["modules_to_save"] = r.choice((facts["heads"][-1:], facts["heads"]))
    if family in EXPERTS and tuner == "lora" and not options and r.random() < 0.4:  # dropout on experts is refused
        peft |= {"target_modules": r.choice(("all-linear", EXPERTS[family][1], ["q_proj", *EXPERTS[family][1]])), "dropout": 0.0}
    return kind, {**peft, **options}


def trained(case, r, facts):
    """The case with how its model is trained, and the names of what was chosen."""
    case |= r.choice(CHECKPOINTING if facts["checkpoints"] else CHECKPOINTING[:1])
    case.setdefault("gradient_checkpointing", False)
    kind, peft = adapter(r, case["model"]["model_type"], facts, case["task"])
    if kind == "full" and r.random() < 0.25:
        case["trained"] = [r.choice([p for p in FROZEN if any(re.search(p, name) for name in facts["names"])])]
    case["optim"] = r.choice((*PLAIN * 2, *OTHERS, *(PROJECTED if kind == "full" and "trained" not in case else ())))
    case["grad_accum"], case["max_grad_norm"] = r.choice((1, 1, 2, 3, 4)), r.choice((1.0, 1.0, 0))
    if "lomo" in case["optim"] and "trained" in case:
        case["optim"] = "sgd"
    if "lomo" in case["optim"]:
        case |= {"grad_accum": 1, "max_grad_norm": 0}
    if case["optim"] in PROJECTED:
        case["optim_args"] = {"rank": "8", "update_proj_gap": "1"}
    if peft:
        case["peft"] = peft
    if kind in PROMPTS and "use_reentrant" in case:
        case.pop("use_reentrant")
    if kind == "prefix-tuning":  # layers that are checkpointed are not given the prefix
        case["gradient_checkpointing"] = False
    if kind in ON_PACKED and case["task"] in PEFT_TASKS:  # of other tasks the oracle also packs the head, which transformers does not
        base = r.choice(BASES)
        if base:
            case["quant"], case["kbit_prep"] = base, r.random() < 0.5 and not facts["experts"]
            case["peft"].pop("autocast_adapter_dtype", None)  # adapters on fake packed weights can only be made in float32


def labels(case):
    """What the case is made of, by technique, as the page names it."""
    peft, base = case.get("peft") or {}, case.get("quant")
    kind = peft.get("type", "lora") if peft else "partly frozen" if case.get("trained") else "full"
    if kind == "lora":
        kind = next(
            (
                name
                for key, name in (
                    ("dora", "DoRA"),
                    ("use_rslora", "rsLoRA"),
                    ("modules_to_save", "LoRA and whole modules"),
                    ("trainable_token_indices", "LoRA and tokens"),
                    ("target_parameters", "LoRA on parameters"),
                )
                if peft.get(key)
            ),
            "LoRA",
        )
    checkpointing = (
        "none"
        if not case["gradient_checkpointing"]
        else {None: "default", True: "reentrant", False: "not reentrant"}[case.get("use_reentrant")]
    )
    length = case.get("seq") or case.get("target_seq") or 0
    return {
        "task": case["task"],
        "attention": case["attn"],
        "precision": case["load_dtype"] + (f" + {case['amp']} autocast" if case["amp"] else ""),
        "checkpointing": checkpointing,
        "training": kind,
        "base": "as loaded"
        if not base
        else base["type"] + (", double" if base.get("double") else "") + (", prepared" if case.get("kbit_prep") else ""),
        "optimizer": case["optim"],
        "accumulation": "1" if case["grad_accum"] == 1 else "several",
        "clipping": "on" if case["max_grad_norm"] else "off",
        "sizes": case["model_name"].rsplit("-", 1)[-1] if case["model_name"].endswith(("-odd", "-default")) else "published",
        "length": "none" if not length else "one" if length == 1 else "whole 64s" if length % 64 == 0 else "odd",
    }


def pairs(case):
    return set(itertools.combinations(sorted(labels(case).items()), 2))


def choose(drawn, seen):
    """The drawn cases, first the one with most pairs that are not in `seen`."""
    return sorted(drawn, key=lambda case: -len(pairs(case) - seen))
