"""python -m capture graphs|check|verify (see README.md)"""
import argparse
import json
import pathlib
import sys
import time
import traceback

OUT = pathlib.Path(__file__).resolve().parent.parent / "models" / "graphs"


def graphs(args):
    from .families import FAMILIES
    from .graphs import family_graphs

    OUT.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in args.family or FAMILIES:
        started = time.time()
        try:
            text = json.dumps(family_graphs(name), separators=(",", ":"))
        except Exception as error:
            failed.append(name)
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}", file=sys.stderr)
            if args.trace:
                traceback.print_exc()
            continue
        (OUT / f"{name}.json").write_text(text + "\n")
        print(f"{name}: {len(text) / 1024:.0f} KiB, {time.time() - started:.0f} s", flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="capture", description="Captures and verifies architecture graphs.")
    commands = parser.add_subparsers(dest="command", required=True)
    g = commands.add_parser("graphs", help="write models/graphs/<family>.json")
    g.add_argument("--family", nargs="*")
    g.add_argument("--trace", action="store_true", help="print the Python traceback of a failure")
    g.set_defaults(run=graphs)
    args = parser.parse_args()
    sys.exit(args.run(args))


if __name__ == "__main__":
    main()
