"""Draws training runs nobody has looked at, over every captured family, and asks the oracle what PyTorch says of each.

usage: LD_PRELOAD=fakecuda.so python -m capture.truth.drawn_runs --oracle ORACLE.py --out FILE [--family NAME ...] [--per N] [--seed S]

Models are published ones (`models/catalogue.json`) cut to a few layers, the config class's own defaults, or odd sizes as
captures draw them; how each is trained is drawn so that every pair of techniques meets (`techniques.py`). What PyTorch or the fake
device refuses is drawn again. A row is {"case", "result"}. `verify` compares the rows with the command line. The oracle is a
Python file with `run(case) -> result` (`witness.py`); every case runs in a process of its own.
"""

import argparse
import gc
import importlib.util
import json
import logging
import pathlib
import random
import resource
import sys
import tempfile
import time

from ..families.every_family import FAMILIES
from .techniques import PRECISIONS, choose, pairs, trained
from .receipt_models import FAMILIES as RECEIPTS
from .receipts import ROOT, alone, has_experts, keep, linears_of
from .rows import rows_of
from ..storing.stored import content_of
from ..families.usual_keys import LAYERS, POSITIONS

BATCHES = (1, 1, 1, 2, 2, 3, 4, 4, 5, 8, 16)
LENGTHS = (128, 256, 512, 512, 1024, 1024, 2048, 4096)
LISTS = ("layer_types", "mlp_layer_types", "attention_types", "no_rope_layers", "depths", "hidden_sizes")
"""Keys that hold one entry a layer or stage."""
CANDIDATES = 12
"""Cases drawn for each that is run; those after the first stand in where PyTorch refuses it."""
STAND_INS = 3
MEDIA = ("image-text-to-text", "speech-seq2seq", "ctc", "audio-cls", "image-segmentation", "masked-image", "contrastive")
WHOLE = ("score", "classifier", "embed_tokens", "lm_head")
"""Modules people save whole beside an adapter."""


def published():
    """Configs of the catalogue by family."""
    found = {}
    for model in json.loads((ROOT / "models" / "catalogue.json").read_text())["models"]:
        found.setdefault(model["config"]["model_type"], []).append((model["name"], model["config"]))
    return found


def shallow(config, r):
    """The config with a few layers: a stack's depth only repeats what it does. Lists by layer are cut to them."""
    inner = {k: shallow(v, r) if isinstance(v, dict) and k.endswith("_config") else v for k, v in config.items()}
    depth = next((config[k] for k in LAYERS if isinstance(config.get(k), int)), None)
    listed = [v for k, v in config.items() if (isinstance(v, list) or isinstance(v, str) and "pattern" in k) and len(v) == depth]
    if any(isinstance(v, (list, dict)) and k in LISTS and v not in listed for k, v in config.items()):
        return config
    if listed:
        kinds = list(zip(*listed))
        n = max(r.randint(2, 4), next(n for n in range(1, depth + 1) if set(kinds[:n]) == set(kinds)))
        return {k: v[:n] if v in listed else min(v, n) if k in LAYERS else v for k, v in inner.items()}
    least = least_layers(config.get("model_type"))
    return {k: min(v, r.randint(2, 4) if least < 2 else least) if k in LAYERS and isinstance(v, int) else v for k, v in inner.items()}


def least_layers(family):
    """Layers from the first that have every kind there is: code prepares what each kind needs once for all."""
    listed = (own_keys(family).get("layer_types") or []) if family else []
    return next((n for n in range(1, len(listed)) if set(listed[:n]) == set(listed)), 1)


def own_keys(family):
    from ..families.usual_keys import stored

    try:
        return stored(family)
    except ValueError:  # the text side of a model of pictures, named by nobody
        return {}


def model_of(family, task, known, r, seq):
    """Name and config of the case's model, and sizes its branches ask for."""
    sizes, source = {"B": r.choice(BATCHES), "S": seq, "T": r.choice((64, 128, 256, r.randint(5, 300)))}, r.random()
    if task in MEDIA:
        sizes |= {
            "S": min(seq, positions_of(family, known)) if task == "contrastive" else seq,
            "B": r.choice((1, 1, 2, 3, 4)),
            "A": r.choice((16000, 48000, r.randint(16000, 90000))),
        }
    if source < 0.55 and known:
        name, config = r.choice(known)
        config = shallow({k: v for k, v in config.items() if k != "torch_dtype"}, r)
        for key in LAYERS:  # depths that the published file leaves to the class
            config = {
                **config,
                **(
                    {key: max(least_layers(family), r.randint(2, 4))}
                    if key in own_keys(family) and key not in config and not set(LISTS) & set(config)
                    else {}
                ),
            }
        if r.random() < 0.2 and "vocab_size" in config:
            config["vocab_size"] = r.randint(2000, 60000)
        if r.random() < 0.15 and "tie_word_embeddings" in config:
            config["tie_word_embeddings"] = not config["tie_word_embeddings"]
        return name.split("/")[-1], config, {**sizes, **side_of({**own_keys(family), **config})}
    if source < 0.7 and task not in MEDIA:
        depths = (
            {}
            if set(LISTS) & set(own_keys(family)) - {"layer_types"}
            else {k: max(least_layers(family), r.randint(2, 4)) for k in LAYERS if k in own_keys(family)}
        )
        return f"{family}-default", {"model_type": family, **depths}, {**sizes, **side_of(own_keys(family))}
    if source < 0.85 and family in RECEIPTS and task not in MEDIA:
        return f"{family}-odd", {"model_type": family, **RECEIPTS[family][0](r)}, {**sizes, "S": r.randint(7, 400)}
    return odd(family, task, r)


