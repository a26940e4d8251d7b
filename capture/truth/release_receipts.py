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
    ("google/gemma-2b", ("q_proj", "v_proj"), (4, 38)),
    ("google/gemma-3-270m", ("q_proj", "v_proj"), (4, 50)),
    ("microsoft/phi-1", ("q_proj", "v_proj", "dense"), (4, 37)),
    ("EleutherAI/gpt-neo-125m", ("q_proj", "v_proj"), (4, 0)),
    ("EleutherAI/gpt-j-6b", ("q_proj", "v_proj"), (4, 0)),
    ("bigscience/bloom-560m", ("query_key_value",), (4, 0)),
    ("tiiuae/falcon-rw-1b", ("query_key_value",), (4, 33)),
    ("mosaicml/mpt-7b", ("Wqkv",), (4, 32)),
    ("bigcode/starcoder2-3b", ("q_proj", "v_proj"), (4, 39)),
    ("allenai/OLMo-1B-hf", ("q_proj", "v_proj"), (4, 40)),
    ("allenai/OLMo-2-0425-1B", ("q_proj", "v_proj"), (4, 47)),
    ("stabilityai/stablelm-2-1_6b", ("q_proj", "v_proj"), (4, 38)),
    ("CohereLabs/aya-23-8B", ("q_proj", "v_proj"), (4, 39)),
    ("CohereLabs/c4ai-command-r7b-12-2024", ("q_proj", "v_proj"), (4, 48)),
    ("ibm-granite/granite-3.0-2b-base", ("q_proj", "v_proj"), (4, 45)),
    ("mistralai/Mistral-7B-v0.1", ("q_proj", "v_proj"), (4, 34)),
    ("Qwen/Qwen3-0.6B", ("q_proj", "v_proj"), (4, 51)),
    ("Salesforce/codegen-350M-mono", ("qkv_proj",), (4, 0)),
    ("facebook/xglm-564M", ("q_proj", "v_proj"), (4, 0)),
    ("microsoft/biogpt", ("q_proj", "v_proj"), (4, 25)),
    ("bigcode/tiny_starcoder_py", ("c_attn",), (4, 28)),
    ("nvidia/Minitron-4B-Base", ("q_proj", "v_proj"), (4, 44)),
    ("THUDM/glm-4-9b-chat-hf", ("q_proj", "v_proj"), (4, 46)),
)
CLASSIFIED = (
    ("google-bert/bert-base-uncased", ("query", "value"), (4, 0)),
    ("FacebookAI/roberta-base", ("query", "value"), (4, 0)),
    ("FacebookAI/xlm-roberta-base", ("query", "value"), (4, 0)),
    ("distilbert/distilbert-base-uncased", ("q_lin", "v_lin"), (4, 0)),
    ("microsoft/deberta-v3-base", ("query_proj", "value_proj"), (4, 0)),
    ("microsoft/deberta-base", ("in_proj",), (4, 0)),
    ("answerdotai/ModernBERT-base", ("Wqkv",), (4, 48)),
    ("google/electra-small-discriminator", ("query", "value"), (4, 0)),
    ("albert/albert-base-v2", ("query", "value"), (4, 0)),
    ("microsoft/mpnet-base", ("q", "v"), (4, 0)),
    ("almanach/camembert-base", ("query", "value"), (4, 0)),
    ("allenai/longformer-base-4096", ("query", "value"), (4, 0)),
    ("nghuyong/ernie-3.0-nano-zh", ("query", "value"), (4, 0)),
    ("xlnet/xlnet-base-cased", (), (4, 0)),
    ("google/rembert", ("query", "value"), (4, 0)),
    ("junnyu/roformer_chinese_base", ("query", "value"), (4, 0)),
    ("openai-community/gpt2", ("c_attn",), (4, 0)),
)
UNPADDED = ("openai-community/gpt2",)
"""Models that have no token to pad with: scripts that classify with them name one."""
MASKED = tuple(row for row in CLASSIFIED if not any(word in row[0] for word in ("longformer", "xlnet", "roformer", "rembert", "gpt2")))
WRITTEN = (
    ("google-t5/t5-small", ("q", "v"), (4, 0)),
    ("google/mt5-small", ("q", "v"), (4, 0)),
    ("google/umt5-small", ("q", "v"), (4, 30)),
    ("google/flan-t5-small", ("q", "v"), (4, 0)),
    ("facebook/bart-base", ("q_proj", "v_proj"), (4, 0)),
    ("facebook/mbart-large-50", ("q_proj", "v_proj"), (4, 0)),
    ("google/pegasus-xsum", ("q_proj", "v_proj"), (4, 0)),
    ("Helsinki-NLP/opus-mt-en-de", ("q_proj", "v_proj"), (4, 0)),
    ("facebook/m2m100_418M", ("q_proj", "v_proj"), (4, 0)),
    ("allenai/led-base-16384", ("q_proj", "v_proj"), (4, 0)),
    ("facebook/blenderbot-400M-distill", ("q_proj", "v_proj"), (4, 0)),
)
SEEN = (
    ("google/vit-base-patch16-224", ("query", "value"), (4, 0)),
    ("facebook/deit-small-distilled-patch16-224", ("query", "value"), (4, 0)),
    ("microsoft/beit-base-patch16-224", ("query", "value"), (4, 0)),
    ("microsoft/swin-tiny-patch4-window7-224", ("query", "value"), (4, 0)),
    ("microsoft/swinv2-tiny-patch4-window8-256", ("query", "value"), (4, 0)),
    ("facebook/convnext-tiny-224", ("pwconv1", "pwconv2"), (4, 0)),
    ("facebook/convnextv2-atto-1k-224", ("pwconv1", "pwconv2"), (4, 0)),
    ("microsoft/resnet-50", (), (4, 0)),
    ("facebook/dinov2-small", ("query", "value"), (4, 0)),
    ("nvidia/mit-b0", ("query", "value"), (4, 0)),
    ("google/siglip-base-patch16-224", ("q_proj", "v_proj"), (4, 40)),
    ("facebook/data2vec-vision-base-ft1k", ("query", "value"), (4, 0)),
    ("google/mobilenet_v2_1.0_224", (), (4, 0)),
)
KINDS = {"causal": CAUSAL, "classified": CLASSIFIED, "tagged": CLASSIFIED, "masked": MASKED, "written": WRITTEN, "seen": SEEN}
# What nobody trains whole on one card.
LARGE = (
    "EleutherAI/gpt-j-6b",
    "mosaicml/mpt-7b",
    "CohereLabs/aya-23-8B",
    "CohereLabs/c4ai-command-r7b-12-2024",
    "mistralai/Mistral-7B-v0.1",
    "THUDM/glm-4-9b-chat-hf",
)
CLASSES = {
    "causal": "CausalLM",
    "classified": "SequenceClassification",
    "tagged": "TokenClassification",
    "masked": "MaskedLM",
    "written": "Seq2SeqLM",
    "seen": "ImageClassification",
}
TASKS = {"causal": "CAUSAL_LM", "classified": "SEQ_CLS", "tagged": "TOKEN_CLS", "written": "SEQ_2_SEQ_LM"}


