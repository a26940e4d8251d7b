"""Makes receipts of llm-foundry's MPT: configs drawn at random, each with the peak of its own model in Composer's training step.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.foundry_receipts --oracle ORACLE.py [--count 12] [--seed N] [--out FILE]

The model is llm-foundry's (its sources on `PYTHONPATH`), built as `capture/frameworks/foundry.py` builds it, on fake CUDA tensors whose
storages the oracle follows; the kernel of flash-attn's loss is written out below.
"""

import gc
import pathlib

from ..frameworks import foundry
from .receipt_files import add, arguments

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "test" / "analysis" / "llm-foundry.jsonl"

TEXT = """max_seq_len: {S}
model:
  name: mpt_causal_lm
  d_model: {d_model}
  n_heads: {n_heads}
  n_layers: {n_layers}
  expansion_ratio: {expansion_ratio}
  max_seq_len: {max_seq_len}
  vocab_size: {vocab_size}
  learned_pos_emb: {learned_pos_emb}
  no_bias: {no_bias}
  tie_word_embeddings: {tie_word_embeddings}
  loss_fn: {loss_fn}
  attn_config:
    attn_impl: {attn_impl}
    alibi: {alibi}
{clip}tokenizer:
  name: EleutherAI/gpt-neox-20b
optimizer:
  name: decoupled_adamw
  lr: 6.0e-4
algorithms:
  gradient_clipping:
    clipping_type: norm
    clipping_threshold: 1.0
max_duration: 10ba
global_train_batch_size: {total}
device_train_microbatch_size: {B}
precision: amp_bf16
compute:
  gpus: 1
"""


def draw(r):
    """What a run is, and its config as text."""
    heads, learned = r.choice((4, 8, 16)), r.random() < 0.6
    c = {
        "d_model": heads * r.choice((32, 64, 128)),
        "n_heads": heads,
        "kv_n_heads": heads,
        "n_layers": r.randint(2, 8),
        "expansion_ratio": r.choice((2, 4)),
        "max_seq_len": 2048,
        "vocab_size": r.choice((32000, 50368)),
        "learned_pos_emb": learned,
        "alibi": not learned,
        "no_bias": r.random() < 0.5,
        "clips_qkv": r.random() < 0.4,
        "fused_loss": r.random() < 0.6,
        "attn_implementation": r.choice(("sdpa", "sdpa", "eager")),
    }
    sizes = {"B": r.choice((1, 2, 4, 8)), "S": r.choice((512, 1024, 1536, 2048)), "accumulation": r.choice((1, 2))}
    c["tie_word_embeddings"] = r.random() < 0.5
    text = TEXT.format(
        **{k: str(v).lower() if isinstance(v, bool) else v for k, v in c.items()},
        **sizes,
        total=sizes["B"] * sizes["accumulation"],
        loss_fn="fused_crossentropy" if c["fused_loss"] else "torch_crossentropy",
        attn_impl="flash" if c["attn_implementation"] == "sdpa" else "torch",
        clip="    clip_qkv: 6\n" if c["clips_qkv"] else "",
    )
    return (c, sizes), text


def fused(torch):
    """flash_attn/ops/triton/cross_entropy.py (CrossEntropyLoss): a loss, a sum and a penalty a row; the gradient is a tensor of its own."""

    class Loss(torch.autograd.Function):
        @staticmethod
        def forward(ctx, logits, labels):
            losses, sums, penalties = (torch.empty(len(labels), dtype=torch.float32, device="cuda") for _ in range(3))
            ctx.save_for_backward(logits, sums, labels)
            return losses

        @staticmethod
        def backward(ctx, gradient):
            logits, _, _ = ctx.saved_tensors
            return torch.empty_like(logits), None

    return Loss.apply


def peak(oracle, run):
    """Most bytes allocated in two steps of the loop."""
    c, sizes = run
    torch = oracle.torch
    mode, ledger = oracle.FakeTensorMode(allow_non_fake_inputs=True), oracle.Ledger()
    with mode, ledger:
        with torch.device("cuda"):
            model = foundry.mpt(c, sizes)
        model.train()
        gc.collect()
        ledger.phase = "optimizer-init"
        parameters = list(model.parameters())
        optimizer = torch.optim.AdamW(parameters, lr=1e-4, foreach=False, fused=False)
        outputs = None
        for step in (1, 2):
            optimizer.zero_grad()
            for _ in range(sizes["accumulation"]):
                ledger.phase = f"forward{step}"
                ids, labels = (torch.zeros(sizes["B"], sizes["S"], dtype=torch.long, device="cuda") for _ in range(2))
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    outputs = model(ids).logits
                    targets = torch.roll(labels, shifts=-1)
                    targets[:, -1] = -100
                    targets = targets.view(-1)
                    rows = outputs.view(-1, outputs.size(-1))
                    if c["fused_loss"]:
                        losses = fused(torch)(rows, targets)
                    else:
                        losses = torch.nn.functional.cross_entropy(rows, targets, reduction="none")
                    del rows
                    loss = losses.sum() / (targets != -100).sum()
                    del losses, targets
                ledger.phase = f"backward{step}"
                loss.backward()
                del loss
            ledger.phase = f"step{step}"
            oracle.clip(parameters, 1.0)
            optimizer.step()
    return oracle.summarize(list(ledger.events), ledger.size, {})


if __name__ == "__main__":
    options = arguments(FILE)
    options.set_defaults(count=12)
    add(options.parse_args(), draw, peak)
