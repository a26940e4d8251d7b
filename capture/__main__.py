"""python -m capture graphs|losses|check|verify|release (see README.md)"""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

REPORTER = "node --import tsx bench/reference-check.ts"
"""Takes config files and prints their report: the estimate of the loop that the reference runs."""
OUT = pathlib.Path(__file__).resolve().parent.parent / "models" / "graphs"


def graphs(args):
    from .families.every_family import FAMILIES
    from .recording import embedders
    from .recording.checkpointing import mark
    from .recording.heads import normed
    from .recording.graphs import conditioned, facts, family_graphs, texts_alone
    from .recording.rotary import cuts_by_cosines, widened
    from .recording.run import make_config
    from .recording.stages import name_stages
    from .storing.stored import content_of, shortest

    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in args.family or FAMILIES:
        started = time.time()
        try:
            if args.conditions:
                stored = content_of((OUT / f"{name}.json").read_text())
                content = {**stored, "graphs": conditioned(stored["graphs"], FAMILIES[name])}
            elif args.texts:
                stored = content_of((OUT / f"{name}.json").read_text())
                alone = [
                    g for task in FAMILIES[name].tasks for attention in FAMILIES[name].attention for g in texts_alone(name, task, attention)
                ]
                marked = embedders.mark(name, normed(name, mark(name, {**stored, "graphs": alone})))
                content = {**stored, "graphs": marked["graphs"] + [g for g in stored["graphs"] if "I == 0" not in g["when"]]}
            elif args.facts:
                stored = content_of((OUT / f"{name}.json").read_text())
                content = {**stored, **facts(name, FAMILIES[name], stored["graphs"]), "head": stored["head"], "graphs": stored["graphs"]}
            elif args.embedders:
                content = embedders.mark(name, content_of((OUT / f"{name}.json").read_text()))
            elif args.stages:
                content = name_stages(name, content_of((OUT / f"{name}.json").read_text()))
            else:
                recorded = name_stages(name, family_graphs(name, args.task, args.attention))
                content = embedders.mark(name, normed(name, mark(name, recorded)))
                if args.task or args.attention:
                    stored = content_of((OUT / f"{name}.json").read_text())
                    kept = [
                        g
                        for g in stored["graphs"]
                        if g["task"] not in (args.task or [g["task"]]) or g["attention"] not in (args.attention or [g["attention"]])
                    ]
                    content["graphs"] = kept + content["graphs"]
            content = widened(content, cuts_by_cosines(make_config(name, {})))
            # JSON has no infinity; the engine reads no value of a constant anyway.
            text = shortest(content).replace("-Infinity", "-3.4e+38").replace("Infinity", "3.4e+38")
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
            if args.trace:
                traceback.print_exc()
            continue
        (OUT / f"{name}.json").write_text(text)
        print(f"{name}: {len(text) / 1024:.0f} KiB, {time.time() - started:.0f} s", flush=True)
    return 1 if failed else 0


