"""Turns a flat trace into functions: `main`, and one function per kind of layer, with repeats folded.

Numbers stay numbers here; `fit` explains them afterwards. In a function's body every operand is canonical: two layers
that do the same thing give equal skeletons.
"""

import re
from dataclasses import dataclass, field

from .record import Dtype, Event, Value, Weight


class NotFoldable(Exception):
    """The layers of a stack do not follow each other in a way a repeat can express."""


@dataclass(frozen=True)
class Local:
    """A value by its name inside one function."""

    name: str


@dataclass
class Function:
    """`locals` maps each name to what is known of the tensor; `index` is the layer's number, None for main."""

    inputs: list
    body: list
    outputs: list
    locals: dict
    path: str = ""
    index: int | None = None
    amp: bool = False
    weights: dict = field(default_factory=dict)
    held: list = field(default_factory=list)  # shapes and dtypes of what the model keeps when main is over
    withheld: list = field(default_factory=list)  # inputs that other layers are given and this one is not
    layer: int | None = None  # of a round: the layer that its loop is in

    def weight_dtype(self, name):
        """Dtype of a parameter or buffer in this capture, None where it has none (a tied head); `{i}` is this layer."""
        found = self.weights.get(name.replace("{i}", str(self.index if self.layer is None else self.layer)).replace("{k}", str(self.index)))
        return found and found.dtype


@dataclass
class Op:
    name: str
    ins: list
    kw: dict
    outs: list
    scope: str
    noamp: bool
    nograd: bool
    leaf: bool = False
    path: str = ""


@dataclass
class Drop:
    values: list


@dataclass
class Call:
    """One call of a layer, before folding. `index` counts the calls of a `shared` layer, which is called again and again."""

    stack: str
    index: int
    keys: list
    ins: list
    outs: list
    items: list
    path: str
    checkpoint: bool
    shared: bool = False
    inward: list = field(default_factory=list)  # views the code takes for this layer before it calls it
    listed: bool = False  # a round that picks its modules from several lists
    segment: dict | None = None  # how it is computed again in backward, whatever a run says


@dataclass
class Loop:
    """Rounds of a loop over the sequence inside one layer, before folding."""

    rounds: list
    listed: bool = False


@dataclass(frozen=True)
class Many:
    """What the rounds of a repeat made and a Python list kept, in order."""

    values: tuple


@dataclass
class Repeat:
    """`functions` are the rounds from `start` on; `stop` is exclusive. `collect` has a `Many` for each output kept of every round."""

    stack: str
    start: int
    stop: int
    ins: list
    carry: list
    outs: list
    functions: list
    checkpoint: bool
    positional: list
    collect: list = field(default_factory=list)
    gone: frozenset = frozenset()  # what the rounds let go of themselves
    passing: list = field(default_factory=list)  # inputs that live through a round without being given to it
    segment: dict | None = None


_DROPPED_KW = ("device", "pin_memory", "layout", "non_blocking", "copy", "foreign", "generator")
_MOVES = ("to.dtype", "type_as", "to.device", "to.dtype_layout", "to.other", "lift_fresh", "_to_copy")


_SCALED = ("mul.Tensor", "add.Tensor", "sub.Tensor")


def _from_whole(source, made):
    return not source.dtype.is_floating_point and made.dtype.is_floating_point


