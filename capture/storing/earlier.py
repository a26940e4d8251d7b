"""What earlier releases of transformers do otherwise, put together (`models/releases/transformers.json`): graphs that no newer release has,
and what the classes of configs fill in that the newest one's do not. What is the same in several families or releases is said once."""

import json
import pathlib
import re

from ..families.every_family import FAMILIES
from ..recording.module_names import renamed
from . import stored
from .distances import relative
from .roots import unnamed_all
from .stored import content_of, functions_told, shortest

MODELS = pathlib.Path(__file__).resolve().parent.parent.parent / "models"
FILE = MODELS / "releases" / "transformers.json"
UNTIL = {"4.44": "4.46", "4.48": "4.49", "4.51": "4.54", "4.57": "5.0", "5.8": "5.9"}
"""The release from which on a recorded one's code no longer stands: losses are computed by the models' own code until 4.46, which
raises whole logits to float32 (modeling_llama.py, `logits.float()`); the loss makes no copy of shifted logits since 4.49 (loss_utils.py),
attention is handed grouped keys as they are since 4.54 (integrations/sdpa_attention.py), 4.57 is the last whose T5 has no fused attention
(stored where its peaks differ from the newest's: bench/earlier.ts), layers of pictures and sound have the names of
those of texts since 5.9 (modeling_vit.py)."""
FACTS = ("defaults", "derived")
NEAR = 0.005
"""Figures of two releases' steps this near are taken for the same."""
_ONE = "=temperature"
"""What a scale of one was taken for: a key of generation, which classes of configs had before 5."""
_WORD = re.compile(r"[A-Za-z_][\w.]*")


def differences(own, newest, words):
    """Facts that graphs of the release name and the newest does not say the same."""
    found = {}
    for kind in FACTS:
        changed = {k: v for k, v in own[kind].items() if k in words and newest[kind].get(k) != v}
        if changed:
            found[kind] = changed
    # what follows others in the newest is filled in by the release itself
    given = [k for k in found.get("defaults", {}) if k in newest["derived"]]
    return {**found, **({"given": given} if given else {})}


def positional(graph):
    """Layers that are recomputed were given everything by place (`self._gradient_checkpointing_func(layer.__call__, ...)`)."""
    for step in graph["main"]["body"]:
        call = step.get("repeat", step)
        if call.get("checkpoint"):
            call["positional"] = list(range(len(call["in"])))


def known():
    """What is stored, in the form that `earlier` records: by family and release."""
    if not FILE.exists():
        return {}
    content = content_of(FILE.read_text())
    plain = [{key: value for key, value in graph.items() if key != "family"} for graph in content["graphs"]]
    return {
        (family, release): {**row, "graphs": [plain[k] for k in row["graphs"]]}
        for family, releases in content["families"].items()
        for release, row in releases.items()
    }


def recorded(file, newest):
    """A family of the folder: what differs from the newest release, and its graphs."""
    own = json.loads(file.read_text().replace(f'"{_ONE}"', "1.0"))
    for graph in own["graphs"]:
        positional(graph)
    words = set(_WORD.findall(json.dumps(own["graphs"])))
    return {**differences(own, newest, words), "graphs": own["graphs"]}


def joined(before, now):
    """What was recorded now beside what was before of other tasks and kinds of attention."""
    anew = {(graph["task"], graph["attention"]) for graph in now["graphs"]}
    kept = [graph for graph in before.get("graphs", ()) if (graph["task"], graph["attention"]) not in anew]
    return {**before, **now, "graphs": [*kept, *now["graphs"]]}


def gathered(folder, measured=()):
    """Every recorded release's families: what differs, and places in the list of graphs, which are told apart by family. What the folder
    does not have stays as it is stored."""
    found = known()
    for release in UNTIL:
        for file in (folder / release).glob("*.json"):
            newest = content_of((MODELS / "graphs" / file.name).read_text())
            key = (newest["family"], release)
            found[key] = joined(found.get(key, {}), recorded(file, newest))
    for file in (folder / "names").glob("*.json"):
        for name, before in json.loads(file.read_text()).items():
            pairs = renamed(name, FAMILIES[name], before)
            if pairs is not None:
                found[name, file.stem] = {**found.get((name, file.stem), {"graphs": []}), "renamed": pairs}
    graphs, families, places = [], {}, {}
    for family, release in sorted(found):
        row = found[family, release]
        numbers = []
        for graph in row["graphs"]:
            key = family + json.dumps(graph, sort_keys=True)
            if key not in places:
                places[key] = len(graphs)
                graphs.append({"family": family, **graph})
            numbers.append(places[key])
        families.setdefault(family, {})[release] = {**row, "graphs": numbers}
    alike = found_alike(measured, content_of(FILE.read_text()).get("alike", {}) if FILE.exists() else {})
    return {"schema": stored.SCHEMA, "until": UNTIL, "alike": alike, "families": families, "graphs": graphs}


def same(one, other):
    """Whether what two releases take for the same runs is the same; what one of them refuses tells nothing of that run."""
    pairs = [(a, b) for a, b in zip(one, other) if isinstance(a, list) and isinstance(b, list)]
    return len(pairs) > 0 and all(abs(x / y - 1) <= NEAR for a, b in pairs for x, y in zip(a, b))


def found_alike(files, before):
    """By release, families whose steps take what the newest one's do, by their tasks and kinds of attention: of lines of `steps`, the newest
    release's among them, or of `bench/earlier.ts`; what they do not tell of stays as it is stored."""
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    newest = max((r["release"] for r in rows if "bytes" in r), key=lambda name: [*map(int, name.split("."))], default=None)
    by = {(r["release"], r["family"], f"{r['task']} {r['attention']}"): r for r in rows}
    kinds = {
        release: {family: set(group["kinds"]) for group in groups for family in group["families"]} for release, groups in before.items()
    }
    for (release, family, kind), row in by.items():
        if release == newest or release not in UNTIL:
            continue
        other = by.get((newest, family, kind))
        alike = row["largest"] <= NEAR if "largest" in row else other is not None and same(row["bytes"], other["bytes"])
        known = kinds.setdefault(release, {}).setdefault(family, set())
        (known.add if alike else known.discard)(kind)
    return {release: grouped(families) for release, families in kinds.items()}


def grouped(families):
    """Families that have the same kinds of runs said once."""
    groups = {}
    for family, kinds in sorted(families.items()):
        if kinds:
            groups.setdefault(tuple(sorted(kinds)), []).append(family)
    return [{"kinds": list(kinds), "families": names} for kinds, names in groups.items()]


def told(content, body):
    """Graphs of several families, as those of each are told."""
    result, graphs = {}, content["graphs"]
    for family in dict.fromkeys(graph["family"] for graph in graphs):
        at = [k for k, graph in enumerate(graphs) if graph["family"] == family]
        plain = [functions_told({key: v for key, v in graphs[k].items() if key != "family"}, relative) for k in at]
        result |= dict(zip(at, unnamed_all(plain, body)))
    return [result[k] for k in range(len(graphs))]


def write(folder, measured=()):
    """Writes the file anew from the graphs of `python -m capture earlier` and the lines of `steps` or `bench/earlier.ts`."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(shortest(gathered(folder, measured), told))
