"""Numbers of rotated values: captures draw even ones, and at an odd one the code rounds up what does not show in them.

`inv_freq` is made of `torch.arange(0, dim, 2)`, which has the half of `dim` rounded up, and cosines have twice as many. What cuts
queries and keys by the cosines' own width (`rotary_dim = cos.shape[-1]`) rotates that many; what cuts them by a number of its module
rotates `dim` of them, and PyTorch raises where that is odd (transformers/models/*/modeling_*.py, apply_rotary_pos_emb).
"""

import importlib
import inspect
import re

PART = re.compile(r"(?P<cut>=?)(?P<width>[^=]*\*(?:\w+\.)?(?:partial_rotary_factor|rotary_pct))//(?P<by>[12])")
CUT_BY_COSINES = re.compile(r"rot(?:ary)?_dim = cos\.shape\[-1\]")


def widened(content, cuts_by_cosines):
    """The content with halves that are rounded up, and with cuts by cosines as wide as those are."""

    def told(value):
        if isinstance(value, dict):
            return {key: told(one) for key, one in value.items()}
        if isinstance(value, list):
            return [told(one) for one in value]
        found = PART.fullmatch(value) if isinstance(value, str) else None
        if found is None or (found["cut"] and not cuts_by_cosines):
            return value
        half = f"ceil_div({found['width']}//1,2)"
        if not found["cut"]:
            return half if found["by"] == "2" else value
        return f"={half}" if found["by"] == "2" else f"=2*{half}"

    return told(content)


def cuts_by_cosines(config):
    """Whether the code of a config's model does."""
    code = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
    return CUT_BY_COSINES.search(inspect.getsource(code)) is not None
