"""Several recordings of one function made one: the skeleton that they share, and where they differ what explains it."""

import json
import re

from .fit import NotExplained
from .forms import Drop, Function, Local, Op, Repeat
from .events import Dtype, Weight


class StructureDiffers(Exception):
    """Two captures of one class do not have the same instructions."""


def dtype_name(d):
    return "$" + str(d).removeprefix("torch.")


# What a tensor is compared with decides no memory: a number that nothing explains stands for any.
COMPARISONS = ("ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar", "eq.Scalar", "ne.Scalar")

# Floats that sizes are made of: how many times as long a side becomes (aten/native/UpSample.h, compute_output_size), and where
# numbers in a row begin, end and step (aten/native/RangeUtils.h). Others decide values alone.
MEASURES = re.compile(r"_?upsample_|arange\b")


# ---- one walk for skeletons and for the final form --------------------------------------------------------------------
def walk(function, leaf, flags=None):
    """JSON form of a function; `leaf(kind, value)` stands for each number, float, dtype and activation name."""
    result, scope, number, measures = [], "", 0, False

    def operand(x):
        if isinstance(x, Local):
            return "%" + x.name
        if isinstance(x, Weight):
            return "@" + x.name
        if isinstance(x, Dtype):
            return leaf("dtype", x)
        if isinstance(x, bool) or x is None:
            return x
        if isinstance(x, int):
            return leaf("int", x)
        if isinstance(x, float):
            return leaf("measure" if measures else "float", x)
        if isinstance(x, list):
            return [operand(y) for y in x]
        return x

    for it in function.body:
        if isinstance(it, Drop):
            result.append({"drop": [v.name for v in it.values]})
            continue
        if isinstance(it, Repeat):
            result.append(
                {
                    "repeat": {
                        "from": leaf("int", it.start),
                        "to": leaf("int", it.stop),
                        "bodies": it.stack,
                        "in": [operand(x) for x in it.ins],
                        "carry": it.carry,
                        "out": [o and o.name for o in it.outs],
                        "checkpoint": it.checkpoint,
                        "positional": it.positional,
                        **({"collect": [m and m.name for m in it.collect]} if any(it.collect) else {}),
                        **({"passing": it.passing} if it.passing else {}),
                        **({"segment": it.segment} if it.segment else {}),
                    }
                }
            )
            scope = None
            continue
        if not it.leaf and it.scope != scope:
            scope = it.scope
            result.append({"scope": scope})
        measures = not it.leaf and MEASURES.match(it.name) is not None
        out = [o.name if isinstance(o, Local) else None for o in it.outs]  # a buffer changed in place is no value
        if it.leaf:
            item = {"call": it.name, "path": it.path, "in": [operand(x) for x in it.ins]}
            attrs = {k: leaf("text", v) if k == "fn" else operand(v) for k, v in it.kw.items()}
            if attrs:
                item["attrs"] = attrs
        else:
            if it.name in ("dropout", "dropout_", "feature_dropout"):
                item = {"op": it.name, "in": [operand(it.ins[0]), leaf("probability", it.ins[1]), *map(operand, it.ins[2:])]}
            elif it.name == "scaled_dot_product_attention":
                item = {"op": it.name, "in": [*map(operand, it.ins[:4]), leaf("probability", it.ins[4]), it.ins[5]]}
            elif it.name in COMPARISONS and isinstance(it.ins[1], int) and not isinstance(it.ins[1], bool):
                item = {"op": it.name, "in": [operand(it.ins[0]), leaf("level", it.ins[1])]}
            else:
                item = {"op": it.name, "in": [operand(x) for x in it.ins]}
            if it.kw:
                item["kw"] = {k: operand(v) for k, v in it.kw.items()}
        item["out"] = out
        if flags and flags[number]:
            item["noamp"] = True
        if it.nograd:
            item["nograd"] = True
        number += 1
        result.append(item)
    return {"inputs": list(function.inputs), "outputs": [o.name for o in function.outputs], "body": result}


def skeleton(function):
    leaves = []

    def leaf(kind, value):
        leaves.append((kind, value))
        return f"#{kind}"

    return json.dumps(walk(function, leaf)), leaves


# ---- merging samples ------------------------------------------------------------------------------------------------
def merge(samples, fitter, loads):
    """Final form of functions with one skeleton. `samples` are (function, leaves), in the order of the fitter's envs."""
    first, leaves = samples[0]
    flags = [any(x) for x in zip(*([op.noamp for op in f.body if isinstance(op, Op)] for f, _ in samples if f.amp))]
    position = [-1]
    operands = _dtype_operands(first)
    made = made_before(first)

    def leaf(kind, value):
        position[0] += 1
        k = position[0]
        column = [s[1][k][1] for s in samples]
        if kind == "int":
            return fitter.integer(column)
        if kind == "level":
            try:
                return fitter.integer(column)
            except NotExplained:
                return float(column[0])
        if kind == "float":
            return fitter.number(column)
        if kind == "measure":
            return fitter.measure(column)
        if kind == "probability":
            return fitter.number(column, must=True)
        if kind == "text":
            return fitter.text(column)
        return _dtype(samples, k, operands.get(k), made.get(k, set()), loads)

    form = walk(first, leaf, flags)
    for item in form["body"]:
        if item.get("op") == "to.dtype" and item["in"][1] == "self":
            item["op"], item["in"] = "lift_fresh", item["in"][:1]  # the same tensor, without a node of its own
    return form


def _dtype_leaf_positions(function):
    """For every dtype leaf: its operator and the names that exist before it."""
    k = [-1]
    found = {}
    known = list(function.inputs)
    current = {"op": None}

    def leaf(kind, value):
        k[0] += 1
        if kind == "dtype":
            found[k[0]] = current["op"]
        return 0

    for it in function.body:
        current["op"] = (it, list(known))
        walk(Function([], [it], [], {}), leaf)
        if isinstance(it, (Op, Repeat)):
            known.extend(o.name for o in it.outs if isinstance(o, Local))
    return found


def _dtype_operands(function):
    return {k: (it.ins[0] if isinstance(it, Op) and it.ins else None) for k, (it, _) in _dtype_leaf_positions(function).items()}


def made_before(function):
    return {k: known for k, (_, known) in _dtype_leaf_positions(function).items()}


def _dtype(samples, k, operand, known, loads):
    seen = [s[1][k][1] for s in samples]
    dtypes = [d.dtype for d in seen]
    source = seen[0].source
    if source is not None and source == operand and all(d.source == source for d in seen):
        return "self"
    if len(set(dtypes)) == 1 and not (len(set(loads)) == 1 and dtypes == loads):
        return dtype_name(dtypes[0])
    sources = [d.source for d in seen if d.source is not None]
    ancestors = [Local(n) for n in reversed(known)]
    for c in [*dict.fromkeys(sources), *ancestors]:
        if isinstance(c, Local) and c.name in known and all(f.locals[c.name].dtype == d for (f, _), d in zip(samples, dtypes)):
            return f"$dtype(%{c.name})"
        if isinstance(c, Weight) and all(f.weight_dtype(c.name) == d for (f, _), d in zip(samples, dtypes)):
            return f"$dtype(@{c.name})"
    if dtypes == loads:
        return "$load"
    raise NotExplained(f"dtype {dtypes}")
