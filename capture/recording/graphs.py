"""Captures every graph of a family: tasks x attention x branches, each at several config points and dtype regimes."""

import contextlib
import gc
import itertools
import json
import math
import random
import re

from . import environment  # noqa: F401  (before transformers)
import torch
import transformers

from ..families.composed import of_side
from ..families.every_family import FAMILIES
from ..families.family import Family, Option
from vram_lens.tracing.fit import Fitter, NotExplained, condition
from vram_lens.tracing.layers import functions
from vram_lens.tracing.regimes import REGIMES
from .run import make_config, run
from ..families.usual_keys import LAYERS
from vram_lens.tracing.explaining import LISTED
from vram_lens.tracing.write import graph

_NAME = re.compile(r"[A-Za-z_][\w.]*")


def flat(config, prefix=""):
    """Config keys with dots for nested ones and for the numbers of short lists; other lists are left to the graph's own conditions."""
    out = {}
    for k, v in config.items():
        if k in ("id2label", "label2id"):
            continue
        if isinstance(v, dict):
            out.update(flat(v, f"{prefix}{k}."))
        elif isinstance(v, (list, tuple)) and len(v) <= 13 and all(isinstance(x, (int, float)) and math.isfinite(x) for x in v):
            out.update({f"{prefix}{k}.{n}": x for n, x in enumerate(v)}, **{f"{prefix}{k}.length": len(v)})
        elif isinstance(v, (list, tuple)) and v and all(isinstance(x, (list, tuple)) for x in v):
            out[f"{prefix}{k}.length"] = len(v)
        elif isinstance(v, (bool, int, float, str)) or v is None:
            out[prefix + k] = v
    return out


def draw_sizes(r, task):
    b = r.choice((2, 3, 4, 5, 6, 7))
    if task in ("image-cls", "image-segmentation", "masked-image"):
        return {"B": b}
    if task == "audio-cls":
        return {"B": b, "A": r.randint(4000, 9000)}
    if task == "ctc":
        return {"B": b, "A": r.randint(4000, 9000), "T": r.randint(3, 9)}
    if task == "speech-seq2seq":
        return {"B": b, "T": r.randint(11, 40), "A": r.randint(20000, 40000)}
    if task == "image-text-to-text":
        return {"B": b, "S": r.randint(300, 340)}
    sizes = {"B": b, "S": r.randint(11, 40)}
    if task == "multiple-choice":
        sizes["C"] = r.randint(2, 5)
    if task == "seq2seq-lm":
        sizes["T"] = r.randint(11, 40)
    return sizes


TERMS = {"multiple-choice": ("B//C",)}
"""Quotients that the code of a task's head uses: `B` counts the choices of all questions, each a text of its own."""


def point(family, task, options, seed):
    """Settings and sizes of one config point, the same for the same seed."""
    r = random.Random(f"{seed}")
    settings, sizes = family.dims(r), draw_sizes(r, task)
    if isinstance(seed, int):  # biases and tied heads are seen both ways, each in a pattern of its own, whatever chance would give
        switches = [k for k, v in settings.items() if isinstance(v, bool) and ("bias" in k or k == "tie_word_embeddings")]
        settings |= {k: (seed & (1 + n % 7)).bit_count() % 2 == 1 for n, k in enumerate(switches)}
    if family.sizes:
        family.sizes(settings, sizes, r)
    family.suited(task, settings, r)
    for option in options:
        option.change(settings, sizes, r)
    return settings, sizes


