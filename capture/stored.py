"""Files of graphs as they are stored: what stands in them more than once is said once, in a table before it."""
import json
from collections import Counter

SCHEMA = "vram-lens/graphs/2"
# A part of fewer characters costs as much in the table as in its place once the package is compressed.
_SHORTEST = 60


def text_of(content):
    """The stored text: `{"same": n}` stands for the n-th part of `parts`, which may hold earlier parts itself."""
    seen, parts, numbers = Counter(), [], {}

    def count(value):
        if isinstance(value, (dict, list)):
            key = _json(value)
            seen[key] += 1
            if seen[key] == 1 or len(key) < _SHORTEST:
                for child in value.values() if isinstance(value, dict) else value:
                    count(child)

    def stored(value):
        if not isinstance(value, (dict, list)):
            return value
        key = _json(value)
        if key in numbers:
            return {"same": numbers[key]}
        shared = {k: stored(v) for k, v in value.items()} if isinstance(value, dict) else [stored(v) for v in value]
        if len(key) < _SHORTEST or seen[key] == 1:
            return shared
        parts.append(shared)
        numbers[key] = len(parts) - 1
        return {"same": numbers[key]}

    for value in content.values():
        count(value)
    body = {k: stored(v) for k, v in content.items() if k != "schema"}
    return _json({"schema": SCHEMA, "parts": parts, **body}) + "\n"


def content_of(text):
    """What was stored, every part in its place."""
    data = json.loads(text)
    parts = []

    def whole(value):
        if isinstance(value, list):
            return [whole(v) for v in value]
        if isinstance(value, dict):
            return parts[value["same"]] if value.keys() == {"same"} else {k: whole(v) for k, v in value.items()}
        return value

    for part in data.pop("parts"):
        parts.append(whole(part))
    return whole(data)


def _json(value):
    return json.dumps(value, separators=(",", ":"))
