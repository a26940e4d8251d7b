"""Files of graphs as they are stored: what stands in them more than once is said once, in a table before it, and values are
named by how far back they were made. A file may go on from the table of another (`models/parts`, written by `pack.py`), whose parts
it then need not say."""

import functools
import json
import pathlib
import zlib
from collections import Counter, defaultdict

from .distances import absolute, relative
from .roots import named, unnamed_all

SCHEMA = "vram-lens/graphs/4"
# A part of fewer characters costs as much in the table as in its place once the package is compressed.
_SHORTEST = 60
# Lists of fewer characters are not looked into for what other lists have, too.
_LIST = 300
# Items in a row that a stretch of another list must have in common, and their characters.
_ALIKE, _STRETCH = 4, 90
# Places of other lists that are compared for the longest stretch.
_PLACES = 12


PARTS = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "parts"


@functools.cache
def parts_of(like):
    """The table that files which say `like` go on from, every part in its place."""
    return _whole(json.loads((PARTS / f"{like}.json").read_text())["parts"], [])


@functools.cache
def body_of(like):
    """What files that say `like` call the body of their models, where their graphs do not say it."""
    return json.loads((PARTS / f"{like}.json").read_text()).get("root") if like else None


def shortest(content, told=None):
    """The stored text that goes on from whichever table makes it shortest once it is compressed.

    `told` says a file's graphs, given what they call the body: those of one family unless it is given.
    """
    texts = [text_of(content, like, told or family_told) for like in (None, *(table.stem for table in sorted(PARTS.glob("*.json"))))]
    return min(texts, key=lambda text: len(zlib.compress(text.encode(), 9)))


def family_told(content, body):
    """The graphs of a family with their values and the body of the model named as they are stored."""
    return unnamed_all([functions_told(graph, relative) for graph in content["graphs"]], body)


def text_of(content, like=None, told=family_told):
    """The stored text, which goes on from the table `like` where that is named: `{"same": n}` stands for the n-th part of `parts`, which may hold earlier parts itself, and
    `{"run": [n, k, count]}` in a list for so many items of the n-th part from its k-th on. `~` stands for the body's name, which the graph says where the table has another."""
    seen, parts, numbers = Counter(), [], {}
    places = defaultdict(list)

    def count(value):
        if isinstance(value, (dict, list)):
            key = _json(value)
            seen[key] += 1
            if seen[key] == 1 or len(key) < _SHORTEST:
                for child in value.values() if isinstance(value, dict) else value:
                    count(child)

    def longest(keys, at):
        """The longest stretch of a part that goes on as `keys` do from `at` on."""
        found = (0, 0, 0)
        for n, other, k in places.get(tuple(keys[at : at + _ALIKE]), ()):
            length = _ALIKE
            while at + length < len(keys) and k + length < len(other) and keys[at + length] == other[k + length]:
                length += 1
            found = max(found, (length, n, k))
        return found

    def listed(values):
        """A list, stretches of it said by those of earlier parts."""
        keys, items, at = [_json(v) for v in values], [], 0
        while at < len(keys):
            length, n, k = longest(keys, at)
            if length >= _ALIKE and sum(map(len, keys[at : at + length])) >= _STRETCH:
                items.append({"run": [n, k, length]})
                at += length
            else:
                items.append(stored(values[at]))
                at += 1
        return keys, items

    def stored(value):
        if not isinstance(value, (dict, list)):
            return value
        key = _json(value)
        if key in numbers:
            return {"same": numbers[key]}
        keys = None
        if isinstance(value, dict):
            shared = {k: stored(v) for k, v in value.items()}
        elif len(key) >= _LIST and len(value) > _ALIKE:
            keys, shared = listed(value)
        else:
            shared = [stored(v) for v in value]
        if keys is None and (len(key) < _SHORTEST or seen[key] == 1):
            return shared
        parts.append(shared)
        return known_as(key, keys, len(before) + len(parts) - 1)

    def known_as(key, keys, number):
        numbers[key] = number
        for at in range(len(keys or ()) - _ALIKE + 1):
            known = places[tuple(keys[at : at + _ALIKE])]
            if len(known) < _PLACES:
                known.append((number, keys, at))
        return {"same": number}

    before = parts_of(like) if like else []
    for number, part in enumerate(before):
        known_as(_json(part), [_json(v) for v in part] if isinstance(part, list) else None, number)
    content = {**content, "graphs": told(content, body_of(like))}
    for value in content.values():
        count(value)
    body = {k: [stored(one) for one in v] if isinstance(v, list) else stored(v) for k, v in content.items() if k not in ("schema", "like")}
    return _json({"schema": SCHEMA, **({"like": like} if like else {}), "parts": parts, **body}) + "\n"


def content_of(text):
    """What was stored, every part in its place."""
    data = json.loads(text)
    like = data.pop("like", None)
    parts = _whole(data.pop("parts"), parts_of(like) if like else [])
    content = _placed(data, parts)
    return {**content, "graphs": [functions_told(named(graph, body_of(like)), absolute) for graph in content["graphs"]]}


def _whole(own, before):
    """A table of parts behind the one that it goes on from, each with those before it in their places."""
    parts = list(before)
    for part in own:
        parts.append(_placed(part, parts))
    return parts


def _placed(value, parts):
    if isinstance(value, list):
        return [
            item for v in value for item in (_stretch(v, parts) if isinstance(v, dict) and v.keys() == {"run"} else [_placed(v, parts)])
        ]
    if isinstance(value, dict):
        return parts[value["same"]] if value.keys() == {"same"} else {k: _placed(v, parts) for k, v in value.items()}
    return value


def _stretch(item, parts):
    n, k, count = item["run"]
    return parts[n][k : k + count]


def functions_told(graph, told):
    """The graph with each of its functions as `told` says it."""
    held = {k: [told(f) for f in v] if k == "blocks" else told(v) for k, v in graph.items() if k in ("main", "blocks", "after")}
    return {**graph, **held}


def _json(value):
    return json.dumps(value, separators=(",", ":"))
