"""The commands, each with what it needs imported when it is run: torch comes after the environment that it reads."""

import json
import os
import re
import shlex

from .sentences import say
from .words import BAD_USAGE, Stopped, one_line, relative, torch_at_hand

_ENTRY = re.compile(r"(.+?\.py)(?::(.*))?$", re.DOTALL)


UNINSTALLED = {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}
"""Code that installs what it lacks while it is imported starts pip or uv, which find nothing then: nobody asked for that."""


def ready(autograd=True):
    """Torch on a device that is not there; a forward that is only recorded needs no autograd there."""
    from . import device

    device.hide()
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    os.environ.update(UNINSTALLED)
    torch = torch_at_hand()
    try:
        if autograd:
            device.pretend()
    except device.NoDevice as error:
        raise Stopped(str(error)) from error
    return torch


def trace(arguments, speech):
    """Traces a model and writes its graph."""
    found = _ENTRY.match(arguments.entry)
    os.chdir(arguments.root)  # an entry is relative to it
    folder = os.path.isdir(arguments.entry)
    if not found and not folder:
        raise Stopped(say("entry", entry=arguments.entry), BAD_USAGE)
    if found and not os.path.isfile(found[1]):
        raise Stopped(say("no-file", file=found[1]), BAD_USAGE)
    ready(autograd=arguments.script)
    from .tracing import entry, inputs, own

    own.quiet()
    try:
        if folder:
            from .tracing import folders

            name, text, build, said = folders.builder(arguments.entry)
            path, sources = arguments.entry, folders.sources(arguments.entry, os.getcwd())
        elif arguments.script:
            from .running import first_backward

            path = arguments.entry
            name, build, given, module = first_backward.found(path, shlex.split(arguments.arguments), speech)
            text, said = f"{name} of {os.path.basename(path)}", " ".join(map(str, given))
        else:
            path, wanted = found[1], found[2] or ""
            speech.progress(f"importing {path}")
            module = entry.module_of(path)
            text, build = entry.builder(module, wanted)
            name, said = re.match(r"\w*", text)[0], ""
        described = arguments.inputs or said
        speech.progress("example inputs" if not described else described)
        examples = inputs.read(described) if described else own.guessed(build, arguments.loss)
        shown = " ".join(map(str, examples))
        if arguments.show:
            speech.result({"entry": text, "inputs": shown, "loss": arguments.loss}, f"{text}\ninputs: {shown}")
            return
        made, facts = own.traced(own.Own(build, examples, arguments.loss), speech.progress)
        if not folder:
            sources = entry.sources(module, os.getcwd())
    except (entry.NotFound, inputs.Unreadable, own.Fails) as error:
        raise Stopped(str(error)) from error
    except Stopped:
        raise
    except BaseException as error:  # the person's code: sys.exit() among the rest
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Stopped(say("not-traced", entry=arguments.entry, error=one_line(error))) from error
    name = arguments.name or name
    if not re.fullmatch(r"[A-Za-z_][\w.-]{0,99}", name):
        raise Stopped(say("graph-name", name=name), BAD_USAGE)
    file = relative(os.path.realpath(path), os.path.realpath(os.getcwd()))
    said = {"entry": text, "file": file, "inputs": shown, "sources": sources}
    target = os.path.join(".vramlens", "graphs", f"{name}.json")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(f"{target}.part", "w", encoding="utf-8") as part:
        json.dump(own.stored(name, made, facts, said), part, allow_nan=False)
    os.replace(f"{target}.part", target)
    holds = f"; holds for {', '.join(facts['holds'])}" if facts["holds"] else ""
    speech.result(
        {
            "graph": target.replace(os.sep, "/"),
            "name": name,
            "entry": text,
            "inputs": shown,
            "loss": facts["loss"],
            "holds": facts["holds"],
        },
        f"{target}: {text}, inputs {shown}, loss {facts['loss']}{holds}",
    )


def selftest(arguments, speech):
    """Whether this torch runs on a device that is not there, and records."""
    torch = ready()
    from . import selftest as tests

    speech.result({"torch": torch.__version__, "passed": tests.run()}, f"torch {torch.__version__}: all of it works")


def check(arguments, speech):
    """Runs a script on a device that is not there."""
    if not os.path.isfile(arguments.script):
        raise Stopped(say("no-file", file=arguments.script), BAD_USAGE)
    ready()
    from .running import script

    found = script.checked(arguments, speech)
    speech.result(found, script.sentence(found))


def watch(arguments, speech):
    """Runs a script on the card and leaves a receipt."""
    import runpy
    import sys

    if not os.path.isfile(arguments.script):
        raise Stopped(say("no-file", file=arguments.script), BAD_USAGE)
    torch_at_hand()
    sys.stdout, sys.stderr = speech.out, sys.__stderr__  # what the script prints is its own
    sys.argv = [arguments.script, *arguments.arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(arguments.script))
    from . import receipts

    watching = receipts.watch(root=arguments.root)
    try:
        runpy.run_path(arguments.script, run_name="__main__")
    except SystemExit:
        raise
    except BaseException as error:
        watching.failed(type(error), error)
        raise
    finally:
        path = watching.write()
        print(f"vram_lens: {path or 'no receipt, as no CUDA device was used'}", file=sys.stderr)


def explain(arguments, speech):
    """Says what an out-of-memory message says."""
    import sys

    from . import explain as of

    try:
        text = sys.stdin.read(2**26) if arguments.log == "-" else open(arguments.log, encoding="utf-8", errors="replace").read(2**26)
    except OSError as error:
        raise Stopped(say("unread", file=arguments.log, error=error.strerror), BAD_USAGE) from None
    found = of.read(text)
    if found is None:
        raise Stopped(say("no-message"))
    speech.result(found, "\n".join(of.sentences(found)))


def bench(arguments, speech):
    """Measures small real runs, each in a process of its own, and writes their receipts."""
    from . import bench as of

    if arguments.list:
        speech.result({"runs": of.MATRIX}, "\n".join(map(of.described, of.MATRIX)))
        return
    torch = torch_at_hand()
    if not torch.cuda.is_available():
        raise Stopped(say("no-card"))
    written = of.measured(arguments.root, arguments.minutes * 60, speech.progress)
    speech.result({"receipts": written}, "\n".join(written) or "no run fitted into the time")
