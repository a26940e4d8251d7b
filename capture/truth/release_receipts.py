"""Scripts with the Trainer, on an earlier release of transformers: what they allocate when that release runs them.

Scripts are drawn for models of the catalogue; `real.py` of the oracle runs them as they are on fake CUDA tensors. Run with the Python of
the release that is meant.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.release_receipts --real REAL.py --out ROWS.jsonl [--seed N] [--count N]
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from ..recording.releases import VERSION

CAUSAL = (
    ("HuggingFaceTB/SmolLM2-135M", ("q_proj", "v_proj"), (4, 40)),
    ("Qwen/Qwen2.5-0.5B", ("q_proj", "k_proj", "v_proj", "o_proj"), (4, 40)),
    ("meta-llama/Llama-3.2-1B", ("q_proj", "v_proj"), (4, 43)),
    ("openai-community/gpt2", ("c_attn",), (4, 0)),
    ("facebook/opt-125m", ("q_proj", "v_proj"), (4, 0)),
    ("EleutherAI/pythia-160m", ("query_key_value",), (4, 0)),
    ("google/gemma-2-2b", ("q_proj", "v_proj"), (4, 42)),
    ("microsoft/Phi-3-mini-4k-instruct", ("qkv_proj", "o_proj"), (4, 41)),
)
CLASSIFIED = (
    ("google-bert/bert-base-uncased", ("query", "value"), (4, 0)),
    ("FacebookAI/roberta-base", ("query", "value"), (4, 0)),
    ("distilbert/distilbert-base-uncased", ("q_lin", "v_lin"), (4, 0)),
    ("microsoft/deberta-v3-base", ("query_proj", "value_proj"), (4, 0)),
    ("answerdotai/ModernBERT-base", ("Wqkv",), (4, 48)),
)
WRITTEN = (
    ("google-t5/t5-small", ("q", "v"), (4, 0)),
    ("google/mt5-small", ("q", "v"), (4, 0)),
    ("facebook/bart-base", ("q_proj", "v_proj"), (4, 0)),
)
SEEN = (
    ("google/vit-base-patch16-224", ("query", "value"), (4, 0)),
    ("microsoft/beit-base-patch16-224", ("query", "value"), (4, 0)),
    ("microsoft/swin-tiny-patch4-window7-224", ("query", "value"), (4, 0)),
)
KINDS = {"causal": CAUSAL, "classified": CLASSIFIED, "written": WRITTEN, "seen": SEEN}


def arguments(r, kind):
    """Arguments of the Trainer."""
    known = {"per_device_train_batch_size": r.choice((1, 2, 4, 8)) * (2 if kind == "seen" else 1)}
    precision = r.choice(("bf16", "fp16", None))
    if precision:
        known[precision] = True
    if r.random() < 0.3:
        known["gradient_accumulation_steps"] = r.choice((2, 4))
    if r.random() < 0.25:
        known["gradient_checkpointing"] = True
    if r.random() < 0.15:
        known["label_smoothing_factor"] = 0.1
    if r.random() < 0.3:
        known["optim"] = r.choice(("adafactor", "sgd", "adamw_torch_fused", "paged_adamw_8bit"))
    return known


def model_lines(r, kind, name, targets):
    """How the model is loaded, with adapters or without."""
    classes = {"causal": "CausalLM", "classified": "SequenceClassification", "written": "Seq2SeqLM", "seen": "ImageClassification"}
    more = ", num_labels=7" if kind in ("classified", "seen") else ""
    if kind == "causal" and r.random() < 0.4:
        more += ", torch_dtype=torch.bfloat16"
    lines = [f'model = AutoModelFor{classes[kind]}.from_pretrained("{name}"{more})']
    if r.random() < 0.4:
        task = {"causal": "CAUSAL_LM", "classified": "SEQ_CLS", "written": "SEQ_2_SEQ_LM", "seen": None}[kind]
        given = f', task_type="{task}"' if task else ""
        lines.append(
            f"model = get_peft_model(model, LoraConfig(r={r.choice((8, 16, 32))}, lora_dropout=0.05, target_modules={list(targets)}{given}))"
        )
    return lines


def script(r, kind, name, targets, length):
    """A script as people write it."""
    keys = {"output_dir": "out", **arguments(r, kind), **({"remove_unused_columns": False} if kind == "seen" else {})}
    given = ",\n".join(f"    {key}={value!r}" for key, value in keys.items())
    head = [
        "import torch",
        "from datasets import load_dataset",
        "from peft import LoraConfig, get_peft_model",
        "from transformers import *",
    ]
    names = "AutoImageProcessor, AutoModelForCausalLM, AutoModelForImageClassification, AutoModelForSeq2SeqLM, AutoModelForSequenceClassification, AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, DataCollatorWithPadding, Trainer, TrainingArguments"
    head[-1] = f"from transformers import {names}"
    if kind == "seen":
        data = [
            f'processor = AutoImageProcessor.from_pretrained("{name}")',
            'dataset = load_dataset("food101", split="train")',
            "",
            "def transform(batch):",
            '    inputs = processor([x for x in batch["image"]], return_tensors="pt")',
            '    inputs["labels"] = batch["label"]',
            "    return inputs",
            "",
            "dataset = dataset.with_transform(transform)",
            "",
            "def collate(batch):",
            '    return {"pixel_values": torch.stack([x["pixel_values"] for x in batch]), "labels": torch.tensor([x["labels"] for x in batch])}',
        ]
        collator = "collate"
    else:
        column = {"causal": "text", "classified": "sentence", "written": "document"}[kind]
        body = [f'    inputs = tokenizer(batch["{column}"], truncation=True, max_length={length}, padding="max_length")']
        if kind == "written":
            body += [
                f'    labels = tokenizer(text_target=batch["summary"], truncation=True, max_length={length // 2}, padding="max_length")',
                '    inputs["labels"] = labels["input_ids"]',
            ]
        if kind == "classified":
            body += ['    inputs["labels"] = batch["label"]']
        data = [
            f'tokenizer = AutoTokenizer.from_pretrained("{name}")',
            'dataset = load_dataset("some/data", split="train")',
            "",
            "def preprocess(batch):",
            *body,
            "    return inputs",
            "",
            "dataset = dataset.map(preprocess, batched=True, remove_columns=dataset.column_names)",
        ]
        collator = {
            "causal": "DataCollatorForLanguageModeling(tokenizer, mlm=False)",
            "classified": "DataCollatorWithPadding(tokenizer)",
            "written": "DataCollatorForSeq2Seq(tokenizer, model=model)",
        }[kind]
    tail = [
        *model_lines(r, kind, name, targets),
        "args = TrainingArguments(",
        f"{given},",
        ")",
        f"trainer = Trainer(model=model, args=args, train_dataset=dataset, data_collator={collator})",
        "trainer.train()",
    ]
    return "\n".join([*head, "", *data, "", *tail]) + "\n"


def drawn(seed, count):
    """Scripts that run on the release, in the order they are drawn."""
    r = random.Random(f"{seed}")
    every = [(kind, *row) for kind, rows in KINDS.items() for row in rows if row[2] <= VERSION]
    r.shuffle(every)
    for k in range(count):
        kind, name, targets, _ = every[k % len(every)]
        length = r.choice((128, 256, 512))
        yield f"{name.split('/')[-1]}-{k}", kind, script(r, kind, name, targets, length), length


DATA = {"causal": "text", "classified": "labelled", "written": "pairs", "seen": "image"}


def main():
    parser = argparse.ArgumentParser(prog="release_receipts")
    parser.add_argument("--real", type=pathlib.Path, required=True, help="real.py of the oracle")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", default="releases")
    parser.add_argument("--count", type=int, default=20)
    args = parser.parse_args()
    release = ".".join(map(str, VERSION))
    root = pathlib.Path(tempfile.mkdtemp())
    cases = {}
    for id, kind, text, length in drawn(args.seed, args.count):
        folder = root / id
        folder.mkdir()
        (folder / "train.py").write_text(text)
        hint = {"data": DATA[kind], "words": length + 50, "rows": 256, "image": 224, "kind": kind}
        (folder / "truth.json").write_text(json.dumps(hint))
        cases[id] = (folder, text)
    found = root / "found.jsonl"
    catalogue = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "catalogue.json"
    env = {**os.environ, "CATALOGUE": str(catalogue)}
    subprocess.run([sys.executable, str(args.real), str(found), *(str(folder) for folder, _ in cases.values())], env=env, check=True)
    with args.out.open("a") as out:
        for line in found.read_text().splitlines():
            row = json.loads(line)
            if "error" in row["result"]:
                print(row["id"], row["result"]["error"], file=sys.stderr)
                continue
            text = cases[row["id"]][1]
            out.write(
                json.dumps({"id": row["id"], "transformers": release, "script": text, "allocated": row["result"]["peak_allocated"]}) + "\n"
            )


if __name__ == "__main__":
    main()
