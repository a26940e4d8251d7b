"""Makes receipts of what runs beside the training step: the Trainer's own evaluation loop, and generation.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.phases --oracle ORACLE.py [--phase evaluation|generation] [--family NAME ...] [--count N] [--first N] > RECEIPTS.jsonl

A case is one of `capture/truth/receipts.py` with an `eval` or a `generate` block. The oracle runs its two training steps; when the
second has zeroed its gradients, `transformers.Trainer.evaluation_loop` (or `model.generate`) runs on the same model beside the
optimizer's states, and its allocations go into the same event stream.

eval: batch (sequences), seq, batches, keeps (loss | logits | argmax), accumulation_steps, concat, use_cache
generate: batch, prompt, new_tokens, beams, sample, cache (dynamic | static), and `target_seq` for encoder-decoders' labels
"""

import json
import random
import sys
import types

from ..storing.stored import content_of
from .receipt_models import FAMILIES
from .receipts import ROOT, WithConvertedMasks, alone, by_task, draw, load, packs_transposed
from .rows import with_oracle

KEPT = ("peak_allocated", "peak_reserved", "peak_phase", "phase_peaks")


class Stub:
    """Takes any call."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def patch_transformers():
    import numpy
    import torch
    import transformers.trainer_pt_utils as utils

    # The values do not matter, that the tensors leave the device does.
    utils.nested_numpify = lambda tensors: [numpy.zeros(1, dtype=numpy.float32)]
    torch.cuda.empty_cache = lambda: None


def evaluate(oracle, case, model, optimizer, gather=lambda tensor: tensor):
    """The evaluation loop of a Trainer that has nothing but the model and its arguments; `gather`: what puts together what processes have."""
    import torch
    import transformers

    spec = case["eval"]
    trainer = transformers.Trainer.__new__(transformers.Trainer)
    trainer.args = types.SimpleNamespace(
        prediction_loss_only=spec.get("keeps", "loss") == "loss",
        eval_batch_size=spec["batch"],
        past_index=-1,
        device="cuda",
        include_for_metrics=[],
        fp16_full_eval=False,
        bf16_full_eval=False,
        eval_do_concat_batches=spec.get("concat", True),
        eval_accumulation_steps=spec.get("accumulation_steps"),
        batch_eval_metrics=False,
        use_liger_kernel=False,
        n_gpu=1,
        average_tokens_across_devices=False,
        world_size=1,
        process_index=0,
    )
    trainer.model = trainer.model_wrapped = model
    trainer.is_deepspeed_enabled = trainer.is_fsdp_enabled = False
    trainer.is_in_train, trainer.can_return_loss, trainer.label_names = True, False, ["labels"]
    trainer.optimizer, trainer.control, trainer.state = optimizer, None, None
    trainer.compute_metrics = trainer.label_smoother = trainer.compute_loss_func = None
    trainer.preprocess_logits_for_metrics = (
        (lambda logits, labels: (logits[0] if isinstance(logits, tuple) else logits).argmax(dim=-1))
        if spec.get("keeps") == "argmax"
        else None
    )
    trainer.callback_handler, trainer.accelerator = (
        Stub(),
        types.SimpleNamespace(
            _models=[model],
            pad_across_processes=lambda tensor, **_: tensor,
            gather_for_metrics=gather,
            gather=gather,
        ),
    )
    trainer.gather_function = trainer.accelerator.gather_for_metrics
    trainer._wrap_model = lambda model, **_: model
    trainer._prepare_inputs = lambda inputs: inputs
    trainer._prepare_context_parallel_inputs = lambda model, inputs: (__import__("contextlib").nullcontext, inputs)
    causal = case.get("task", "causal-lm") == "causal-lm"
    trainer.model_accepts_loss_kwargs = causal
    trainer._get_num_items_in_batch = lambda batches, device: torch.zeros((), dtype=torch.long, device="cuda") if causal else None
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    for module in inner.modules():  # decoders of T5 have a config of their own
        if hasattr(getattr(module, "config", None), "use_cache"):
            module.config.use_cache = spec.get("use_cache", False)
    sized = {**case, "batch": spec["batch"], "seq": spec.get("seq", case.get("seq", 0))}

    def batches():
        for _ in range(spec.get("batches", 1)):
            yield oracle.inputs_for(sized, inner.config)

    trainer.evaluation_loop(batches(), "Evaluation", prediction_loss_only=trainer.args.prediction_loss_only)


def generate(oracle, case, model):
    """`model.generate` of prompts without padding, which never meets an end before its last token."""
    import torch
    import transformers.generation.utils as utils

    spec = case["generate"]
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    steps = iter(range(spec["new_tokens"]))
    inner.__class__._has_unfinished_sequences = lambda self, *_, **__: next(steps, None) is not None
    utils.StopCheck.__call__ = lambda self, unfinished, tokens, length: False
    was = {id(m): m.config.use_cache for m in inner.modules() if hasattr(getattr(m, "config", None), "use_cache")}
    for m in inner.modules():
        if id(m) in was:
            m.config.use_cache = True
    for token in ("eos_token_id", "pad_token_id", "bos_token_id"):  # what depends on the tokens' values is not asked
        setattr(inner.generation_config, token, None)
    prompts = torch.zeros(spec["batch"], spec["prompt"], dtype=torch.long, device="cuda")
    model.eval()
    kw = {"cache_implementation": spec["cache"]} if spec.get("cache", "dynamic") != "dynamic" else {}
    with torch.no_grad():
        model.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=spec["new_tokens"],
            do_sample=spec.get("sample", False),
            num_beams=spec.get("beams", 1),
            use_cache=True,
            disable_compile=True,
            **kw,
        )


def attention_and_products():
    """torchtitan's policy: attention's outputs are kept, and every other matrix product."""
    import collections

    import torch
    from torch.utils.checkpoint import CheckpointPolicy

    aten = torch.ops.aten
    kept = {aten.mm.default, aten._scaled_dot_product_flash_attention.default, aten._scaled_dot_product_efficient_attention.default}
    count = collections.Counter()

    def policy(context, function, *args, **kwargs):
        if function == aten.mm.default:
            count[context.is_recompute] += 1
        chosen = function in kept and not (function == aten.mm.default and count[context.is_recompute] % 2 == 0)
        return CheckpointPolicy.MUST_SAVE if chosen else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def checkpoint_some(case):
    """The options of `gradient_checkpointing_enable` that the oracle has no word for; host memory is not pinned here."""
    import functools

    import torch
    import transformers.modeling_utils as modeling

    options = dict(case["checkpointing"])
    if options.pop("selective", False):
        options["gradient_checkpointing_kwargs"] = {
            "use_reentrant": False,
            "context_fn": lambda: torch.utils.checkpoint.create_selective_checkpoint_contexts(attention_and_products()),
        }
    together = options.pop("layers_together", 1)
    enable, save_on_cpu = modeling.PreTrainedModel.gradient_checkpointing_enable, torch.autograd.graph.save_on_cpu
    modeling.PreTrainedModel.gradient_checkpointing_enable = functools.partialmethod(enable, **options)
    if together > 1:
        modeling.PreTrainedModel.gradient_checkpointing_enable = functools.partialmethod(enable_together, enable, together)
    modeling.save_on_cpu = lambda pin_memory, device_type: save_on_cpu(pin_memory=False)


def enable_together(model, enable, together, *args, **options):
    """Several layers as one that is checkpointed, as Megatron's uniform method has them."""
    import torch
    from transformers.modeling_layers import GradientCheckpointingLayer

    class Segment(GradientCheckpointingLayer):
        def __init__(self, layers):
            super().__init__()
            self.layers = torch.nn.ModuleList(layers)

        def forward(self, hidden_states, **given):
            for layer in self.layers:
                hidden_states = layer(hidden_states, **given)
            return hidden_states

    enable(model, *args, **options)
    stack = next(m for m in model.modules() if isinstance(getattr(m, "layers", None), torch.nn.ModuleList))
    segments = []
    for start in range(0, len(stack.layers), together):
        layers = list(stack.layers[start : start + together])
        segment = Segment(layers)
        segment.gradient_checkpointing, segment._gradient_checkpointing_func = True, layers[0]._gradient_checkpointing_func
        for layer in layers:
            layer.gradient_checkpointing = False
        segments.append(segment)
    stack.layers = torch.nn.ModuleList(segments)


