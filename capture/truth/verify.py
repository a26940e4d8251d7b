"""Compares estimates of the reference's loop with what PyTorch allocates, on small odd sizes of captured families; `page.py` does it for
the runs that `drawn_runs.py` draws."""

import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from ..recording import environment  # noqa: F401  (before transformers)
from .check import evaluate
from .state_space import FAMILIES as STATE_SPACES
from ..families.every_family import FAMILIES
from ..recording.graphs import ALONE, draw_sizes, flat
from ..recording.stages import marked
from ..storing.stored import content_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PRECISIONS = (("float32", None), ("bfloat16", None), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", "bf16"))


SAVED = {"seq-cls": ("classifier", "score"), "token-cls": ("classifier", "score"), "qa": ("qa_outputs",)}
"""Modules that peft trains whole beside an adapter, by the task it is told (peft/peft_model.py)."""


def cases(name, graphs, per, seed, attentions=None):
    """Cases of one family: every task and attention (or those named), with precision, checkpointing and adapters in turn."""
    family, r = FAMILIES[name], random.Random(f"{name}{seed}")
    turns = list(itertools.product(PRECISIONS, (False, True), (False, True)))
    r.shuffle(turns)
    count, experts = 0, "_grouped_mm" in json.dumps(graphs["graphs"][0]["blocks"])
    for task, attention, alone in dict.fromkeys(
        (g["task"], g["attention"], ALONE.when in g["when"]) for g in graphs["graphs"] if g["attention"] in (attentions or g["attention"])
    ):
        own = [g for g in graphs["graphs"] if g["task"] == task]
        linears = lambda part: sorted(
            {
                n
                for g in part
                for b in g["blocks"]
                for i in b["body"]
                if i.get("call") in ("Linear", "Conv1D") and not (n := i["path"].split(".")[-1]).isdigit()
            }
        )
        wrapped = any(marked(g) for g in own)
        for _ in range(per):
            (dtype, amp), checkpointing, adapter = turns[count % len(turns)]
            checkpointing = checkpointing and wrapped  # models that do not support it refuse
            settings, sizes = family.dims(r), draw_sizes(r, task)
            if family.sizes:
                family.sizes(settings, sizes, r)
            family.suited(task, settings, r)
            for axis in (*family.axes, *([(ALONE,)] if alone else [])):
                r.choice(axis).change(settings, sizes, r)
            if family.regimes:
                dtype, amp = "float32", None
            if experts:  # the fake device multiplies groups only in bfloat16 and for rows of whole 16 bytes
                dtype, amp = "bfloat16", None
                settings = rounded(settings)
            env = {**flat(settings), **sizes}
            targets = linears(
                [g for g in own if all(evaluate(w, env, graphs) for w in g["when"])] if family.parts else own
            )  # pairs have other modules each
            case = {
                "id": f"{name}-{count}",
                "family": name,
                "task": task,
                "attention": attention,
                "model": settings,
                "sizes": sizes,
                "dtype": dtype,
                "amp": amp,
                "checkpointing": checkpointing,
                "inputs_follow": family.follows(settings),
            }
            if adapter and targets:
                case["lora"] = together(
                    {"r": r.randint(2, 9), "dropout": r.choice((0.0, 0.1)), "target_modules": r.sample(targets, min(2, len(targets)))},
                    experts,
                )
                case["lora"] |= {"modules_to_save": SAVED[task]} if task in SAVED else {}
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
    train = {
        "output_dir": "out",
        "per_device_train_batch_size": case["sizes"]["B"],
        "gradient_accumulation_steps": 1,
        "gradient_checkpointing": case["checkpointing"],
        "optim": "adamw_torch",
        "max_grad_norm": 1.0,
        "bf16": case["amp"] == "bf16",
        "fp16": case["amp"] == "fp16",
    }
    pins = {"match": "train.yaml", "model": "./model", "task": case["task"], "dtype": case["dtype"], "attention": case["attention"]}
    pins |= {"state_space_kernels": False} if case["family"] in STATE_SPACES else {}  # the package is not there where PyTorch is asked
    pins |= {
        key: case["sizes"][size]
        for key, size in (("sequence_length", "S"), ("target_length", "T"), ("image_size", "I"), ("choices", "C"))
        if size in case["sizes"]
    }
    if "A" in case["sizes"]:
        pins["audio_seconds"] = case["sizes"]["A"] / 16000
    if "lora" in case:
        pins["adapter"] = {"type": "lora", "alpha": 16, **case["lora"]}
    lines = lambda d, indent="": "".join(f"{indent}{k}: {json.dumps(v)}\n" for k, v in d.items())
    (folder / "train.yaml").write_text(lines(train))
    (folder / ".vramlens.yaml").write_text("runs:\n  -\n" + lines(pins, "    "))
    (folder / "model" / "config.json").write_text(json.dumps({"model_type": case["family"], **case["model"]}))


def write_fresh(case, folder):
    """As `write`, of a case in the words of `drawn_runs.py`."""
    (folder / "model").mkdir(parents=True)
    momentum = case["optim"] == "sgd_momentum"
    train = {
        "output_dir": "out",
        "per_device_train_batch_size": case["batch"],
        "gradient_accumulation_steps": case["grad_accum"],
        "gradient_checkpointing": case["gradient_checkpointing"],
        "optim": "sgd" if momentum else case["optim"],
        "max_grad_norm": case["max_grad_norm"],
        "bf16": case["amp"] == "bf16",
        "fp16": case["amp"] == "fp16",
    }
    if momentum:
        train["optim_args"] = "momentum=0.9"
    if "optim_args" in case:
        train |= {"optim_args": ",".join(f"{k}={v}" for k, v in case["optim_args"].items()), "optim_target_modules": "all-linear"}
    if "use_reentrant" in case:
        train["gradient_checkpointing_kwargs"] = {"use_reentrant": case["use_reentrant"]}
    pins = {"match": "train.yaml", "model": "./model", "task": case["task"], "dtype": case["load_dtype"], "attention": case["attn"]}
    pins |= {"state_space_kernels": False} if case["model"]["model_type"] in STATE_SPACES else {}
    pins |= {
        key: case[size]
        for key, size in (("sequence_length", "seq"), ("target_length", "target_seq"), ("image_size", "image"), ("choices", "choices"))
        if size in case
    }
    if "audio" in case:
        pins["audio_seconds"] = case["audio"] / 16000
    if "peft" in case:
        pins["adapter"] = pinned_adapter(case["peft"])
    if "trained" in case:
        pins["trained_parameters"] = case["trained"]
    if "quant" in case:
        pins["quantization"] = {**case["quant"], "prepare_for_kbit": case["kbit_prep"]}
    lines = lambda d, indent="": "".join(f"{indent}{k}: {json.dumps(v)}\n" for k, v in d.items())
    (folder / "train.yaml").write_text(lines(train))
    (folder / ".vramlens.yaml").write_text("runs:\n  -\n" + lines(pins, "    "))
    (folder / "model" / "config.json").write_text(json.dumps(case["model"]))


PINNED = {"dora": "use_dora", "trainable_token_indices": "token_indices"}
"""Fields of an adapter that pins name otherwise."""


def pinned_adapter(peft):
    """The adapter as `.vramlens.yaml` states it; what peft takes by itself stays unsaid."""
    stated = {"type": "lora", **{PINNED.get(k, k): v for k, v in peft.items()}}
    if not stated["target_modules"]:
        stated.pop("target_modules")
    if stated["type"] not in ("lora", "vera", "adalora", "loha", "lokr"):
        stated.pop("r")
    return stated


def of_steps(peaks):
    """The allocated peak of the steps, which is what PyTorch is asked for: packing weights on the way may need more than they do."""
    if peaks["peakPhase"] != "load":
        return peaks["allocatedPeakBytes"]
    return max(p["peakBytes"] for p in peaks["phases"] if p["phase"] != "load")


def estimates(all_cases, reporter, write=write):
    """Peaks and the stated upper bound by case id, or why there is none, from one call of `reporter` per hundred folders: a command
    that takes files and prints a report of them as JSON."""
    found = {}
    with tempfile.TemporaryDirectory() as root:
        for case in all_cases:
            write(case, pathlib.Path(root) / case["id"])
        for k in range(0, len(all_cases), 100):
            files = [f"{root}/{c['id']}/train.yaml" for c in all_cases[k : k + 100]]
            report = subprocess.run([*reporter.split(), *files], capture_output=True, text=True, cwd=ROOT).stdout
            for run in json.loads(report)["runs"]:
                name = next(u for u in run["documents"] if u.endswith("/train.yaml")).split("/")[-2]
                why = next((f["message"] for f in run["findings"] if f["code"] == "not-modelled"), "no estimate")
                peaks = run["perDevice"]
                stands = next((a["what"] for a in run["assumptions"] if a["id"] in ("engine.relative", "engine.branch")), None)
                found[name] = (
                    {
                        "allocated": of_steps(peaks),
                        "reserved": peaks["reservedPeakBytes"],
                        "high": peaks["band"]["highBytes"],
                        "stands": stands,
                    }
                    if peaks
                    else why
                )
    return found


def technique(case):
    """How the case is trained, in words."""
    precision = case["dtype"] + (f" + {case['amp']} autocast" if case["amp"] else "")
    return ", ".join(
        (
            precision,
            "checkpointing" if case["checkpointing"] else "no checkpointing",
            "LoRA" if "lora" in case else "full",
            case["attention"],
            case["task"],
        )
    )


def verify(families, per, seed, reporter, file=None, attentions=None, log=print):
    """Runs the cases of the families and returns rows of case, estimate and truth."""
    from .storages import peak

    rows, started = [], time.time()
    for name in families:
        graphs = content_of((ROOT / "models" / "graphs" / f"{name}.json").read_text())
        part = list(cases(name, graphs, per, seed, attentions))
        found = estimates(part, reporter)
        for case in part:
            try:
                truth = peak(case)
            except Exception as error:
                truth = f"PyTorch: {type(error).__name__}: {str(error)[:120]}"
            estimate = found.get(case["id"], "no report")
            rows.append({"case": case, "estimate": estimate["allocated"] if isinstance(estimate, dict) else estimate, "truth": truth})
            if file:
                with open(file, "a") as out:
                    out.write(json.dumps(rows[-1]) + "\n")
        bad = [r for r in rows if r["case"]["family"] == name and r["estimate"] != r["truth"]]
        log(f"{name}: {len(part)} cases, {len(bad)} differ, {time.time() - started:.0f} s")
        for r in bad:
            log(f"  {r['case']['id']} {technique(r['case'])}: {r['estimate']} / {r['truth']}")
        sys.stdout.flush()
    return rows