def clean(trace):
    """Drops what happens on the CPU and gives conversions one spelling."""
    cpu = {i for i, m in enumerate(trace.values) if m.cpu}
    on_cpu = lambda r: isinstance(r, Value) and r.id in cpu
    meta_of = lambda r: trace.weights[r.name] if isinstance(r, Weight) else trace.values[r.id]
    events = []
    for e in trace.events:
        if e.kind == "drop":
            if not on_cpu(e.outs[0]):
                events.append(e)
            continue
        if e.kind == "op":
            if (
                e.outs
                and all(on_cpu(o) for o in e.outs)
                or e.name in ("detach_", "_assert_async.msg")
                or e.name == "item"
                and on_cpu(e.ins[0])
            ):
                continue
            kw = {k: v for k, v in e.kw.items() if k not in _DROPPED_KW and v is not None}
            ins = list(e.ins)
            if ins and on_cpu(ins[0]) and e.name in _MOVES:
                meta = trace.values[e.outs[0].id]
                e = Event(
                    "op",
                    "empty.memory_format",
                    e.path,
                    [list(meta.shape)],
                    {"dtype": Dtype(meta.dtype, _dtype_source(e))},
                    e.outs,
                    e.noamp,
                    e.nograd,
                )
            else:
                name = e.name
                if name == "to.dtype_layout":
                    name, ins, kw = "to.dtype", [ins[0], Dtype(kw.pop("dtype").dtype, ins[0])], kw
                elif name == "to.device":
                    name, ins, kw = "to.dtype", [ins[0], ins[2]], {}
                elif name in ("to.other", "type_as"):
                    name, ins, kw = "to.dtype", [ins[0], Dtype(meta_of(ins[1]).dtype, ins[1])], {}
                elif name == "reshape_as":
                    name, ins = "reshape", [ins[0], list(meta_of(ins[1]).shape)]
                elif name in ("lift_fresh", "detach"):
                    name = "alias" if name == "lift_fresh" else name
                if name == "to.dtype":
                    ins, kw = ins[:2], {"contiguous": True} if "contiguous_format" in str([*ins[2:], *kw.values()]) else {}
                if name == "roll":
                    ins[1] = [1 for _ in ins[1]]  # how far things move decides no memory
                if name == "index.Tensor":  # an index on the host is known by its shape
                    ins[1] = [list(trace.values[x.id].shape) if on_cpu(x) else x for x in ins[1]]
                ins = [1.0 if on_cpu(x) else x for x in ins]
                if (
                    name in _SCALED
                    and isinstance(ins[0], (Value, Weight))
                    and any(isinstance(x, float) for x in ins)
                    and _from_whole(meta_of(ins[0]), trace.values[e.outs[0].id])
                ):
                    ins = [0.5 if isinstance(x, float) else x for x in ins]  # whole numbers become broken ones, whatever number it is
                e = Event("op", name, e.path, ins, kw, e.outs, e.noamp, e.nograd)
        events.append(e)
    return events


def _rejoined(events):
    """A tensor taken apart into one part per picture and put together again, as one operator whatever the number is.

    It stands where the parts are put together; their source, which they keep, lives until they are gone.
    """
    by_parts = {tuple(e.outs): e for e in events if e.kind == "op" and e.name.startswith(("split", "unbind")) and len(e.outs) > 0}
    joins = {
        id(e): by_parts[tuple(e.ins[0])]
        for e in events
        if e.kind == "op" and e.name == "cat" and tuple(e.ins[0]) in by_parts and e.ins[1:] in ([], [0])
    }
    apart, parts = {id(e) for e in joins.values()}, {o for e in joins.values() for o in e.outs}
    result, held, early = [], {}, []
    for e in events:
        if id(e) in apart:
            held[e.ins[0]] = len(e.outs)
            continue
        if e.kind == "drop" and e.outs[0] in parts:
            source = next(s.ins[0] for s in joins.values() if e.outs[0] in s.outs)
            held[source] -= 1
            if held[source] == 0:
                result.extend(d for d in early if d.outs[0] == source)
            continue
        if e.kind == "drop" and held.get(e.outs[0]):
            early.append(e)
            continue
        if id(e) in joins:
            split = joins[id(e)]
            name, count = ("split_cat", [len(split.outs)]) if split.name.startswith("split") else ("unbind_cat", [])
            e = Event("op", name, e.path, [split.ins[0], *count], {}, e.outs, e.noamp, e.nograd)
        result.append(e)
    return result


def _dtype_source(event):
    for x in [*event.ins, *event.kw.values()]:
        if isinstance(x, Dtype):
            return x.source
    return None


