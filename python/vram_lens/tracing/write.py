"""Merges the traces of one structural class into an architecture graph with expressions."""

import contextlib
import json

from .fit import Fitter, NotExplained, condition
from .layers import Drop, Function, Local, Op, Repeat, counted, first_list
from .record import Dtype, Weight


class StructureDiffers(Exception):
    """Two captures of one class do not have the same instructions."""


def dtype_name(d):
    return "$" + str(d).removeprefix("torch.")


# What a tensor is compared with decides no memory: a number that nothing explains stands for any.
COMPARISONS = ("ge.Scalar", "gt.Scalar", "le.Scalar", "lt.Scalar", "eq.Scalar", "ne.Scalar")


# ---- one walk for skeletons and for the final form --------------------------------------------------------------------
def walk(function, leaf, flags=None):
    """JSON form of a function; `leaf(kind, value)` stands for each number, float, dtype and activation name."""
    result, scope, number = [], "", 0

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
            return leaf("float", x)
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
    made = _made_before(first)

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


def _made_before(function):
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


# Lists that give each layer something beside its kind of attention.
LISTED = ("mlp_layer_types", "indexer_types", "num_attention_heads_per_layer", "intermediate_size", "activation_sparsity_pattern")
OF_LAYER = ("i", *(f"{key}.i" for key in LISTED))


def env_of(capture, index=None):
    """What expressions may name at one sample: sizes, config keys, the layer's index and kind."""
    env = dict(capture.env)
    env.update(capture.sizes)
    if index is not None:
        env["i"] = index
        text = capture.config.get("text_config") or {}
        kinds = _windowed(capture.config) or capture.config.get("layer_types") or text.get("layer_types") or _crossed(text)
        if isinstance(kinds, list) and index < len(kinds):
            env["kind"] = kinds[index]
        listed = {key: values for key in LISTED if isinstance(values := capture.config.get(key), (list, tuple))}
        env.update({f"{key}.i": values[index] for key, values in listed.items() if index < len(values)})
    return env


def _windowed(config):
    """Kinds of a tower's layers where its config lists those that see all patches, and not a window of them."""
    towers = [config.get(key) or {} for key in ("high_res_vision_config", "vision_config")]
    return next(
        (
            ["global" if k in t["global_attn_indexes"] else "window" for k in range(t["num_hidden_layers"])]
            for t in towers
            if t.get("global_attn_indexes")
        ),
        None,
    )


def _crossed(text):
    """Kinds of layers where a config lists those of cross attention."""
    listed = text.get("cross_attention_layers")
    return listed and ["cross" if k in listed else "self" for k in range(text["num_hidden_layers"])]


def difference(a, b):
    """First place where two skeletons differ, for a person."""
    x, y = json.loads(a), json.loads(b)
    for k, (p, q) in enumerate(zip(x["body"], y["body"])):
        if p != q:
            return f"instruction {k}: {p} / {q}"
    return f"lengths {len(x['body'])} / {len(y['body'])}, inputs {x['inputs']} / {y['inputs']}, outputs {x['outputs']} / {y['outputs']}"


def stacks(form, samples, atoms, keys, blocks, known, depths=()):
    """Gives each repeat of a function its blocks, and theirs; `samples` are captures with their functions."""
    repeats = [[it for it in f.body if isinstance(it, Repeat)] for _, f in samples]
    for r, item in enumerate([x for x in form["body"] if "repeat" in x]):
        kinds, everywhere = {}, []
        for (c, f), its in zip(samples, repeats):
            # the rounds of a loop inside a layer are many and alike
            rounds = its[r].functions if f.index is None else {g.index: g for g in [*its[r].functions[:2], *its[r].functions[-1:]]}.values()
            for g in rounds:
                text, leaves = skeleton(g)
                kinds.setdefault(text, []).append((c, g, leaves))
                everywhere.append((c, g.index, text))
        bodies = []
        for text, found in kinds.items():
            if len({id(c) for c, *_ in found}) < min(3, len(samples)):
                raise NotExplained(
                    f"{item['repeat']['bodies']}: a kind of layer is seen at one or two points only, where a size could be anything"
                )
            explain = lambda part: merge(
                [(g, leaves) for _, g, leaves in part],
                Fitter([env_of(c, g.index) for c, g, _ in part], [*atoms, *OF_LAYER]),
                [c.load for c, *_ in part],
            )
            for part, block in _by_side(found, lambda x: x[1].index, lambda x: env_of(x[0], x[1].index).get("kind"), explain, depths):
                stacks(block, [(c, g) for c, g, _ in part], atoms, keys, blocks, known, depths)
                # blocks are shared between repeats of a stack only when they are equal to the letter
                key = json.dumps(block)
                if key not in known:
                    known[key] = len(blocks)
                    blocks.append(block)
                members = {(id(c), g.index) for c, g, _ in part}
                test = condition(
                    [env_of(c, i) for c, i, _ in everywhere], [t == text and (id(c), i) in members for c, i, t in everywhere], keys
                )
                withheld = sorted(set.intersection(*(set(g.withheld) for _, g, _ in part))) if item["repeat"]["checkpoint"] else []
                bodies.append({"block": known[key], "when": test, **({"withheld": withheld} if withheld else {})})
        repeat = item["repeat"]
        repeat["bodies"] = bodies
        repeat["from"], repeat["to"] = _expression(repeat["from"]), _expression(repeat["to"])
        if len(bodies) == 1 and (repeat["from"], repeat["to"]) == ("0", "1"):
            item.clear()
            item.update(
                {
                    "block": bodies[0]["block"],
                    "index": "0",
                    "in": repeat["in"],
                    "out": repeat["out"],
                    "checkpoint": repeat["checkpoint"],
                    "positional": repeat["positional"],
                    **({"segment": repeat["segment"]} if "segment" in repeat else {}),
                }
            )


