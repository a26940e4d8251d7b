"""Compares the command line's estimate with what PyTorch allocates: on small odd sizes of every captured family, and on the
runs over published sizes that `fresh.py` draws."""
import collections
import itertools
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from . import environment  # noqa: F401  (before transformers)
import torch
import transformers

from .families import FAMILIES
from .graphs import draw_sizes
from .stored import content_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISIONS = (("float32", None), ("bfloat16", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", "bf16"))


def cases(name, graphs, per, seed):
    """Cases of one family: every task and attention, with precision, checkpointing and adapters in turn."""
    family, r = FAMILIES[name], random.Random(f"{name}{seed}")
    turns = list(itertools.product(PRECISIONS, (False, True), (False, True)))
    r.shuffle(turns)
    count, experts = 0, "_grouped_mm" in json.dumps(graphs["graphs"][0]["blocks"])
    for task, attention in dict.fromkeys((g["task"], g["attention"]) for g in graphs["graphs"]):
        own = [g for g in graphs["graphs"] if g["task"] == task]
        targets = sorted({n for g in own for b in g["blocks"] for i in b["body"] if i.get("call") in ("Linear", "Conv1D") and not (n := i["path"].split(".")[-1]).isdigit()})
        wrapped = any((i.get("repeat") or i).get("checkpoint") for g in own for f in [g["main"], *g["blocks"]] for i in f["body"])
        for _ in range(per):
            (dtype, amp), checkpointing, adapter = turns[count % len(turns)]
            checkpointing = checkpointing and wrapped  # models that do not support it refuse
            settings, sizes = family.dims(r), draw_sizes(r, task)
            if task == "qa":
                settings["num_labels"] = 2
            if family.sizes:
                family.sizes(settings, sizes, r)
            for axis in family.axes:
                r.choice(axis).change(settings, sizes, r)
            if experts:  # the fake device multiplies groups only in bfloat16 and for rows of whole 16 bytes
                dtype, amp = "bfloat16", None
                settings = rounded(settings)
            case = {"id": f"{name}-{count}", "family": name, "task": task, "attention": attention, "model": settings, "sizes": sizes, "dtype": dtype, "amp": amp, "checkpointing": checkpointing, "inputs_follow": family.inputs_follow}
            if adapter and targets:
                case["lora"] = together({"r": r.randint(2, 9), "dropout": r.choice((0.0, 0.1)), "target_modules": r.sample(targets, min(2, len(targets)))}, experts)
            count += 1
            yield case


def together(lora, experts):
    """Adapters of experts come for both halves of their first product, without dropout, or peft refuses
    (peft/utils/transformers_weight_conversion.py, `ParamWrapper` of peft/tuners/lora/layer.py)."""
    halves = ("gate_proj", "up_proj")
    if not experts or not set(lora["target_modules"]) & set(halves):
        return lora
    return {**lora, "dropout": 0.0, "target_modules": sorted({*lora["target_modules"], *halves})}


def rounded(settings):
    """The config with widths of experts and of what they read in whole 16 bytes, also in the configs inside it."""
    whole = lambda k, v: rounded(v) if isinstance(v, dict) else -(-v // 8) * 8 if k.endswith("intermediate_size") else v
    result = {k: whole(k, v) for k, v in settings.items()}
    if any("experts" in k for k in result) and "hidden_size" in result:
        step = math.lcm(8, result["num_attention_heads"])
        result["hidden_size"] = step * max(2, result["hidden_size"] // step)
    return result


def write(case, folder):
    """The case as a person's folder: TrainingArguments, config.json and pins."""
    (folder / "model").mkdir(parents=True)
    train = {"output_dir": "out", "per_device_train_batch_size": case["sizes"]["B"], "gradient_accumulation_steps": 1, "gradient_checkpointing": case["checkpointing"], "optim": "adamw_torch",
             "max_grad_norm": 1.0, "bf16": case["amp"] == "bf16", "fp16": case["amp"] == "fp16"}
    pins = {"match": "train.yaml", "model": "./model", "task": case["task"], "dtype": case["dtype"], "attention": case["attention"]}
    pins |= {key: case["sizes"][size] for key, size in (("sequence_length", "S"), ("target_length", "T"), ("image_size", "I")) if size in case["sizes"]}
    if "A" in case["sizes"]:
        pins["audio_seconds"] = case["sizes"]["A"] / 16000
    if "lora" in case:
        pins["adapter"] = {"type": "lora", "alpha": 16, **case["lora"]}
    lines = lambda d, indent="": "".join(f"{indent}{k}: {json.dumps(v)}\n" for k, v in d.items())
    (folder / "train.yaml").write_text(lines(train))
    (folder / ".vramlens.yaml").write_text("runs:\n  -\n" + lines(pins, "    "))
    (folder / "model" / "config.json").write_text(json.dumps({"model_type": case["family"], **case["model"]}))


def write_fresh(case, folder):
    """As `write`, of a case in the words of `fresh.py`."""
    (folder / "model").mkdir(parents=True)
    momentum = case["optim"] == "sgd_momentum"
    train = {"output_dir": "out", "per_device_train_batch_size": case["batch"], "gradient_accumulation_steps": case["grad_accum"], "gradient_checkpointing": case["gradient_checkpointing"],
             "optim": "sgd" if momentum else case["optim"], "max_grad_norm": case["max_grad_norm"], "bf16": case["amp"] == "bf16", "fp16": case["amp"] == "fp16"}
    if momentum:
        train["optim_args"] = "momentum=0.9"
    if "use_reentrant" in case:
        train["gradient_checkpointing_kwargs"] = {"use_reentrant": case["use_reentrant"]}
    pins = {"match": "train.yaml", "model": "./model", "task": case["task"], "dtype": case["load_dtype"], "attention": case["attn"]}
    pins |= {key: case[size] for key, size in (("sequence_length", "seq"), ("target_length", "target_seq"), ("image_size", "image")) if size in case}
    if "peft" in case:
        p = case["peft"]
        pins["adapter"] = {"type": "lora", **{k: p[k] for k in ("r", "alpha", "dropout", "target_modules")}, "use_dora": p.get("dora", False)}
    if "quant" in case:
        pins["quantization"] = {**case["quant"], "prepare_for_kbit": case["kbit_prep"]}
    lines = lambda d, indent="": "".join(f"{indent}{k}: {json.dumps(v)}\n" for k, v in d.items())
    (folder / "train.yaml").write_text(lines(train))
    (folder / ".vramlens.yaml").write_text("runs:\n  -\n" + lines(pins, "    "))
    (folder / "model" / "config.json").write_text(json.dumps(case["model"]))


def fresh_rows(lines, cli):
    """Rows of `fresh.py` with the command line's estimate, in the words of this page."""
    known = [json.loads(line) for line in lines]
    found = estimates([row["case"] for row in known], cli, write_fresh)
    renamed = lambda c: {**c, "family": c["model"]["model_type"], "attention": c["attn"], "dtype": c["load_dtype"], "checkpointing": c["gradient_checkpointing"]}
    return [{"case": renamed(row["case"]), "estimate": found.get(row["case"]["id"], "no report"), "truth": row["result"]["peak_allocated"]} for row in known]


def estimates(all_cases, cli, write=write):
    """Allocated peak by case id, from one call of the command line per hundred folders."""
    found = {}
    with tempfile.TemporaryDirectory() as root:
        for case in all_cases:
            write(case, pathlib.Path(root) / case["id"])
        for k in range(0, len(all_cases), 100):
            files = [f"{root}/{c['id']}/train.yaml" for c in all_cases[k : k + 100]]
            report = subprocess.run([*cli.split(), "check", "--format", "json", "--fail-on", "never", *files], capture_output=True, text=True, cwd=ROOT).stdout
            for run in json.loads(report)["runs"]:
                name = next(u for u in run["documents"] if u.endswith("/train.yaml")).split("/")[-2]
                why = next((f["message"] for f in run["findings"] if f["code"] == "not-modelled"), "no estimate")
                found[name] = run["perDevice"]["allocatedPeakBytes"] if run["perDevice"] else why
    return found


def technique(case):
    adapter = "full" if "lora" not in case and "peft" not in case else "DoRA" if case.get("peft", {}).get("dora") else "LoRA"
    kind = "reentrant checkpointing" if case.get("use_reentrant") else "checkpointing"
    return {"precision": case["dtype"] + (f" + {case['amp']} autocast" if case["amp"] else ""), "checkpointing": kind if case["checkpointing"] else "no checkpointing",
            "training": f"Q{adapter}, {case['quant']['type']}" if "quant" in case else adapter, "optimizer": case.get("optim", "adamw_torch"), "attention": case["attention"], "task": case["task"]}


WHY = {
    "gemma3_text": ": fewer layers than kinds of layers, which no published model has; frequencies of the other kind are not there",
    "olmo3": ": as Gemma 3",
    "deberta-v2": ": without relative attention, which no published model lacks",
}
"""Why a family differs, where it is known."""


def page(rows):
    """The table of differences as Markdown."""
    done = [r for r in rows if isinstance(r["estimate"], int) and isinstance(r["truth"], int)]
    error = lambda r: abs(r["estimate"] / r["truth"] - 1)
    by = collections.defaultdict(list)
    for r in rows:
        by["family", r["case"]["family"]].append(r)
        for kind, value in technique(r["case"]).items():
            by[kind, value].append(r)
    out = ["# Estimates against PyTorch", "", "Made by `python -m capture verify`; do not edit.", "",
           "Every case is a model of published sizes cut to a few layers, of its class's defaults or of odd sizes, trained for two optimizer steps by PyTorch itself on fake CUDA tensors, every storage followed from birth to death;",
           "the same case goes through `vram-lens check`. The number is the difference of the allocated peaks. The cases are drawn anew (`python -m capture.fresh`); where one found a fault, the fault was mended and the case run again.", "",
           f"{len(rows)} cases, {len(done)} compared, {sum(error(r) == 0 for r in done)} equal to the byte; torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}.", ""]
    for kind in ("family", "task", "attention", "precision", "checkpointing", "training", "optimizer"):
        out += [f"| {kind} | cases | equal | median | worst |", "|---|--:|--:|--:|--:|"]
        for (k, value), members in sorted(by.items()):
            if k == kind:
                e = [error(r) for r in members if r in done]
                out.append(f"| {value} | {len(members)} | {sum(x == 0 for x in e)} | {statistics.median(e):.3%} | {max(e):.3%} |" if e else f"| {value} | {len(members)} | | no estimate | |")
        out.append("")
    worst = sorted((r for r in done if error(r) > 0), key=error, reverse=True)[:20]
    if worst:
        out += ["## Largest differences", "", "| case | how | estimate | PyTorch | difference |", "|---|---|--:|--:|--:|"]
        out += [f"| {r['case']['id']}{WHY.get(r['case']['family'], '')} | {', '.join(technique(r['case']).values())} | {r['estimate']} | {r['truth']} | {r['estimate'] / r['truth'] - 1:+.3%} |" for r in worst]
        out.append("")
    missing = [r for r in rows if r not in done]
    if missing:
        reasons = collections.Counter((r["case"]["family"], r["estimate"] if not isinstance(r["estimate"], int) else r["truth"]) for r in missing)
        out += ["## Not compared", "", "| family | cases | reason |", "|---|--:|---|", *(f"| {f} | {n} | {why} |" for (f, why), n in sorted(reasons.items())), ""]
    return "\n".join(out)


def verify(families, per, seed, cli, file=None, log=print):
    """Runs the cases of the families and returns rows of case, estimate and truth."""
    from .truth import peak

    rows, started = [], time.time()
    for name in families:
        graphs = content_of((ROOT / "models" / "graphs" / f"{name}.json").read_text())
        part = list(cases(name, graphs, per, seed))
        found = estimates(part, cli)
        for case in part:
            try:
                truth = peak(case)
            except Exception as error:
                truth = f"PyTorch: {type(error).__name__}: {str(error)[:120]}"
            rows.append({"case": case, "estimate": found.get(case["id"], "no report"), "truth": truth})
            if file:
                with open(file, "a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
        bad = [r for r in rows if r["case"]["family"] == name and r["estimate"] != r["truth"]]
        log(f"{name}: {len(part)} cases, {len(bad)} differ, {time.time() - started:.0f} s")
        for r in bad:
            log(f"  {r['case']['id']} {', '.join(technique(r['case']).values())}: {r['estimate']} / {r['truth']}")
        sys.stdout.flush()
    return rows