ROUNDS = "rounds"
SIDE_BY_SIDE = r"(\.expert_)"
"""How names of modules of a dictionary begin that rounds of a loop run one by one, before their number."""


def counted(name):
    """A name with `{k}` for the number of a module side by side with others."""
    return re.sub(rf"{SIDE_BY_SIDE}\d+(?=\.|$)", r"\1{k}", name)


def first_list(path, spelled=None):
    """(list, index, rest) of the outermost module list in a path whose elements are layers of a repeat.

    Lists that match `spelled` have a fixed number of unlike elements (stages), which are written out one by one.
    """
    for m in re.finditer(r"\.(\d+)(?=\.|$)", path):
        if not (spelled and re.fullmatch(spelled, path[: m.start()])):
            return path[: m.start()], int(m.group(1)), path[m.end() :]
    return None


def _stack_of(path, spelled):
    """(stack, index) when the path is an element of a module list and not inside another one."""
    found = first_list(path, spelled)
    return found[:2] if found and not found[2] else None


def nest(events, spelled=None):
    """Main's items: Op, Drop and Call (whose items are its own)."""
    main, call, loop, outside, before, last = [], None, None, None, {}, {}
    items = main
    for e in events:
        if e.kind == "round":
            if loop is None:
                loop, outside = Loop([], e.checkpoint), items
                items.append(loop)
            items = []
            loop.rounds.append(items)
            continue
        if e.kind == "rounds":
            items, loop = outside, None
            continue
        if e.kind == "segment":
            name = f"segment.{sum(isinstance(it, Call) for it in main)}"
            call = Call(name, 0, [(k, p) for k, p, _ in e.ins], [r for _, _, r in e.ins], [], [], name, False, True, segment=e.kw)
            items = call.items
        elif e.kind == "whole":
            call.outs = list(e.outs)
            main.append(call)
            call, items = None, main
        elif e.kind == "enter":
            at = None if call or (loop and loop.listed) else _stack_of(e.path, spelled)
            if at:
                again = before.get(e.path) if last.get(at[0]) == e.path else None  # one layer, not a stack that runs again
                last[at[0]] = e.path
                if again:
                    again.shared = True
                call = Call(
                    at[0],
                    again.index + 1 if again else at[1],
                    [(k, p) for k, p, _ in e.ins],
                    [r for _, _, r in e.ins],
                    [],
                    [],
                    e.path,
                    e.checkpoint,
                    again is not None,
                )
                before[e.path] = call
                items = call.items
        elif e.kind == "exit":
            if call and e.path == call.path:
                call.outs = list(e.outs)
                main.append(call)
                call, items = None, main
        elif e.kind == "drop":
            if items and isinstance(items[-1], Drop):
                items[-1].values.extend(e.outs)
            else:
                items.append(Drop(list(e.outs)))
        else:
            scope = "" if loop and not loop.listed else e.path  # a round belongs to the module its loop is in
            items.append(
                Op(e.name, e.ins, e.kw, list(e.outs), scope, e.noamp, e.nograd, e.kind == "call", e.path if e.kind == "call" else "")
            )
    return main


def _loops(items, metas):
    """Items with each loop as its first round and a repeat of the later ones, which also let go of what the one before made."""
    if not any(isinstance(it, Loop) for it in items):
        return items
    flat = []
    for it in items:
        if isinstance(it, Loop):
            flat.extend(it.rounds[0])
            flat.extend(Call(ROUNDS, k, [], [], [], body, "", False, listed=it.listed) for k, body in enumerate(it.rounds) if k > 0)
        else:
            flat.append(it)
    return fold(flat, metas)


def _refs(x):
    if isinstance(x, (Value, Weight, Local)):
        yield x
    elif isinstance(x, (list, tuple)):
        for y in x:
            yield from _refs(y)