def arguments(r, kind):
    """Arguments of the Trainer."""
    known = {"per_device_train_batch_size": r.choice((1, 2, 4, 8)) * (2 if kind == "seen" else 1)}
    precision = r.choice(("bf16", "fp16", None))
    if precision:
        known[precision] = True
    if r.random() < 0.3:
        known["gradient_accumulation_steps"] = r.choice((2, 4))
    if r.random() < 0.3:
        known["gradient_checkpointing"] = True
        if r.random() < 0.5:
            known["gradient_checkpointing_kwargs"] = {"use_reentrant": r.random() < 0.5}
    if r.random() < 0.15:
        known["label_smoothing_factor"] = 0.1
    if r.random() < 0.15:
        known |= {"eval_strategy": "steps", "eval_steps": 2, "per_device_eval_batch_size": r.choice((4, 8))}
    if r.random() < 0.3:
        known["optim"] = r.choice(("adafactor", "sgd", "adamw_torch_fused", "paged_adamw_8bit"))
    return known


def model_lines(r, kind, name, targets):
    """How the model is loaded, with adapters or without."""
    more = ", num_labels=7" if kind in ("classified", "tagged", "seen") else ""
    if kind == "causal" and r.random() < 0.4:
        more += ", torch_dtype=torch.bfloat16"
    if r.random() < 0.2:
        more += ', attn_implementation="eager"'
    lines = [f'model = AutoModelFor{CLASSES[kind]}.from_pretrained("{name}"{more})']
    if kind == "classified" and name in UNPADDED:
        lines.append("model.config.pad_token_id = tokenizer.pad_token_id")
    if targets and (r.random() < 0.4 or name in LARGE):
        named = "" if r.random() < 0.3 and kind in ("causal", "written") else f", target_modules={list(targets)}"
        given = f', task_type="{TASKS[kind]}"' if kind in TASKS else ""
        lines.append(f"model = get_peft_model(model, LoraConfig(r={r.choice((8, 16, 32))}, lora_dropout=0.05{named}{given}))")
        if r.random() < 0.5:
            lines.append("model.enable_input_require_grads()")
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
    names = f"AutoImageProcessor, AutoModelFor{CLASSES[kind]}, AutoTokenizer, DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, DataCollatorForTokenClassification, DataCollatorWithPadding, Trainer, TrainingArguments"
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
        column = {"classified": "sentence", "tagged": "sentence", "written": "document"}.get(kind, "text")
        body = [f'    inputs = tokenizer(batch["{column}"], truncation=True, max_length={length}, padding="max_length")']
        if kind == "written":
            body += [
                f'    labels = tokenizer(text_target=batch["summary"], truncation=True, max_length={length // 2}, padding="max_length")',
                '    inputs["labels"] = labels["input_ids"]',
            ]
        if kind == "classified":
            body += ['    inputs["labels"] = batch["label"]']
        if kind == "tagged":
            body += ['    inputs["labels"] = [[0] * len(ids) for ids in inputs["input_ids"]]']
        data = [
            f'tokenizer = AutoTokenizer.from_pretrained("{name}")',
            *(["tokenizer.pad_token = tokenizer.eos_token"] if kind in ("classified", "tagged") and name in UNPADDED else []),
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
            "tagged": "DataCollatorForTokenClassification(tokenizer)",
            "masked": "DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)",
            "written": "DataCollatorForSeq2Seq(tokenizer, model=model)",
        }[kind]
    evaluated = ", eval_dataset=dataset" if "eval_strategy" in keys else ""
    tail = [
        *model_lines(r, kind, name, targets),
        "args = TrainingArguments(",
        f"{given},",
        ")",
        f"trainer = Trainer(model=model, args=args, train_dataset=dataset{evaluated}, data_collator={collator})",
        "trainer.train()",
    ]
    return "\n".join([*head, "", *data, "", *tail]) + "\n"


