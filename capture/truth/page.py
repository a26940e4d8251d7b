"""The page that `npm run verify` writes: estimates against PyTorch, by family and by technique."""

import collections
import json
import pathlib
import re
import statistics

from .techniques import labels, pairs
from .verify import ROOT, estimates, write_fresh

PAGE = ROOT / "docs" / "verification.md"
READMES = {
    "README.md": "{near} of {compared} freshly drawn runs of {families} families are within 0.1 % of PyTorch's peak (median {median}, 95th percentile {p95}, worst {worst}).",
    "README.zh-CN.md": "在 {families} 个模型族上新抽取的 {compared} 次训练中，{near} 次与 PyTorch 的峰值相差不到 0.1 %（中位误差 {median}，第 95 百分位 {p95}，最大 {worst}）。",
}
WORST = 40

MASKING = ("data2vec-audio", "hubert", "sew", "unispeech", "unispeech-sat", "wav2vec2", "wav2vec2-bert", "wav2vec2-conformer", "wavlm")
"""Encoders of speech that mask what they hear in training (SpecAugment), unless told otherwise."""


def is_masked(case):
    return (
        "peft" not in case
        and case["model"]["model_type"] in MASKING
        and case["model"].get("apply_spec_augment", True)
        and case["model"].get("mask_time_prob", 0.05) > 0
    )


def on_patches(case):
    """LoRA on the convolution over the patches of pictures and films, by its name `proj`."""
    targets = (case.get("peft") or {}).get("target_modules") or ()
    return case["task"] == "image-text-to-text" and "proj" in targets


def scaled_rows(case):
    return bool((case.get("peft") or {}).get("token_indices")) and case["model"]["model_type"] == "biogpt"


REASONS = (
    (
        is_masked,
        "time masking (SpecAugment) is drawn on the host; the graph is without it, so the vector that stands for masked frames has no gradient",
    ),
    (on_patches, "LoRA on the three-dimensional convolution over patches is not followed"),
    (
        lambda c: (c.get("peft") or {}).get("type") == "prefix-tuning" and (c["attn"] == "eager" or c["gradient_checkpointing"]),
        "where attention is not fused the prefix counts as part of every sequence, which the estimate says",
    ),
    (scaled_rows, "the number that scales the embedding is put on the device and kept for backward: one block"),
    (
        lambda c: c["model"]["model_type"] == "mellum" and c["model_name"].endswith("-default"),
        "the defaults of the class have no layer with a window, and no rotary table for such: two blocks",
    ),
    (
        lambda c: c["model"]["model_type"] == "hunyuan_v1_moe" and "quant" in c,
        "its router raises the states where its weight is float32, which a packed one is not; the graph always raises them: one block",
    ),
    (
        lambda c: c["model"]["model_type"] in ("swin", "swinv2") and c.get("use_reentrant"),
        "its stages are checkpointed around their layers, which the reentrant kind runs once more; the graph knows the layers alone",
    ),
    (
        lambda c: (c.get("peft") or {}).get("type") in ("lokr", "loha") and c["model"]["model_type"] == "swiftformer",
        "peft puts these adapters on the convolutions of the same name, too, which is not followed",
    ),
    (
        lambda c: (
            c["model"]["model_type"] == "llava"
            and c["model"]["vision_config"]["model_type"] == "pixtral"
            and (c.get("peft") or {}).get("dora")
        ),
        "the fake device does not run what is inside masked_scatter_backward: a masked_select, with its indices",
    ),
    (
        lambda c: c["model"]["model_type"] == "llava_next" and c["seq"] >= c["model"]["text_config"].get("sliding_window", 4096),
        "the case leaves the window of its text to the class, whose 4,096 tokens make a mask; published ones state none",
    ),
    (
        lambda c: c["model"]["model_type"] == "flaubert" and (c.get("peft") or {}).get("type") == "oft",
        "values of another dtype than the keys are joined to a cache in the keys' dtype, which the graph does not say",
    ),
    (
        lambda c: c["model"]["model_type"] == "layoutlmv3" and c["task"] == "qa",
        "peft puts adapters into this head before it saves it whole (PeftModelForQuestionAnswering), which is not followed",
    ),
    (
        lambda c: (c.get("quant") or {}).get("type") == "int8" and "mamba" not in c["model"]["model_type"],
        "an 8-bit layer brings its bias to the dtype of its input for good",
    ),
    (
        lambda c: c["model"]["model_type"] == "whisper" and c["task"] == "audio-cls" and c.get("use_reentrant"),
        "gradients come to the encoder's layers in another layout than the estimate takes, which copies them",
    ),
    (
        lambda c: c["model"]["model_type"] == "modernbert" and len(c["model"].get("layer_types", ())) == 3,
        "cosines of the other kind of layer are let go a little earlier than the graph says, with three layers",
    ),
)
"""Why a case differs, where that is known and the estimate does not say it: the first that fits."""


