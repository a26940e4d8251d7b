"""Single values that code reads off the device, which fake tensors do not have: what each is taken to be, by the function that asks.

Batches are whole: nothing is padding, and what is checked holds. Longformer and LED look at every word from the first one where the
library's own head says so, and from none else.
"""

import linecache
import sys

import torch
from torch._subclasses import fake_impls

_stated = {"marked": 0}


def state(marked):
    """How many words of each text all others look at."""
    _stated.update(marked=marked)


def _marked(tensor):
    return _stated["marked"]


_PLACES = "_get_global_attn_indices"
_IN_WINDOWS = [f"{cls}.{_PLACES}" for cls in ("LongformerSelfAttention", "LEDEncoderSelfAttention")]
ANSWERS = {
    **dict.fromkeys(("LongformerEncoder.forward", "LEDEncoder.forward", *_IN_WINDOWS), _marked),
    "PreTrainedModel.warn_if_padding_and_no_attention_mask": lambda tensor: False,
    # XLM, FlauBERT: no text is longer than the batch.
    **dict.fromkeys(("get_masks", "XLMModel.forward", "FlaubertModel.forward"), lambda tensor: 0),
    # nothing overflows in float16: none is infinite, all are finite
    "LongT5Block.forward": lambda tensor: False,
    "LEDEncoderLayer.forward": lambda tensor: True,
    "Gemma3nTextMLP._gaussian_topk": lambda tensor: True,  # the parameters of a distribution are valid ones
    "make_padding_mask": lambda tensor: False,  # FSMT
    "ProphetNetPreTrainedModel._shift_right": lambda tensor: True,
    # before 4.53: whether a mask is all ones
    **dict.fromkeys(("AttentionMaskConverter._ignore_causal_mask_sdpa", "_prepare_4d_attention_mask_for_sdpa"), lambda tensor: True),
}
# Which places a mask picks: the words that all look at, those of the texts that have fewer than others (none), and those that have as many.
COUNTS = {name: lambda mask, line: 0 if "no_global" in line else mask.shape[0] * _stated["marked"] for name in _IN_WINDOWS}
READS = ("item", "_local_scalar_dense", "is_nonzero")
"""Operators that bring a value to the host; nothing of them stays on the device."""
REWRITTEN = " together>"
"""How the file of a method ends that `together.py` brought into another form; its name stands before."""
_asked = fake_impls.op_implementations_dict[torch.ops.aten.item.default]


def _asking(depth):
    """The library's code that waits for a value: its function and the line."""
    frame = sys._getframe(depth)
    while (
        frame is not None and not frame.f_code.co_filename.endswith(REWRITTEN) and "transformers" not in frame.f_code.co_filename.split("/")
    ):
        frame = frame.f_back
    if frame is not None and frame.f_code.co_filename.endswith(REWRITTEN):
        return frame.f_code.co_filename.removesuffix(REWRITTEN)[1:], ""
    return ("", "") if frame is None else (frame.f_code.co_qualname, linecache.getline(frame.f_code.co_filename, frame.f_lineno))


def _answer(mode, func, tensor):
    found = ANSWERS.get(_asking(2)[0])
    return _asked(mode, func, tensor) if found is None else found(tensor)


def counted(mask):
    """How many places a mask picks where the function that asks is known; None elsewhere."""
    name, line = _asking(3)
    return COUNTS[name](mask, line) if name in COUNTS else None


class _Count(int):
    """A count that is known on the host, with the tensor that holds it on the device."""


def _known(method):
    def counts(mask):
        most, *places = method(mask)
        count = _Count(_stated["marked"])
        count.tensor = most
        return count, *places

    counts.known = True
    return staticmethod(counts)


def settle(model):
    """Has code that computes with a count on the device be given its number (Longformer, LED)."""
    for cls in {type(m) for m in model.modules() if hasattr(m, _PLACES)}:
        if not hasattr(getattr(cls, _PLACES), "known"):
            setattr(cls, _PLACES, _known(getattr(cls, _PLACES)))


def install():
    for operator in (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default):
        fake_impls.op_implementations_dict[operator] = _answer