def watched(oracle, case):
    """The oracle's run of the case, with the phases after its second step."""
    ledgers, made = [], oracle.Ledger

    class Ledger(made):
        def __init__(self):
            super().__init__()
            ledgers.append(self)

    if "checkpointing" in case:
        checkpoint_some(case)
    optimizer_for = oracle.optimizer_for

    def with_phases(case, model):
        optimizer = optimizer_for(case, model)
        zero, calls = optimizer.zero_grad, []

        def zero_grad(set_to_none=True):
            zero(set_to_none=set_to_none)
            calls.append(1)
            if len(calls) < 2:
                return
            if "generate" in case:
                ledgers[-1].phase = "generation"
                generate(oracle, case, model)
            if "eval" in case:
                ledgers[-1].phase = "evaluation"
                evaluate(oracle, case, model, optimizer)

        optimizer.zero_grad = zero_grad
        return optimizer

    oracle.Ledger, oracle.optimizer_for = Ledger, with_phases
    return by_task(oracle)({**case, "task": case.get("task", "causal-lm")})


def draw_evaluation(family, number, graphs):
    """A training run of `receipts.py` that evaluates."""
    case = draw(family, number, graphs)
    r = random.Random(f"evaluation-{family}-{number}")
    case["id"] = f"evaluation-{case['id']}"
    case["eval"] = {
        "batch": r.choice((1, 4, 8, 13, 16)),
        "batches": r.choice((1, 2, 3, 5)),
        "keeps": r.choice(("loss", "loss", "logits", "argmax")),
        "accumulation_steps": r.choice((None, None, 1, 2)),
        "concat": r.random() < 0.8,
    }
    if "seq" in case and r.random() < 0.5:
        case["eval"]["seq"] = r.randint(9, 500)
    return case


