"""Two steps of the Trainer's loop on one rank, or of one stage of a pipeline, with every allocation followed."""

import contextlib
import gc
import inspect
from . import context, copies, evaluating, generating, group, handing, heads, packing, pipeline, replicas, saving
from .sharding import KINDS, Sharded, mesh_of, split_layers
from .draws import COPIED


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


def what_is_taken(parameters, **given):
    """Of arguments those that a forward takes; not all classes have a cache, or a loss that is divided by the tokens of all ranks."""
    named = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in given.items() if named or name in parameters}


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
        taken = inspect.signature(model.forward).parameters
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
                        outputs = sharded.forward(**batch, **what_is_taken(taken, use_cache=False, num_items_in_batch=counted))
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
