"""Keys of a config document as fields: the defaults that Hydra composes a run of, typed by the classes that its blocks name."""

from collections.abc import Callable
from pathlib import Path

import yaml

from .values import COMPUTED, Field

TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "map", list: "list"}


def flat(path: Path, fields_of: Callable[[str], dict[str, Field]]) -> dict[str, Field]:
    """
    Every key by its dotted path.

    fields_of -- fields of the class that a block names (`_target_`), which say the type of what is null in the document
    """
    return below(yaml.safe_load(path.read_text()) or {}, "", fields_of)


def below(block: dict, prefix: str, fields_of: Callable[[str], dict[str, Field]]) -> dict[str, Field]:
    typed = fields_of(str(block.get("_target_", "")).split(".")[-1])
    found: dict[str, Field] = {}
    for key, value in block.items():
        if not isinstance(key, str) or key.startswith("_") or key in ("defaults", "hydra"):
            continue
        if isinstance(value, dict) and value:
            found |= below(value, f"{prefix}{key}.", fields_of)
            continue
        said = field(value)
        # What the class says of its own type stands before what one value looks like.
        own = typed.get(key, {})
        if own.get("type", "any") not in ("any", said["type"]) and not (said["type"] == "string" and said["default"] is COMPUTED):
            said["type"] = own["type"] if value is None or {own["type"], said["type"]} == {"number", "integer"} else said["type"]
        said["nullable"] = value is None or own.get("nullable", False)
        found[f"{prefix}{key}"] = said
    return found


def field(value: object) -> Field:
    """What one value says: null no type, a text that is put together of other keys, and a path on the author's machine, no default."""
    if isinstance(value, str) and ("${" in value or value == "???" or value.startswith(("~/", "/"))):
        return {"type": "any", "nullable": False, "default": COMPUTED}
    kind = "any" if value is None else TYPES.get(type(value), "any")
    return {"type": kind, "nullable": value is None, "default": COMPUTED if isinstance(value, (list, dict)) else value}
