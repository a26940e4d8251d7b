"""Draws training runs nobody has looked at, over every captured family, and asks the oracle what PyTorch says of each.

usage: LD_PRELOAD=fakecuda.so python -m capture.fresh --oracle ORACLE.py --out FILE [--family NAME ...] [--per N] [--seed S]

Models are published ones (`models/catalogue.json`) cut to a few layers, the config class's own defaults, or odd sizes as
captures draw them; how each is trained is drawn as people train. A row is {"case", "result"}. `verify` compares the rows with
the command line. The oracle is a Python file with `run(case) -> result`; every case runs in a process of its own.
"""
import argparse
import gc
import importlib
import json
import pathlib
import random
import resource
import sys
import tempfile
import time

from .families import FAMILIES
from .receipts import OPTIMIZERS, PEFT_TASKS, ROOT, WithConvertedMasks, alone, by_task, has_experts, keep, linears_of, load, packs_transposed
from .stored import content_of
from .standard import HEADS, LAYERS, POSITIONS

PRECISIONS = (("float32", None), ("float32", "bf16"), ("float32", "bf16"), ("float32", "fp16"), ("bfloat16", None), ("bfloat16", "bf16"), ("bfloat16", "bf16"))
TRAINED = tuple(name for name in OPTIMIZERS if name != "adamw_for_loop")
"""The Trainer has no name for stepping in a loop."""
BATCHES = (1, 1, 1, 2, 2, 3, 4, 4, 5, 8, 16)
LENGTHS = (128, 256, 512, 512, 1024, 1024, 2048, 4096)
TASKS = ("causal-lm", "seq-cls", "token-cls", "masked-lm", "image-cls", "seq2seq-lm")
"""Tasks the oracle knows."""
LISTS = ("layer_types", "mlp_layer_types", "attention_types", "no_rope_layers", "depths", "hidden_sizes")
"""Keys that hold one entry a layer or stage."""


def published():
    """Configs of the catalogue by family."""
    found = {}
    for model in json.loads((ROOT / "models" / "catalogue.json").read_text())["models"]:
        found.setdefault(model["config"]["model_type"], []).append((model["name"], model["config"]))
    return found


def shallow(config, r):
    """The config with a few layers: a stack's depth only repeats what it does. Lists by layer stay as they are."""
    if any(isinstance(v, (list, dict)) and k in LISTS for k, v in config.items()):
        return config
    least = kinds(config["model_type"])
    return {k: min(v, r.randint(2, 4) if least < 2 else least) if k in LAYERS else v for k, v in config.items()}


def kinds(family):
    """Layers from the first that have every kind there is: code prepares what each kind needs once for all."""
    listed = own_keys(family).get("layer_types") or []
    return next((n for n in range(1, len(listed)) if set(listed[:n]) == set(listed)), 1)


def model_of(family, task, known, r, seq):
    """Name and config of the case's model, and sizes its branches ask for."""
    sizes, source = {"B": r.choice(BATCHES), "S": seq, "T": r.choice((64, 128, 256, r.randint(5, 300)))}, r.random()
    own = FAMILIES[family]
    if source < 0.65 and known:
        name, config = r.choice(known)
        config = shallow({k: v for k, v in config.items() if k != "torch_dtype"}, r)
        for key in LAYERS:  # depths that the published file leaves to the class
            config = {**config, **({key: max(kinds(family), r.randint(2, 4))} if key in own_keys(family) and key not in config and not set(LISTS) & set(config) else {})}
        if r.random() < 0.2:
            config["vocab_size"] = r.randint(2000, 60000)
        if r.random() < 0.15 and "tie_word_embeddings" in config:
            config["tie_word_embeddings"] = not config["tie_word_embeddings"]
        return name.split("/")[-1], config, sizes
    if source < 0.8:
        depths = {} if set(LISTS) & set(own_keys(family)) - {"layer_types"} else {k: max(kinds(family), r.randint(2, 4)) for k in LAYERS if k in own_keys(family)}
        return f"{family}-default", {"model_type": family, **depths}, sizes
    sizes = {"B": r.choice(BATCHES), "S": r.randint(40, 90), "T": r.randint(20, 39), "I": 64}
    settings = own.dims(r)
    if own.sizes:
        own.sizes(settings, sizes, r)
    for axis in own.axes:
        r.choice(axis).change(settings, sizes, r)
    return f"{family}-odd", {"model_type": family, **settings}, sizes


def own_keys(family):
    from .standard import stored

    return stored(family)


def length(r):
    return r.choice((r.choice(LENGTHS), r.choice(LENGTHS), r.choice((1, 7, r.randint(2, 130), r.randint(130, 2000)))))