def rows_of(files, reporter):
    """Rows of `drawn_runs.py` with the estimate of each."""
    known = [json.loads(line) for file in files for line in pathlib.Path(file).read_text().splitlines()]
    found = estimates([row["case"] for row in known], reporter, write_fresh)
    return [{**row, "estimate": found.get(row["case"]["id"], "no report")} for row in known]


def is_compared(row):
    return not isinstance(row["estimate"], str)


def error(row, peak="allocated"):
    """Relative error of a peak, signed."""
    return row["estimate"][peak] / row["result"][f"peak_{peak}"] - 1


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def percent(value):
    digits = 4 if value < 0.001 else 2
    if 0 < value < 5e-7:
        return "< 0.0001 %"
    return "0" if value == 0 else f"{100 * value:.{digits}f} %"


def figures(rows):
    """Cells of a row of a table: how many, how many are equal, and the errors."""
    done = [r for r in rows if is_compared(r)]
    if not done:
        return f"0 of {len(rows)} | | | | | |"
    allocated, reserved = [abs(error(r)) for r in done], [abs(error(r, "reserved")) for r in done if "quant" not in r["case"]]
    count = str(len(rows)) if len(done) == len(rows) else f"{len(done)} of {len(rows)}"
    return f"{count} | {sum(e == 0 for e in allocated)} | {percent(statistics.median(allocated))} | {percent(quantile(allocated, 0.95))} | {percent(max(allocated))} | {percent(statistics.median(reserved)) if reserved else ''} |"