def _made(items):
    """Values that items make."""
    return {o for it in items if isinstance(it, (Op, Repeat)) for o in it.outs if isinstance(o, Value)} | {
        v for it in items if isinstance(it, Repeat) for m in it.collect if m for v in m.values
    }


def _is_made(value, items):
    """Whether items make a value and do not only write into it."""
    return not any(value in it.outs for it in items if isinstance(it, Op)) or any(
        value in it.outs and value not in it.ins for it in items if isinstance(it, Op)
    )


def _uses(item):
    if isinstance(item, Op):
        return list(_refs([*item.ins, *item.kw.values()]))
    if isinstance(item, Drop):
        return item.values
    return list(_refs(item.ins))


def _complete(main):
    """Adds to each call what it uses without being given it, and what it makes that others use without being returned."""
    for k, item in enumerate(main):
        if not isinstance(item, Call):
            continue
        made = _made(item.items)
        own, given = {v for v in made if _is_made(v, item.items)}, set(item.ins)
        for it in item.items:
            for r in _uses(it):
                if isinstance(r, Value) and r not in own and r not in given:
                    given.add(r)
                    item.keys.append((f"outer.{len(item.ins)}", False))
                    item.ins.append(r)
        out, kept = set(item.outs), []
        dropped = {
            v
            for it in item.items
            for v in (
                it.values
                if isinstance(it, Drop)
                else [*it.gone, *(v for v, q in zip(it.ins, it.carry) if q is not None)]
                if isinstance(it, Repeat)
                else ()
            )
        }
        for v in sorted(made - dropped - out, key=lambda v: v.id):
            kept.append(v)
        item.outs.extend(kept)


def _unused(call):
    """Arguments a call is given but never touches, as parameters: not inputs."""
    keep = [j for j, r in enumerate(call.ins) if isinstance(r, Value)]
    call.keys, call.ins = [call.keys[j] for j in keep], [call.ins[j] for j in keep]


def _lists(items):
    """Which list each kept value is in."""
    return {v: m for it in items if isinstance(it, Repeat) for m in it.collect if m for v in m.values}


def _whole(values, many):
    """Values with each list named once where all of it stands."""
    result, k = [], 0
    while k < len(values):
        m = many.get(values[k]) if isinstance(values[k], Value) else None
        if m is None:
            result.append(values[k])
            k += 1
            continue
        if set(values[k : k + len(m.values)]) != set(m.values):
            raise NotFoldable("a list of what rounds made is used in part")
        result.append(m)
        k += len(m.values)
    return result


def _gathered(values, many):
    """What goes at once, with the members of each list beside each other: the last round's may have a name of its own, too, which goes
    after others."""
    first = {}
    place = lambda at, v: first.setdefault(many[v], at) if isinstance(v, Value) and v in many else at
    return [v for *_, v in sorted(((place(at, v), at, v) for at, v in enumerate(values)), key=lambda found: found[:2])] if many else values


def _inside(function, path, index):
    """A round's function in the names of the layer that its loop is in."""

    def ref(x):
        if isinstance(x, Weight):
            return Weight(path(x.name))
        if isinstance(x, Dtype):
            return Dtype(x.dtype, ref(x.source))
        return [ref(y) for y in x] if isinstance(x, list) else x

    function.layer = index
    for it in function.body:
        if isinstance(it, Op):
            it.ins, it.kw, it.scope, it.path = (
                [ref(x) for x in it.ins],
                {k: ref(v) for k, v in it.kw.items()},
                path(it.scope),
                path(it.path),
            )


def _named(it, ref):
    """A repeat with names for its values."""
    return Repeat(
        it.stack,
        it.start,
        it.stop,
        [ref(x) for x in it.ins],
        it.carry,
        [o and ref(o) for o in it.outs],
        it.functions,
        it.checkpoint,
        it.positional,
        [m and ref(m) for m in it.collect],
        passing=it.passing,
        segment=it.segment,
    )


