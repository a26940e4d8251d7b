"""What a script would do beside its run, and does not while it is looked at: ask the network, change or remove what is there."""

import builtins
import contextlib
import errno
import functools
import io
import os
import shutil
import socket
import sys
import tempfile

from ..sentences import say

SHOWN = 3
"""Names that one note has."""


@contextlib.contextmanager
def closed(root, notes):
    """The network refuses, and files that are there stay as they are; `root`: the script's folder, `notes`: the set that says so."""
    folder = tempfile.mkdtemp()
    files = _Files(root, folder, notes)
    hooks = {**_network(notes), **files.hooks()}
    active = [True]  # a hook stays for as long as the process
    sys.addaudithook(lambda event, given: hooks[event](*given) if event in hooks and active else None)
    try:
        with files.guarded():
            yield
    finally:
        active.clear()
        shutil.rmtree(folder, ignore_errors=True)


class _Names:
    """Names that one note lists, the first few of them."""

    def __init__(self, notes, sentence):
        self.notes, self.sentence, self.names, self.said = notes, sentence, {}, ""

    def add(self, name):
        self.names[name] = None
        self.notes.discard(self.said)
        more = len(self.names) - SHOWN
        self.said = say(self.sentence, names=", ".join(list(self.names)[:SHOWN]) + (f", … (+{more})" if more > 0 else ""))
        self.notes.add(self.said)


def _network(notes):
    """Only this machine is spoken to, as processes of a run do."""
    asked = _Names(notes, "not-asked")
    own = {"", "localhost", "::1", "0.0.0.0", "::", socket.gethostname()}

    def away(host):
        host = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if not isinstance(host, str) or host in own or host.startswith("127."):
            return False
        asked.add(host)
        return True

    def named(host, *given):
        if away(host):
            raise socket.gaierror(socket.EAI_AGAIN, f"a check has no network ({host})")

    def reached(_, address, *given):
        if isinstance(address, tuple) and away(address[0]):
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"a check has no network ({address[0]})")

    return {"socket.getaddrinfo": named, "socket.gethostbyname": named, "socket.connect": reached, "socket.sendto": reached}


class _Files:
    """What was there before stays: it is written to in a copy, and removing it does nothing. What is new is made."""

    def __init__(self, root, folder, notes):
        self.folder, self.new, self.copies = folder, set(), {}
        self.roots = [os.path.join(os.path.realpath(one), "") for one in (root, os.getcwd())]
        self.temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "")
        self.kept = _Names(notes, "not-changed")
        self.left = _Names(notes, "not-removed")

    def hooks(self):
        def opened(path, mode, flags):
            if flags & os.O_CREAT and not isinstance(path, int) and not os.path.lexists(path):  # a number: of a file that is open
                self.new.add(_real(path))

        return {"os.mkdir": lambda path, *given: self.new.add(_real(path)), "open": opened}

    @contextlib.contextmanager
    def guarded(self):
        removing = [(os, "remove"), (os, "unlink"), (os, "rmdir"), (shutil, "rmtree")]
        moving = [(os, "rename"), (os, "replace")]
        plainly = [(builtins, "open", open), (io, "open", io.open)]
        plainly += [(module, name, getattr(module, name)) for module, name in (*removing, *moving)]
        builtins.open = io.open = self.opening(open)
        for module, name in removing:
            setattr(module, name, self.removing(getattr(module, name)))
        for module, name in moving:
            setattr(module, name, self.moving(getattr(module, name)))
        try:
            yield
        finally:
            for module, name, function in plainly:
                setattr(module, name, function)

    def opening(self, plainly):
        @functools.wraps(plainly)
        def opened(file, mode="r", *given, **more):
            return plainly(self.meant(file, mode), mode, *given, **more)

        return opened

    def meant(self, file, mode):
        """The file that is opened where a script names one."""
        if not isinstance(file, (str, os.PathLike)) or not isinstance(mode, str):
            return file
        path = _real(file)
        if path in self.copies or not set(mode) & set("wa+") or not self.is_there(path):
            return self.copies.get(path, file)
        return self.copy_of(path, with_text="w" not in mode)

    def copy_of(self, path, with_text=False):
        copy = os.path.join(self.folder, str(len(self.copies)))
        if with_text:
            shutil.copyfile(path, copy)
        self.kept.add(os.path.basename(path))
        self.copies[path] = copy
        return copy

    def is_there(self, path):
        """Whether a path names what the run did not make, other than what is temporary or a library's own."""
        if path in self.new or not (os.path.isfile(path) or os.path.isdir(path)):
            return False
        own = any(path.startswith(root) for root in self.roots)
        return own or not (path.startswith(self.temporary) or f"{os.sep}." in path)

    def removing(self, plainly):
        @functools.wraps(plainly)
        def removed(path, *given, **more):
            if more.get("dir_fd") is None and self.is_there(_real(path)):
                self.left.add(os.path.basename(_real(path)))
                return None
            return plainly(path, *given, **more)

        return removed

    def moving(self, plainly):
        @functools.wraps(plainly)
        def moved(source, target, **more):
            if self.is_there(_real(source)):
                self.left.add(os.path.basename(_real(source)))
                return None
            if os.path.isfile(source) and self.is_there(_real(target)):
                target = self.copy_of(_real(target))
            self.new.add(_real(target))
            return plainly(source, target, **more)

        return moved


def _real(path):
    try:
        return os.path.realpath(os.fsdecode(path))
    except (TypeError, ValueError):
        return ""
