"""What is known of a number in several recordings: config keys and sizes, of the model and of a layer, and the expression that gives it in all of them."""

import contextlib
import json
from .fit import NotExplained


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


def by_first(found, index, kind, explain):
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


def by_side(found, index, kind, explain, depths):
    """As `by_first`, or of the layers before and behind a depth (blocks that stand behind a stage's downsampling)."""
    for side in [None, *depths]:
        with contextlib.suppress(NotExplained):
            if side is None:
                return by_first(found, index, kind, explain)
            parts = [[x for x in found if (index(x) < x[0].env[side]) == before] for before in (True, False)]
            if all(parts):
                return [(part, explain(part)) for part in parts]
    return by_first(found, index, kind, explain)


def alike(found, explain, depths):
    """`explain` of all layers that have a tensor, or, where one shape does not serve, of those on either side of a depth (only where
    a switch is on, perhaps), of each kind of layer, or of kinds on either side: whichever is said most shortly."""
    if found[0][1] is None:  # of no layer
        return [(found, explain(found))]
    with contextlib.suppress(NotExplained):
        return by_first(found, lambda f: f[1], lambda f: None, explain)
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
        return by_first(found, lambda f: f[1], lambda f: None, explain)
    return min(explained, key=lambda parts: sum(len(e) for _, sizes in parts for e in sizes))