def earlier(args):
    """Graphs of the release that is imported, for `pack_earlier` to put together; what a release does not have is left out."""
    from .families.every_family import FAMILIES
    from .recording import embedders
    from .recording.checkpointing import mark
    from .recording.graphs import facts, graphs_of
    from .recording.releases import VERSION
    from .recording.rotary import cuts_by_cosines, widened
    from .recording.stages import name_stages
    from .recording.run import make_config

    out = args.out / ".".join(map(str, VERSION))
    out.mkdir(parents=True, exist_ok=True)
    if args.names:
        from .recording import module_names

        module_names.write(FAMILIES, args.out / "names" / f"{out.name}.json")
        return 0
    for name in args.family:
        started, found = time.time(), []
        for task in (t for t in FAMILIES[name].tasks if t != "multiple-choice" and t in (args.task or FAMILIES[name].tasks)):
            for attention in args.attention or FAMILIES[name].attention:
                try:
                    found += graphs_of(name, task, attention)
                except Exception as error:
                    print(f"{name} {task} {attention}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
                    if args.trace:
                        traceback.print_exc()
        if not found:
            continue
        try:
            own = facts(name, FAMILIES[name], found)
        except Exception as error:  # what its class fills in is then taken to be what the newest one does
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            own = {"defaults": {}, "derived": {}}
        content = name_stages(name, {"family": name, **own, "head": None, "graphs": found})
        content = widened(embedders.mark(name, mark(name, content)), cuts_by_cosines(make_config(name, {})))
        text = json.dumps(content)
        (out / f"{name}.json").write_text(text.replace("-Infinity", "-3.4e+38").replace("Infinity", "3.4e+38"))
        print(f"{'.'.join(map(str, VERSION))} {name}: {len(found)} graphs, {time.time() - started:.0f} s", flush=True)
    return 0


def pack_earlier(args):
    """models/releases/transformers.json from the folder of `earlier`."""
    from .storing.earlier import write

    write(args.folder, args.alike)
    return 0


def steps(args):
    """What a step of each family takes on the release that is imported, for `pack_earlier` to compare."""
    from .families.every_family import FAMILIES
    from .truth.steps import drawn, told, write

    write(told(args.like) if args.like else drawn(args.family or FAMILIES), args.out)
    return 0


def frameworks(args):
    """Models that frameworks build themselves, of those whose package is there."""
    from .recording.framework_code import write

    for name in args.framework:
        write(importlib.import_module(f"capture.frameworks.{name}").CODES, args.line)
    return 0


def losses(args):
    from .trainers.losses import trainer_graphs
    from .storing.stored import content_of, shortest

    code = importlib.import_module(
        {
            "trl": "capture.trainers.trl_trainers",
            "llama-factory": "capture.trainers.llama_factory",
            "earlier": "capture.trainers.trl_before_029",
            "online": "capture.trainers.trl_online",
            "ppo": "capture.trainers.trl_ppo",
            "embedding": "capture.trainers.sentence_transformers",
        }[args.of]
    )
    file = OUT.parent / "trainers" / f"{code.NAME}.json"
    file.parent.mkdir(exist_ok=True)
    found = code.graphs() if args.of == "ppo" else trainer_graphs(code, args.kind)
    if args.kind:
        stored = content_of(file.read_text())
        found["graphs"] = [graph for graph in stored["graphs"] if graph["trainer"] not in args.kind] + found["graphs"]
    file.write_text(shortest(found))
    return 0


def check(args):
    from .truth.check import check

    failures = [f for name in args.family or sorted(p.stem for p in OUT.glob("*.json")) for f in check(name, args.seed)]
    return 1 if failures else 0


def verify(args):
    from .truth.verify import verify

    names = args.family or sorted(p.stem for p in OUT.glob("*.json"))
    verify(names, args.per, args.seed, args.reporter, args.json, args.attention)
    return 0


def release(args):
    """Fresh cases with PyTorch's peaks, then the page; rows that are there stay, so that a run that was cut short goes on."""
    import bitsandbytes
    import peft
    import torch
    import transformers

    from .truth.drawn_runs import gather
    from .truth.page import write

    files = [pathlib.Path(file) for file in args.rows]
    if not args.rows:
        if not args.oracle.exists():
            print(f"no oracle at {args.oracle}: name its file with --oracle or VRAM_LENS_ORACLE_SCRIPT", file=sys.stderr)
            return 1
        files = [OUT.parent.parent / ".verify" / f"{args.seed}.jsonl"]
        files[0].parent.mkdir(exist_ok=True)
        gather(args.oracle, files[0], args.family, args.per, 0, args.seed)
    versions = ", ".join(f"{m.__name__} {m.__version__.split('+')[0]}" for m in (torch, transformers, peft, bitsandbytes))
    write(files, args.reporter, versions)
    return 0


def media(args):
    from .truth.media_receipts import receipts

    receipts(args.family, args.per, args.seed, args.recomputed)
    return 0


def families(args):
    from .families.uncaptured import write

    write()
    return 0


def pack(args):
    from .storing.pack import write

    write()
    return 0


def nnunet(args):
    from .truth.nnunet_receipts import write

    write(args.count)
    return 0


def efficientnet(args):
    from .truth.efficientnet_receipts import write

    write()
    return 0


def builders(args):
    from .recording.networks import write

    write(OUT, args.library, args.line, lambda text: print(text, flush=True))
    return 0


def pipelines(args):
    from .recording.diffusion import write

    write(OUT, args.line, lambda text: print(text, flush=True))
    return 0


def with_fake_device():
    """Starts Python again with the library preloaded that lets autograd run on a device that is not there."""
    here = pathlib.Path(__file__).resolve().parent
    library = pathlib.Path(tempfile.gettempdir()) / "vram-lens-fakecuda.so"
    if str(library) in os.environ.get("LD_PRELOAD", ""):
        return
    if not library.exists():
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-std=c++17", "-o", str(library), str(here / "fakecuda.cpp")], check=True)
    os.execve(sys.executable, [sys.executable, "-m", "capture", *sys.argv[1:]], {**os.environ, "LD_PRELOAD": str(library)})


def with_one_order():
    """Starts Python again so that sets of strings (a config's kinds of layers) always have one order."""
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.execve(sys.executable, [sys.executable, "-m", "capture", *sys.argv[1:]], {**os.environ, "PYTHONHASHSEED": "0"})


def main():
    with_one_order()
    parser = argparse.ArgumentParser(prog="capture", description="Captures and verifies architecture graphs.")
    commands = parser.add_subparsers(dest="command", required=True)
    g = commands.add_parser("graphs", help="write models/graphs/<family>.json")
    g.add_argument("--family", nargs="*")
    g.add_argument("--task", nargs="*", help="only these tasks; the stored graphs of others are kept")
    g.add_argument("--attention", nargs="*", help="only these kinds of attention; the stored graphs of others are kept")
    g.add_argument("--texts", action="store_true", help="only texts without pictures; the stored graphs of both are kept")
    g.add_argument("--facts", action="store_true", help="only renew defaults, derived keys and aliases of stored graphs")
    g.add_argument(
        "--conditions", action="store_true", help="only state in stored graphs which branch was captured where it is the only one"
    )
    g.add_argument("--embedders", action="store_true", help="only mark in stored graphs what embeds the inputs")
    g.add_argument("--stages", action="store_true", help="only name in stored graphs the stages that are recomputed whole")
    g.add_argument("--trace", action="store_true", help="print the Python traceback of a failure")
    g.set_defaults(run=graphs)
    o = commands.add_parser("earlier", help="record the families of an earlier release of transformers, the one that is imported")
    o.add_argument("--family", nargs="*", default=[])
    o.add_argument("--task", nargs="*")
    o.add_argument("--names", action="store_true", help="only what modules of every family are called")
    o.add_argument("--attention", nargs="*")
    o.add_argument("--out", type=pathlib.Path, required=True, help="a folder outside of the repository, one more inside for each release")
    o.add_argument("--trace", action="store_true", help="print the Python traceback of a failure")
    o.set_defaults(run=earlier)
    t = commands.add_parser("steps", help="what a step of each family takes on the release of transformers that is imported")
    t.add_argument("--family", nargs="*")
    t.add_argument("--like", type=pathlib.Path, help="what an earlier release wrote: the same runs instead of drawn ones")
    t.add_argument("--out", type=pathlib.Path, required=True, help="lines of JSON, which are added to")
    t.set_defaults(run=steps)
    q = commands.add_parser("pack-earlier", help="write models/releases/transformers.json from the folder of `earlier`")
    q.add_argument("folder", type=pathlib.Path)
    q.add_argument("--alike", nargs="*", type=pathlib.Path, default=[], help="lines of `steps` or of bench/earlier.ts")
    q.set_defaults(run=pack_earlier)
    f = commands.add_parser("families", help="write models/FAMILIES.md: what is captured, and why the rest is not")
    f.set_defaults(run=families)
    p = commands.add_parser("pack", help="write models/parts/*.json, the tables that files of graphs go on from, and every file anew")
    p.set_defaults(run=pack)
    c = commands.add_parser("check", help="compare stored graphs with captures at fresh config points")
    c.add_argument("--family", nargs="*")
    c.add_argument("--seed", default="1")
    c.set_defaults(run=check)
    losses_command = commands.add_parser(
        "losses",
        help="write models/trainers/*.json, the losses of the TRL that is imported, of LLaMA-Factory over it, of sentence-transformers",
    )
    losses_command.add_argument("--of", choices=("trl", "earlier", "llama-factory", "online", "ppo", "embedding"), default="trl")
    losses_command.add_argument("--kind", nargs="*", help="only these trainers; the file keeps the others")
    losses_command.set_defaults(run=losses)
    v = commands.add_parser("verify", help="compare estimates with PyTorch on odd sizes of families")
    v.add_argument("--family", nargs="*")
    v.add_argument("--per", type=int, default=3, help="cases per task and attention")
    v.add_argument("--attention", nargs="*", help="only cases of these kinds of attention")
    v.add_argument("--seed", default="1")
    v.add_argument("--reporter", default=REPORTER)
    v.add_argument("--json", help="also append each row to this file")
    v.set_defaults(run=verify)
    w = commands.add_parser(
        "release", help="draw fresh runs of every family, ask the oracle, and write docs/verification.md (npm run verify)"
    )
    w.add_argument("--family", nargs="*", default=[])
    w.add_argument("--per", type=int, default=2, help="cases per family")
    w.add_argument("--seed", default=time.strftime("%Y-%m-%d"), help="today's date unless stated: cases nobody has looked at")
    w.add_argument(
        "--oracle",
        type=pathlib.Path,
        default=os.environ.get("VRAM_LENS_ORACLE_SCRIPT", OUT.parent.parent.parent / "shared" / "oracle" / "oracle.py"),
    )
    w.add_argument("--reporter", default=REPORTER)
    w.add_argument("--rows", nargs="*", default=[], help="only write the page, from rows of earlier runs, which are estimated anew")
    w.set_defaults(run=release)
    m = commands.add_parser("media", help="receipts of models of pictures and sound: test/core/media/<family>.jsonl")
    m.add_argument("--family", nargs="*", required=True)
    m.add_argument("--per", type=int, default=4, help="cases per task and attention")
    m.add_argument("--seed", default="media")
    m.add_argument("--recomputed", action="store_true", help="all of them under checkpointing, as many as --per says")
    m.set_defaults(run=media)
    n = commands.add_parser("nnunet", help="receipts of nnU-Net's networks: test/core/nnunet.jsonl")
    n.add_argument("--count", type=int, default=60)
    n.set_defaults(run=nnunet)
    e = commands.add_parser("efficientnet", help="receipts of EfficientNet: test/core/efficientnet.jsonl")
    e.set_defaults(run=efficientnet)
    b = commands.add_parser("builders", help="write models/graphs/<library>.<line>.json, networks that torchvision and timm build by name")
    b.add_argument("--library", nargs="*")
    b.add_argument("--line", nargs="*")
    b.set_defaults(run=builders)
    d = commands.add_parser("pipelines", help="write models/graphs/diffusers.<line>.json, what diffusers' training scripts run of a batch")
    d.add_argument("--line", nargs="*")
    d.set_defaults(run=pipelines)
    o = commands.add_parser("frameworks", help="write models/graphs/<framework>.<line>.json, models that frameworks' own code builds")
    o.add_argument("--framework", nargs="+", default=["torchtune", "litgpt"], help="modules of capture/frameworks")
    o.add_argument("--line", nargs="+", help="only these files, as torchtune.llama")
    o.set_defaults(run=frameworks)
    args = parser.parse_args()
    if args.command in ("verify", "release", "media", "nnunet", "efficientnet"):
        with_fake_device()
    sys.exit(args.run(args))


if __name__ == "__main__":
    main()
