"""Tables of parts that files of graphs go on from (`models/parts`): what the decoders, the encoders and the readers of pictures of
many families have in common is said once for all of them."""

import json

from . import stored
from .roots import root_of
from .stored import SCHEMA, body_of, content_of, parts_of, shortest, text_of

ROOT = stored.PARTS.parent
ALIKE = ("bart", "llama", "roberta", "sew", "solar_open", "vipllava", "vit")
"""Families that the others are most like: together they shorten the rest the most, chosen one after the other."""
LOSSES = "trl"
"""The losses that those of other versions are most like."""


def write():
    """Writes the tables anew, and every file of graphs and losses on the table that makes it shortest."""
    files = [*sorted((ROOT / "graphs").glob("*.json")), *sorted((ROOT / "trainers").glob("*.json"))]
    contents = {file: content_of(file.read_text()) for file in files}
    stored.PARTS.mkdir(exist_ok=True)
    for old in stored.PARTS.glob("*.json"):
        old.unlink()
    named = {file.stem: content for file, content in contents.items()}
    for name in (*ALIKE, LOSSES):
        parts, root = json.loads(text_of(named[name]))["parts"], root_of(named[name]["graphs"][0])
        (stored.PARTS / f"{name}.json").write_text(
            json.dumps({"schema": SCHEMA, **({"root": root} if root else {}), "parts": parts}, separators=(",", ":")) + "\n"
        )
    for told in (parts_of, body_of):
        told.cache_clear()
    for file, content in contents.items():
        file.write_text(shortest(content))
