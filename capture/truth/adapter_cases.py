"""Cases of adapters as peft makes them, of convolutions, experts and tokens among them, and the oracle's run with one."""

import copy
import random

from .small_models import DTYPES, GROUPED, gpt2, llama

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
            "marian": {"pad_token_id": 0, "decoder_start_token_id": 0},
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
    yield from tower_cases(count)


TEXT = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 96, "pad_token_id": 0}
PICTURES = {"num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 64, "patch_size": 6, "image_size": 42}
TOWERS = {
    "paligemma": (
        {"model_type": "gemma", "head_dim": 40},
        {"model_type": "siglip_vision_model", "vision_use_head": False},
        {"tie_word_embeddings": True, "image_token_index": 1},
    ),
    "llava": (
        {"model_type": "llama"},
        {"model_type": "clip_vision_model"},
        {"tie_word_embeddings": False, "image_token_index": 1, "vision_feature_layer": -2, "vision_feature_select_strategy": "default"},
    ),
}
"""Models that read pictures by a tower whose table of positions stands before the text's: what is told of the text, of the tower, of both."""


def tower_cases(count):
    """Trained rows of the input embeddings where they are not the first table."""
    for family, (text, pictures, model) in TOWERS.items():
        for number in range(2 * count):
            r = random.Random(f"tokens-{family}-{number}")
            width = 16 * r.randint(3, 8)
            sides = {"text_config": {**TEXT, **text, "hidden_size": width, "vocab_size": r.randint(2000, 5000)}}
            sides |= {"vision_config": {**PICTURES, **pictures, "hidden_size": 4 * r.randint(8, 20)}}
            case = {
                "id": f"tokens-{family}-{number}",
                "model": {"model_type": family, **sides, **model, "projection_dim": width, "hidden_size": width},
                "task": "image-text-to-text",
                "batch": r.choice((1, 2)),
                "seq": r.randint(80, 160),
                "image": PICTURES["image_size"],
                "attn": "sdpa",
                "optim": "adamw_torch",
                "load_dtype": r.choice(("bfloat16", "float32")),
                "amp": None,
            }
            own = {"type": "trainable-tokens", "target_modules": [], "token_indices": [1, 5, 9]}
            beside = {"type": "lora", "target_modules": ["q_proj", "v_proj"], "trainable_token_indices": [1, 5, 9]}
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
