"""What is traced: a class, a function that makes a model, or an expression, of a file in somebody's workspace."""

import dataclasses
import importlib.util
import inspect
import os
import sys

from ..sentences import say
from ..words import relative


class NotFound(Exception):
    """The file has no such model, or nothing says how to make it; the sentence is for a person."""


def module_of(path):
    """The file as an imported module: its folder and those it may import from come first, as if it were started."""
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        raise NotFound(say("no-file", file=path))
    folder, name = os.path.split(path)
    above = folder
    while os.path.exists(os.path.join(above, "__init__.py")):  # a part of a package is imported by its whole name
        above, package = os.path.split(above)
        name = f"{package}.{name}"
    sys.path[:0] = [p for p in dict.fromkeys((above, folder, os.getcwd())) if p not in sys.path]
    name = name.removesuffix(".py")
    if "." in name:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def classes(module):
    """Classes of models that the file itself defines, the outermost first: those that no other one of them makes."""
    import torch

    own = [c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, torch.nn.Module) and c.__module__ == module.__name__]
    made = {other for c in own for other in own if other is not c and _names(c, other.__name__)}
    return sorted(own, key=lambda c: c in made)


def _names(cls, name):
    """Whether any method of a class names something."""
    codes = [f.__code__ for f in vars(cls).values() if inspect.isfunction(f)]
    while codes:
        code = codes.pop()
        if name in code.co_names:
            return True
        codes.extend(c for c in code.co_consts if inspect.iscode(c))
    return False


def builder(module, wanted):
    """`(expression, function that makes the model)` of what is asked for, or of the file's outermost class."""
    if wanted and not wanted.isidentifier():
        code = compile(wanted, "<entry>", "eval")
        return wanted, lambda: eval(code, vars(module))
    found = vars(module).get(wanted) if wanted else next(iter(classes(module)), None)
    if found is None:
        known = ", ".join(c.__name__ for c in classes(module)) or "-"
        raise NotFound(say("no-model", file=module.__file__, name=wanted or "nn.Module", known=known))
    import torch

    if isinstance(found, torch.nn.Module):
        raise NotFound(say("made-model", name=wanted))
    arguments = _arguments(module, found)
    text = ", ".join(f"{name}={said}" for name, (said, _) in arguments.items())
    return f"{found.__name__}({text})", lambda: found(**{name: make() for name, (_, make) in arguments.items()})


def _arguments(module, made):
    """What a class or function is given where it has no default: a config of the same file that needs nothing itself."""
    result = {}
    for name, p in inspect.signature(made).parameters.items():
        if p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        config = (
            p.annotation
            if p.annotation is not p.empty and inspect.isclass(p.annotation) and _makes_itself(p.annotation)
            else _config(module, made, name)
        )
        if config is None:
            raise NotFound(say("no-default", made=made.__name__, name=name, file=os.path.basename(module.__file__)))
        result[name] = (f"{config.__name__}()", config)
    return result


def _config(module, made, name):
    """The class of configs that goes with a class: the nearest by name in the file that can be made without arguments."""
    if not any(word in name.lower() for word in ("config", "cfg", "args", "params", "hparams", "opt")):
        return None
    found = [c for c in vars(module).values() if inspect.isclass(c) and _makes_itself(c) and _is_config(c)]
    common = lambda c: len(os.path.commonprefix([c.__name__.lower(), made.__name__.lower()]))
    return max(found, key=lambda c: (common(c), c.__module__ == module.__name__), default=None)


def _is_config(cls):
    return dataclasses.is_dataclass(cls) or any(word in cls.__name__.lower() for word in ("config", "args", "params"))


def _makes_itself(cls):
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return False
    return cls.__module__ != "builtins" and all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def sources(module, root):
    """Files under `root` that the process has imported for the model, with the SHA-256 of each."""
    import hashlib

    root = os.path.realpath(root)
    files = {os.path.realpath(f) for m in list(sys.modules.values()) if (f := getattr(m, "__file__", None)) and os.path.isfile(f)}
    files = {os.path.realpath(module.__file__)} | {
        f
        for f in files
        if f.endswith(".py") and f.startswith(root + os.sep) and "site-packages" not in f and f"{os.sep}vram_lens{os.sep}" not in f
    }
    return [{"path": relative(f, root), "sha256": hashlib.sha256(open(f, "rb").read()).hexdigest()} for f in sorted(files)]
