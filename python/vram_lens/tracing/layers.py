"""Turns a flat trace into functions: `main`, and one function per kind of layer, with repeats folded.

Numbers stay numbers here; `fit` explains them afterwards. In a function's body every operand is canonical: two layers
that do the same thing give equal skeletons.
"""

from .events import Dtype, Value, Weight
from .cleaning import _rejoined, clean
from .folding import fold_calls, gathered, named, whole
from .forms import Call, Drop, Function, Local, Loop, Many, Op, Repeat
from .nesting import ROUNDS, complete, lists_of, refs_of, unused, uses_of, nest


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
        sources = {r for it in second.inward for r in refs_of(it.ins) if r not in chain}
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
    wanted, found = {r for it in views for r in refs_of(it.ins)}, list(views)
    for it in reversed(items):
        if isinstance(it, Op) and it.name in _PARTS and it not in found and set(it.outs) & wanted - sources:
            found.insert(0, it)
            wanted |= set(refs_of(it.ins))
    return found


def fold(main, metas):
    """Main's items with every stack of layers folded into repeats."""
    main = _inward(main)
    for item in main:
        if isinstance(item, Call):
            item.items = _loops(item.items, metas)
    complete(main)
    for item in main:
        if isinstance(item, Call):
            unused(item)
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
        read = {r for it in main[i:] if not isinstance(it, Drop) for r in uses_of(it)}
        left = [it.values for it in main[i:] if isinstance(it, Drop)]
        for part, between in _parts(calls, glue, read):
            result.extend(fold_calls(part, between, read, left, metas))
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
    local, counter, metas, many = {}, [0], {}, lists_of(items)
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
            return [ref(y) for y in whole(x, many)]
        return x

    body = []
    for it in items:
        if isinstance(it, Drop):
            kept = ref(gathered([v for v in it.values if v not in batch], many))
            if kept:
                body.append(Drop(kept))
        elif isinstance(it, Op):
            ins, kw = [ref(x) for x in it.ins], {k: ref(v) for k, v in it.kw.items()}
            body.append(Op(it.name, ins, kw, [ref(o) for o in it.outs], it.scope, it.noamp, it.nograd, it.leaf, it.path))
        else:
            body.append(named(it, ref))
    main = Function(list(trace.batch), body, [ref(o) for o in trace.outputs if o not in trace.held], metas)
    for v in map(ref, trace.held):  # counted where it is held, not as an output
        last = max(k for k, it in enumerate(body) if v in (it.outs if isinstance(it, Op) else ()) or v in uses_of(it))
        body.insert(last + 1, Drop([v]))
    main.held = [(trace.values[v.id].shape, trace.values[v.id].dtype) for v in trace.held]
    pending = [main]
    while pending:
        f = pending.pop()
        f.amp, f.weights = trace.amp, trace.weights
        pending.extend(g for it in f.body if isinstance(it, Repeat) for g in it.functions)
    return main
