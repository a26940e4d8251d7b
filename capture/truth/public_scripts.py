"""Training scripts of public repositories, each run as it is by `vram-lens check --against-pytorch`.

usage: python -m capture.truth.public_scripts --sources FOLDER --python [NAME=]PATH ... [--only TEXT ...] [--again] [--page]

`capture/public-scripts.jsonl` has the scripts: the repository (a folder of FOLDER that is called `OWNER+NAME`), the script in it and its
arguments, the folder that it is run from (`from`; else the script's own), what of the repository is installed (`installed`), the release
of transformers that it was written for (`of`: a NAME of `--python`), and the data that a person has beside it (`beside`): files that are
written before a run, `{k}` in a path being their number. What each run gave is kept in FOLDER/results.jsonl; `--page` writes the table of
`docs/your-own-model.md` from it. The command line must have been built (`npm run build`).
"""

import argparse
import json
import os
import pathlib
import shlex
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIST = ROOT / "capture" / "public-scripts.jsonl"
PAGE = ROOT / "docs" / "your-own-model.md"
MARK, END = "<!-- public scripts -->\n", "<!-- end of public scripts -->"


def written(asked, folder):
    """Writes the files of one entry of `beside`, where they are not there yet."""
    for k in range(asked["times"] if "{k}" in asked["path"] else 1):
        path = folder / asked["path"].replace("{k}", str(k))
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if "picture" in asked or "mask" in asked:
            from PIL import Image

            image = Image.new("RGB" if "picture" in asked else "L", asked.get("picture") or asked["mask"])
            image.putpixel((0, 0), (1, 1, 1) if "picture" in asked else 1)
            image.save(path)
        elif "zeros" in asked:
            path.write_bytes(bytes(asked["zeros"]))
        elif "rows" in asked:
            path.write_text(json.dumps([asked["rows"]] * asked["times"]))
        else:
            path.write_text(f"{asked['text']}\n" * asked["times"])


def checked(row, sources, pythons, limit):
    """What the command line says of one script."""
    repository = sources / row["repository"].replace("/", "+")
    script = repository / row["script"]
    if not script.is_file():
        return {"error": "its source is not in the folder of sources"}
    folder = repository / row["from"] if "from" in row else script.parent
    for one in row.get("beside", ()):
        written(one, folder)
    python = pythons.get(row.get("of", ""))
    if python is None:
        return {"error": f"no Python with transformers {row['of']} was given"}
    words = ["node", str(ROOT / "dist" / "cli.js"), "check", "--against-pytorch", "--python", python, "--format", "json"]
    words += ["--time-limit", str(limit), os.path.relpath(script, folder), *shlex.split(row.get("arguments", ""))]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    if "installed" in row:
        env["PYTHONPATH"] = str(repository / row["installed"])
    began = time.time()
    done = subprocess.run(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    found = {"seconds": round(time.time() - began)}
    try:
        result = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = [line for line in done.stderr.splitlines() if line.startswith("vram-lens: ")]
        return {**found, "error": said[-1].removeprefix("vram-lens: ") if said else "no result", "tail": done.stderr[-2000:]}
    pytorch, estimate = result["pytorch"], result["estimate"]
    found |= {"allocated": pytorch["allocatedPeakBytes"], "phase": pytorch["peak"]["phase"], "ended": pytorch["ended"]}
    return {**found, "versions": pytorch["versions"], "estimate": estimate and estimate["allocatedPeakBytes"]}


def page(results):
    """The table, between its marks; scripts that were not run this time keep their rows."""
    text = PAGE.read_text()
    before, rest = text[: text.index(MARK) + len(MARK)], text[text.index(MARK) + len(MARK) :]
    kept = {tuple(line.split(" | ")[:2]): line for line in rest[: rest.index(END)].splitlines()}
    lines = []
    for row in map(json.loads, LIST.read_text().splitlines()):
        found, place = results.get((row["repository"], row["script"])), (f"| {row['repository']}", f"`{row['script']}`")
        if found is None:
            lines.append(kept.get(place, " | ".join([*place, row["kind"], "not run |"])))
            continue
        said = f"{found['allocated'] / 2**30:.3f} GiB in {found['phase']}" if "allocated" in found else found["error"].replace("|", "\\|")
        lines.append(" | ".join([*place, row["kind"], f"{said} |"]))
    good = sum(" GiB in " in line for line in lines)
    head = f"Of {len(lines)} scripts {good} run with nothing changed in them."
    table = ["| repository | script | kind | PyTorch's peak, or what stops it |", "|---|---|---|---|", *lines]
    PAGE.write_text(before + "\n".join([head, "", *table]) + "\n" + rest[rest.index(END) :])
    print(head)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sources", type=pathlib.Path, required=True)
    parser.add_argument("--python", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--again", action="store_true", help="scripts that were run before, too")
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    pythons = dict(one.split("=", 1) if "=" in one else ("", one) for one in args.python)
    sources = args.sources.resolve()
    kept = sources / "results.jsonl"
    results = {}
    if kept.exists():
        results = {(r["repository"], r["script"]): r for r in map(json.loads, kept.read_text().splitlines())}
    if args.page:
        return page(results)
    for line in LIST.read_text().splitlines():
        row = json.loads(line)
        key = row["repository"], row["script"]
        if args.only and not any(one in "/".join(key) for one in args.only) or key in results and not args.again:
            continue
        results[key] = {"repository": key[0], "script": key[1], **checked(row, sources, pythons, args.limit)}
        print({name: value for name, value in results[key].items() if name != "tail"}, flush=True)
        kept.write_text("".join(json.dumps(one) + "\n" for one in results.values()))
    return None


if __name__ == "__main__":
    main()
