"""Merges the traces of one structural class into an architecture graph with expressions."""

import json

from .fit import Fitter, NotExplained, condition
from .forms import Repeat
from .explaining import OF_LAYER, by_side, difference, env_of
from .merging import StructureDiffers, dtype_name, merge, skeleton
from .parameters import expression_of, input_dtype, as_tied, tensors, tied


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
            for part, block in by_side(found, lambda x: x[1].index, lambda x: env_of(x[0], x[1].index).get("kind"), explain, depths):
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
        repeat["from"], repeat["to"] = expression_of(repeat["from"]), expression_of(repeat["to"])
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
                expression_of(fitter.integer([c.function.locals[n].shape[d] for c in captures]))
                for d in range(len(mains[0].locals[n].shape))
            ],
            "dtype": input_dtype({m.locals[n].dtype for m in mains}),
        }
        for n in mains[0].inputs
    ]
    held = [
        {
            "name": f"held.{k}",
            "shape": [expression_of(fitter.integer([m.held[k][0][d] for m in mains])) for d in range(len(shape))],
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
