"""Differences planted in a script of the Trainer, and what a check against PyTorch names first.

usage: python -m capture.truth.planted_differences [--cli dist/cli.js]

Each plant changes what the run allocates by something that the script's text does not say. The expected operator and kind stand with it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SCRIPT = """import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, default_data_collator
import plants

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16, attn_implementation="sdpa")
rows = Dataset.from_list([{"input_ids": [1] * 512, "labels": [1] * 512} for _ in range(64)])
args = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True, optim="adamw_torch", save_strategy="no", logging_strategy="no", report_to="none")
trainer = Trainer(model=model, args=args, train_dataset=rows, data_collator=default_data_collator)
plants.put(trainer)
trainer.train()
"""

PINS = "runs:\n  - match: train.py\n    sequence_length: 512\n"

EXPECTED = {
    "buffer": ("before", "zeros"),
    "kept_output": ("made", "clone"),
    "upcast": ("made", "_to_copy"),
    "dropout": ("made", "native_dropout"),
    "activation": ("kept", "silu"),
    "norm": ("made", "_to_copy"),
    "logits": ("made", "mul"),
    "embed": ("made", "clone"),
    "grad_hook": ("made", "mul"),
    "param_hook": ("made", "_to_copy"),
    "ema": ("made", "clone"),
    "clones": ("made", "clone"),
    "keep_grads": ("kept", "mm"),
    "clip": ("made", "_to_copy"),
    "batch": ("before", "empty"),
    "longer": ("made", "embedding"),
    "loss_kept": ("kept", "_to_copy"),
    "frozen": ("kept", "mul"),
    "wide": ("before", "empty"),
    "eager": ("made", "le"),
    "contiguous": ("made", "clone"),
    "index": ("made", "index"),
}
"""What parts first: the kind of parting, and the operator that made PyTorch's block. A mask of 16 KiB (`batch`) is below what is compared."""

PLANTS = """import os, torch
KEEP = []
def put(trainer):
    name = os.environ.get("PLANT", "")
    if name: globals()[name](trainer, trainer.model)
def layer(model, k): return model.model.layers[k]
def out_hook(module, f): module.register_forward_hook(lambda m, a, out: f(out))
def buffer(t, m): m.model.layers[5].register_buffer("table", torch.zeros(1000, 1000, device="cuda"))
def kept_output(t, m): out_hook(layer(m, 3).mlp, lambda out: KEEP.append(out.detach().clone()))
def upcast(t, m): out_hook(layer(m, 2).self_attn.o_proj, lambda out: out.float().to(out.dtype))
def dropout(t, m): out_hook(layer(m, 1).mlp, lambda out: torch.nn.functional.dropout(out, 0.1))
def activation(t, m):
    act = layer(m, 4).mlp.act_fn
    class Two(torch.nn.Module):
        def forward(self, x): return torch.tanh(torch.nn.functional.silu(x))
    layer(m, 4).mlp.act_fn = Two()
def norm(t, m): out_hook(layer(m, 6).input_layernorm, lambda out: out + out.pow(2).mean(-1, keepdim=True).to(out.dtype))
def logits(t, m): out_hook(m.lm_head, lambda out: out * 1.0)
def embed(t, m): out_hook(m.model.embed_tokens, lambda out: out.clone())
def grad_hook(t, m): out_hook(layer(m, 7), lambda out: (out.register_hook(lambda g: g * 2), None)[1])
def param_hook(t, m): layer(m, 8).mlp.down_proj.weight.register_hook(lambda g: KEEP.append(g.float()))
def ema(t, m):
    step = torch.optim.AdamW.step
    def s(self, *a, **k):
        out = step(self, *a, **k)
        if not KEEP: KEEP.append([p.detach().clone() for p in m.parameters()])
        return out
    torch.optim.AdamW.step = s
def clones(t, m):
    step = torch.optim.AdamW.step
    def s(self, *a, **k):
        g = [p.grad.clone() for p in m.parameters() if p.grad is not None]
        return step(self, *a, **k)
    torch.optim.AdamW.step = s
def keep_grads(t, m):
    m.zero_grad = lambda *a, **k: torch.nn.Module.zero_grad(m, set_to_none=False)
def clip(t, m):
    clip_ = torch.nn.utils.clip_grad_norm_
    def c(parameters, *a, **k):
        parameters = list(parameters)
        total = torch.stack([p.grad.float().norm() for p in parameters])
        return clip_(parameters, *a, **k)
    torch.nn.utils.clip_grad_norm_ = c
def batch(t, m):
    plain = t.data_collator
    def c(rows):
        out = plain(rows); out["attention_mask"] = torch.ones_like(out["input_ids"]); return out
    t.data_collator = c
def longer(t, m):
    plain = t.data_collator
    t.data_collator = lambda rows: {k: torch.cat([v, v[:, :64]], 1) for k, v in plain(rows).items()}
def loss_kept(t, m):
    plain = t.compute_loss
    def c(*a, **k):
        k["return_outputs"] = True
        loss, out = plain(*a, **k); KEEP.append(out); return loss
    t.compute_loss = c
def frozen(t, m):
    for p in layer(m, 0).mlp.parameters(): p.requires_grad_(False)
def wide(t, m):
    old = layer(m, 9).mlp.up_proj
    new = torch.nn.Sequential(torch.nn.Linear(old.in_features, 2048, bias=False, dtype=torch.bfloat16, device="cuda"), torch.nn.Linear(2048, old.out_features, bias=False, dtype=torch.bfloat16, device="cuda"))
    layer(m, 9).mlp.up_proj = new
def eager(t, m): m.config._attn_implementation = "eager"
def contiguous(t, m): out_hook(layer(m, 10).self_attn.q_proj, lambda out: out.transpose(1, 2).contiguous().transpose(1, 2))
def index(t, m): out_hook(layer(m, 11), lambda out: out[:, torch.arange(out.shape[1], device=out.device)])
"""


def named(folder, cli, name):
    """`(kind, operator, line)` that the check names for a plant."""
    done = subprocess.run(
        ["node", cli, "check", "--against-pytorch", "--python", sys.executable, "--format", "json", "train.py"],
        cwd=folder,
        env={**os.environ, "PLANT": name, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    parting = json.loads(done.stdout)["parting"] or {}
    block = parting.get("measured") or {}
    return parting.get("kind"), block.get("operator"), block.get("place")


def main():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cli", default="dist/cli.js")
    cli, right = os.path.abspath(asked.parse_args().cli), 0
    with tempfile.TemporaryDirectory() as folder:
        for file, text in (("train.py", SCRIPT), ("plants.py", PLANTS), (".vramlens.yaml", PINS)):
            with open(os.path.join(folder, file), "w") as out:
                out.write(text)
        for name, expected in EXPECTED.items():
            *found, place = named(folder, cli, name)
            right += tuple(found) == expected
            print(f"{name}: {found} {place}{'' if tuple(found) == expected else f', expected {expected}'}", flush=True)
    print(f"{right} of {len(EXPECTED)} are named right")


if __name__ == "__main__":
    main()
