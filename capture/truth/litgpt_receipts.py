"""Makes receipts of litgpt's finetuning and pretraining: configs drawn at random, each with the peak of its own model and loop.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.litgpt_receipts --oracle ORACLE.py [--count 60] [--seed N] [--out FILE]

The model is litgpt's (with its LoRA where a rank says so) in Lightning Fabric's wrapper and precision plugin, the loop `fit` of
finetune/full.py, finetune/lora.py and pretrain.py, on fake CUDA tensors whose storages the oracle follows.
"""

import contextlib
import gc
import pathlib
import types

from .receipt_files import add, arguments

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "litgpt.jsonl"

MODELS = (
    "EleutherAI/pythia-70m",
    "EleutherAI/pythia-160m",
    "EleutherAI/pythia-410m",
    "meta-llama/Llama-3.2-1B",
    "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
    "HuggingFaceTB/SmolLM2-135M",
    "HuggingFaceTB/SmolLM2-360M",
    "Qwen/Qwen2.5-0.5B",
    "Qwen/Qwen2.5-1.5B",
    "Qwen/Qwen3-0.6B",
    "microsoft/phi-1_5",
    "microsoft/phi-2",
    "microsoft/Phi-3-mini-4k-instruct",
    "google/gemma-2b",
    "google/gemma-2-2b",
    "stabilityai/stablelm-3b-4e1t",
    "tiiuae/falcon-7b",
    "mistralai/Mistral-7B-v0.1",
)
PARTS = ("query", "key", "value", "projection", "mlp", "head")

HEAD = """checkpoint_dir: checkpoints/{model}
out_dir: out/finetune
precision: {precision}
devices: 1
data:
  class_path: litgpt.data.Alpaca
train:
  global_batch_size: {total}
  micro_batch_size: {batch}
  max_seq_length: {seq}
  epochs: 1
eval:
  interval: 100
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 0.0002
"""


def draw(r):
    """What a run is, and its config as text."""
    c = {
        "model": r.choice(MODELS),
        "precision": r.choice(("bf16-true", "bf16-true", "bf16-true", "bf16-mixed", "32-true")),
        "batch": r.choice((1, 1, 2, 4)),
        "accumulation": r.choice((1, 2, 4)),
        "seq": r.choice((256, 300, 512, 777, 1024)),
        "lora": r.random() < 0.5,
    }
    text = HEAD.format(**c, total=c["batch"] * c["accumulation"])
    if c["lora"]:
        on = r.choice((("query", "value"), ("query", "value"), ("query", "key", "value"), ("query", "value", "projection", "mlp"), PARTS))
        c |= {"on": on, "rank": r.choice((4, 8, 32)), "dropout": r.choice((0.0, 0.05))}
        text += f"lora_r: {c['rank']}\nlora_alpha: 16\nlora_dropout: {c['dropout']}\n"
        text += "".join(f"lora_{part}: {'true' if part in on else 'false'}\n" for part in PARTS)
        if c["precision"] == "bf16-true" and r.random() < 0.7:
            c["quantize"] = r.choice(("nf4", "nf4", "nf4-dq"))
            text += f"quantize: bnb.{c['quantize']}\n"
    return c, text


def no_kernels(torch):
    """Optimizer states and updates of bitsandbytes without its kernels: what `cudaMallocManaged` gives is not the allocator's."""
    import bitsandbytes as bnb

    bnb.optim.PagedAdamW.update_step = lambda *_: None
    bnb.functional.get_paged = lambda *size, dtype=None, device=None: torch.zeros(*size, dtype=dtype, device="cpu")
    bnb.functional.fill = lambda *_, **__: None
    bnb.optim.PagedAdamW.prefetch_state = lambda *_: None


def stable_embedding(torch, model):
    """`main` of finetune/lora.py puts another embedding in the place of a packed model's, and names the one before."""
    from bitsandbytes.nn import StableEmbedding

    old = model.transformer.wte
    model.transformer.wte = StableEmbedding(old.num_embeddings, old.embedding_dim)
    model.transformer.wte = model.transformer.wte.to(device=old.weight.device, dtype=old.weight.dtype)
    return old


