"""Names of values as stored: how far back a value was made, so that alike stretches of code read alike wherever they stand.

Captured functions number their values in the order in which they are made. Stored, `%-0` is the newest at that place, `%-3`
the one three before it; a value that is made is `+` (the next number) or `+n`. Names that are no numbers stay as they are, as
do numbers of another function's values; a list that a loop collects has its `*` before either.
"""

import re

_NUMBER = re.compile(r"(\*?)(\d+)")
_BACK = re.compile(r"(\*?)-(\d+)")
_NEXT = re.compile(r"(\*?)\+(\d*)")
# The fields that name what is made, in order: values, and the lists that a loop collects them in.
_MADE = ("out", "collect")
_DTYPE = re.compile(r"\$dtype\(%(.+)\)")


def relative(function):
    """The function with its numbers as distances."""
    return _Walk(_Distances()).function(function)


def absolute(function):
    """The function with its numbers, made from distances."""
    return _Walk(_Numbers()).function(function)


class _Distances:
    """Says numbers as distances from the newest."""

    def __init__(self):
        self.newest = -1

    def name(self, name):
        number = _NUMBER.fullmatch(name)
        if not number or int(number[2]) > self.newest:
            return name
        return f"{number[1]}-{self.newest - int(number[2])}"

    def made(self, name):
        number = _NUMBER.fullmatch(name)
        if not number or int(number[2]) <= self.newest:
            return self.name(name)
        step, self.newest = int(number[2]) - self.newest, int(number[2])
        return f"{number[1]}+{'' if step == 1 else step}"


class _Numbers:
    """Says distances as numbers."""

    def __init__(self):
        self.newest = -1

    def name(self, name):
        back = _BACK.fullmatch(name)
        return f"{back[1]}{self.newest - int(back[2])}" if back else name

    def made(self, name):
        step = _NEXT.fullmatch(name)
        if not step:
            return self.name(name)
        self.newest += int(step[2] or 1)
        return f"{step[1]}{self.newest}"


class _Walk:
    """Goes through a function in the order in which it runs, every name said by `names`."""

    def __init__(self, names):
        self.names = names

    def function(self, function):
        body = [self._instruction(one) for one in function["body"]]
        return {**function, "outputs": [self.names.name(name) for name in function["outputs"]], "body": body}

    def _operand(self, value):
        if isinstance(value, list):
            return [self._operand(item) for item in value]
        if not isinstance(value, str):
            return value
        if value.startswith("%"):
            return "%" + self.names.name(value[1:])
        dtype = _DTYPE.fullmatch(value)
        return f"$dtype(%{self.names.name(dtype[1])})" if dtype else value

    def _instruction(self, one):
        if "repeat" in one:
            return {**one, "repeat": self._fields(one["repeat"])}
        return self._fields(one)

    def _fields(self, one):
        # What is read is said before what is made.
        said = {key: self._field(key, value) for key, value in one.items() if key not in _MADE}
        for key in _MADE:
            said[key] = [name and self.names.made(name) for name in one.get(key, ())]
        return {key: said[key] for key in one}

    def _field(self, key, value):
        if key == "in":
            return self._operand(value)
        if key in ("kw", "attrs"):
            return {name: self._operand(item) for name, item in value.items()}
        if key in ("drop", "store"):
            return [self.names.name(name) for name in value]
        return value