def _localize(call, names, inputs, outputs, metas):
    """The call's items with local names; `names` maps a value of the trace to its input name."""
    local, many = dict(names), _lists(call.items)
    counter = [0]
    metas_by_name = {local[v]: metas[v.id] for v in local}
    prefix, index = call.stack, call.index

    def path(p):
        if call.listed:
            found = first_list(p)
            return f"{found[0]}.{{i}}{found[2]}" if found and found[1] == index else p
        if call.stack == ROUNDS:
            return re.sub(rf"{SIDE_BY_SIDE}{index}(?=\.|$)", r"\1{k}", p)
        return p if call.shared else re.sub(rf"^{re.escape(prefix)}\.{index}(?=\.|$)", f"{prefix}.{{i}}", p)

    def ref(x):
        if isinstance(x, Value):
            if x not in local:
                local[x] = str(counter[0])
                metas_by_name[local[x]] = metas[x.id]
                counter[0] += 1
            return Local(local[x])
        if isinstance(x, Weight):
            return Weight(path(x.name))
        if isinstance(x, Dtype):
            known = isinstance(x.source, Weight) or x.source in local
            return Dtype(x.dtype, ref(x.source) if known and x.source is not None else None)
        if isinstance(x, Many):
            return Local("*" + ref(x.values[0]).name)
        if isinstance(x, list):
            return [ref(y) for y in _whole(x, many)]
        return x

    body = []
    for it in call.items:
        if isinstance(it, Op):
            ins, kw = [ref(x) for x in it.ins], {k: ref(v) for k, v in it.kw.items()}
            body.append(Op(it.name, ins, kw, [ref(o) for o in it.outs], path(it.scope), it.noamp, it.nograd, it.leaf, path(it.path)))
        elif isinstance(it, Repeat):
            for f in it.functions:
                _inside(f, path, index)
            body.append(_named(it, ref))
        else:
            body.append(Drop(ref(_gathered(list(it.values), many))))
    return Function(inputs, body, [ref(o) for o in outputs], metas_by_name, prefix, index)


def _kept(values, gone, read, left, rounds):
    """The list of values none of which goes between the rounds, or None where there is none: of two rounds only where later code
    reads it or lets go of it at once (`left`), as the first's may be a name that is not overwritten yet."""
    if len(values) > 1 and len(set(values)) == 1:  # one that every round writes into
        return None
    listed = values and (
        values[0] in read or len(set(values)) == len(values) and (rounds > 2 or any(set(values) <= set(together) for together in left))
    )
    return Many(tuple(values)) if listed and not any(v in gone for v in values) else None


PASSING = "passing"


def _passing(calls, glue):
    """Carries through each round what a loop variable still names of the round before (attention weights in a tuple)."""
    rounds = range(1, len(calls))
    for q in range(min(len(c.outs) for c in calls)):
        if rounds and all((o := calls[k - 1].outs[q]) in glue[k] and o not in calls[k].ins and o not in calls[k].outs for k in rounds):
            for k in rounds:
                calls[k].keys.append((f"{PASSING}.{q}", False))
                calls[k].ins.append(calls[k - 1].outs[q])