def peak(oracle, c, sharded=None):
    """Most bytes allocated in two steps of the loop.

    `sharded(model)` gives the model as one of several ranks has it, and the context of a micro-batch by whether it is its step's last.
    """
    import litgpt.lora
    import litgpt.model
    from lightning.fabric.plugins.precision import BitsandbytesPrecision, HalfPrecision, MixedPrecision, Precision
    from lightning.fabric.wrappers import _FabricModule
    from litgpt.utils import chunked_cross_entropy

    torch = oracle.torch
    _FabricModule._register_backward_hook = lambda _, tensor: tensor  # asks for `fabric.backward`, which scales nothing here
    litgpt.model.range = lambda *a: range(*a) if len(a) != 1 or a[0] < 200 else ()  # rows of a window's mask, filled in place
    precision = {"bf16-true": lambda: HalfPrecision("bf16-true"), "bf16-mixed": lambda: MixedPrecision("bf16-mixed", "cuda")}
    plugin = precision.get(c["precision"], Precision)()
    if "quantize" in c:
        no_kernels(torch)
        precision["packed"] = BitsandbytesPrecision(c["quantize"], torch.bfloat16)
    strategy = types.SimpleNamespace(precision=plugin, reduce=lambda x, *_, **__: x, _backward_sync_control=None)
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    with mode, ledger:
        code = litgpt.lora if c["lora"] else litgpt.model
        more = (
            {f"lora_{part}": True for part in c["on"]} | {"lora_r": c["rank"], "lora_alpha": 16, "lora_dropout": c["dropout"]}
            if c["lora"]
            else {}
        )
        config = code.Config.from_name(c["model"].split("/")[1], **more)
        with torch.device("cuda"), plugin.module_init_context():
            model = code.GPT(config)
        if c["lora"]:
            litgpt.lora.mark_only_lora_as_trainable(model)
        if "quantize" in c:
            # `module_init_context` of the plugin packs weights as they are made, which fake tensors cannot be asked for
            model.get_output_embeddings = lambda: None
            oracle.quantize(model, {"type": "nf4", "double": c["quantize"].endswith("-dq")}, torch.bfloat16)
            plugin = strategy.precision = precision["packed"]
        model = plugin.convert_module(model)
        model.max_seq_length = c["seq"]
        model.train()
        model, context = (model, lambda _: contextlib.nullcontext()) if sharded is None else sharded(model)
        fabric = _FabricModule(model, strategy, original_module=model)
        gc.collect()
        ledger.phase = "optimizer-init"
        if "quantize" in c:
            import bitsandbytes as bnb

            optimizer = bnb.optim.PagedAdamW(model.parameters())
            _old_embedding = stable_embedding(torch, model)
        else:
            optimizer = torch.optim.AdamW(
                [p for p in model.parameters() if p.requires_grad], lr=1e-4, foreach=True if sharded is None else None
            )
        size, length = c["batch"], c["seq"]
        for step in (1, 2):
            for k in range(c["accumulation"]):
                ledger.phase = f"forward{step}"
                input_ids, targets = (torch.zeros(size, length, dtype=torch.long, device="cuda") for _ in range(2))
                with context(k == c["accumulation"] - 1):
                    if c["lora"]:
                        logits = fabric(input_ids, lm_head_chunk_size=128)
                        logits[-1] = logits[-1][..., :-1, :]
                        loss = chunked_cross_entropy(logits, targets[..., 1:])
                    else:
                        logits = fabric(input_ids)
                        loss = chunked_cross_entropy(logits[..., :-1, :], targets[..., 1:])
                    ledger.phase = f"backward{step}"
                    (loss / c["accumulation"]).backward()
            ledger.phase = f"step{step}"
            optimizer.step()
            optimizer.zero_grad()
    return oracle.summarize(list(ledger.events), ledger.size, {})


if __name__ == "__main__":
    add(arguments(FILE).parse_args(), draw, peak)