def draw(family, number, graphs, known, seed):
    r = random.Random(f"{family}-{seed}-{number}")
    pairs = sorted({(g["task"], g["attention"]) for g in graphs})
    task = r.choice(sorted({t for t, _ in pairs}))
    attention = r.choice([a for t, a in pairs if t == task])
    name, model, sizes = model_of(family, task, known, r, length(r))
    stored = {**own_keys(family), **model}
    if task in ("seq-cls", "token-cls", "image-cls") and r.random() < 0.6:
        model["num_labels"] = r.randint(2, 19)
    if task == "seq-cls" and stored.get("pad_token_id") is None:
        model["pad_token_id"] = 0
    case = {"model_name": name, "model": model, "task": task, "batch": sizes["B"]}
    if task == "image-cls":
        case["image"] = sizes.get("I") or stored.get("image_size") or 224
    else:
        limit = next((stored[k] for k in POSITIONS if isinstance(stored.get(k), int)), 4096)
        case["seq"] = min(sizes["S"], max(1, limit - 2))
        if task == "seq2seq-lm":
            case["target_seq"] = min(sizes["T"], max(1, limit - 2))
    if task.endswith("-cls") and "use_cache" in stored:
        case["use_cache"] = model["use_cache"] = False  # as the Trainer sets it
    case["load_dtype"], case["amp"] = r.choice(PRECISIONS)
    if has_experts(graphs):  # the fake device multiplies groups only in bfloat16
        case["load_dtype"], case["amp"] = "bfloat16", r.choice((None, "bf16"))
    if FAMILIES[family].inputs_follow and case["amp"] is None:
        case["load_dtype"] = "float32"  # the oracle's images are float32
    case["attn"] = "eager" if attention == "none" else attention
    trained(case, r, linears_of(graphs))
    return {**case, "id": f"{family}-{seed}-{number}"}


def trained(case, r, linears):
    """How the case's model is trained."""
    case["gradient_checkpointing"] = r.random() < 0.5
    if case["gradient_checkpointing"] and r.random() < 0.3:
        case["use_reentrant"] = r.random() < 0.5
    case["optim"], case["grad_accum"], case["max_grad_norm"] = r.choice(TRAINED), r.choice((1, 1, 2, 4)), r.choice((1.0, 1.0, 1.0, 0))
    way = r.choice(("full", "full", "lora", "lora", "qlora")) if linears else "full"
    if way == "full":
        return
    targets = r.choice((list(linears), sorted(r.sample(linears, r.randint(1, len(linears))))))
    case["peft"] = {"r": r.choice((4, 8, 16, 64, 7)), "alpha": 16, "dropout": r.choice((0.0, 0.0, 0.05)), "target_modules": targets}
    if r.random() < 0.25:
        case["peft"]["dora"] = True
    if way == "qlora" and case["task"] in PEFT_TASKS:  # of other tasks the oracle also packs the head, which transformers does not
        case["quant"], case["kbit_prep"] = {"type": r.choice(("nf4", "nf4", "fp4")), "double": r.random() < 0.5}, r.random() < 0.5


def prepare(families):
    """Imports here what every case would import anew in a process of its own, and leaves out initial values, which nothing reads."""
    import bitsandbytes  # noqa: F401
    import peft  # noqa: F401
    import transformers

    transformers.PreTrainedModel.initialize_weights = lambda self: None
    for family in families:
        importlib.import_module(type(transformers.AutoConfig.for_model(family)).__module__.replace(".configuration_", ".modeling_"))
    gc.freeze()


def within(seconds, work):
    """Works for at most so much processor time: a deep model at a long sequence is not worth the wait."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    work()


def cases(args):
    """Cases of every family in turn, so that a run cut short has seen all of them."""
    known = published()
    for number in range(args.first, args.first + args.per):
        for file in sorted((ROOT / "models" / "graphs").glob("*.json")):
            graphs = [g for g in content_of(file.read_text())["graphs"] if g["task"] in TASKS]
            if graphs and (not args.family or file.stem in args.family):
                try:
                    yield draw(file.stem, number, graphs, known.get(file.stem, []), args.seed)
                except Exception as error:
                    print(f"{file.stem}-{args.seed}-{number}: not drawn: {error!r}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--family", nargs="*")
    parser.add_argument("--per", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=int, default=40, help="processor time a case may take")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder) / "cases"
        alone(lambda: drawn.write_text(json.dumps(list(cases(args)))))  # drawing prepares transformers for captures; the oracle shall find it as it is
        wanted = json.loads(drawn.read_text())
    oracle = load(args.oracle)
    oracle.torch.set_num_threads(1)
    oracle.aten = WithConvertedMasks(oracle.aten)
    packs_transposed(oracle)
    run, started = by_task(oracle), time.time()
    prepare({case["model"]["model_type"] for case in wanted})
    have = {json.loads(line)["case"]["id"] for line in args.out.read_text().splitlines()} if args.out.exists() else set()
    for case in wanted:
        if case["id"] not in have:
            alone(lambda: within(args.seconds, lambda: keep(args.out, case, run)))
    print(f"{len(wanted)} cases, {time.time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