def _layers(function):
    """What the layers of a function look like."""
    return {skeleton(g)[0] for it in function.body if isinstance(it, Repeat) for g in it.functions}


def graph(captures, task, attention, when, atoms, keys, depths=()):
    """One architecture graph from the captures of one class (points first, then regimes)."""
    forms = [skeleton(c.function) for c in captures]
    # code such as `if x.dtype != weight.dtype: x = x.to(weight.dtype)` converts only where it changes something:
    # the regime that converts tells, and converting to the same dtype is the same as not converting
    same = [c.load == captures[0].load and not c.raised for c in captures]
    layers = [_layers(c.function) for c in captures]
    seen = set().union(*(texts for texts, whole in zip(layers, same) if whole))
    alike = [k for k, form in enumerate(forms) if same[k] or (form[0] == forms[0][0] and layers[k] <= seen)]
    captures, forms = [captures[k] for k in alike], [forms[k] for k in alike]
    mains = [c.function for c in captures]
    for form in forms[1:]:
        if form[0] != forms[0][0]:
            raise StructureDiffers(difference(forms[0][0], form[0]))
    loads = [c.load for c in captures]
    fitter = Fitter([env_of(c) for c in captures], atoms)
    main = merge([(f, leaves) for f, (_, leaves) in zip(mains, forms)], fitter, loads)
    blocks = []
    stacks(main, list(zip(captures, mains)), atoms, keys, blocks, {}, depths)
    batch = [
        {
            "name": n,
            "shape": [
                _expression(fitter.integer([c.function.locals[n].shape[d] for c in captures])) for d in range(len(mains[0].locals[n].shape))
            ],
            "dtype": _input_dtype({m.locals[n].dtype for m in mains}),
        }
        for n in mains[0].inputs
    ]
    held = [
        {
            "name": f"held.{k}",
            "shape": [_expression(fitter.integer([m.held[k][0][d] for m in mains])) for d in range(len(shape))],
            "dtype": dtype_name(dtype),
            "module": "",
        }
        for k, (shape, dtype) in enumerate(mains[0].held)
    ]
    same = tied(captures, keys)
    return {
        "task": task,
        "attention": attention,
        "when": when,
        "parameters": as_tied(tensors(captures, "parameters", atoms, keys, depths), same),
        "buffers": [*tensors(captures, "buffers", atoms, keys, depths), *held],
        "tied": same,
        "batch": batch,
        **_told(captures[0], batch),
        "main": main,
        "blocks": blocks,
    }


def _told(capture, batch):
    """The input that a class names as its main one, where it is not the text that the batch holds."""
    named = capture.main_input
    return {"mainInput": named} if named != "input_ids" and any(b["name"] == "input_ids" for b in batch) else {}


def _by_first(found, index, kind, explain):
    """`explain` of all samples of a kind of layer, or, where one expression does not serve, of each kind of attention, or of the first
    layers and of the others."""
    try:
        return [(found, explain(found))]
    except NotExplained:
        parts = [[x for x in found if kind(x) == k] for k in sorted({kind(x) for x in found if kind(x)})]
        if len(parts) > 1:
            with contextlib.suppress(NotExplained):
                return [(part, explain(part)) for part in parts]
        parts = [[x for x in found if index(x) == 0], [x for x in found if index(x) != 0]]
        if not all(parts) or index(found[0]) is None:
            raise
        return [(part, explain(part)) for part in parts]


