"""Cases of 8-bit products (torchao), with what their tensors hold inside."""

import random
from .small_models import llama


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
