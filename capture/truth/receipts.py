"""Makes receipts: what PyTorch itself says of random training runs, for the engine's tests.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.receipts --oracle ORACLE.py [--family NAME ...] [--count N] [--first N]

A case is drawn from its family and its number alone, so a receipt can be made again and more can be added later. Tasks and
attention kernels are those of `models/graphs/<family>.json`. The oracle is a Python file with `run(case) -> result`.
Receipts go to `test/core/receipts/<family>.jsonl`, one a line; numbers already there are kept.
"""

import importlib.util
import json
import os
import pathlib
import random
import sys

from ..storing.stored import content_of
from .rows import drawn_in, with_oracle

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = ("peak_allocated", "peak_reserved", "peak_phase", "phase_peaks", "params", "trainable")
ACTIVATIONS = ("silu", "gelu", "relu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu2")
LLAMA_LINEARS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
PEFT_TASKS = {"causal-lm": "CAUSAL_LM", "seq2seq-lm": "SEQ_2_SEQ_LM"}
WIDTHS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 26, 32, 40, 64, 72)
OPTIMIZERS = (
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_for_loop",
    "sgd",
    "sgd_momentum",
    "rmsprop",
    "adagrad",
    "adafactor",
    "adamw_bnb_8bit",
    "lion_8bit",
)


def drop(r):
    return r.choice((0.0, 0.0, 0.1, 0.25))


def base(r, layers="num_hidden_layers", vocab=True):
    d = {layers: r.choice((2, 2, 3))}
    if vocab:
        d["vocab_size"] = r.choice((r.randint(200, 900), r.randint(3000, 9000)))
    return d


def attention_heads(r, d, hidden="hidden_size", heads="num_attention_heads", widths=WIDTHS):
    d[heads] = r.randint(2, 9)
    d[hidden] = d[heads] * r.choice(widths)
    return d


def grouped(r, d, head_dim=True):
    """Grouped or full key-value heads; sometimes a head width that hidden size does not give."""
    kv = r.randint(1, 4)
    d["num_key_value_heads"] = kv
    d["num_attention_heads"] = kv * r.choice((1, 1, 2, 3))
    width = r.choice(WIDTHS)
    d["hidden_size"] = d["num_attention_heads"] * width
    if head_dim and r.random() < 0.5:
        d["head_dim"] = r.choice(WIDTHS)
    d["intermediate_size"] = r.randint(31, 700)
    d["max_position_embeddings"] = 2048
    return d


def decoder(r, head_dim=True, act="hidden_act", biases=(), more=None):
    d = grouped(r, base(r), head_dim)
    d["pad_token_id"] = 0
    d["tie_word_embeddings"] = r.random() < 0.5
    if r.random() < 0.5:
        d["attention_dropout"] = drop(r)
    if r.random() < 0.5:
        d[act] = r.choice(ACTIVATIONS)
    for bias in biases:
        d[bias] = r.random() < 0.5
    if more:
        more(r, d)
    return d


def window(r, d):
    d["sliding_window"] = r.choice((None, r.randint(5, 60), 4096))


def late_window(r, d):
    if r.random() < 0.4:
        d.update(use_sliding_window=True, sliding_window=r.randint(5, 90), max_window_layers=r.randint(0, d["num_hidden_layers"]))


def phi_more(r, d):
    window(r, d)
    d["resid_pdrop"], d["embd_pdrop"] = drop(r), drop(r)


def gemma_more(r, d):
    d["sliding_window"] = r.choice((r.randint(5, 60), 4096))
    d.setdefault("head_dim", r.choice(WIDTHS))


def starcoder_more(r, d):
    window(r, d)
    d["residual_dropout"], d["embedding_dropout"] = drop(r), drop(r)


def phi_classic_more(r, d):
    d["resid_pdrop"], d["embd_pdrop"], d["partial_rotary_factor"] = drop(r), drop(r), 0.5
    d["hidden_size"] = d["num_attention_heads"] * r.choice((8, 16, 24, 32, 64))


def gemma3_more(r, d):
    gemma_more(r, d)
    d["num_hidden_layers"] = r.choice((6, 7))  # every sixth layer attends to everything


def stablelm_more(r, d):
    d["hidden_dropout"] = drop(r)


def olmo3_more(r, d):
    d["sliding_window"] = r.choice((r.randint(5, 60), 4096))


