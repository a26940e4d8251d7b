"""From which release of transformers on each family's code has PyTorch's fused attention: src/analysis/fused-since.json.

Only what earlier releases had without it is said. usage: python -m capture.facts.fused_since FOLDER   (holds wheels of releases)
"""

import collections
import pathlib
import re
import sys
import zipfile

from .data import save

OUT = pathlib.Path(__file__).resolve().parent.parent.parent / "src" / "analysis" / "fused-since.json"
_FILE = re.compile(r"transformers/models/(\w+)/modeling_(?!tf_|flax_)(\w+)\.py$")
# A class says it, or what it is put together from does (`def _supports_sdpa(self)` of LLaVA before 4.46).
_SAYS = re.compile(r"^    (?:_supports_sdpa\s*=\s*True|def _supports_sdpa\b)", re.M)


def release_of(wheel):
    return tuple(int(part) for part in wheel.name.split("-")[1].split(".")[:2])


def said(wheels):
    """By the module of a family and by release: whether its code says that it has fused attention."""
    found = collections.defaultdict(dict)
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                match = _FILE.match(name)
                if match:
                    has = bool(_SAYS.search(archive.read(name).decode()))
                    for module in {match[1], match[2]}:
                        found[module][release_of(wheel)] = has or found[module].get(release_of(wheel), False)
    return found


def main():
    wheels = sorted(pathlib.Path(sys.argv[1]).glob("transformers-*.whl"), key=release_of)
    modules = said(wheels)
    families = {}
    for file in sorted((OUT.parents[2] / "models" / "graphs").glob("*.json")):
        releases = modules.get(file.stem.replace("-", "_"), {})
        first = next((release for release, has in releases.items() if has), None)
        if first is not None and first != next(iter(releases)):
            families[file.stem] = ".".join(map(str, first))
    about = "The first release of transformers whose code of a family has fused attention; what has had it from the beginning is left out."
    names = [".".join(map(str, release_of(wheel))) for wheel in wheels]
    save(OUT, about, f"modeling files of transformers {names[0]} to {names[-1]}", "fused_since", families=families)


if __name__ == "__main__":
    main()