def capture(name, task, attention, options, seed, regime=REGIMES[0]):
    """One capture, ready for fitting."""
    settings, sizes = point(FAMILIES[name], task, options, seed)
    c = run(name, settings, task, attention, sizes, regime, FAMILIES[name].follows(settings))
    c.spelled = FAMILIES[name].spelled
    c.function = functions(c.trace, c.spelled)
    c.load, c.states, c.raised = regime.load, regime.amp or regime.load, bool(regime.norms)
    c.trace = None
    c.env = flat(c.config)
    c.settings = {k: v for k, v in flat(settings).items() if v is not None}
    c.env.update(c.settings)
    for term in (*FAMILIES[name].terms, *FAMILIES[name].depths, *TERMS.get(task, ())):
        known = {**c.env, **c.sizes}
        if all(isinstance(known.get(n), (int, float)) for n in _NAME.findall(term) if n not in ("ceil_div", "min")):
            c.env[term] = eval(
                _NAME.sub(lambda m: str(known.get(m.group(), m.group())), term),
                {"__builtins__": {}, "min": min, "ceil_div": lambda a, b: -(-a // b)},
            )
    return c


def capture_class(name, task, attention, options, seeds, when):
    """The graph of one class: points in one regime, then one more point in each other regime."""
    first, *others = FAMILIES[name].regimes or REGIMES
    plan = [(s, first) for s in seeds] + [(seeds[-1] + k, g) for k, g in enumerate(others, 1)]
    captures = [capture(name, task, attention, options, s, g) for s, g in plan]
    keys = [k for k, v in captures[0].settings.items() if isinstance(v, int) and not isinstance(v, bool)]
    for key in LAYERS:
        if key in keys and len({c.settings[key] for c in captures}) == 1:
            raise NotExplained(f"{key} is the same at every point: the depth would be a constant")
    family = FAMILIES[name]
    atoms = [
        "B",
        "S",
        "T",
        "I",
        "A",
        "C",
        *dict.fromkeys(
            k
            for c in captures
            for k in [*c.settings, *(n for n in c.env if isinstance(c.env[n], (int, float, str)) and not isinstance(c.env[n], bool))]
        ),
    ]
    unused = () if task.endswith("-cls") or task == "image-segmentation" else ("num_labels",)
    # How often a layer is skipped is no operator's number: what is as large (nothing) is a constant of the code.
    atoms = [a for a in atoms if a not in (*family.hidden, *unused) and not a.endswith("layerdrop")]
    return graph(captures, task, attention, when, atoms, [*keys, *family.depths], family.depths)


def family_graphs(name, tasks=None, attentions=None, log=print):
    """The family's file content, of some tasks or kinds of attention only where they are named."""
    family = FAMILIES[name]
    gc.freeze()  # what is imported by now stays: collections between captures are cheap
    graphs = []
    for task in tasks or family.tasks:
        for attention in (a for a in family.attention if a in (attentions or family.attention)):
            graphs.extend(graphs_of(name, task, attention))
            if name in WORDS:
                graphs[:0] = texts_alone(name, task, attention)
            log(f"{name} {task} {attention}")
    return {
        "family": name,
        "captured": {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0], "license": "Apache-2.0"},
        **facts(name, family, graphs),
        "head": None,
        "graphs": graphs,
    }


def graphs_of(name, task, attention):
    """The graphs of one task and kind of attention, one for each branch of the family's code."""
    family = FAMILIES[name]
    points = family.points if task == family.tasks[0] or name in WHOLE else max(2, family.points - 1)  # only the head is new
    classes = [(options, capture_class(name, task, attention, options, range(points), [])) for options in itertools.product(*family.axes)]
    return minimal(classes, family.axes, task, attention)


WHOLE = ("led",)
"""Families whose every head takes as many points as the first: with fewer, its padding fits what it does not follow from."""
ALONE = Option("I == 0", lambda d, s, r: s.update(I=0))
"""Texts without pictures, for models that read both."""
WORDS = ("gemma3", "gemma4", "mistral3", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
"""Families that people often train on texts alone."""


def texts_alone(name, task, attention):
    """Graphs of texts without pictures, which stand before the others: a side of nought tells them."""
    family = FAMILIES[name]
    chosen = [(*options, ALONE) for options in itertools.product(*family.axes)]
    classes = [(options, capture_class(name, task, attention, options, range(family.points), [])) for options in chosen]
    return minimal(classes, (*family.axes, (ALONE,)), task, attention)


def minimal(classes, axes, task, attention):
    """Graphs with the fewest conditions: options that give equal graphs are joined."""
    groups = {}
    for options, g in classes:
        groups.setdefault(json.dumps(g, sort_keys=True), (g, []))[1].append(options)
    result = []
    for g, members in groups.values():
        seen = [[o for o in axis if any(m[a] is o for m in members)] for a, axis in enumerate(axes)]
        whole = len(members) == math.prod(len(s) for s in seen)
        for part in [seen] if whole else [[[o] for o in m] for m in members]:
            result.append({**g, "when": [w for s, axis in zip(part, axes) if (w := _either(s, axis))]})
    return result


def conditioned(graphs, family):
    """Stored graphs with the conditions of branches of which only one was captured."""
    only = [axis[0].when for axis in family.axes if len(axis) == 1 and axis[0].when]
    return [{**g, "when": [*g["when"], *(w for w in only if w not in g["when"])]} for g in graphs]


def _either(options, axis):
    """What a config must say for some options of an axis: nothing where they are all there are, unless it is the only branch that was captured."""
    if len(options) == len(axis) > 1 or any(not o.when for o in options):
        return ""
    return options[0].when if len(options) == 1 else " or ".join(f"({o.when})" for o in options)


def facts(name, family, graphs):
    """What the config class of a family says, or those of a pair's sides."""
    return parted_facts(family, graphs) if family.parts else config_facts(name, family)


def config_facts(name, family):
    """Defaults, derived keys, aliases and layer kinds of the config class."""
    drawn = [family.dims(random.Random(f"facts{k}")) for k in range(6)]
    default = make_config(name, {})
    sides = {k: {} for k, v in drawn[0].items() if isinstance(v, dict) and getattr(default, k, v) is None}  # none unless a file has them
    default = make_config(name, sides)
    stored = default.to_dict()
    keys = [k for k, v in drawn[0].items() if isinstance(v, int) and not isinstance(v, bool)]
    derived = dict(family.derived)
    for key in keys:
        if key in derived:
            continue
        rest = [{k: v for k, v in d.items() if k != key} for d in drawn]
        try:
            values = [getattr(make_config(name, d), key, None) for d in rest]
        except Exception:
            continue
        if len({str(v) for v in values}) > 1 and all(isinstance(v, int) for v in values):
            derived.setdefault(key, str(Fitter(rest, [k for k in keys if k != key]).integer(values)).removeprefix("="))
    configs = [make_config(name, d).to_dict() for d in drawn]
    for key, value in stored.items():  # keys nobody sets that follow others
        if key in drawn[0] or key in derived or key in SKIPPED or isinstance(value, (list, dict)):
            continue
        values = [c.get(key) for c in configs]
        if any(v != value for v in values):
            if all(isinstance(v, int) and not isinstance(v, bool) for v in values):
                derived[key] = following(drawn, keys, values)
            else:
                stored = {k: v for k, v in stored.items() if k != key}
    for part in (k for k, v in stored.items() if isinstance(v, dict) and k.endswith("_config") and isinstance(drawn[0].get(k), dict)):
        found = parted(name, part, drawn, derived)
        derived |= found
        stored[part] = {k: v for k, v in stored[part].items() if f"{part}.{k}" not in derived}
    unknown = [k for k in drawn[0] if k in stored and stored[k] is None and k not in derived and k not in NULLABLE]
    if unknown:
        raise NotExplained(f"null by default, and nothing says what the code takes then: {unknown}")
    defaults = {"num_labels": 2}  # of every config class (transformers/configuration_utils.py)
    defaults |= {k: v for k, v in stored.items() if k not in derived and v is not None and k not in SKIPPED}
    if getattr(default, "tie_word_embeddings", False) and "tie_word_embeddings" not in stored:  # some classes state it outside their fields
        defaults["tie_word_embeddings"] = True
    kind = None
    if family.kind:
        kind = family.kind
    elif configs[0].get("layer_types"):
        kind = layer_kind(name, drawn, keys)
    return {
        "defaults": defaults,
        "derived": derived,
        "layerKind": kind,
        "aliases": {**type(default).attribute_map, **family.aliases},
        **({"kernels": family.kernels} if family.kernels else {}),
        **({"assumes": list(family.assumes)} if family.assumes else {}),
    }


def following(drawn, keys, values):
    """The expression of a key that follows others of a config, or of the parts inside it."""
    envs = [flat(d) for d in drawn]
    inside = [k for k, v in envs[0].items() if "." in k and isinstance(v, int) and not isinstance(v, bool)]
    for names in (keys, [*keys, *inside]):
        with contextlib.suppress(NotExplained):
            return str(Fitter(envs, names).integer(values)).removeprefix("=")
    raise NotExplained(f"{values} over {envs[:3]}")


def parted_facts(family, graphs):
    """What classes of a pair's sides fill in, by the kind of side: only of keys that the graphs name."""
    text, derived = json.dumps(graphs), {}
    for side, kinds in family.parts.items():
        found = {
            kind: config_facts(
                kind,
                Family(
                    lambda r, d=dims: {k: v for k, v in d(r).items() if k != "model_type"},
                    derived=FAMILIES[kind].derived if kind in FAMILIES else {},
                ),
            )
            for kind, dims in kinds.items()
        }
        filled = {
            kind: {**flat(own["defaults"]), **{k: f"({of_side(side, v)})" for k, v in own["derived"].items()}}
            for kind, own in found.items()
        }
        for key in sorted({k for values in filled.values() for k in values}):
            if re.search(rf"\b{side}\.{re.escape(key)}\b", text):
                derived[f"{side}.{key}"] = _of_kinds(side, {kind: values[key] for kind, values in filled.items() if key in values})
    return {"defaults": {"num_labels": 2}, "derived": derived, "layerKind": None, "aliases": {}}


def _of_kinds(side, values):
    """The value of the kind that a side is, of the kinds that have the key; `or` passes over nought, so that comes last."""
    spelled = lambda v: v if isinstance(v, str) and v.startswith("(") else f"'{v}'" if isinstance(v, str) else json.dumps(v)
    if len({json.dumps(v) for v in values.values()}) == 1:
        return spelled(next(iter(values.values())))
    tests = [f"{side}.model_type == '{kind}' and {spelled(v)}" for kind, v in values.items() if v]
    return " or ".join([*tests, "null" if all(values.values()) else "0"])


def parted(name, part, drawn, derived):
    """Keys of a nested config that follow others of it where a file leaves them out."""
    result, envs = {}, [flat(d) for d in drawn]
    whole = [flat(make_config(name, d).to_dict()[part]) for d in drawn]
    own = [k for k, v in drawn[0][part].items() if isinstance(v, int) and not isinstance(v, bool)]
    for key in {*own, *(k for k in whole[0] if "." not in k and k not in drawn[0][part] and k not in SKIPPED)}:
        if f"{part}.{key}" in derived:
            continue
        try:
            values = [
                flat(make_config(name, {**d, part: {k: v for k, v in d[part].items() if k != key}}).to_dict()[part]).get(key) for d in drawn
            ]
            if len(set(values)) > 1 and all(isinstance(v, int) and not isinstance(v, bool) for v in values):
                result[f"{part}.{key}"] = str(Fitter(envs, [f"{part}.{k}" for k in own if k != key]).integer(values)).removeprefix("=")
        except Exception:  # the class asks for it, or takes it from elsewhere
            continue
    return dict(sorted(result.items()))


NULLABLE = {"sliding_window", "pad_token_id", "decoder_start_token_id"}
SKIPPED = {
    *(k for k in LISTED if k != "intermediate_size"),
    "transformers_version",
    "model_type",
    "architectures",
    "layer_types",
    "return_dict",
    "output_hidden_states",
    "output_attentions",
    "dtype",
    "chunk_size_feed_forward",
    "id2label",
    "label2id",
    "problem_type",
    "is_encoder_decoder",
    "bos_token_id",
    "eos_token_id",
    "sep_token_id",
    "initializer_range",
    "use_cache",
    "_name_or_path",
    "task_specific_params",
}


def layer_kind(name, drawn, keys):
    """Expression of `i` for `layer_types[i]` where the config does not list it; `and`/`or` give the operand, as in Python."""
    depth = next(k for k in LAYERS if k in drawn[0])
    configs = [
        make_config(name, {**{k: v for k, v in d.items() if k not in ("layer_types", *LISTED)}, depth: 7 + 3 * n})
        for n, d in enumerate(drawn)
    ]
    places = [(c, i) for c in configs for i in range(len(c.layer_types))]
    envs = [{**{k: v for k, v in flat(c.to_dict()).items() if k in keys}, "i": i} for c, i in places]
    kinds = [c.layer_types[i] for c, i in places]
    order = sorted(set(kinds))
    if len(order) == 1:
        return f"'{order[0]}'"
    if len(order) > 2:
        raise NotExplained(f"layer kinds {order}")
    test = condition(envs, [k == order[0] for k in kinds], keys)
    return f"({test}) and '{order[0]}' or '{order[1]}'"
