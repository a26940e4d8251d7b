"""The calls of layers in a flat trace: which events are of which layer, what each is given and what it leaves behind."""

import re
from .record import Value, Weight
from .forms import Call, Drop, Local, Loop, Op, Repeat


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


def refs_of(x):
    if isinstance(x, (Value, Weight, Local)):
        yield x
    elif isinstance(x, (list, tuple)):
        for y in x:
            yield from refs_of(y)


def made_by(items):
    """Values that items make."""
    return {o for it in items if isinstance(it, (Op, Repeat)) for o in it.outs if isinstance(o, Value)} | {
        v for it in items if isinstance(it, Repeat) for m in it.collect if m for v in m.values
    }


def is_made(value, items):
    """Whether items make a value and do not only write into it."""
    return not any(value in it.outs for it in items if isinstance(it, Op)) or any(
        value in it.outs and value not in it.ins for it in items if isinstance(it, Op)
    )


def uses_of(item):
    if isinstance(item, Op):
        return list(refs_of([*item.ins, *item.kw.values()]))
    if isinstance(item, Drop):
        return item.values
    return list(refs_of(item.ins))


def complete(main):
    """Adds to each call what it uses without being given it, and what it makes that others use without being returned."""
    for k, item in enumerate(main):
        if not isinstance(item, Call):
            continue
        made = made_by(item.items)
        own, given = {v for v in made if is_made(v, item.items)}, set(item.ins)
        for it in item.items:
            for r in uses_of(it):
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


def unused(call):
    """Arguments a call is given but never touches, as parameters: not inputs."""
    keep = [j for j, r in enumerate(call.ins) if isinstance(r, Value)]
    call.keys, call.ins = [call.keys[j] for j in keep], [call.ins[j] for j in keep]


def lists_of(items):
    """Which list each kept value is in."""
    return {v: m for it in items if isinstance(it, Repeat) for m in it.collect if m for v in m.values}
