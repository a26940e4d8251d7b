"""What only shows or keeps how a run goes: trackers and plots that are not installed, what TensorBoard writes, the terminal."""

import contextlib
import importlib.machinery
import os
import sys
import types

from ..sentences import say

TRACKERS = {
    "aim",
    "clearml",
    "comet_ml",
    "dvclive",
    "mlflow",
    "neptune",
    "seaborn",
    "swanlab",
    "tensorboardX",
    "tensorboard_logger",
    "trackio",
    "visdom",
    "wandb",
}
"""Packages that a run computes the same without."""


class Nobody:
    """Answers everything with itself, and does nothing."""

    def __init__(self, *given, **more):
        pass

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)  # what Python itself asks for: copies, arrays, pickles
        return self

    def __call__(self, *given, **more):
        return self

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __bool__(self):
        return True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def __str__(self):
        return ""


def tensorboard(package):
    """Nothing is written, and no graph is traced."""
    package.SummaryWriter = Nobody


def trackers(of_person, notes):
    """A tracker that is not installed and that the person's own code imports says nothing; `of_person`: whether a file is such code."""
    sys.meta_path.append(_Trackers(of_person, notes))


class _Trackers:
    def __init__(self, of_person, notes):
        self.of_person, self.notes = of_person, notes

    def find_spec(self, name, path=None, target=None):
        package = name.split(".")[0]
        if package not in TRACKERS or not (name != package or self._asked()):
            return None
        self.notes.add(say("keeps-nothing", name=package))
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _asked(self):
        """Whether the person's code asks; libraries that find a tracker would use it."""
        frame = sys._getframe(2)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        return frame is not None and self.of_person(frame.f_code.co_filename)

    def create_module(self, spec):
        return _Tracker(spec.name)

    def exec_module(self, module):
        pass


class _Tracker(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nobody()


@contextlib.contextmanager
def terminal():
    """A script that asks its terminal for a width is told the usual one, and one that asks a person is told that nobody is there."""
    stream = sys.stdin
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    kept, other = _opened()
    try:
        yield
    finally:
        sys.stdin.close()
        sys.stdin = stream
        if kept is not None:
            os.dup2(kept, 0)
            os.close(kept)
            os.close(other)


def _opened():
    """Puts a terminal of 24 lines and 80 columns in the place of the standard input, unless that is one; `(what it was, the other end)`."""
    if os.isatty(0):
        return None, None
    try:
        import fcntl
        import pty
        import struct
        import termios
    except ImportError:  # Windows has none of these, and no `stty`
        return None, None
    try:
        kept = os.dup(0)
        other, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.dup2(end, 0)
        os.close(end)
    except OSError:  # no terminals, or no standard input
        return None, None
    return kept, other
