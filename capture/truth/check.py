"""Re-validates stored graphs: fresh config points are captured and compared with what the expressions give there."""

import itertools
import pathlib
import re

from ..recording import heads
from ..families.every_family import FAMILIES
from ..recording.graphs import capture
from vram_lens.tracing.forms import Repeat
from vram_lens.tracing.regimes import REGIMES
from ..storing.stored import content_of
from vram_lens.tracing.merging import dtype_name, walk
from vram_lens.tracing.explaining import env_of

GRAPHS = pathlib.Path(__file__).resolve().parent.parent.parent / "models" / "graphs"
_NAME = re.compile(r"'[^']*'|[A-Za-z_][\w.]*")
_WORDS = {
    "null": "None",
    "true": "True",
    "false": "False",
    "and": "and",
    "or": "or",
    "not": "not",
    "min": "min",
    "max": "max",
    "ceil_div": "ceil_div",
}
_FUNCTIONS = {"__builtins__": {}, "min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}


class Mismatch(Exception):
    """A graph does not say what the capture saw."""


def evaluate(expression, env, family):
    """Value of an expression; missing keys are derived, then defaulted, as the engine does."""

    def look(name):
        if env.get(name) is not None:
            return env[name]
        if name in family["derived"] and name not in env.get("_open", ()):
            return evaluate(family["derived"][name], {**env, "_open": (*env.get("_open", ()), name)}, family)
        value = family["defaults"]
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    text = _NAME.sub(lambda m: m.group() if m.group()[0] == "'" else _WORDS.get(m.group(), f"look({m.group()!r})"), expression)
    try:
        return eval(text, {**_FUNCTIONS, "look": look})
    except TypeError:  # comparisons with null are false
        return False


def concrete(x, env, family):
    """An operand with its expressions evaluated."""
    if isinstance(x, str) and x.startswith("="):
        value = evaluate(x[1:], env, family)
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(x, list):
        return [concrete(y, env, family) for y in x]
    return x


def _dtype(text, function, load):
    if text == "$load":
        return load
    m = re.match(r"\$dtype\((.)(.*)\)", text)
    if m:
        return dtype_name(function.locals[m.group(2)].dtype if m.group(1) == "%" else function.weight_dtype(m.group(2)))
    return text


def compare(form, function, env, family, load):
    """Stored function against a captured one."""
    seen = walk(function, lambda kind, v: dtype_name(v.dtype) if kind == "dtype" else v)
    if (form["inputs"], form["outputs"]) != (seen["inputs"], seen["outputs"]):
        raise Mismatch(f"inputs or outputs {form['inputs']} {form['outputs']} / {seen['inputs']} {seen['outputs']}")
    body = [step for step in form["body"] if "store" not in step and step.get("op") != heads.OPERATOR]  # added to what was recorded
    if len(body) != len(seen["body"]):
        raise Mismatch(f"{len(body)} instructions / {len(seen['body'])}")
    for k, (want, got) in enumerate(zip(body, seen["body"])):
        if "repeat" in want or "block" in want or "repeat" in got:
            continue
        if "op" in want and want["op"] in ("alias", "lift_fresh") and got.get("op") == "to.dtype":
            want, got = {**want, "op": "to.dtype"}, {**got, "in": got["in"][:1]}
        for part in ("op", "call", "path", "scope", "drop", "out", "nograd"):
            if want.get(part) != got.get(part):
                raise Mismatch(f"instruction {k}: {want} / {got}")
        for part in ("in", "kw", "attrs"):
            a, b = want.get(part), got.get(part)
            if not a:
                continue
            for x, y in zip(a, b) if part == "in" else ((a[n], b[n]) for n in a):
                if x == "self":
                    x = f"$dtype({want['in'][0]})"
                x = _dtype(x, function, load) if isinstance(x, str) and x.startswith("$") else concrete(x, env, family)
                if not _same(x, y):
                    raise Mismatch(f"instruction {k}: {want} / {got}")


def _same(x, y):
    if isinstance(x, list):
        return isinstance(y, list) and len(x) == len(y) and all(map(_same, x, y))
    if isinstance(x, float) or isinstance(y, float):
        return True  # scales and epsilons stand for any number
    return x == y


def _tensors(specs, seen, c, family):
    names = {n: (shape, dtype) for n, shape, dtype, _ in seen}
    for spec in specs:
        low, high = (evaluate(e, env_of(c), family) for e in spec.get("layers", ["0", "1"]))
        for i in range(low, high):
            env = env_of(c, i if "layers" in spec else None)
            if "when" in spec and not evaluate(spec["when"], env, family):
                continue
            for beside in range(evaluate(spec["count"], env, family) if "{k}" in spec["name"] else 1):
                name = spec["name"].replace("{i}", str(i)).replace("{k}", str(beside))
                if name not in names:
                    raise Mismatch(f"{name} is not in the model")
                shape, dtype = names.pop(name)
                want = tuple(evaluate(e, env, family) for e in spec["shape"])
                if tuple(map(int, want)) != shape or (spec.get("dtype", "$states") != "$states" and spec["dtype"] != dtype_name(dtype)):
                    raise Mismatch(f"{name}: {want} {spec.get('dtype')} / {shape} {dtype}")
    if names:
        raise Mismatch(f"not in the graph: {list(names)[:3]}")


def check_graph(family, g, c):
    """One stored graph against one capture of its class."""
    load = dtype_name(c.load)
    _tensors(g["parameters"], c.parameters, c, family)
    _tensors(g["buffers"], [*c.buffers, *((f"held.{k}", *kept, None) for k, kept in enumerate(c.function.held))], c, family)
    compare(g["main"], c.function, env_of(c), family, load)
    rounds = [it for it in c.function.body if isinstance(it, Repeat)]
    stored = [it.get("repeat") or it for it in g["main"]["body"] if "repeat" in it or "block" in it]
    if len(rounds) != len(stored):
        raise Mismatch("repeats")
    for it, r in zip(rounds, stored):
        for f in it.functions:
            env = env_of(c, f.index)
            bodies = r.get("bodies") or [{"block": r["block"], "when": "true"}]
            body = next((b for b in bodies if evaluate(b["when"], env, family)), None)
            if body is None:
                raise Mismatch(f"no body for layer {f.index}")
            compare(g["blocks"][body["block"]], f, env, family, load)


def check(name, seed, log=print):
    """Every task, attention and branch of a family at one fresh point each; returns the failures."""
    path = GRAPHS / f"{name}.json"
    family, failures, count = content_of(path.read_text()), [], 0
    for task, attention in dict.fromkeys((g["task"], g["attention"]) for g in family["graphs"]):
        for k, options in enumerate(itertools.product(*FAMILIES[name].axes)):
            c = capture(name, task, attention, options, f"check{seed}{k}", (FAMILIES[name].regimes or REGIMES)[0])
            env, count = env_of(c), count + 1
            g = next(
                (
                    g
                    for g in family["graphs"]
                    if (g["task"], g["attention"]) == (task, attention) and all(evaluate(w, env, family) for w in g["when"])
                ),
                None,
            )
            try:
                if g is None:
                    raise Mismatch("no graph applies")
                check_graph(family, g, c)
            except Mismatch as error:
                failures.append(f"{name} {task} {attention} {[o.when for o in options]}: {error}")
    log(f"{name}: {count} points, {len(failures)} failures")
    for f in failures:
        log(f"  {f[:400]}")
    return failures
