"""One repeat in place of the calls of a stack: what is carried from layer to layer, what stays the same, what is collected."""

import re
from .record import Dtype, Value, Weight
from .forms import Drop, Function, Local, Many, NotFoldable, Op, Repeat
from .nesting import ROUNDS, SIDE_BY_SIDE, lists_of, first_list


def whole(values, many):
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


def gathered(values, many):
    """What goes at once, with the members of each list beside each other: the last round's may have a name of its own, too, which goes
    after others."""
    first = {}
    place = lambda at, v: first.setdefault(many[v], at) if isinstance(v, Value) and v in many else at
    return [v for *_, v in sorted(((place(at, v), at, v) for at, v in enumerate(values)), key=lambda found: found[:2])] if many else values


def inside_of(function, path, index):
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


def named(it, ref):
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


def localize(call, names, inputs, outputs, metas):
    """The call's items with local names; `names` maps a value of the trace to its input name."""
    local, many = dict(names), lists_of(call.items)
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
            return [ref(y) for y in whole(x, many)]
        return x

    body = []
    for it in call.items:
        if isinstance(it, Op):
            ins, kw = [ref(x) for x in it.ins], {k: ref(v) for k, v in it.kw.items()}
            body.append(Op(it.name, ins, kw, [ref(o) for o in it.outs], path(it.scope), it.noamp, it.nograd, it.leaf, path(it.path)))
        elif isinstance(it, Repeat):
            for f in it.functions:
                inside_of(f, path, index)
            body.append(named(it, ref))
        else:
            body.append(Drop(ref(gathered(list(it.values), many))))
    return Function(inputs, body, [ref(o) for o in outputs], metas_by_name, prefix, index)


def kept(values, gone, read, left, rounds):
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


def fold_calls(calls, glue, read, left, metas):
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
        functions.append(localize(c, names, inputs, c.outs, metas))
    carry = [carry_of.get(key) if source == "carry" else None for key, source in columns]
    held = [q in carry for q in range(width)]
    inside = [{v for it in c.items if isinstance(it, Drop) for v in it.values} for c in calls]
    gone = set().union(*inside, *glue[: n - 1])
    collect = [
        kept([c.outs[q] for c in calls[: n - 1 if held[q] else n]], gone, read, left, n)
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
