"""What a person's code started: it ends with the command that ran the code, wherever it went."""

import contextlib
import os
import signal
import subprocess
import sys
import time

SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): processes whose parent ends become this one's, so none gets away by starting another."""


def adopt():
    """Keeps what is started below this process (Linux; elsewhere what lost its parent is not found again)."""
    if sys.platform == "linux":
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def leave(status):
    """Ends this process at once, and before it all that was started."""
    end()
    os._exit(status)


def end():
    """Ends all processes below this one."""
    if os.name != "posix":
        return  # a process of Windows is ended with its tree by what started it
    for _ in range(100):
        found = _below(os.getpid())
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not found:
            return
        time.sleep(0.01)


def _below(top):
    """Processes whose line of parents leads to this one; those that have ended and wait to be asked for are left out."""
    children = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [top]
    while todo:
        for pid in children.pop(todo.pop(), ()):
            found.append(pid)
            todo.append(pid)
    return found


def _parents():
    """`(process, its parent)` of all that run."""
    if os.path.isdir("/proc/self"):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state not in (b"Z", b"X"):
                    yield int(name), int(parent)
        return
    listed = subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,stat="], stdout=subprocess.PIPE, text=True)
    for line in listed.communicate()[0].splitlines():
        pid, parent, state = line.split()[:3]
        if int(pid) != listed.pid and not state.startswith("Z"):
            yield int(pid), int(parent)