def _fold(calls, glue, read, left, metas):
    """Repeats (with drops between) for consecutive calls of one stack. `glue[k]` are the values dropped after call k, `read` those that code behind the calls reads, `left` those it lets go of at once."""
    _passing(calls, glue)
    n = len(calls)
    start = calls[0].index
    keys = []
    for c in sorted(calls, key=lambda c: -len(c.keys)):  # a layer given everything has the order of the signature
        for key in c.keys:
            if key not in keys:
                keys.append(key)
    operand = [{key: r for key, r in zip(c.keys, c.ins)} for c in calls]
    width = max(len(c.outs) for c in calls)
    carry_of = {}
    for key in keys:
        for q in range(width):
            if n > 1 and all(len(calls[k - 1].outs) > q and operand[k].get(key) == calls[k - 1].outs[q] for k in range(1, n)):
                carry_of[key] = q
                break
    columns = []  # (key, source): one input of the folded function each
    for key in keys:
        if key in carry_of:
            columns.append((key, "carry"))
            continue
        sources = {r for c in operand if (r := c.get(key)) is not None}
        for r in sorted(sources, key=lambda r: r.id):
            if any(r in c.outs for c in calls) and r not in operand[0].values():
                raise NotFoldable(f"{calls[0].stack}: input {key[0]} of a layer comes from another layer")
            columns.append((key, r))
    ins, positional = [], []
    for j, (key, source) in enumerate(columns):
        ins.append(operand[0].get(key) if source == "carry" else source)
        if key[1]:
            positional.append(j)
    inputs = [f"x{j}" for j in range(len(columns))]
    functions, told = [], []
    for k, c in enumerate(calls):
        names = {}
        told.append({j for j, (key, source) in enumerate(columns) if (r := operand[k].get(key)) is not None and source in ("carry", r)})
        for j, (key, source) in enumerate(columns):
            r = operand[k].get(key)
            if r is not None and (source == "carry" or source == r):
                names.setdefault(r, inputs[j])
        functions.append(_localize(c, names, inputs, c.outs, metas))
    carry = [carry_of.get(key) if source == "carry" else None for key, source in columns]
    held = [q in carry for q in range(width)]
    inside = [{v for it in c.items if isinstance(it, Drop) for v in it.values} for c in calls]
    gone = set().union(*inside, *glue[: n - 1])
    collect = [
        _kept([c.outs[q] for c in calls[: n - 1 if held[q] else n]], gone, read, left, n)
        if n > 1 and all(len(c.outs) == width for c in calls)
        else None
        for q in range(width)
    ]
    # after each round but the first, exactly the carried values that the round consumed go
    for k in range(1, n):
        consumed = [calls[k - 1].outs[q] for q in range(width) if held[q] and calls[k - 1].outs[q] not in calls[k].outs]
        # what a loop variable still names of the round before (attention weights in a tuple) goes a round early here
        passing = [o for c in calls[k - 1 : k + 1] for q, o in enumerate(c.outs) if not held[q]]
        extra = [v for v in glue[k] if v not in consumed]
        missing = [v for v in consumed if v not in glue[k] and v not in inside[k] and not any(m and v in m.values for m in collect)]
        if missing or (k < n - 1 and any(v not in passing for v in extra)):
            raise NotFoldable(f"{calls[0].stack}: drops after layer {calls[k].index}: missing {missing}, extra {extra}")
    first = [v for v in glue[0] if not any(v == o for q, o in enumerate(calls[0].outs) if not held[q])]
    last = [v for v in glue[n - 1] if v not in calls[n - 2].outs] if n > 1 else []
    outs = lambda k: [o if held[q] or k == n - 1 and o not in glue[k] and not collect[q] else None for q, o in enumerate(calls[k].outs)]

    def rounds(a, b, operands):
        """Rounds a to b; what a first round is not given yet is no input of it."""
        given = [j for j, r in enumerate(operands) if r is not None]
        part = functions[a:b]
        for f in part:
            f.inputs = [inputs[j] for j in given]
        place = {j: k for k, j in enumerate(given)}
        for f, own in zip(part, told[a:b]):
            f.withheld = [place[j] for j in given if j not in own]
        return Repeat(
            calls[0].stack,
            start + a,
            start + b,
            [operands[j] for j in given],
            [carry[j] for j in given],
            outs(b - 1),
            part,
            calls[0].checkpoint,
            [place[j] for j in positional if j in place],
            [m if b == n else None for m in collect] if any(collect) else [],
            frozenset().union(*inside),
            [k for j, k in place.items() if columns[j][0][0].startswith(PASSING)],
            calls[0].segment,
        )

    if n == 1 or not first and None not in ins:
        result = [rounds(0, n, ins)]
        if n == 1 and glue[0]:
            result.append(Drop(glue[0]))
    else:
        later = [calls[0].outs[carry[j]] if carry[j] is not None else r for j, r in enumerate(ins)]
        result = [rounds(0, 1, ins), *([Drop(first)] if first else []), rounds(1, n, later)]
    lists = [v for m in collect if m for v in m.values if v in glue[n - 1]]
    left = lists + [v for v in last if v not in lists and (v not in calls[n - 1].outs or held[calls[n - 1].outs.index(v)])]
    if n > 1 and left:
        result.append(Drop(left))
    return result


