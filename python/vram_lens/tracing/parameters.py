"""Parameters and buffers by name, over the layers that have them: shapes by config keys, ties, biases."""

from .fit import Fitter, NotExplained, condition
from .nesting import counted, first_list
from .explaining import OF_LAYER, alike, env_of
from .merging import dtype_name


def input_dtype(seen):
    """An input of one dtype, or one that follows the weights unless autocast converts it."""
    return dtype_name(next(iter(seen))) if len(seen) == 1 else "$input"


def expression_of(x):
    return x[1:] if isinstance(x, str) and x.startswith("=") else str(x)


# ---- parameters and buffers -------------------------------------------------------------------------------------------
def split_path(name, spelled=None):
    """(name with {i}, stack, index) of a tensor of a layer."""
    found = first_list(name, spelled)
    return (counted(f"{found[0]}.{{i}}{found[2]}"), found[0], found[1]) if found and found[2] else (name, None, None)


def owned(capture, stack):
    """How many blocks of weights the layers of a stack use in turn: of all the layers that use one, those that make it."""
    lent = [s for n in capture.turns if (s := split_path(n, capture.spelled))[1] == stack]
    keys = {key for key, *_ in lent}
    using = {index for n, *_ in capture.parameters if (s := split_path(n, capture.spelled))[0] in keys for index in s[2:]}
    return len(using - {index for *_, index in lent})


def _specification(key, found, shape, captures, depth, atoms, keys, fitter_at):
    """One parameter or buffer: `found` says where it was seen, by capture and layer."""
    stack = found[0][5]
    spec = {"name": key, "shape": shape}
    if any(key.replace("{i}", str(i)) in getattr(c, "frozen", ()) for c, i, *_ in found):
        spec["frozen"] = True
    if any(key == split_path(n, c.spelled)[0] for c in captures for n in c.turns):
        spec["turns"] = expression_of(fitter_at([(c, None) for c in captures]).integer([owned(c, stack) for c in captures]))
    if "{k}" in key:
        beside = {(id(c), i): [f[1] for f in found if f[0] is c].count(i) for c, i, *_ in found}
        places = list({(id(c), i): (c, i) for c, i, *_ in found}.values())
        spec["count"] = expression_of(fitter_at([(c, None) for c, _ in places]).integer([beside[id(c), i] for c, i in places]))
    dtypes = {f[3] for f in found}
    if (
        len({(c.load, c.states) for c, *_ in found}) > 1
        and any(f[3] != f[0].load for f in found)
        and all(f[3] == f[0].states for f in found)
    ):
        spec["dtype"] = "$states"
    elif dtypes != {c.load for c, *_ in found} or any(f[3] != f[0].load for f in found):
        if len(dtypes) > 1 and not all(f[3] == f[0].load or f[0].raised for f in found):
            raise NotExplained(f"{key}: dtypes {dtypes}")
        if len(dtypes) == 1:
            spec["dtype"] = dtype_name(next(iter(dtypes)))
    present = {(id(c), i) for c, i, *_ in found}
    if stack is None:
        truth = [(id(c), None) in present for c in captures]
        places = [env_of(c) for c in captures]
    else:
        top = fitter_at([(c, None) for c in captures])
        spec["layers"] = ["0", expression_of(top.integer([depth[c, stack] for c in captures]))]
        where = [(c, i) for c in captures for i in range(depth[c, stack])]
        truth = [(id(c), i) in present for c, i in where]
        places = [env_of(c, i) for c, i in where]
    if not all(truth):
        spec["when"] = condition(places, truth, keys)
    spec["module"] = found[0][4]
    return spec


def tensors(captures, field, atoms, keys, depths=()):
    """Specifications in order, merged over captures that may lack some (biases, tied heads)."""
    order, seen = [], {}
    for c in sorted(captures, key=lambda c: -len(getattr(c, field))):  # one that has all of them tells their order
        previous, layer = -1, None
        for name, *_ in getattr(c, field):
            key, *place = split_path(name, c.spelled)
            if key not in order:
                # what only some layers begin with stands before what all of them have
                first = (
                    next((k for k, other in enumerate(order) if place[0] and other.startswith(f"{place[0]}.{{i}}")), None)
                    if place != layer
                    else None
                )
                order.insert(previous + 1 if first is None else first, key)
            previous, layer = order.index(key), place
    for c in captures:
        for name, shape, dtype, module in getattr(c, field):
            key, stack, index = split_path(name, c.spelled)
            seen.setdefault(key, []).append((c, index, shape, dtype, module, stack))
    depth = {}
    for c in captures:
        for name, *_ in [*c.parameters, *c.buffers]:
            _, stack, index = split_path(name, c.spelled)
            if stack is not None:
                depth[c, stack] = max(depth.get((c, stack), 0), index + 1)
    fitters = {}

    def fitter_at(places):
        """The fitter of some layers of some captures; most tensors are in the same ones, and making one is slow."""
        key = tuple((id(c), i) for c, i in places)
        if key not in fitters:
            fitters[key] = Fitter([env_of(c, i) for c, i in places], [*atoms, *OF_LAYER])
        return fitters[key]

    result = []
    for key in order:

        def shape(part):
            fitter = fitter_at([(c, i) for c, i, *_ in part])
            return [expression_of(fitter.integer([f[2][d] for f in part])) for d in range(len(part[0][2]))]

        result.extend(
            _specification(key, part, sizes, captures, depth, atoms, keys, fitter_at) for part, sizes in alike(seen[key], shape, depths)
        )
    _sized_by_weight(result)
    return result


# Dimension of the weight that a bias has.
BIAS_OF = {"Linear": 0, "Conv1D": 1, "Conv2d": 0, "Conv1d": 0}


def _sized_by_weight(specs):
    """A bias has its weight's outputs; one that only some configs have was seen too rarely to tell its size alone."""
    for spec in specs:
        weights = [w for w in specs if w["name"] == spec["name"].removesuffix("bias") + "weight"]
        if len(weights) > 1:  # one of the first layers and one of the others
            weights = [w for w in weights if w.get("when") == spec.get("when")]
        if spec["name"].endswith(".bias") and spec["module"] in BIAS_OF and weights:
            spec["shape"] = [weights[0]["shape"][BIAS_OF[spec["module"]]]]


def as_tied(specs, ties):
    """A tensor that some configs tie has the shape of the one it is tied to; by itself it may be seen too rarely to tell."""
    shapes = {spec["name"]: spec["shape"] for spec in specs}
    own = {tie["name"]: shapes[tie["to"]] for tie in ties if tie["to"] in shapes}
    return [{**spec, "shape": own.get(spec["name"], spec["shape"])} for spec in specs]


def tied(captures, keys):
    names = dict.fromkeys((n, to) for c in captures for n, to in c.tied.items())
    return [
        {"name": n, "to": to, "when": condition([env_of(c) for c in captures], [c.tied.get(n) == to for c in captures], keys)}
        for n, to in names
    ]
