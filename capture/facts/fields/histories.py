"""Fields over the releases of a library: what the newest says, what older ones had in its place, and what trainers do not agree on."""

from .release import Release
from .sources import ANOTHER, COPIED, RENAMED, UNUSED
from .values import COMPUTED, Field

Version = tuple[int, ...]


def short(version: Version) -> str:
    """`5` of 5.0, `4.54` of 4.54.1."""
    return ".".join(map(str, version[:2])).removesuffix(".0")


def history(library: str, by_version: dict[Version, Field | None]) -> Field:
    """A field of a class as the newest release that has it says it, with what older ones had in its place."""
    versions = sorted(by_version)
    having = [version for version in versions if by_version[version] is not None]
    said = {version: field for version, field in by_version.items() if field is not None}
    newest = said[having[-1]]
    found: Field = {"type": newest["type"]}
    if newest["nullable"]:
        found["nullable"] = True
    if library not in COPIED and isinstance(newest["default"], (str, int, float, type(None))):
        found["default"] = newest["default"]
    found |= {key: newest[key] for key in ("min", "max", "aliases") if key in newest}
    older: dict[str, object] = {}
    for before, after in zip(having, having[1:], strict=False):
        old, new = said[before]["default"], said[after]["default"]
        if old != new and COMPUTED not in (old, new) and not isinstance(old, (list, dict, tuple)):
            older[f"{library}<{short(after)}"] = old
    if older and library not in COPIED:
        found["defaultsBy"] = older
    if having[0] != versions[0]:
        found["since"] = f"{library} {short(having[0])}"
    if having[-1] != versions[-1] and library not in RENAMED:
        found["removedIn"] = f"{library} {short(versions[versions.index(having[-1]) + 1])}"
    return found


def histories(library: str, releases: dict[Version, Release], name: str) -> dict[str, Field]:
    """Fields of a class over the releases that have it."""
    first = ANOTHER.get(name, ())
    by_version = {version: release.together(name.split()) for version, release in sorted(releases.items()) if version >= first}
    own = {version: fields for version, fields in by_version.items() if fields}
    names = {field for fields in own.values() for field in fields if "." not in field or not UNUSED.search(field)}
    return {field: history(library, {version: fields.get(field) for version, fields in own.items()}) for field in sorted(names)}


#: What trainers may say otherwise of a field that they share.
OF_TRAINER = ("default", "defaultsBy", "since", "removedIn")


def collected(
    library: str, releases: dict[Version, Release], classes: dict[str, str]
) -> tuple[dict[str, Field], dict[str, dict[str, Field]]]:
    """Fields by name, and what each trainer says of those of which not all say the same."""
    by_class = {trainer: histories(library, releases, name) for trainer, name in classes.items()}
    fields: dict[str, Field] = {}
    trainers: dict[str, dict[str, Field]] = {}
    for name in sorted({name for found in by_class.values() for name in found}):
        said = {trainer: found[name] for trainer, found in by_class.items() if name in found}
        first = next(iter(said.values()))
        shared = {
            key: value for key, value in first.items() if key not in OF_TRAINER or all(one.get(key) == value for one in said.values())
        }
        fields[name] = shared
        own = {trainer: {key: one[key] for key in OF_TRAINER if key in one} for trainer, one in said.items()}
        if any(one.get(key) != shared.get(key) for one in said.values() for key in OF_TRAINER):
            for trainer, one in own.items():
                trainers.setdefault(trainer, {})[name] = one
    return fields, trainers
