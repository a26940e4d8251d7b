"""Rows of a file of receipts, one JSON object a line."""

import argparse
import json
import pathlib


def rows_of(file):
    """The rows of a file by its path; none where it is not there yet."""
    path = pathlib.Path(file)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def drawn_in(file):
    """Ids of the cases that a file has rows of: they are not drawn again."""
    return {row["case"]["id"] for row in rows_of(file)}


def drawer(doc, others, count, oracle):
    """The command of a drawer: `draw` prints cases, what `others` names runs those of a file."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["draw", *others])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--oracle", default=f"../shared/oracle/{oracle}")
    return parser


def with_oracle(doc, count):
    """The command of a drawer that runs its cases itself: where the oracle lies, and how many it draws of each kind."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--count", type=int, default=count)
    return parser


def printed(cases):
    """Each case as a line."""
    for case in cases:
        print(json.dumps(case, separators=(",", ":")))


def draw(file, option, kinds, count, row_of):
    """The command of receipts that are drawn by kind and number: adds the rows that a file has not got.

    `row_of(kind, number, seed)` gives what a row says beside its id; where it raises ValueError, there is no such run, which is told.
    """
    arguments = argparse.ArgumentParser()
    arguments.add_argument(f"--{option}", dest="kind", choices=kinds)
    arguments.add_argument("--count", type=int, default=count)
    arguments.add_argument("--seed", default="receipts")
    args = arguments.parse_args()
    rows = rows_of(file)
    known = {row["id"] for row in rows}
    for kind in kinds:
        for number in range(args.count):
            identity = f"{kind} {args.seed} {number}"
            if identity in known or args.kind not in (None, kind):
                continue
            try:
                rows.append({"id": identity, **row_of(kind, number, args.seed)})
            except ValueError as error:
                print(f"{identity}: {error}", flush=True)
                continue
            print(rows[-1], flush=True)
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
