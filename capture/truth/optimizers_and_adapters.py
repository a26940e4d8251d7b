"""Makes receipts of ways of training: optimizers and adapters the plain receipts do not draw.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.optimizers_and_adapters --oracle ORACLE.py [optimizers|adapters|experts ...] [--only NAME ...] [--count N]

The optimizer is made by transformers' own handlers (`trainer_optimizer.py`) or is the class of torch.optim with the name;
the adapter by peft from its own config class. Optimizers of other packages need those: galore-torch, apollo-torch, grokadamw,
schedulefree, lomo-optim, badam, adam-mini. Those that compile or launch kernels of their own (torchao, torch-optimi, paged states) cannot be
run on fake tensors. Receipts go to `test/core/receipts/ways/<kind>.jsonl`; those there are kept.
"""

import copy
import json
import random
import sys
import types

from .receipts import ROOT, alone, keep, load
from .rows import drawn_in, with_oracle

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


# ---- optimizers --------------------------------------------------------------------------------------------------------

TORCH = {
    name: (name, {})
    for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adadelta", "Adafactor", "Adagrad", "RMSprop", "SGD")
}
"""Optimizers of torch.optim by class, with the variants each is drawn in."""
VARIANTS = ({}, {}, {"foreach": False}, {"capturable": True}, {"weight_decay": 0.1}, {"foreach": False, "capturable": True})
EXTRA = {
    "Adam": ({"amsgrad": True}, {"fused": True}),
    "AdamW": ({"amsgrad": True}, {"fused": True}, {"amsgrad": True, "foreach": False}),
    "SGD": ({"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "foreach": False}),
    "RMSprop": ({"momentum": 0.9}, {"centered": True}, {"centered": True, "foreach": False}, {"momentum": 0.9, "foreach": False}),
    "RAdam": ({"decoupled_weight_decay": True, "weight_decay": 0.1},),
    "NAdam": ({"decoupled_weight_decay": True, "weight_decay": 0.1},),
}
NO_CAPTURABLE = ("SGD", "Adagrad", "Adafactor")
NO_DECAY = ("Rprop",)
TRAINER = {
    **{
        name: ({},)
        for name in (
            "adamw_torch",
            "adamw_torch_fused",
            "adafactor",
            "sgd",
            "adagrad",
            "rmsprop",
            "adamw_bnb_8bit",
            "adamw_8bit",
            "lion_8bit",
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
    },
    **{
        name: ({"rank": "8"}, {"rank": "16"})
        for name in (
            "galore_adamw",
            "galore_adafactor",
            "galore_adamw_8bit",
            "apollo_adamw",
            "galore_adamw_layerwise",
            "apollo_adamw_layerwise",
            "galore_adafactor_layerwise",
            "galore_adamw_8bit_layerwise",
        )
    },
}
TRAINER["sgd"] = ({}, {"momentum": "0.9"}, {"momentum": "0.9", "weight_decay": "0.1"})
TRAINER["rmsprop"] = ({}, {"momentum": "0.9"}, {"centered": "True"})
TRAINER["galore_adamw"] = (
    *TRAINER["galore_adamw"],
    {"rank": "8", "proj_type": "reverse_std"},
    {"rank": "8", "proj_type": "right"},
    {"rank": "8", "proj_type": "full"},
)
TRAINER["apollo_adamw"] = (
    *TRAINER["apollo_adamw"],
    {"rank": "8", "scale_type": "tensor"},
    {"rank": "1", "scale_type": "tensor"},
    {"rank": "8", "proj": "svd"},
)


def optimizer_cases(count):
    """Cases of every optimizer; `count` models of each variant."""
    for name in TORCH:
        variants = [
            v
            for v in (*VARIANTS, *EXTRA.get(name, ()))
            if not ("capturable" in v and name in NO_CAPTURABLE) and not ("weight_decay" in v and name in NO_DECAY)
        ]
        if name == "Adafactor":
            variants = [{}, {"foreach": False}]
        for k, options in enumerate(variants * count):
            yield optimizer_case(f"torch.optim.{name}", k, {key: str(value) for key, value in options.items()})
    for k in range(3 * count):
        yield optimizer_case("torch.optim.Muon", k, {} if k != 1 else {"nesterov": "False"})
    for name, variants in TRAINER.items():
        for k, options in enumerate((variants * 3 if len(variants) == 1 else variants * 2) * count):
            yield optimizer_case(name, k, options)
    for name in ("adamw_torch", "adamw_torch_fused", "adamw_bnb_8bit", "sgd"):
        for k in range(3 * count):
            yield {**optimizer_case(name, k, {}), "id": f"in-backward-{name}-{k}", "in_backward": True, "grad_accum": 1, "max_grad_norm": 0}
    for k in range(5 * count):
        yield optimizer_case("adam_mini", k, {})
    for k in range(6 * count):
        # The first block, whose gradient comes from the furthest; layers are recomputed where LLaMA-Factory does.
        case = {**optimizer_case("adamw_torch", k, {}), "id": f"badam-{k}", "badam": True, "max_grad_norm": 0}
        yield {**case, "load_dtype": "bfloat16" if k < 4 else case["load_dtype"]}


def optimizer_case(name, number, options):
    r = random.Random(f"{name}-{number}")
    case = {"id": f"{name}-{number}", "model": llama(r), "batch": 1, "seq": r.randint(8, 24), "optim": name, "attn": "sdpa"}
    if "rank" in options:
        options = {**options, "update_proj_gap": "1"}  # every step is one that projects anew
    if options:
        case["optim_args"] = options
    case["load_dtype"] = DTYPES[number % 2] if number < 2 else r.choice((*DTYPES, "float16"))
    case["amp"] = r.choice((None, "bf16"))
    case["grad_accum"] = 1 if name.endswith("layerwise") else r.choice((1, 1, 2))
    case["max_grad_norm"] = 0 if "lomo" in name or name.endswith("layerwise") else r.choice((1.0, 0))
    if number % 5 == 4:
        case["model"]["tie_word_embeddings"] = False
    return case


def typed(text):
    """A value of `optim_args` as Python has it."""
    try:
        return json.loads(text.lower())
    except ValueError:
        return text


def optimizer_for(oracle, case, model):
    """The optimizer the case names, over the Trainer's two groups."""
    import torch

    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [{"params": [p for p in parameters if p.ndim > 1]}, {"params": [p for p in parameters if p.ndim <= 1]}]
    groups = [
        {**group, "weight_decay": 0.0} if "weight_decay" not in case.get("optim_args", {}) else group for group in groups if group["params"]
    ]
    name = case["optim"]
    if case.get("in_backward"):
        return stepped_in_backward(oracle, {**case, "in_backward": False}, model, parameters)
    if case.get("badam"):
        from badam import BlockOptimizer

        base = torch.optim.AdamW(groups, lr=1e-4, foreach=True)
        return BlockOptimizer(
            base, list(model.named_parameters()), switch_mode="ascending", start_block=0, switch_block_every=10**6, verbose=0
        )
    if name == "adam_mini":
        from adam_mini import Adam_mini, adam_mini

        adam_mini.device = "cuda"  # as it finds one
        config = model.config
        return Adam_mini(
            model.named_parameters(),
            lr=1e-4,
            dim=config.hidden_size,
            n_heads=config.num_attention_heads,
            n_kv_heads=config.num_key_value_heads,
            verbose=False,
        )
    if name.startswith("torch.optim."):
        options = {key: typed(value) for key, value in case.get("optim_args", {}).items()}
        if name == "torch.optim.Muon":
            return muon(parameters, model, options)
        if name == "torch.optim.Rprop":
            groups = [{"params": group["params"]} for group in groups]
        if not {"foreach", "fused"} & set(options):
            options["foreach"] = name != "torch.optim.Adafactor"
        return getattr(torch.optim, name.removeprefix("torch.optim."))(groups, lr=1e-4, **options)
    return trainer_optimizer(oracle, case, model, groups)


def stepped_in_backward(oracle, case, model, parameters):
    """One optimizer for each parameter, stepped when its gradient is there (torchtune's register_optim_in_bwd_hooks)."""

    class Alone:
        def __init__(self, p):
            self.p = p

        def parameters(self):
            return [self.p]

        def modules(self):
            return [m for m in model.modules() if any(q is self.p for q in m.parameters(recurse=False))]

    own = {p: optimizer_for(oracle, case, Alone(p)) for p in parameters}

    def step(p):
        own[p].step()
        own[p].zero_grad()

    for p in parameters:
        p.register_post_accumulate_grad_hook(step)
    return type(
        "Stepped",
        (),
        {
            "state": property(lambda self: {k: v for o in own.values() for k, v in o.state.items()}),
            "step": lambda self: None,
            "zero_grad": lambda self, set_to_none=True: None,
        },
    )()


def muon(parameters, model, options):
    """Muon over the hidden matrices, AdamW over the rest: the split its documentation asks for."""
    import torch

    hidden = [p for n, p in model.named_parameters() if p.ndim == 2 and ".layers." in n]
    rest = [p for p in parameters if not any(p is h for h in hidden)]

    class Both:
        def __init__(self):
            self.parts = [torch.optim.Muon(hidden, lr=1e-4, **options), torch.optim.AdamW(rest, lr=1e-4, foreach=True)]

        @property
        def state(self):
            return {k: v for part in self.parts for k, v in part.state.items()}

        def step(self):
            for part in self.parts:
                part.step()

        def zero_grad(self, set_to_none=True):
            for part in self.parts:
                part.zero_grad(set_to_none=set_to_none)

    return Both()


def trainer_optimizer(oracle, case, model, groups):
    import torch
    from transformers.trainer_optimizer import OptimizerContext, _OPTIMIZER_HANDLERS

    if "bnb" in case["optim"] or "8bit" in case["optim"] or "ademamix" in case["optim"] or "lion" in case["optim"]:
        import bitsandbytes as bnb

        bnb.functional.create_dynamic_map = lambda *a, **k: torch.empty(256, device="cpu")
        manager = bnb.optim.GlobalOptimManager.get_instance()
        if "8bit" in case["optim"] and "galore" not in case["optim"]:
            for m in model.modules():
                if isinstance(m, torch.nn.Embedding):
                    manager.register_module_override(m, "weight", {"optim_bits": 32})
    text = ",".join(f"{key}={value}" for key, value in case.get("optim_args", {}).items())
    arguments = types.SimpleNamespace(
        optim=case["optim"],
        optim_args=text,
        learning_rate=1e-4,
        adam_beta1=0.9,
        adam_beta2=0.999,
        adam_epsilon=1e-8,
        weight_decay=0.0,
        warmup_steps=0,
        optim_target_modules="all-linear",
        parallel_mode=None,
        gradient_accumulation_steps=case.get("grad_accum", 1),
    )
    options = dict(pair.split("=") for pair in text.split(",")) if text else {}
    context = OptimizerContext(
        args=arguments, model=model, optimizer_kwargs={"lr": 1e-4}, adam_kwargs={"betas": (0.9, 0.999), "eps": 1e-8}, optim_args=options
    )
    made, keywords = _OPTIMIZER_HANDLERS[case["optim"]](context)
    given = keywords.pop("params", keywords.pop("model", groups))
    if made.__module__.startswith("torch.optim") and not keywords.get("fused"):
        keywords["foreach"] = True  # what CUDA tensors get, and fake ones do not
    optimizer = made(**keywords) if "optimizer_dict" in keywords else made(given, **keywords)
    if case["optim"] == "schedule_free_radam":
        for group in optimizer.param_groups:
            group["k"] = 9  # rectified from its sixth step on
    if hasattr(optimizer, "train"):
        optimizer.train()
    if case["optim"].startswith("apollo"):
        import apollo_torch.random_projector as drawn

        drawn.next_seed = lambda seed, adv=0: seed
        drawn.stable_randn = lambda shape, seed, device=None, dtype=torch.float32: torch.randn(shape, device=device, dtype=dtype)
    if hasattr(optimizer, "fused_backward"):
        backward = torch.Tensor.backward

        def fused(loss):
            torch.Tensor.backward = backward
            optimizer.fused_backward(loss, 1e-4)
            torch.Tensor.backward = fused

        torch.Tensor.backward = fused
    return Stepped(optimizer)


class Stepped:
    """An optimizer whose states end with one that is not a tensor: who walks over them is left with nothing in hand."""

    def __init__(self, optimizer):
        self.step, self.zero_grad, self.optimizer = optimizer.step, optimizer.zero_grad, optimizer

    @property
    def state(self):
        return {**self.optimizer.state, None: {"end": None}}


# ---- adapters ----------------------------------------------------------------------------------------------------------

LINEARS = {"llama": ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), "gpt2": ("c_attn", "c_proj", "c_fc")}
"""Variants of each adapter: options of its config class besides the modules it is put on."""
ADAPTERS = {
    "lora": (
        {"bias": "all"},
        {"bias": "lora_only"},
        {"use_rslora": True},
        {"layers_to_transform": [1]},
        {"exclude_modules": ["v_proj"]},
        {"rank_pattern": {"v_proj": 3}},
        {"trainable_token_indices": [1, 5, 7]},
        {"embedding": True},
        {"lora_bias": True},
    ),
    "ia3": ({}, {"feedforward_modules": ["down_proj"]}, {"feedforward_modules": ["down_proj"]}, {"default": True}),
    "vera": ({"r": 8}, {"r": 64}, {"r": 16, "dropout": 0.1}),
    "adalora": ({"r": 12}, {"r": 12, "dropout": 0.1}),
    "loha": ({"r": 4}, {"r": 8}),
    "lokr": ({"r": 4}, {"r": 8, "decompose_both": True}, {"r": 64}, {"r": 4, "decompose_factor": 8}),
    "oft": ({}, {"block_share": True}, {"oft_block_size": 8}),
    "boft": ({}, {"boft_block_size": 8}, {"boft_block_size": 0, "boft_block_num": 4}, {"default_size": True}),
    "prompt-tuning": ({"num_virtual_tokens": 20}, {"num_virtual_tokens": 7}),
    "p-tuning": ({"num_virtual_tokens": 20, "encoder_hidden_size": 64}, {"num_virtual_tokens": 7, "encoder_hidden_size": 128}),
    "prefix-tuning": ({"num_virtual_tokens": 20}, {"num_virtual_tokens": 9, "prefix_projection": True, "encoder_hidden_size": 64}),
    "trainable-tokens": ({"token_indices": [1, 2, 3]}, {"token_indices": list(range(40))}),
    "ln-tuning": ({},),
}
PROMPTS = ("prompt-tuning", "p-tuning", "prefix-tuning")


def adapter_cases(count):
    """Cases of every adapter; `count` rounds over its variants, five at least."""
    for name, variants in ADAPTERS.items():
        for k in range(max(5, len(variants)) * count):
            yield adapter_case(name, k, variants[k % len(variants)])


def adapter_case(name, number, options):
    r = random.Random(f"{name}-{number}")
    own = (
        name not in ("oft", "boft") and name not in ("loha", "lokr", "lora") and not options.get("feedforward_modules") and number % 3 == 2
    )
    model = gpt2(r) if own else llama(r)
    case = {"id": f"{name}-{number}", "model": model, "batch": r.choice((1, 2, 3)), "seq": r.randint(17, 200), "attn": "sdpa"}
    case["load_dtype"] = r.choice((*DTYPES, *DTYPES, "float16"))
    case["amp"] = r.choice((None, "bf16", "bf16"))
    case["gradient_checkpointing"] = r.random() < 0.4 and name != "prefix-tuning"  # layers that are checkpointed are not given the prefix
    if case["gradient_checkpointing"] and name not in PROMPTS:
        case["use_reentrant"] = r.random() < 0.5
    case["optim"] = r.choice(("adamw_torch", "adamw_torch_fused"))
    case["grad_accum"] = r.choice((1, 1, 2))
    names = list(LINEARS[model["model_type"]])
    options = dict(options)
    if name == "boft":
        # Sizes that blocks of 8 divide; without the compiled extension there is one butterfly factor.
        model.update(hidden_size=model["num_attention_heads"] * 16, intermediate_size=8 * r.randint(15, 40))
        options.pop("default_size", None)
    peft = {"type": name, "r": options.pop("r", 8), "dropout": options.pop("dropout", 0.0)}
    peft["target_modules"] = []
    if name not in (*PROMPTS, "trainable-tokens", "ln-tuning") and not options.pop("default", False):
        peft["target_modules"] = r.choice((names, r.sample(names, r.randint(2, len(names))), "all-linear" if name != "ia3" else names))
        for named in ("feedforward_modules", "exclude_modules", "rank_pattern"):
            if named in options and isinstance(peft["target_modules"], list):
                peft["target_modules"] = sorted({*peft["target_modules"], *options[named]})
        if options.pop("embedding", False):
            peft["target_modules"] = ["q_proj", "embed_tokens"]
    if r.random() < 0.2:
        peft["autocast_adapter_dtype"] = False
    case["peft"] = {**peft, **options}
    return case


EXPERTS = {
    "mixtral": ({"num_local_experts": 4, "intermediate_size": 96}, ["w1", "w2", "w3"]),
    "qwen3_moe": ({"num_experts": 4, "moe_intermediate_size": 48, "intermediate_size": 96}, ["gate_proj", "up_proj", "down_proj"]),
    "olmoe": ({"num_experts": 6, "intermediate_size": 64}, ["gate_proj", "up_proj", "down_proj"]),
    "glm4_moe": ({"n_routed_experts": 4, "moe_intermediate_size": 40, "intermediate_size": 96}, ["gate_proj", "up_proj", "down_proj"]),
}
"""Families whose experts are stored together, with sizes and the names of the separate matrices."""


CONVOLUTIONS = {
    "pvt_v2": (
        {"hidden_sizes": [16, 24, 32, 48], "depths": [1, 2, 1, 1], "num_attention_heads": [1, 2, 2, 4], "image_size": 64},
        ["proj", "query", "dense1"],
    ),
    "swiftformer": ({"depths": [1, 1, 2, 1], "embed_dims": [16, 24, 32, 48], "image_size": 64}, ["proj", "to_query", "final"]),
}
"""Families of pictures with convolutions, with sizes and names of modules of which some are convolutions."""


def convolution_cases(count):
    """OFT and DoRA on convolutions."""
    for family, (sizes, targets) in CONVOLUTIONS.items():
        for number in range(6 * count):
            r = random.Random(f"{family}-{number}")
            peft = (
                {"type": "oft", "r": r.choice((1, 4, 8)), "dropout": 0.0, "block_share": r.random() < 0.5}
                if number % 2
                else {"type": "lora", "dora": True, "r": r.choice((4, 16)), "dropout": r.choice((0.0, 0.1))}
            )
            yield {
                "id": f"{family}-{number}",
                "model": {"model_type": family, **sizes},
                "task": "image-cls",
                "image": 64,
                "batch": r.choice((1, 2, 3)),
                "attn": "eager",
                "load_dtype": r.choice(("float32", "bfloat16")),
                "amp": "bf16" if number % 3 else None,
                "gradient_checkpointing": False,
                "optim": "adamw_torch",
                "grad_accum": 1,
                "max_grad_norm": 1.0,
                "peft": {**peft, "target_modules": targets},
            }


def expert_cases(count):
    """LoRA that reaches experts: in bfloat16 and without dropout, as peft and the fake device ask."""
    for family, (sizes, matrices) in EXPERTS.items():
        for number in range(5 * count):
            r = random.Random(f"{family}-{number}")
            heads, width = r.choice((2, 4)), r.choice((16, 32))
            model = {
                "model_type": family,
                **GROUPED,
                "num_attention_heads": heads,
                "head_dim": width,
                "hidden_size": 8 * r.randint(6, 12) if family in ("qwen3_moe", "glm4_moe") else heads * width,
                **sizes,
                "num_experts_per_tok": 2,
                "vocab_size": r.randint(200, 3000),
                "tie_word_embeddings": False,
            }
            if family == "olmoe":
                model.pop("head_dim")
            targets = r.choice(
                (
                    "all-linear",
                    "all-linear",
                    matrices,
                    ["q_proj", *matrices],
                    [*matrices, "gate"],
                    matrices[-1:] if family != "mixtral" else ["w2", "v_proj"],
                )
            )
            case = {
                "id": f"{family}-{number}",
                "model": model,
                "batch": r.choice((1, 2, 3)),
                "seq": r.randint(17, 200),
                "attn": r.choice(("sdpa", "eager")),
                "load_dtype": "bfloat16",
                "amp": r.choice((None, "bf16")),
                "gradient_checkpointing": r.random() < 0.5,
                "optim": r.choice(("adamw_torch", "adamw_torch_fused")),
                "grad_accum": r.choice((1, 2)),
            }
            if case["gradient_checkpointing"]:
                case["use_reentrant"] = r.random() < 0.5
            case["peft"] = {"type": "lora", "r": r.choice((4, 8, 16)), "dropout": 0.0, "target_modules": targets}
            if r.random() < 0.2:
                case["peft"]["autocast_adapter_dtype"] = False
            yield case


STACKS = {
    "t5": {"num_layers": 2, "num_decoder_layers": 2, "d_kv": 16, "num_heads": 4, "d_ff": 128},
    **{
        name: {
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            **more,
        }
        for name, more in {
            "bart": {"pad_token_id": 1},
            "pegasus": {},
            "m2m_100": {"encoder_layerdrop": 0.0, "decoder_layerdrop": 0.0},
        }.items()
    },
}
"""Encoder-decoders whose stacks and head share one table."""


def token_cases(count):
    """Trained rows of a table that both stacks and the head read, by themselves and beside LoRA."""
    for family, sizes in STACKS.items():
        for number in range(2 * count):
            r = random.Random(f"tokens-{family}-{number}")
            case = {
                "id": f"tokens-{family}-{number}",
                "model": {"model_type": family, **sizes, "d_model": 16 * r.randint(3, 8), "vocab_size": r.randint(2000, 5000)},
                "task": "seq2seq-lm",
                "batch": r.choice((1, 2)),
                "seq": r.randint(20, 60),
                "target_seq": r.randint(10, 40),
                "attn": "sdpa",
                "optim": "adamw_torch",
                "load_dtype": r.choice(("bfloat16", "float32")),
                "amp": r.choice((None, "bf16")),
            }
            own = {"type": "trainable-tokens", "target_modules": [], "token_indices": [1, 5, 9]}
            beside = {"type": "lora", "target_modules": ["q", "v", "q_proj", "v_proj"], "trainable_token_indices": [1, 5, 9]}
            yield {**case, "peft": {**(beside if number % 2 else own), "r": 4, "dropout": 0.0}}


TASK_TYPES = {
    "causal-lm": "CAUSAL_LM",
    "image-text-to-text": "CAUSAL_LM",
    "seq2seq-lm": "SEQ_2_SEQ_LM",
    "seq-cls": "SEQ_CLS",
    "token-cls": "TOKEN_CLS",
    "qa": "QUESTION_ANS",
}
"""What people tell peft of the task; of others it knows no kind."""


def adapter_for(case):
    """The config of peft that the case's adapter describes."""
    import peft

    p = copy.deepcopy(case["peft"])  # peft adds heads to the list it is given
    kind, rank, dropout = p.pop("type"), p.pop("r"), p.pop("dropout")
    p.pop("autocast_adapter_dtype", None)
    p["task_type"] = TASK_TYPES.get(case.get("task", "causal-lm"))
    alpha, dora = p.pop("alpha", 16), p.pop("dora", False)
    if "loftq_config" in p:
        p["loftq_config"] = peft.LoftQConfig(**p["loftq_config"])
    if not p["target_modules"]:
        p.pop("target_modules")
    made = {
        "lora": lambda: peft_lora(r=rank, lora_alpha=alpha, lora_dropout=dropout, use_dora=dora, **p),
        "ia3": lambda: peft.IA3Config(**p),
        "vera": lambda: peft.VeraConfig(r=rank, vera_dropout=dropout, **p),
        "adalora": lambda: peft.AdaLoraConfig(init_r=rank, target_r=4, lora_dropout=dropout, total_step=1000, **p),
        "loha": lambda: peft.LoHaConfig(r=rank, alpha=16, **p),
        "lokr": lambda: peft.LoKrConfig(r=rank, alpha=16, **p),
        "oft": lambda: peft.OFTConfig(**p),
        "boft": lambda: peft.BOFTConfig(**p),
        "prompt-tuning": lambda: peft.PromptTuningConfig(**p),
        "p-tuning": lambda: peft.PromptEncoderConfig(**p),
        "prefix-tuning": lambda: peft.PrefixTuningConfig(**p),
        "trainable-tokens": lambda: peft.TrainableTokensConfig(**p),
        "ln-tuning": lambda: peft.LNTuningConfig(**p),
    }
    return made[kind]()


def run_adapter(oracle, case, **options):
    import peft

    global peft_lora
    peft_lora = getattr(peft, "own_lora", peft.LoraConfig)
    peft.own_lora = peft_lora
    peft.LoraConfig = lambda **_: adapter_for(case)
    made = getattr(peft, "own_model", peft.get_peft_model)
    peft.own_model = made
    peft.get_peft_model = lambda *args, **options: made(*args, **options).to("cuda")  # as the Trainer does: buffers go along
    return oracle.run(case, **options)


def run_optimizer(oracle, case, **options):
    """The oracle's run with the optimizer as transformers or torch.optim has it."""
    oracle.optimizer_for = lambda case, model: optimizer_for(oracle, case, model)
    return oracle.run(case, **options)


def prepare():
    """What optimizers ask of the device and a fake tensor cannot answer."""
    import torch
    from torch._subclasses import fake_impls
    from torch._subclasses.fake_tensor import DataDependentOutputException

    rand = torch.rand
    torch.rand = lambda *size, **options: 1.0 if size == (1,) else rand(*size, **options)  # modules are never dropped
    scalars, kernel = fake_impls.op_implementations_dict, torch.ops.aten._local_scalar_dense.default
    number = scalars[kernel]

    def known(*operands):
        """A number kernels would tell: averages of ASGD weigh 1 for its first million steps, norms decide nothing here."""
        try:
            return number(*operands)
        except DataDependentOutputException:
            return 1.0

    scalars[kernel] = known
    truth = torch.Tensor.__bool__
    torch.Tensor.__bool__ = lambda tensor: truth(tensor) if tensor.device.type == "cpu" else True
    sys.modules["torch.optim.radam"]._get_value = lambda step: (
        step if torch.is_tensor(step) and step.device.type == "cuda" else 10.0
    )  # rectified from its sixth step on
    torch.cuda.current_device = lambda: 0


# ---- 8-bit products ----------------------------------------------------------------------------------------------------

RECIPES = ("tensorwise", "rowwise", "rowwise_with_gw_hp")


def float8_cases(count):
    """Cases of torchao's float8 training as accelerate converts a model to it."""
    for recipe in RECIPES:
        for k in range(6 * count):
            yield float8_case(recipe, k)


def float8_case(recipe, number):
    r = random.Random(f"float8-{recipe}-{number}")
    model = llama(r)
    # `_scaled_mm` takes sizes that are multiples of 16; other layers stay as they are.
    model.update(
        hidden_size=model["num_attention_heads"] * r.choice((16, 32, 48)),
        intermediate_size=16 * r.randint(8, 30),
        vocab_size=16 * r.randint(20, 200),
    )
    if number == 2:
        model["intermediate_size"] += 4
    case = {
        "id": f"float8-{recipe}-{number}",
        "model": model,
        "batch": r.choice((1, 2)),
        "seq": 16 * r.randint(1, 12),
        "attn": "sdpa",
        "float8": recipe,
    }
    case["load_dtype"], case["amp"] = r.choice((("float32", "bf16"), ("float32", "bf16"), ("bfloat16", None), ("bfloat16", "bf16")))
    case["gradient_checkpointing"] = r.random() < 0.4
    if case["gradient_checkpointing"]:
        case["use_reentrant"] = False
    case["optim"] = r.choice(("adamw_torch", "adamw_torch_fused"))
    case["grad_accum"] = r.choice((1, 1, 2))
    return case


def run_float8(oracle, case, **options):
    """The model's linear layers replaced as accelerate does for `mixed_precision: fp8` with torchao."""
    from accelerate.utils.ao import convert_model_to_fp8_ao
    from torchao.float8 import Float8LinearConfig

    build = oracle.build

    def converted(case):
        config, model = build(case)
        convert_model_to_fp8_ao(model, config=Float8LinearConfig.from_recipe_name(case["float8"]))
        return config, model

    follow_inside(oracle.Ledger)
    oracle.build = converted
    return oracle.run(case, **options)


def follow_inside(ledger):
    """Operators on 8-bit tensors are followed in what their class does with them: the wrapper itself holds no memory."""
    from torchao.float8.float8_training_tensor import Float8TrainingTensor

    follow = ledger.__torch_dispatch__

    def dispatch(self, func, types, args=(), kwargs=None):
        if any(issubclass(kind, Float8TrainingTensor) for kind in types):
            return NotImplemented
        return follow(self, func, types, args, kwargs)

    ledger.__torch_dispatch__ = dispatch


# ---- losses ------------------------------------------------------------------------------------------------------------


def loss_cases(count):
    """Cases of torchtune's losses over pieces of every sequence: logits of all pieces first, or a piece at a time."""
    for kind in ("output", "linear"):
        for k in range(4 * count):
            r = random.Random(f"chunked-{kind}-{k}")
            case = {"id": f"chunked-{kind}-{k}", "model": llama(r), "batch": r.choice((1, 2, 3)), "seq": r.randint(20, 200), "attn": "sdpa"}
            case.update(
                load_dtype=r.choice(("bfloat16", "bfloat16", "float32")),
                amp=None,
                optim="adamw_torch",
                chunked_loss={"chunks": r.choice((8, 8, 3)), "keeps_logits": kind == "output"},
            )
            case["gradient_checkpointing"] = k % 2 == 1
            if case["gradient_checkpointing"]:
                case["use_reentrant"] = False
            yield case


def run_loss(oracle, case, **options):
    """The model's own loss replaced as torchtune's recipes compute it, without the library's masks of ignored tokens."""
    import torch
    from transformers.models.llama import modeling_llama

    chunks, keeps = case["chunked_loss"]["chunks"], case["chunked_loss"]["keeps_logits"]

    def of(logits, labels):
        return torch.nn.functional.cross_entropy(logits.float().reshape(-1, logits.shape[-1]), labels.reshape(-1), reduction="sum")

    def forward(self, input_ids=None, labels=None, num_items_in_batch=None, **given):
        hidden = self.model(input_ids=input_ids, num_items_in_batch=num_items_in_batch, **given).last_hidden_state
        padded = torch.nn.functional.pad(labels, (0, 1), value=-100)
        labels = padded[..., 1:].contiguous()
        pieces, targets = hidden.split(lengths(hidden.shape[1], chunks), dim=1), labels.split(lengths(labels.shape[1], chunks), dim=1)
        del hidden
        total = None
        logits = [self.lm_head(piece) for piece in pieces] if keeps else None
        for k, (piece, target) in enumerate(zip(pieces, targets)):
            loss = of(logits[k] if keeps else self.lm_head(piece), target)
            total = loss if total is None else total + loss
            del loss
        return {"loss": total / num_items_in_batch}

    modeling_llama.LlamaForCausalLM.forward = forward
    return oracle.run(case, **options)


def lengths(length, chunks):
    """What `tensor_split` makes of a length."""
    return [length // chunks + (k < length % chunks) for k in range(chunks)]


def initialization_cases(count):
    from .adapter_initialization import cases

    return cases(count)


def run_initialization(oracle, case, **options):
    from .adapter_initialization import run

    return run(oracle, case, **options)


KINDS = {
    "initializations": initialization_cases,
    "losses": loss_cases,
    "optimizers": optimizer_cases,
    "adapters": adapter_cases,
    "convolutions": convolution_cases,
    "experts": expert_cases,
    "tokens": token_cases,
    "float8": float8_cases,
}
RUNS = {
    "initializations": run_initialization,
    "losses": run_loss,
    "optimizers": run_optimizer,
    "adapters": run_adapter,
    "convolutions": run_adapter,
    "experts": run_adapter,
    "tokens": run_adapter,
    "float8": run_float8,
}


def main():
    parser = with_oracle(__doc__, count=1)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    prepare()
    for kind in args.kinds or KINDS:
        cases, run = KINDS[kind], RUNS[kind]
        out = ROOT / "test" / "core" / "receipts" / "ways" / f"{kind}.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        have = drawn_in(out)
        for case in cases(args.count):
            if case["id"] not in have and (not args.only or any(name in case["id"] for name in args.only)):
                alone(lambda: keep(out, case, lambda case: run(oracle, case)))


if __name__ == "__main__":
    main()