def _by_side(found, index, kind, explain, depths):
    """As `_by_first`, or of the layers before and behind a depth (blocks that stand behind a stage's downsampling)."""
    for side in [None, *depths]:
        with contextlib.suppress(NotExplained):
            if side is None:
                return _by_first(found, index, kind, explain)
            parts = [[x for x in found if (index(x) < x[0].env[side]) == before] for before in (True, False)]
            if all(parts):
                return [(part, explain(part)) for part in parts]
    return _by_first(found, index, kind, explain)


def _alike(found, explain, depths):
    """`explain` of all layers that have a tensor, or, where one shape does not serve, of those on either side of a depth (only where
    a switch is on, perhaps), of each kind of layer, or of kinds on either side: whichever is said most shortly."""
    if found[0][1] is None:  # of no layer
        return [(found, explain(found))]
    with contextlib.suppress(NotExplained):
        return _by_first(found, lambda f: f[1], lambda f: None, explain)
    kind, side = lambda c, i: env_of(c, i).get("kind"), lambda d: lambda c, i: i < c.env[d]
    switched = lambda d, key: lambda c, i: i >= c.env[d] and c.settings[key]
    switches = [k for k, v in found[0][0].settings.items() if isinstance(v, bool)]
    ways = [
        (kind,),
        *((side(d),) for d in depths),
        *((switched(d, key),) for d in depths for key in switches),
        *((kind, side(d)) for d in depths),
    ]
    explained = []
    for way in ways:
        parts = {}
        for f in found:
            parts.setdefault(tuple(w(f[0], f[1]) for w in way), []).append(f)
        with contextlib.suppress(NotExplained, KeyError, TypeError):
            explained.append([(part, explain(part)) for part in parts.values()])
    if not explained:
        return _by_first(found, lambda f: f[1], lambda f: None, explain)
    return min(explained, key=lambda parts: sum(len(e) for _, sizes in parts for e in sizes))


def _input_dtype(seen):
    """An input of one dtype, or one that follows the weights unless autocast converts it."""
    return dtype_name(next(iter(seen))) if len(seen) == 1 else "$input"


def _expression(x):
    return x[1:] if isinstance(x, str) and x.startswith("=") else str(x)


# ---- parameters and buffers -------------------------------------------------------------------------------------------
def _split(name, spelled=None):
    """(name with {i}, stack, index) of a tensor of a layer."""
    found = first_list(name, spelled)
    return (counted(f"{found[0]}.{{i}}{found[2]}"), found[0], found[1]) if found and found[2] else (name, None, None)


def _owned(capture, stack):
    """How many blocks of weights the layers of a stack use in turn: of all the layers that use one, those that make it."""
    lent = [s for n in capture.turns if (s := _split(n, capture.spelled))[1] == stack]
    keys = {key for key, *_ in lent}
    using = {index for n, *_ in capture.parameters if (s := _split(n, capture.spelled))[0] in keys for index in s[2:]}
    return len(using - {index for *_, index in lent})


def _specification(key, found, shape, captures, depth, atoms, keys, fitter_at):
    """One parameter or buffer: `found` says where it was seen, by capture and layer."""
    stack = found[0][5]
    spec = {"name": key, "shape": shape}
    if any(key.replace("{i}", str(i)) in getattr(c, "frozen", ()) for c, i, *_ in found):
        spec["frozen"] = True
    if any(key == _split(n, c.spelled)[0] for c in captures for n in c.turns):
        spec["turns"] = _expression(fitter_at([(c, None) for c in captures]).integer([_owned(c, stack) for c in captures]))
    if "{k}" in key:
        beside = {(id(c), i): [f[1] for f in found if f[0] is c].count(i) for c, i, *_ in found}
        places = list({(id(c), i): (c, i) for c, i, *_ in found}.values())
        spec["count"] = _expression(fitter_at([(c, None) for c, _ in places]).integer([beside[id(c), i] for c, i in places]))
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
        spec["layers"] = ["0", _expression(top.integer([depth[c, stack] for c in captures]))]
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
            key, *place = _split(name, c.spelled)
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
            key, stack, index = _split(name, c.spelled)
            seen.setdefault(key, []).append((c, index, shape, dtype, module, stack))
    depth = {}
    for c in captures:
        for name, *_ in [*c.parameters, *c.buffers]:
            _, stack, index = _split(name, c.spelled)
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
            return [_expression(fitter.integer([f[2][d] for f in part])) for d in range(len(part[0][2]))]

        result.extend(
            _specification(key, part, sizes, captures, depth, atoms, keys, fitter_at) for part, sizes in _alike(seen[key], shape, depths)
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