def bloom(r):
    d = attention_heads(r, base(r, "n_layer"), "hidden_size", "n_head")
    d.update(hidden_dropout=drop(r), attention_dropout=drop(r), pad_token_id=0)
    return d


def glm_more(r, d):
    d["head_dim"] = r.choice((8, 16, 32, 64))


def bart(r):
    d = attention_heads(r, base(r, "encoder_layers"), "d_model", "encoder_attention_heads")
    d.update(
        decoder_layers=r.choice((2, 3)),
        decoder_attention_heads=d["encoder_attention_heads"],
        encoder_ffn_dim=r.randint(40, 500),
        decoder_ffn_dim=r.randint(40, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_dropout=drop(r),
        max_position_embeddings=1024,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
    )
    return d


def mixtral_more(r, d):
    window(r, d)
    d["num_local_experts"], d["num_experts_per_tok"] = r.randint(4, 8), 2


def gpt2(r):
    d = attention_heads(r, base(r, "n_layer"), "n_embd", "n_head")
    d.update(
        n_positions=1024, resid_pdrop=drop(r), embd_pdrop=drop(r), attn_pdrop=drop(r), tie_word_embeddings=r.random() < 0.7, pad_token_id=0
    )
    if r.random() < 0.5:
        d["n_inner"] = r.randint(40, 700)
    if r.random() < 0.5:
        d["activation_function"] = r.choice(ACTIVATIONS)
    return d


def opt(r):
    d = attention_heads(r, base(r))
    d.update(
        ffn_dim=r.randint(40, 700),
        max_position_embeddings=1024,
        dropout=drop(r),
        attention_dropout=drop(r),
        tie_word_embeddings=r.random() < 0.7,
        enable_bias=r.random() < 0.7,
        do_layer_norm_before=r.random() < 0.6,
    )
    d["word_embed_proj_dim"] = r.choice((d["hidden_size"], d["hidden_size"], r.randint(20, 200)))
    if r.random() < 0.4:
        d["activation_function"] = r.choice(ACTIVATIONS)
    return d


def gpt_neox(r):
    d = attention_heads(r, base(r), widths=(8, 16, 24, 32, 64, 72))
    d.update(
        intermediate_size=r.randint(40, 700),
        max_position_embeddings=1024,
        hidden_dropout=drop(r),
        attention_dropout=drop(r),
        tie_word_embeddings=r.random() < 0.3,
        use_parallel_residual=r.random() < 0.6,
        attention_bias=r.random() < 0.7,
        pad_token_id=0,
        rotary_pct=r.choice((0.25, 0.5)),
    )
    return d


def bert(r):
    d = attention_heads(r, base(r))
    d.update(
        intermediate_size=r.randint(40, 700),
        max_position_embeddings=1024,
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        type_vocab_size=r.randint(1, 3),
    )
    if r.random() < 0.4:
        d["hidden_act"] = r.choice(ACTIVATIONS)
    return d


def distilbert(r):
    d = attention_heads(r, base(r, "n_layers"), "dim", "n_heads")
    d.update(
        hidden_dim=r.randint(40, 700),
        max_position_embeddings=1024,
        dropout=drop(r),
        attention_dropout=drop(r),
        seq_classif_dropout=drop(r),
        activation=r.choice(("gelu", "relu")),
    )
    return d


def vit(r):
    d = attention_heads(r, base(r, vocab=False))
    d.update(
        intermediate_size=r.randint(40, 700),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        qkv_bias=r.random() < 0.7,
        patch_size=r.choice((4, 7, 8, 16)),
        num_labels=r.randint(2, 30),
    )
    d["image_size"] = d["patch_size"] * r.randint(3, 12)
    return d


def t5(r):
    d = base(r, "num_layers")
    d.update(
        num_decoder_layers=r.choice((2, 3)),
        num_heads=r.randint(2, 8),
        d_kv=r.choice(WIDTHS),
        d_model=r.randint(40, 300),
        d_ff=r.randint(40, 700),
        dropout_rate=drop(r),
        feed_forward_proj=r.choice(("relu", "gated-gelu", "gated-silu")),
        tie_word_embeddings=r.random() < 0.6,
    )
    return d


FAMILIES = {
    "llama": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "mistral": (lambda r: decoder(r, more=window), LLAMA_LINEARS),
    "qwen2": (lambda r: decoder(r, head_dim=False, more=late_window), LLAMA_LINEARS),
    "qwen3": (lambda r: decoder(r, biases=("attention_bias",), more=late_window), LLAMA_LINEARS),
    "gemma2": (lambda r: decoder(r, act="hidden_activation", biases=("attention_bias",), more=gemma_more), LLAMA_LINEARS),
    "phi3": (lambda r: decoder(r, head_dim=False, more=phi_more), ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")),
    "mixtral": (lambda r: decoder(r, more=mixtral_more), LLAMA_LINEARS[:4]),
    "gpt2": (gpt2, ("c_attn", "c_proj", "c_fc")),
    "opt": (opt, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "gpt_neox": (gpt_neox, ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")),
    "bert": (bert, ("query", "key", "value", "dense")),
    "roberta": (bert, ("query", "key", "value", "dense")),
    "distilbert": (distilbert, ("q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2")),
    "vit": (vit, ("q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2")),
    "xlm-roberta": (bert, ("query", "key", "value", "dense")),
    "electra": (lambda r: {**bert(r), "embedding_size": r.randint(20, 90)}, ("query", "key", "value", "dense")),
    "gemma": (
        lambda r: decoder(
            r, act="hidden_activation", biases=("attention_bias",), more=lambda r, d: d.setdefault("head_dim", r.choice(WIDTHS))
        ),
        LLAMA_LINEARS,
    ),
    "gemma3_text": (lambda r: decoder(r, act="hidden_activation", biases=("attention_bias",), more=gemma3_more), LLAMA_LINEARS),
    "olmo2": (lambda r: decoder(r, head_dim=False, biases=("attention_bias",)), LLAMA_LINEARS),
    "granite": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "ministral": (lambda r: decoder(r, more=gemma_more), LLAMA_LINEARS),
    "starcoder2": (
        lambda r: decoder(r, head_dim=False, biases=("use_bias",), more=starcoder_more),
        ("q_proj", "k_proj", "v_proj", "o_proj", "c_fc", "c_proj"),
    ),
    "phi": (lambda r: decoder(r, head_dim=False, more=phi_classic_more), ("q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2")),
    "gpt_bigcode": (lambda r: gpt2(r), ("c_attn", "c_proj", "c_fc")),
    "stablelm": (lambda r: decoder(r, head_dim=False, biases=("use_qkv_bias", "use_parallel_residual"), more=stablelm_more), LLAMA_LINEARS),
    "glm": (lambda r: decoder(r, biases=("attention_bias",), more=glm_more), LLAMA_LINEARS[:4]),
    "glm4": (lambda r: decoder(r, biases=("attention_bias",), more=glm_more), LLAMA_LINEARS[:4]),
    "cohere": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "use_qk_norm")), LLAMA_LINEARS),
    "nemotron": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "olmo": (lambda r: decoder(r, head_dim=False, biases=("attention_bias",)), LLAMA_LINEARS),
    "smollm3": (lambda r: decoder(r, head_dim=False, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "exaone4": (lambda r: {**decoder(r), "num_hidden_layers": r.choice((4, 5))}, LLAMA_LINEARS),
    "bart": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "mt5": (t5, ("q", "k", "v", "o", "wi_0", "wi_1", "wo")),
    "mbart": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "pegasus": (bart, ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")),
    "deit": (vit, ("q_proj", "k_proj", "v_proj", "o_proj", "fc1", "fc2")),
    "seed_oss": (lambda r: decoder(r, biases=("attention_bias", "mlp_bias")), LLAMA_LINEARS),
    "cohere2": (lambda r: {**decoder(r, biases=("attention_bias",), more=gemma_more), "num_hidden_layers": 4}, LLAMA_LINEARS),
    "olmo3": (lambda r: {**decoder(r, head_dim=False, biases=("attention_bias",), more=olmo3_more), "num_hidden_layers": 4}, LLAMA_LINEARS),
    "bloom": (bloom, ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")),
    "t5": (t5, ("q", "k", "v", "o", "wi", "wo")),
}


def adapter(r, linears):
    """A LoRA configuration over some of the family's linear layers."""
    names = r.choice(
        (list(linears), r.sample(linears, r.randint(1, len(linears))), r.sample(linears, r.randint(1, len(linears))), "all-linear")
    )
    p = {"r": r.choice((1, 3, 8, 16, 64)), "alpha": 16, "dropout": r.choice((0.0, 0.0, 0.05)), "target_modules": names}
    if r.random() < 0.25:
        p["dora"] = True
    if r.random() < 0.2:
        p["autocast_adapter_dtype"] = False
    return p


def as_captured(family, task, r):
    """Settings and sizes as captures draw them, for families without a drawing of their own."""
    sys.path.insert(0, str(ROOT))
    from capture.families.every_family import FAMILIES as CAPTURED
    from capture.recording.graphs import draw_sizes

    captured = CAPTURED[family]
    settings, sizes = captured.dims(r), draw_sizes(r, task)
    if captured.sizes:
        captured.sizes(settings, sizes, r)
    for axis in captured.axes:
        r.choice(axis).change(settings, sizes, r)
    return settings, sizes, captured.inputs_follow


def linears_of(graphs):
    """Names of linear layers an adapter may go on; gates and experts are fused, which peft converts only together."""
    blocks = [b for g in graphs for b in g["blocks"]]
    names = {i["path"].split(".")[-1] for b in blocks for i in b["body"] if i.get("call") in ("Linear", "Conv1D")}
    return tuple(sorted(names - {"gate", "gate_proj", "up_proj", "down_proj"} if has_experts(graphs) else names))


def has_experts(graphs):
    return any("_grouped_mm" in json.dumps(g["blocks"]) for g in graphs)


def draw(family, number, graphs):
    """The case of a number: model, batch, dtypes, attention, checkpointing, optimizer, adapter, quantization."""
    r = random.Random(f"{family}-{number}")
    task, attention = r.choice(sorted({(g["task"], g["attention"]) for g in graphs}))
    if family not in FAMILIES:
        return draw_captured(family, number, graphs, task, attention, r)
    dims, linears = FAMILIES[family]
    model = {"model_type": family, **dims(r)}
    if task in ("seq-cls", "token-cls"):
        model["num_labels"] = r.randint(2, 19)
    case = {"id": f"{family}-{number}", "model": model, "task": task, "batch": r.choice((1, 2, 3, 5, 8))}
    if task == "image-cls":
        case["image"] = model["image_size"]
    else:
        case["seq"] = r.choice((r.randint(7, 65), r.randint(66, 400), 128, 256))
    if task == "seq2seq-lm":
        case["target_seq"] = r.randint(5, 200)
    if task.endswith("-cls") and "pad_token_id" in model:
        case["use_cache"] = False  # as the Trainer sets it
    case["load_dtype"] = r.choice(("float32", "float32", "bfloat16", "bfloat16", "float16"))
    case["amp"] = r.choice((None, "bf16", "fp16"))
    case["attn"] = attention
    return trained(case, r, linears)


def draw_captured(family, number, graphs, task, attention, r):
    settings, sizes, follow = as_captured(family, task, r)
    if task == "qa":
        settings["num_labels"] = 2
    if task in ("causal-lm", "seq-cls", "seq2seq-lm"):
        settings["use_cache"] = False  # as the Trainer sets it
    dtype, amp = r.choice((("float32", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", None), ("bfloat16", "bf16")))
    if (
        follow and amp is None
    ):  # the oracle's images are float32, which a half-precision model refuses (fake convolutions without biases do not)
        dtype = "float32"
    if has_experts(graphs):  # the fake device multiplies groups only in bfloat16 and for rows of whole 16 bytes
        dtype, amp = "bfloat16", r.choice((None, "bf16"))
        settings |= {k: -(-v // 8) * 8 for k, v in settings.items() if k.endswith("intermediate_size")}
    case = {
        "id": f"{family}-{number}",
        "model": {"model_type": family, **settings},
        "task": task,
        "batch": sizes["B"],
        **({"seq": sizes["S"]} if "S" in sizes else {}),
        "load_dtype": dtype,
        "amp": amp,
        "attn": "eager" if attention == "none" else attention,
    }
    if task == "image-cls":
        case["image"] = sizes["I"]
    if "T" in sizes:
        case["target_seq"] = sizes["T"]
    case = trained(case, r, linears_of(graphs))
    if (
        has_experts(graphs) and case.get("peft", {}).get("target_modules") == "all-linear"
    ):  # reaches the experts, which the engine has a band for
        case["peft"]["target_modules"] = list(linears_of(graphs))
    return case


def trained(case, r, linears):
    """The case with how it is trained."""
    task = case["task"]
    case["gradient_checkpointing"] = r.random() < 0.5
    if case["gradient_checkpointing"]:
        kind = r.choice((None, True, False))
        if kind is not None:
            case["use_reentrant"] = kind
    case["optim"] = r.choice(OPTIMIZERS)
    case["grad_accum"] = r.choice((1, 1, 2, 3))
    case["max_grad_norm"] = r.choice((1.0, 1.0, 0))
    way = r.choice(("full", "full", "lora", "lora", "qlora")) if linears else "full"
    if way != "full":
        case["peft"] = adapter(r, linears)
        if task.endswith("-cls") and case["peft"]["target_modules"] == "all-linear":
            case["peft"]["target_modules"] = list(linears)  # what it means depends on peft's kind of task
    if way == "qlora" and task in PEFT_TASKS:  # of other tasks the oracle also packs the head, which transformers does not
        case["quant"] = {"type": r.choice(("nf4", "fp4")), "double": r.random() < 0.5}
        case["kbit_prep"] = r.random() < 0.5
        # adapters on fake packed weights can only be made in float32
        case["peft"].pop("autocast_adapter_dtype", None)
    return case


def load(path):
    spec = importlib.util.spec_from_file_location("oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def by_task(oracle):
    """The oracle's run, with the task peft is told to be the case's: only causal models have what that kind asks for."""
    import peft

    config, told = peft.LoraConfig, {}
    peft.LoraConfig = lambda **settings: config(**{**settings, **told})

    def run(case):
        told["task_type"] = PEFT_TASKS.get(case["task"])
        return oracle.run(case)

    return run


def packs_transposed(oracle):
    """The oracle's 4-bit layers also in place of transformers' Conv1D, whose weight is transposed first (replace_with_bnb_linear)."""
    import torch
    from transformers.pytorch_utils import Conv1D

    quantize = oracle.quantize

    def whole(model, *settings):
        for parent in list(model.modules()):
            for name, module in list(parent.named_children()):
                if isinstance(module, Conv1D):
                    inputs, outputs = module.weight.shape
                    parent._modules[name] = torch.nn.Linear(inputs, outputs, device="cuda", dtype=module.weight.dtype)
                    parent._modules[name].bias = module.bias
        quantize(model, *settings)

    oracle.quantize = whole


class WithConvertedMasks:
    """ATen's operators, with the step that `scaled_dot_product_attention` takes before its math path: additive masks."""

    def __init__(self, aten):
        self._aten = aten

    def __getattr__(self, name):
        return getattr(self._aten, name)

    def _scaled_dot_product_attention_math(self, query, key, value, mask, *rest, **options):
        import torch

        if mask is not None and mask.dtype == torch.bool:
            mask = torch.where(mask, 0.0, torch.scalar_tensor(-torch.inf, dtype=query.dtype, device=mask.device))
        return self._aten._scaled_dot_product_attention_math(query, key, value, mask, *rest, **options)


def alone(work):
    """Runs in a process of its own: libraries keep state between models, and fake tensors may bring the process down."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            sys.stderr.flush()
            os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(f"ended with {status}", file=sys.stderr)


def keep(out, case, run):
    try:
        result = run(case)
    except Exception as error:
        print(f"{case['id']}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return
    with out.open("a") as file:
        file.write(json.dumps({"case": case, "result": {k: result[k] for k in KEPT}}, separators=(",", ":")) + "\n")


def main():
    parser = with_oracle(__doc__, count=15)
    parser.add_argument("--family", nargs="*", default=list(FAMILIES))
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    oracle.aten = WithConvertedMasks(oracle.aten)
    packs_transposed(oracle)
    run = by_task(oracle)
    for family in args.family:
        graphs = ROOT / "models" / "graphs" / f"{family}.json"
        if not graphs.exists():
            print(f"{family}: no graphs", file=sys.stderr)
            continue
        graphs = content_of(graphs.read_text())["graphs"]
        out = ROOT / "test" / "core" / "receipts" / f"{family}.jsonl"
        out.parent.mkdir(parents=True, exist_ok=True)
        have = drawn_in(out)
        for number in range(args.first, args.first + args.count):
            case = draw(family, number, graphs)
            if case["id"] not in have:
                alone(lambda: keep(out, case, run))
        print(f"{family}: done", flush=True)


if __name__ == "__main__":
    main()