# Views that a loop over layers takes of one tensor, each layer its own (the embeddings of Gemma's layers).
_PARTS = ("select.int", "slice.Tensor")


def _inward(main):
    """Moves views that stand between the layers of a stack, each for the next layer alone, into that layer: a view takes no memory."""
    at = {id(it): k for k, it in enumerate(main)}
    moved, gone = set(), {}
    calls = [it for it in main if isinstance(it, Call)]
    for before, call in zip([None, *calls], calls):
        first = at[id(before)] + 1 if before and before.stack == call.stack else max(0, at[id(call)] - 4)
        between = main[first : at[id(call)]]
        views = [it for it in between if isinstance(it, Op) and it.name in _PARTS]
        if before and before.stack == call.stack and views and all(isinstance(it, Drop) or it in views for it in between):
            moved.update(map(id, views))
            gone.update({o: call for it in views for o in it.outs})
            call.inward = views
    for stack in {c.stack for c in calls if c.inward}:  # the first layer's stand before the stack
        first, second = [c for c in calls if c.stack == stack][:2]
        views = [it for it in main[: at[id(first)]] if isinstance(it, Op) and it.name in _PARTS and set(it.outs) & set(first.ins)]
        chain = {o for it in second.inward for o in it.outs}
        sources = {r for it in second.inward for r in _refs(it.ins) if r not in chain}
        views = _chain(main[: at[id(first)]], views, sources)
        if [it.name for it in views] == [it.name for it in second.inward]:
            moved.update(map(id, views))
            gone.update({o: first for it in views for o in it.outs})
            first.inward = views
    if not moved:
        return main
    result = []
    for it in main:
        if id(it) in moved:
            continue
        if isinstance(it, Drop):
            it.values = [v for v in it.values if v not in gone]
            if not it.values:
                continue
        if isinstance(it, Call) and it.inward:
            made = {o for v in it.inward for o in v.outs}
            keep = [j for j, r in enumerate(it.ins) if r not in made]
            it.keys, it.ins = [it.keys[j] for j in keep], [it.ins[j] for j in keep]
            dropped = {v for d in it.items if isinstance(d, Drop) for v in d.values}
            it.items = [*it.inward, *it.items, Drop([o for v in it.inward for o in v.outs if o not in dropped])]
        result.append(it)
    return result


def _chain(items, views, sources):
    """The views of `sources` that end in `views`, in order."""
    wanted, found = {r for it in views for r in _refs(it.ins)}, list(views)
    for it in reversed(items):
        if isinstance(it, Op) and it.name in _PARTS and it not in found and set(it.outs) & wanted - sources:
            found.insert(0, it)
            wanted |= set(_refs(it.ins))
    return found


def fold(main, metas):
    """Main's items with every stack of layers folded into repeats."""
    main = _inward(main)
    for item in main:
        if isinstance(item, Call):
            item.items = _loops(item.items, metas)
    _complete(main)
    for item in main:
        if isinstance(item, Call):
            _unused(item)
    result, i = [], 0
    while i < len(main):
        item = main[i]
        if not isinstance(item, Call):
            result.append(item)
            i += 1
            continue
        calls, glue = [item], []
        i += 1
        while True:
            dropped = []
            if i < len(main) and isinstance(main[i], Drop):
                dropped = list(main[i].values)
                i += 1
            glue.append(dropped)
            if i < len(main) and isinstance(main[i], Call) and main[i].stack == item.stack and main[i].index == calls[-1].index + 1:
                calls.append(main[i])
                i += 1
            else:
                break
        read = {r for it in main[i:] if not isinstance(it, Drop) for r in _uses(it)}
        left = [it.values for it in main[i:] if isinstance(it, Drop)]
        for part, between in _parts(calls, glue, read):
            result.extend(_fold(part, between, read, left, metas))
    return result


