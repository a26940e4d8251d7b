"""What is said to a person or to the program that started this one: sentences on a terminal, or one JSON object a line."""

import json
import os
import sys

from . import started
from .sentences import say

BAD_USAGE, FAILED, NO_TORCH = 2, 1, 3
"""Exit statuses beside nought."""

OLDEST = (2, 4)
"""The oldest torch that this works with."""


class Stopped(Exception):
    """Nothing more can be done; the sentence says why and what to do."""

    def __init__(self, sentence, status=FAILED):
        super().__init__(sentence)
        self.status = status


MOST_PRINTED = 64 * 2**20
"""Characters that a person's code may print while it is looked at; nobody reads more."""


class _Bounded:
    """A stream that ends the process when more is written to it than anybody reads."""

    def __init__(self, stream, then):
        self._stream, self._left, self._then = stream, MOST_PRINTED, then

    def write(self, text):
        self._left -= len(text)
        if self._left < 0:
            self._then(say("printed", most=MOST_PRINTED >> 20))
            self._stream.flush()
            started.leave(FAILED)
        return self._stream.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self._stream, name)


class Speech:
    """Where progress and results go; what the person's own code prints goes to standard error.

    `said`: a file that the result is written to as well; empty: none.
    """

    def __init__(self, as_json, said=""):
        self.as_json, self.said, self.out = as_json, os.path.abspath(said) if said else "", sys.stdout
        self.errors = sys.stderr
        sys.stderr = sys.stdout = _Bounded(sys.stderr, self.error)

    def progress(self, text):
        if self.as_json:
            self._line({"progress": text})
        elif sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def result(self, data, text):
        if self.said:
            with open(self.said, "w", encoding="utf-8") as file:
                json.dump(data, file)
        if self.as_json:
            self._line(data)
        else:
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr)
            self.out.write(text + "\n")
            self.out.flush()

    def error(self, sentence):
        if self.as_json:
            self._line({"error": sentence})
        else:
            print(f"\nvram_lens: {sentence}" if self.errors.isatty() else f"vram_lens: {sentence}", file=self.errors, flush=True)

    def _line(self, data):
        self.out.write(json.dumps(data) + "\n")
        self.out.flush()


def torch_at_hand():
    """The torch of this Python; Stopped where it has none or an old one."""
    try:
        import torch
    except ImportError as error:
        raise Stopped(say("no-torch", python=sys.executable, why=error), NO_TORCH) from None
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Stopped(say("old-torch", python=sys.executable, version=torch.__version__, oldest=oldest), NO_TORCH)
    return torch


def relative(path, root, of=os.path):
    """A path as it is kept and shown: below `root`, with slashes; whole where that is another drive of Windows. `of`: a system's paths."""
    try:
        return of.relpath(path, root).replace(of.sep, "/")
    except ValueError:
        return path.replace(of.sep, "/")


def one_line(error, length=400):
    """An error as a sentence."""
    text = next(iter(str(error).strip().splitlines()), "")[:length]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
