"""What gradient checkpointing recomputes in each family's models, beside what the stored graphs mark: a line for each family where the
two differ. Small models on the fake device; PyTorch's checkpointing notes the modules that it is given."""

import gc
import sys

from ..families.every_family import FAMILIES
from ..recording.graphs import point
from ..recording.stages import marked, recomputed, spelled
from ..storing.stored import content_of
from .steps import branches
from .verify import ROOT

GRAPHS = ROOT / "models" / "graphs"


def differing(name):
    """What is recomputed and not marked, what is marked and not recomputed, in any branch of a family, and what could not be run."""
    family, ran, failed = FAMILIES[name], set(), set()
    tasks = tuple(dict.fromkeys((family.tasks[0], family.tasks[-1])))
    graphs = [g for g in content_of((GRAPHS / f"{name}.json").read_text())["graphs"] if g["task"] in tasks]
    said = {spelled(path) for graph in graphs for path in marked(graph)}
    for task in tasks:
        for number, options in enumerate(branches(family)):
            settings, sizes = point(family, task, options, number)
            try:
                ran |= {spelled(path) for path in recomputed(name, task, family.attention[0], settings, sizes)}
            except Exception as error:
                failed.add(f"{task}: {type(error).__name__}: {str(error)[:100]}")
            gc.collect()
    return sorted(ran - said), sorted(said - ran), sorted(failed)


def main(names):
    for name in names or sorted(file.stem for file in GRAPHS.glob("*.json") if file.stem in FAMILIES):
        more, less, failed = differing(name)
        if more or less or failed:
            print(name, f"recomputed, not marked: {more}; marked, not recomputed: {less}", *failed, sep="; ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
