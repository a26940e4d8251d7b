"""Families of pictures and text whose text side is a family of its own in `families.py` or `text.py`."""

import re

from . import pictures_and_text, pictures_and_text_configs, text
from .family import Option

_NAME = re.compile(r"'[^']*'|[a-z_][\w.]*")
_WORDS = {"null", "true", "false", "and", "or", "not", "min", "max", "ceil_div", "i"}


def of_side(side, expression):
    """An expression in keys of one side, as the whole config has them."""
    return _NAME.sub(lambda m: m.group() if m.group()[0] == "'" or m.group() in _WORDS else f"{side}.{m.group()}", expression)


def of_text(expression):
    """An expression in keys of the text side, as the whole config has them."""
    return of_side("text_config", expression)


def inside(axis):
    """Branches of the text side."""
    return tuple(Option(of_text(o.when), lambda d, s, r, o=o: o.change(d["text_config"], s, r)) for o in axis)


def _chunks(whole):
    """The delta rule goes over chunks of 64 positions; a picture is among them."""

    def change(d, s, r):
        s["S"] = 64 * r.randint(5, 6) + (0 if whole else r.randint(1, 63))

    return change


CHUNKS = (Option("S % 64 != 0", _chunks(False)), Option("S % 64 == 0", _chunks(True)))


def _with_text(name):
    """A text side of its own family, beside a picture side like Qwen3-VL's that hands out its last layer only."""

    def dims(r):
        d = pictures_and_text_configs.qwen3_vl(r)
        own = {k: v for k, v in text.FAMILIES[name].dims(r).items() if k not in ("num_labels", "tie_word_embeddings")}
        d["vision_config"] = {k: v for k, v in d["vision_config"].items() if k != "deepstack_visual_indexes"} | {
            "out_hidden_size": own["hidden_size"]
        }
        return {**d, "text_config": own}

    return dims


def _delta(name):
    family = text.FAMILIES[name]
    return pictures_and_text._speaking(
        _with_text(name),
        pictures_and_text_configs.tokens_of,
        kernels=family.kernels,
        kind=of_text(family.kind),
        derived={of_text(k): of_text(v) for k, v in family.derived.items()},
        terms=(*pictures_and_text.SQUARE, *map(of_text, family.terms)),
        axes=(inside(family.axes[0]), inside(family.axes[1]), CHUNKS),
    )


def _experts(r):
    """Every layer has experts."""
    d = pictures_and_text_configs.qwen3_vl(r)
    d["text_config"] |= dict(num_experts=r.randint(4, 9), num_experts_per_tok=r.randint(2, 4), moe_intermediate_size=r.randint(40, 240))
    return d


DEEP = (Option("vision_config.deepstack_visual_indexes.length == 3", lambda d, s, r: None),)
FAMILIES = {
    "qwen3_5": _delta("qwen3_5_text"),
    "qwen3_5_moe": _delta("qwen3_5_moe_text"),
    "qwen3_vl_moe": pictures_and_text._speaking(
        _experts,
        pictures_and_text_configs.tokens_of,
        derived=pictures_and_text.INTERLEAVED,
        spelled=r".*\.merger\.mlp|.*deepstack_merger_list",
        axes=(pictures_and_text.GROUPED, DEEP),
    ),
}