def draw_generation(family, number, graphs):
    """A training run of `receipts.py` that generates, with fused attention and a cache that grows."""
    generating = [g for g in graphs if g["task"] in ("causal-lm", "seq2seq-lm")]
    case = draw(family, number, [g for g in generating if g["attention"] == "sdpa"] or generating)
    r = random.Random(f"generation-{family}-{number}")
    case["id"] = f"generation-{case['id']}"
    case["generate"] = {
        "batch": r.choice((1, 3, 8, 16)),
        "prompt": r.randint(5, 400),
        "new_tokens": r.choice((2, 5, 17, 60)),
        "beams": r.choice((1, 1, 1, 3)),
        "sample": r.random() < 0.5,
    }
    return case


def draw_checkpointing(family, number, graphs):
    """A training run of `receipts.py` that checkpoints some layers, or keeps what it saves in host memory."""
    case = draw(family, number, graphs)
    r = random.Random(f"checkpointing-{family}-{number}")
    case["id"] = f"checkpointing-{case['id']}"
    case["gradient_checkpointing"] = True
    for key in ("num_hidden_layers", "n_layer", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers"):
        if key in case["model"]:
            case["model"][key] = r.randint(3, 12)
    case["model"].pop("layer_types", None)
    case["checkpointing"] = {"every_n_layers": r.choice((1, 2, 2, 3)), "offload": r.random() < 0.6}
    return case


DRAWS = {"checkpointing": draw_checkpointing, "evaluation": draw_evaluation, "generation": draw_generation}


def main():
    parser = with_oracle(__doc__, count=2)
    parser.add_argument("--phase", choices=DRAWS, default="evaluation")
    parser.add_argument("--family", nargs="*", default=list(FAMILIES))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--together", action="store_true", help="several layers in one checkpointed segment")
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    oracle.aten = WithConvertedMasks(oracle.aten)
    packs_transposed(oracle)
    patch_transformers()

    def keep(case):
        try:
            result = watched(oracle, case)
        except Exception as error:
            print(f"{case['id']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
            return
        print(json.dumps({"case": case, "result": {k: result[k] for k in KEPT}}, separators=(",", ":")), flush=True)

    for family in args.family:
        graphs = content_of((ROOT / "models" / "graphs" / f"{family}.json").read_text())["graphs"]
        for number in range(args.first, args.first + args.count):
            case = DRAWS[args.phase](family, number, graphs)
            if args.together:
                case["id"] = case["id"].replace("checkpointing", "together")
                case["checkpointing"] = {"every_n_layers": 1, "layers_together": random.Random(case["id"]).choice((2, 3, 5))}
            alone(lambda: keep(case))


if __name__ == "__main__":
    sys.exit(main())
