"""A trace without what Python only passes through: moves between devices, views of what is whole, conversions that change nothing."""

from .record import Dtype, Event, Value, Weight


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