def table(title, groups):
    head = [
        f"| {title} | cases | equal | allocated, median | 95th percentile | worst | reserved, median |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    return [*head, *(f"| {name} | {figures(rows)}" for name, rows in sorted(groups.items())), ""]


def summary(rows):
    """Numbers of the headline."""
    errors = [abs(error(r)) for r in rows if is_compared(r)]
    return {
        "compared": len(errors),
        "equal": sum(e == 0 for e in errors),
        "near": sum(e <= 1e-3 for e in errors),
        "families": len({r["case"]["model"]["model_type"] for r in rows}),
        "median": percent(statistics.median(errors)),
        "p95": percent(quantile(errors, 0.95)),
        "worst": percent(max(errors)),
    }


def reason(row):
    stated = row["estimate"]["stands"]
    return stated or next((why for fits, why in REASONS if fits(row["case"])), "not found yet")


def how(case):
    return ", ".join(value for key, value in labels(case).items() if value not in ("none", "as loaded", "1", "on") and key != "length")


def text_of(rows, versions):
    """The page as Markdown."""
    by, met = collections.defaultdict(lambda: collections.defaultdict(list)), set()
    for row in rows:
        by["family"][row["case"]["model"]["model_type"]].append(row)
        met |= pairs(row["case"])
        for kind, value in labels(row["case"]).items():
            by[kind][value].append(row)
    below = sum(r["estimate"]["high"] < r["result"]["peak_reserved"] for r in rows if is_compared(r))
    different = sorted((r for r in rows if is_compared(r) and error(r) != 0), key=lambda r: -abs(error(r)))
    out = [
        "# Verification",
        "",
        "Written by `npm run verify`; do not edit.",
        "",
        "Runs nobody had looked at, drawn anew for the release over every captured family: published sizes cut to a few layers, defaults of the config class, odd sizes; trained in",
        "ways drawn so that techniques meet in pairs. PyTorch, transformers and peft train each for two optimizer steps on fake CUDA tensors, every allocation followed; the",
        "same run goes through the analyzer (`bench/reference-check.ts`). Errors are relative to PyTorch's peak. Where a case found a fault, the fault was mended and the case stays on this page.",
        "Both loops are plain PyTorch: a micro-batch is let go before the next, where transformers' Trainer holds all of a step (scripts that the Trainer itself ran: `test/analysis/scripts`).",
        "Reserved bytes are compared where the base is not packed: while PyTorch loads one, its pool holds whole weights, which the oracle has packed before.",
        "Of several ranks the oracle replays one pool for all CUDA streams; on a card each stream has pools of its own (`c10/cuda/CUDACachingAllocator.cpp`), which the report counts and so is up to half above that reference. Replayed in one pool, drawn runs of DeepSpeed and FSDP2 agree with it ([parallel.md](parallel.md)).",
        "A fixed set of cases is in [accuracy.md](accuracy.md), real cards are in [published-memory.md](published-memory.md).",
        "",
        *table("all", {"all": rows}),
        f"The stated upper bound was below what PyTorch reserved in {below}. {len(met)} pairs of techniques met. {versions}.",
        "",
    ]
    for kind, title in (
        ("training", "technique"),
        ("base", "base weights"),
        ("precision", "precision"),
        ("optimizer", "optimizer"),
        ("checkpointing", "checkpointing"),
        ("attention", "attention"),
        ("task", "task"),
        ("accumulation", "accumulation"),
        ("clipping", "clipping"),
        ("sizes", "sizes"),
        ("length", "length"),
        ("family", "model family"),
    ):
        out += [f"## By {title}", "", *table(title, by[kind])]
    out += [f"## Cases that are not equal, at most the {WORST} worst", ""]
    if different:
        out += ["| case | how | PyTorch | estimate | reason |", "|---|---|--:|--:|---|"]
        out += [
            f"| {r['case']['model_name']} | {how(r['case'])} | {r['result']['peak_allocated'] / 2**20:.1f} MiB | {error(r):+.4%} | {reason(r)} |"
            for r in different[:WORST]
        ]
    else:
        out += ["None."]
    missing = collections.Counter((r["case"]["model"]["model_type"], r["estimate"]) for r in rows if not is_compared(r))
    if missing:
        out += [
            "",
            "## Not compared",
            "",
            "| family | cases | reason |",
            "|---|--:|---|",
            *(f"| {family} | {n} | {why} |" for (family, why), n in sorted(missing.items())),
        ]
    return "\n".join(out) + "\n"


def write(files, reporter, versions):
    """Writes the page and the headline of both READMEs; returns the rows."""
    rows = rows_of(files, reporter)
    # Sections that other commands write stay.
    others = re.search(r"<!-- ranks.*<!-- /ranks[^>]*-->\n?", PAGE.read_text(), flags=re.DOTALL)
    PAGE.write_text(text_of(rows, versions) + (f"\n{others.group(0)}" if others else ""))
    for name, sentence in READMES.items():
        path = ROOT / name
        block = f"<!-- verified -->\n{sentence.format(**summary(rows))}\n<!-- /verified -->"
        path.write_text(re.sub(r"<!-- verified -->.*?<!-- /verified -->", lambda _: block, path.read_text(), flags=re.DOTALL))
    return rows