def drawn(seed, count, only=("",)):
    """Scripts that run on the release, in the order they are drawn; of models whose names have one of the words, where some are given."""
    r = random.Random(f"{seed}")
    every = [(kind, *row) for kind, rows in KINDS.items() for row in rows if row[2] <= VERSION and any(word in row[0] for word in only)]
    r.shuffle(every)
    for k in range(count):
        kind, name, targets, _ = every[k % len(every)]
        length = r.choice((128, 256, 512))
        if "longformer" in name or "led-" in name:
            length = 1024
        yield f"{name.split('/')[-1]}-{k}", kind, script(r, kind, name, targets, length), length


AT_ONCE = 10
"""Scripts that one process of the oracle runs."""
DATA = {"causal": "text", "masked": "text", "classified": "labelled", "tagged": "labelled", "written": "pairs", "seen": "image"}


def main():
    parser = argparse.ArgumentParser(prog="release_receipts")
    parser.add_argument("--real", type=pathlib.Path, required=True, help="real.py of the oracle")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seed", default="releases")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--only", nargs="*", default=("",), help="words, one of which the models' names have")
    args = parser.parse_args()
    release = ".".join(map(str, VERSION))
    root = pathlib.Path(tempfile.mkdtemp())
    cases = {}
    for id, kind, text, length in drawn(args.seed, args.count, args.only):
        folder = root / id
        folder.mkdir()
        (folder / "train.py").write_text(text)
        hint = {"data": DATA[kind], "words": length + 50, "rows": 256, "image": 256 if "256" in id else 224, "kind": kind}
        (folder / "truth.json").write_text(json.dumps(hint))
        cases[id] = (folder, text)
    catalogue = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "catalogue.json"
    env = {**os.environ, "CATALOGUE": str(catalogue)}
    ids = list(cases)
    for at in range(0, len(ids), AT_ONCE):
        found = root / f"found-{at}.jsonl"
        folders = [str(cases[id][0]) for id in ids[at : at + AT_ONCE]]
        subprocess.run([sys.executable, str(args.real), str(found), *folders], env=env, check=True)
        with args.out.open("a") as out:
            for line in found.read_text().splitlines():
                row = json.loads(line)
                if "error" in row["result"]:
                    print(row["id"], row["result"]["error"], file=sys.stderr)
                    continue
                text, peak = cases[row["id"]][1], row["result"]["peak_allocated"]
                out.write(json.dumps({"id": row["id"], "transformers": release, "script": text, "allocated": peak}) + "\n")


if __name__ == "__main__":
    main()
