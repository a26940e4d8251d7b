"""
Writes `src/formats/*/fields.json`: what the fields of libraries' config classes are (type, whether None is one of their
values, default), by release, read from the libraries' own sources without running them. The rows of a format's `keys.ts`
say what the fields mean.

usage: python -m capture.facts.fields FOLDER...

Each FOLDER holds sources (site-packages, an unpacked wheel) of one release; the more releases, the nearer those at which a
field went or its default changed. A library that is in none of them keeps the file it has.
"""

import sys
from pathlib import Path

from ..data import save
from ..signatures import version_of
from .histories import collected
from .release import Release
from .sources import SOURCES

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FORMATS = ROOT / "src" / "formats"


def file_of(format: str) -> Path:
    """`fields.json` in a format's folder; peft's classes are read by several formats and have no folder."""
    folder = FORMATS / format
    return folder / "fields.json" if folder.is_dir() else FORMATS / f"{format}-fields.json"


def main(folders: list[str]) -> None:
    for folder, ((library, package), patterns, classes) in SOURCES.items():
        releases = {
            version: Release(Path(root) / package, patterns) for root in folders if (version := version_of(Path(root), library)) is not None
        }
        if not releases:
            continue
        fields, trainers = collected(library, releases, classes)
        stated = ", ".join(".".join(map(str, version)) for version in sorted(releases))
        save(
            file_of(folder),
            "Fields of the library's config classes: type, default, what older releases had. The rows of `keys.ts` say what they mean.",
            f"{', '.join(classes.values())} of {library} {stated}",
            "fields",
            fields=fields,
            **({"trainers": trainers} if trainers else {}),
        )
        print(folder, len(fields), "fields of", stated)


if __name__ == "__main__":
    main(sys.argv[1:])