def positions_of(family, known):
    """Tokens that the text side of a pair of encoders has places for, in the smallest of its models."""
    texts = [config.get("text_config") or {} for config in (own_keys(family), *(config for _, config in known))]
    return min((text[k] for text in texts for k in POSITIONS if isinstance(text.get(k), int)), default=64)


def side_of(config):
    """Side of the pictures a model was made for; one of whole tokens where it takes any."""
    vision = config.get("vision_config")
    if not isinstance(vision, dict):
        return {}
    own = vision.get("image_size")
    patch = vision.get("patch_size") or 14
    return {"I": own if isinstance(own, int) else 16 * 2 * patch}


def odd(family, task, r):
    """Sizes as captures draw them."""
    from ..recording.graphs import draw_sizes
    from .verify import rounded

    own = FAMILIES[family]
    sizes = draw_sizes(r, task)
    if task not in MEDIA:
        sizes = {"B": r.choice(BATCHES), "S": r.randint(40, 90), "T": r.randint(20, 39), "I": 64}
    settings = own.dims(r)
    if own.sizes:
        own.sizes(settings, sizes, r)
    own.suited(task, settings, r)
    for axis in own.axes:
        r.choice(axis).change(settings, sizes, r)
    text = settings.get("text_config")
    if isinstance(text, dict) and "moe_intermediate_size" in text:
        text["moe_intermediate_size"] = -(-text["moe_intermediate_size"] // 8) * 8
    return f"{family}-odd", {"model_type": family, **(rounded(settings) if any("experts" in k for k in settings) else settings)}, sizes


def length(r):
    return r.choice((r.choice(LENGTHS), r.choice(LENGTHS), r.choice((1, 7, r.randint(2, 130), r.randint(130, 2000)))))


def draw(family, graphs, known, r):
    pairs_of = sorted({(g["task"], g["attention"]) for g in graphs})
    task = r.choice(sorted({t for t, _ in pairs_of}))
    attention = r.choice([a for t, a in pairs_of if t == task])
    name, model, sizes = model_of(family, task, known, r, length(r))
    stored = {**own_keys(family), **model}
    if task in ("seq-cls", "token-cls", "image-cls") and r.random() < 0.6:
        model["num_labels"] = r.randint(2, 19)
    if task == "seq-cls" and stored.get("pad_token_id") is None:
        model["pad_token_id"] = 0
    case = {"model_name": name, "model": model, "task": task, "batch": sizes["B"]}
    if task == "image-cls":
        case["image"] = sizes.get("I") or stored.get("image_size") or 224
    elif task in MEDIA:
        case |= {
            key: sizes[size]
            for key, size in (("seq", "S"), ("target_seq", "T"), ("image", "I"), ("audio", "A"))
            if size in sizes and size in READ[task]
        }
    else:
        limit = next((stored[k] for k in POSITIONS if isinstance(stored.get(k), int)), 4096)
        case["seq"] = min(sizes["S"], max(1, limit - 2), 90 if is_looped(graphs) else limit)
        if task == "multiple-choice":
            case["choices"] = r.randint(2, 5)
        if task == "seq2seq-lm":
            case["target_seq"] = min(sizes["T"], max(1, limit - 2))
    if (
        (task.endswith("-cls") or task in ("qa", "multiple-choice"))
        and "use_cache" in stored
        or task in ("speech-seq2seq", "image-text-to-text")
    ):
        case["use_cache"] = False  # as the Trainer sets it
        if "use_cache" in stored:
            model["use_cache"] = False
    case["load_dtype"], case["amp"] = r.choice(PRECISIONS)
    facts = facts_of(graphs, task)
    if facts["experts"]:  # the fake device multiplies groups only in bfloat16
        case["load_dtype"], case["amp"] = "bfloat16", r.choice((None, "bf16"))
    if FAMILIES[family].inputs_follow and case["amp"] is None:
        case["load_dtype"] = "float32"  # the oracle's images are float32
    case["attn"] = "eager" if attention == "none" else attention
    trained(case, r, facts)
    return case


def is_looped(graphs):
    """Whether the code goes over the sequence token by token, which takes PyTorch as long as it sounds."""
    return '"collect"' in json.dumps(graphs)


READ = {
    "image-segmentation": "I",
    "masked-image": "I",
    "contrastive": "SI",
    "image-text-to-text": "SI",
    "speech-seq2seq": "TA",
    "ctc": "AT",
    "audio-cls": "A",
}
"""Sizes that batches of each task have."""


def facts_of(graphs, task):
    """What the graphs of a task tell of the ways it can be trained."""
    own = [g for g in graphs if g["task"] == task]
    paths = [p["name"].split(".")[:-1] for g in own for p in g["parameters"] if "layers" not in p]
    return {
        "linears": linears_of(own),
        "experts": has_experts(own),
        "stacks": stacks_of(own),
        "names": sorted({p["name"].replace("{i}", i) for g in own for p in g["parameters"] for i in "01"}),
        "checkpoints": any((i.get("repeat") or i).get("checkpoint") for g in own for f in (g["main"], *g["blocks"]) for i in f["body"]),
        "heads": sorted({path[-1] for path in paths if path and path[-1] in WHOLE and (path[-1] != "embed_tokens" or len(path) == 2)}),
    }


def stacks_of(graphs):
    """Parameters that hold the matrices of all experts of a layer, as peft's `target_parameters` names them."""
    return sorted(
        {
            ".".join(p["name"].split(".")[-2:])
            for g in graphs
            for p in g["parameters"]
            if len(p["shape"]) == 3 and p["name"].split(".")[-2:-1] == ["experts"]
        }
    )


def prepare(families):
    """Imports here what every case would import anew in a process of its own, and leaves out initial values, which nothing reads."""
    import bitsandbytes  # noqa: F401
    import peft  # noqa: F401
    import transformers

    transformers.PreTrainedModel.initialize_weights = lambda self: None
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # what PyTorch refuses is drawn again
    for family in families:
        code = transformers.CONFIG_MAPPING[family].__module__.replace(".configuration_", ".modeling_")
        if importlib.util.find_spec(code):  # a family may have the classes of another
            importlib.import_module(code)
    gc.freeze()


def within(seconds, work):
    """Works for at most so much processor time: a deep model at a long sequence is not worth the wait."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    work()


def cases(families, per, first, seed, seen):
    """Lists of a case and its stand-ins, of every family in turn, so that a run cut short has seen all of them."""
    known, seen = published(), set(seen)
    files = [f for f in sorted((ROOT / "models" / "graphs").glob("*.json")) if not families or f.stem in families]
    graphs = {f.stem: content_of(f.read_text())["graphs"] for f in files}
    for number in range(first, first + per):
        for family in graphs:
            drawn = []
            for attempt in range(CANDIDATES):
                try:
                    case = draw(family, graphs[family], known.get(family, []), random.Random(f"{family}-{seed}-{number}-{attempt}"))
                    drawn.append({**case, "id": f"{family}-{seed}-{number}" + (f"-{attempt}" if attempt else "")})
                except Exception as error:
                    print(f"{family}-{seed}-{number}-{attempt}: not drawn: {error!r}", file=sys.stderr)
            ordered = choose(drawn, seen)[: 1 + STAND_INS]
            seen |= pairs(ordered[0]) if ordered else set()
            yield ordered


def gather(oracle_file, out, families=(), per=4, first=0, seed="1", seconds=40):
    """Appends rows of fresh cases to `out`; a run that was cut short goes on where it ended."""
    from .witness import witness

    have = rows_of(out)
    with tempfile.TemporaryDirectory() as folder:
        drawn = pathlib.Path(folder) / "cases"
        alone(lambda: drawn.write_text(json.dumps(list(cases(families, per, first, seed, set())))))
        wanted = json.loads(drawn.read_text())
    tried = {row["case"]["id"] for row in have}
    run, started = witness(oracle_file), time.time()
    prepare({group[0]["model"]["model_type"] for group in wanted if group})
    for group in wanted:
        if any(case["id"] in tried for case in group):
            continue
        for case in group:
            size = out.stat().st_size if out.exists() else 0
            alone(lambda: within(seconds, lambda: keep(out, case, run)))
            if out.exists() and out.stat().st_size > size:
                break
    print(f"{len(wanted)} cases, {time.time() - started:.0f} s", flush=True)


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
    gather(args.oracle, args.out, args.family, args.per, args.first, args.seed, args.seconds)


if __name__ == "__main__":
    main()
