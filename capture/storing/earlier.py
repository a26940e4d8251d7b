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
UNTIL = {"4.48": "4.49", "4.51": "4.54", "4.57": "5.0", "5.8": "5.9"}
"""The release from which on a recorded one's code no longer stands: the loss makes no copy of shifted logits since 4.49 (loss_utils.py),
attention is handed grouped keys as they are since 4.54 (integrations/sdpa_attention.py), 4.57 is the last whose T5 has no fused attention
(stored where its peaks differ from the newest's: bench/earlier.ts), layers of pictures and sound have the names of
those of texts since 5.9 (modeling_vit.py)."""
FACTS = ("defaults", "derived")
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


def gathered(folder):
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
    return {"schema": stored.SCHEMA, "until": UNTIL, "families": families, "graphs": graphs}


def told(content, body):
    """Graphs of several families, as those of each are told."""
    result, graphs = {}, content["graphs"]
    for family in dict.fromkeys(graph["family"] for graph in graphs):
        at = [k for k, graph in enumerate(graphs) if graph["family"] == family]
        plain = [functions_told({key: v for key, v in graphs[k].items() if key != "family"}, relative) for k in at]
        result |= dict(zip(at, unnamed_all(plain, body)))
    return [result[k] for k in range(len(graphs))]


def write(folder):
    """Writes the file anew from the graphs of `python -m capture earlier`."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(shortest(gathered(folder), told))
