"""Explains numbers by expressions in config keys and the run's sizes.

A number is seen at several samples (config points, and layers for what is inside a layer). The simplest expression
that gives all of them is taken; when none does, the capture is refused.
"""

import itertools
import re

_NAMES = re.compile(r"(?!(?:min|max|ceil_div)\b)[A-Za-z_][\w.]*")  # every name is a chance to fit by accident


class NotExplained(Exception):
    """No expression gives the numbers seen."""


def _product(a, b):
    wrap = lambda e: f"({e})" if any(op in e for op in ("+", "-", "//", "%")) else e
    return f"{wrap(a)}*{wrap(b)}"


def _quotient(a, b):
    wrap = lambda e: f"({e})" if any(op in e for op in "+-") else e
    tail = lambda e: f"({e})" if any(op in e for op in "+-*/%") else e
    return f"{wrap(a)}//{tail(b)}"


def _difference(a, b):
    return f"{a}-({b})" if any(op in b for op in "+-") else f"{a}-{b}"


class Fitter:
    """Finds expressions over a list of environments (name to number), one per sample."""

    def __init__(self, envs, atoms):
        self.envs, self.count = envs, len(envs)
        self.atoms, self.floats, self.strings = {}, {}, {}
        for name in atoms:
            column = tuple(env.get(name) for env in envs)
            if any(x is None for x in column):
                continue
            if all(isinstance(x, str) for x in column):
                self.strings.setdefault(column, name)
            elif all(isinstance(x, int) and not isinstance(x, bool) for x in column):
                if len(set(column)) > 1 or name in ("B", "S", "T", "I", "A"):
                    self.atoms.setdefault(column, name)
            elif all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in column):
                self.floats.setdefault(column, name)
        self.cache = {}
        self.first = self._first_level()

    def _first_level(self):
        """Vectors reachable with at most one operator between two names or a name and a small constant."""
        level = {}
        add = lambda v, e: level.setdefault(v, e)
        items = list(self.atoms.items())
        for v, e in items:
            add(v, e)
        for v, e in items:
            for c in (1, 2):
                add(tuple(x + c for x in v), f"{e}+{c}")
                add(tuple(x - c for x in v), f"{e}-{c}")
            for c in (2, 3, 4, 8):
                add(tuple(c * x for x in v), _product(str(c), e))
                if all(x % c == 0 for x in v):
                    add(tuple(x // c for x in v), f"{e}//{c}")
        for v, e in items:  # offsets from the end
            for c in (0, 1):
                add(tuple(c - x for x in v), _difference(str(c), e))
        for (va, a), (vb, b) in itertools.permutations(items, 2):
            if all(y > 0 and x % y == 0 for x, y in zip(va, vb)):
                add(tuple(x // y for x, y in zip(va, vb)), _quotient(a, b))
        for (va, a), (vb, b) in itertools.combinations_with_replacement(items, 2):
            add(tuple(x * y for x, y in zip(va, vb)), _product(a, b))
        for (va, a), (vb, b) in itertools.combinations(items, 2):
            add(tuple(x + y for x, y in zip(va, vb)), f"{a}+{b}")
            add(tuple(x - y for x, y in zip(va, vb)), _difference(a, b))
            add(tuple(y - x for x, y in zip(va, vb)), _difference(b, a))
            add(tuple(min(x, y) for x, y in zip(va, vb)), f"min({a},{b})")
            add(tuple(max(x, y) for x, y in zip(va, vb)), f"max({a},{b})")
        for (va, a), (vb, b) in itertools.permutations(items, 2):
            add(tuple(x + 2 * y for x, y in zip(va, vb)), f"{a}+2*{b}")
            if all(y > 0 for y in vb):
                add(tuple(x // y for x, y in zip(va, vb)), _quotient(a, b))
                add(tuple(-(-x // y) for x, y in zip(va, vb)), f"ceil_div({a},{b})")
        for vf, f in self.floats.items():
            for va, a in items:
                add(tuple(int(x * y) for x, y in zip(va, vf)), f"{a}*{f}//1")
                add(tuple(int(x * y) // 2 for x, y in zip(va, vf)), f"{a}*{f}//2")
        return level

    def integer(self, vector):
        """Number or "=expression" for a vector of integers."""
        vector = tuple(vector)
        if len(set(vector)) == 1 and (vector not in self.atoms):
            return vector[0]
        if vector not in self.cache:
            self.cache[vector] = self._search(vector)
        return f"={self.cache[vector]}"

    def _search(self, v):
        if v in self.first:
            return self.first[v]
        candidates = []
        for w, e in self.first.items():
            if all(y and x % y == 0 for x, y in zip(v, w)):
                other = self.first.get(tuple(x // y for x, y in zip(v, w)))
                if other is None and len(set(rest := [x // y for x, y in zip(v, w)])) == 1:
                    other = str(rest[0])
                if other:
                    candidates.append(_product(other, e))
            if w in self.atoms and all(w):
                up = self.first.get(tuple(x * y for x, y in zip(v, w)))
                if up:
                    candidates.append(_quotient(up, e))
            gap = tuple(x - y for x, y in zip(v, w))
            if len(set(gap)) == 1:
                candidates.append(f"{e}+{gap[0]}" if gap[0] > 0 else f"{e}-{-gap[0]}")
            elif gap in self.first:
                candidates.append(f"{e}+{self.first[gap]}")
            less = tuple(y - x for x, y in zip(v, w))
            if less in self.first:
                candidates.append(_difference(e, self.first[less]))
        if not candidates:
            for w, e in self.first.items():  # sum of a product and a name: three names
                for u, f in self.atoms.items():
                    rest = tuple(x - y - z for x, y, z in zip(v, w, u))
                    if rest in self.first:
                        candidates.append(f"{e}+{f}+{self.first[rest]}")
                    if all(z and x % z == 0 for x, z in zip(v, u)):
                        q = tuple(x // z - y for x, y, z in zip(v, w, u))
                        if q in self.first:
                            candidates.append(_product(f, f"{e}+{self.first[q]}"))
        if not candidates:
            raise NotExplained(f"{v} over {self.envs[:3]}")
        return min(candidates, key=lambda e: (len(_NAMES.findall(e)), len([c for c in e if c in "+-*/%("]), len(e), e))

    def number(self, vector, must=False):
        """Float: a constant, a config key, or (when no key has it) the first value as a stand-in."""
        vector = tuple(vector)
        if vector in self.floats:
            return f"={self.floats[vector]}"
        if len(set(vector)) == 1:
            return vector[0]
        if must:
            raise NotExplained(f"number {vector}")
        return float(f"{vector[0]:.4g}")

    def measure(self, vector):
        """Float that sizes are made of: nothing stands in for it."""
        moves = len(set(vector)) > 1 and all(float(x).is_integer() for x in vector)
        return self.integer(int(x) for x in vector) if moves else self.number(vector, must=True)

    def text(self, vector):
        vector = tuple(vector)
        if vector in self.strings:
            return f"={self.strings[vector]}"
        if len(set(vector)) == 1:
            return vector[0]
        raise NotExplained(f"text {vector}")


def condition(envs, truth, keys=()):
    """Simplest condition on the environments that is true exactly where `truth` is: one test, or two joined."""
    truth = [bool(t) for t in truth]
    if all(truth):
        return "true"
    tests = {}
    for text, test in _conditions(envs, keys):
        try:
            column = tuple(bool(test(e)) for e in envs)
        except (KeyError, TypeError, ZeroDivisionError):
            continue
        tests.setdefault(column, text)
    if tuple(truth) in tests:
        return tests[tuple(truth)]
    for (v, a), (w, b) in itertools.combinations(tests.items(), 2):
        if [x and y for x, y in zip(v, w)] == truth:
            return f"{a} and {b}"
        if [x or y for x, y in zip(v, w)] == truth:
            return f"{a} or {b}"
    raise NotExplained(f"condition {truth}")


def _simple_conditions(envs, keys):
    names = sorted({k for e in envs for k in e} - {"dtype"})  # what a capture was loaded in decides no branch
    for k in names:
        if all(isinstance(e.get(k), bool) for e in envs):
            yield k, lambda e, k=k: e[k]
            yield f"not {k}", lambda e, k=k: not e[k]
    for k in names:
        if any(isinstance(e.get(k), str) for e in envs):
            for value in sorted({e[k] for e in envs if isinstance(e.get(k), str)}):
                yield f"{k} == '{value}'", lambda e, k=k, v=value: e.get(k) == v
                yield f"{k} != '{value}'", lambda e, k=k, v=value: e.get(k) != v


def _conditions(envs, keys):
    if any("kind" in e for e in envs):
        for value in sorted({e["kind"] for e in envs if e.get("kind") is not None}):
            yield f"kind == '{value}'", lambda e, v=value: e.get("kind") == v
            yield f"kind != '{value}'", lambda e, v=value: e.get("kind") != v
    layered = any("i" in e for e in envs)
    if layered:
        yield "i == 0", lambda e: e["i"] == 0
        yield "i > 0", lambda e: e["i"] > 0
        yield "i % 2 == 0", lambda e: e["i"] % 2 == 0
        yield "i % 2 == 1", lambda e: e["i"] % 2 == 1
        for n in (2, 3, 4, 5, 6, 8):
            yield f"(i+1) % {n} == 0", lambda e, n=n: (e["i"] + 1) % n == 0
            yield f"i % {n} == 0", lambda e, n=n: e["i"] % n == 0
            yield f"(i+1) % {n} != 0", lambda e, n=n: (e["i"] + 1) % n != 0
            yield f"i % {n} != 0", lambda e, n=n: e["i"] % n != 0
        for k in keys:
            yield f"i < {k}", lambda e, k=k: e["i"] < e[k]
            yield f"i >= {k}", lambda e, k=k: e["i"] >= e[k]
            yield f"(i+1) % {k} == 0", lambda e, k=k: (e["i"] + 1) % e[k] == 0
            yield f"(i+1) % {k} != 0", lambda e, k=k: (e["i"] + 1) % e[k] != 0
            yield f"i == {k}-1", lambda e, k=k: e["i"] == e[k] - 1
            yield f"i < {k}-1", lambda e, k=k: e["i"] < e[k] - 1
            yield f"i % {k} == 0", lambda e, k=k: e["i"] % e[k] == 0
        for k in keys:  # every so many layers from the second on, or all of them (Switch Transformers)
            if "sparse" in k:
                yield f"i % {k} == 1", lambda e, k=k: e["i"] % e[k] == 1
                yield f"i % {k} != 1", lambda e, k=k: e["i"] % e[k] != 1
        for k in keys:  # every `period` layers from `offset` on (Jamba)
            start = k.removesuffix("period") + "offset"
            if start in keys:
                yield f"i % {k} == {start}", lambda e, k=k, s=start: e["i"] % e[k] == e[s]
                yield f"i % {k} != {start}", lambda e, k=k, s=start: e["i"] % e[k] != e[s]
        for k in sorted({k for e in envs for k in e if k.endswith(".i")}):  # shares of each layer's own
            yield f"{k} > 0", lambda e, k=k: e[k] > 0
            yield f"{k} == 0", lambda e, k=k: e[k] == 0
    yield from _simple_conditions(envs, keys)
    for a, b in itertools.combinations(keys, 2):
        yield f"{a} == {b}", lambda e, a=a, b=b: e[a] == e[b]
        yield f"{a} != {b}", lambda e, a=a, b=b: e[a] != e[b]
    for k in keys:
        yield f"{k} != null", lambda e, k=k: e.get(k) is not None
        yield f"{k} > 0", lambda e, k=k: e[k] > 0
        yield f"{k} > 1", lambda e, k=k: e[k] > 1
        if "sparse" in k:
            yield f"{k} == 1", lambda e, k=k: e[k] == 1
        yield f"{k} == null", lambda e, k=k: e.get(k) is None
        yield f"{k} == 0", lambda e, k=k: e[k] == 0
    for k in keys if layered else ():
        yield f"i != {k}-1", lambda e, k=k: e["i"] != e[k] - 1
