"""Cases of optimizers: those of torch.optim by their classes, and those that the Trainer makes by name, as its own handlers make them."""

import json
import random
import sys
import types
from .small_models import DTYPES, llama


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