def _parts(calls, glue, read):
    """The calls of a stack, cut after each whose result later code reads by itself (the features of one layer); with the drops
    between them. What is read of every layer is a list instead."""
    picked = [any(o in read for o in c.outs) for c in calls]
    shared = _sharing(calls, glue)
    if picked[0] and not shared:
        return [(calls, glue)]
    cuts = sorted(
        {k + 1 for k, p in enumerate(picked[:-1]) if p and not picked[0]} | {k for s in shared for k in (s, s + 1) if 0 < k < len(calls)}
    )
    bounds = zip([0, *cuts], [*cuts, len(calls)])
    return [(calls[a:b], glue[a:b]) for a, b in bounds]


def _sharing(calls, glue):
    """Layers that make what layers far behind use, or hold to the end (keys and values that others share)."""
    usual = min(len(c.outs) for c in calls)
    handed = lambda j, o: o in calls[j - 1].outs  # what each layer hands on is carried
    beyond = lambda k, o: (
        any(o in calls[j].ins and not handed(j, o) for j in range(k + 2, len(calls)))
        or len(calls) > 2
        and calls[k].outs.index(o) >= usual
        and not any(o in g for g in glue[: k + 2])
    )
    return [k for k, c in enumerate(calls) if any(beyond(k, o) for o in c.outs)]


def functions(trace, spelled=None):
    """Main of a trace, with repeats that hold their rounds' functions."""
    items = nest(_rejoined(clean(trace)), spelled)
    items = _loops(items, trace.values) if any(isinstance(it, Loop) for it in items) else fold(items, trace.values)
    local, counter, metas, many = {}, [0], {}, _lists(items)
    batch = set(trace.batch.values())
    for name, v in trace.batch.items():
        local[v] = name
        metas[name] = trace.values[v.id]

    def ref(x):
        if isinstance(x, Value):
            if x not in local:
                local[x] = str(counter[0])
                counter[0] += 1
                metas[local[x]] = trace.values[x.id]
            return Local(local[x])
        if isinstance(x, Dtype):
            return Dtype(x.dtype, ref(x.source) if isinstance(x.source, Weight) or x.source in local else None)
        if isinstance(x, Many):
            return Local("*" + ref(x.values[0]).name)
        if isinstance(x, list):
            return [ref(y) for y in _whole(x, many)]
        return x

    body = []
    for it in items:
        if isinstance(it, Drop):
            kept = ref(_gathered([v for v in it.values if v not in batch], many))
            if kept:
                body.append(Drop(kept))
        elif isinstance(it, Op):
            ins, kw = [ref(x) for x in it.ins], {k: ref(v) for k, v in it.kw.items()}
            body.append(Op(it.name, ins, kw, [ref(o) for o in it.outs], it.scope, it.noamp, it.nograd, it.leaf, it.path))
        else:
            body.append(_named(it, ref))
    main = Function(list(trace.batch), body, [ref(o) for o in trace.outputs if o not in trace.held], metas)
    for v in map(ref, trace.held):  # counted where it is held, not as an output
        last = max(k for k, it in enumerate(body) if v in (it.outs if isinstance(it, Op) else ()) or v in _uses(it))
        body.insert(last + 1, Drop([v]))
    main.held = [(trace.values[v.id].shape, trace.values[v.id].dtype) for v in trace.held]
    pending = [main]
    while pending:
        f = pending.pop()
        f.amp, f.weights = trace.amp, trace.weights
        pending.extend(g for it in f.body if isinstance(it, Repeat) for g in it.functions)
    return main
