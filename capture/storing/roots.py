"""The module that holds a model's body, which families and heads name differently (`model`, `transformer`, `bert`, or not at all where
it is the model itself): stored graphs say `~` for it, so that alike code reads alike whatever the body is called."""

import functools
import re
from collections import Counter

BODY = "~"
_BODY = re.compile(r"(?<![^@])~(?=\.|$)")
_NO_BODY = re.compile(r"(?<![^@])~\.")


def root_of(graph):
    """The first part of most parameters' names; None where they have none in common, or the graph has no parameters of its own."""
    firsts = Counter(names[0] for names in _paths(graph))
    return max(firsts, key=firsts.get) if firsts else None


def _paths(graph):
    """Names of parameters that stand deeper than in a head, in parts."""
    return [names for spec in graph.get("parameters", ()) if len(names := spec["name"].split(".")) > 2]


def unnamed_all(graphs, usual=None):
    """The graphs of a family with `~` for the body, whose name each says unless it is the usual one."""
    roots = [root_of(graph) for graph in graphs]
    inside = {names[1] for graph, root in zip(graphs, roots) for names in _paths(graph) if names[0] == root}
    return [_unnamed(graph, root, inside, usual) for graph, root in zip(graphs, roots)]


def _unnamed(graph, root, inside, usual):
    if root is None:
        return graph
    if all(names[0] in inside for names in _paths(graph)):  # what others have in their body is the model itself
        within = re.compile(rf"(?<![^@])(?=(?:{'|'.join(map(re.escape, sorted(inside)))})(?:\.|$))")
        return {**_replaced(graph, within, f"{BODY}."), "root": ""}
    return {**_replaced(graph, _named(root), BODY), **({} if root == usual else {"root": root})}


@functools.cache
def _named(root):
    return re.compile(rf"(?<![^@]){re.escape(root)}(?=\.|$)")


def named(graph, usual):
    """The same with the name in its place."""
    own = {key: value for key, value in graph.items() if key != "root"}
    root = graph.get("root", usual)
    return own if root is None else _replaced(own, _BODY, root) if root else _replaced(own, _NO_BODY, "")


def _replaced(value, pattern, by):
    if isinstance(value, str):
        return pattern.sub(by, value)
    if isinstance(value, list):
        return [_replaced(item, pattern, by) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, pattern, by) for key, item in value.items()}
    return value
