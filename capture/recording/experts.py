"""Experts that the library runs one by one, on rows that it counts on the host: here rows are shared out evenly, as a router that was
trained to balance its experts shares them, and every expert is a round of a loop.

What a fake tensor cannot say (which expert, how many rows) is said by the rounds themselves; the operators stay the library's.
"""

import torch

from vram_lens.tracing import layers

from .releases import VERSION

_trace = None


def share(rows, experts, k):
    """Rows of expert `k`: the first ones have one more where they do not divide evenly."""
    return -(-(rows - k) // experts)


def _recorded(name, made, *operands):
    return made() if _trace is None else _trace.whole(name, made, *operands)


def expert_rows(mask, experts, k):
    """`torch.where(mask)` of one expert's part of the mask, a place for each choice of each token: where its rows are."""
    count = share(mask.numel(), experts, k)
    return _recorded(
        "expert_rows", lambda: torch.zeros(count, mask.dim(), dtype=torch.long, device=mask.device).unbind(1), mask, experts, k
    )


def expert_slice(tensor, experts, k):
    """Rows of expert `k` among those that stand behind each other: a slice."""
    first = sum(share(tensor.shape[0], experts, j) for j in range(k))
    return _recorded("expert_slice", lambda: tensor[first : first + share(tensor.shape[0], experts, k)], tensor, experts, k)


def expert_part(tensor, experts, k):
    """The same as one of the views of a split."""
    return _recorded("expert_part", lambda: tensor.split(expert_sizes(tensor.shape[0], experts))[k], tensor, experts, k)


def expert_sizes(rows, experts):
    """How many rows each expert has."""
    return [share(rows, experts, k) for k in range(experts)]


def recorded_by(recorder):
    """Has the operators told to `recorder`; to none with None."""
    global _trace
    _trace = recorder


def settle(model):
    """Routers whose first forward converts their layer for good (`self.classifier = self.classifier.to(self.dtype)`): as they are from then on."""
    for module in model.modules():
        if type(module).__name__ in ("SwitchTransformersTop1Router", "NllbMoeTop2Router"):
            for name, p in module.classifier.named_parameters():
                if p.dtype != module.dtype:
                    setattr(module.classifier, name, torch.nn.Parameter(p.detach().to(module.dtype), requires_grad=p.requires_grad))


_HIT = ("for expert_idx in expert_hit:", "for expert_idx in rounds(self.num_experts):")
_NUMBER = ("expert_idx = expert_idx[0]\n", "\n")
_WHERE = ("torch.where(expert_mask[expert_idx])", "expert_rows(expert_mask[expert_idx], self.num_experts, expert_idx)")
# Modules of a dictionary, which an index of one element picks the mask for.
_NAMED = (
    ("for expert_idx in expert_hit:", "for k in rounds(self.num_experts):\n        expert_idx = expert_hit[k]"),
    ("torch.where(expert_mask[expert_idx].squeeze(0))", "expert_rows(expert_mask[expert_idx].squeeze(0), self.num_experts, k)"),
    ('self[f"expert_{expert_idx[0]}"]', 'self[f"expert_{k}"]'),
)
_SETTLED = ("self.classifier = self.classifier.to(self.dtype)\n", "\n")
_SIZES = ("expert_size = expert_size.tolist()", "expert_size = expert_sizes(top_k_gates.numel(), self.num_experts)")
_SPLIT = (
    ("input_list = inputs.split(expert_size, dim=0)\n", "\n"),
    ("for i in range(self.num_experts):", "for i in rounds(self.num_experts):"),
    ("F.linear(input_list[i], self.weight[i])", "F.linear(expert_part(inputs, self.num_experts, i), self.weight[i])"),
)
_SLICED = (
    ("for expert_num in range(expert_weights.shape[0]):", "for expert_num in rounds(expert_weights.shape[0]):"),
    ("start = cumsum_num_tokens[expert_num]\n", "\n"),
    ("end = cumsum_num_tokens[expert_num + 1]\n", "\n"),
    ("token_states[start:end]", "expert_slice(token_states, expert_weights.shape[0], expert_num)"),
    ("output[start:end] = out", "expert_slice(output, expert_weights.shape[0], expert_num).copy_(out)"),
)
_GEMM = {"": {"sequential_experts_gemm": _SLICED}}

# Before 5 these families had a list of modules, one for each expert; they picked those with rows by an index of one element since 4.54.
_MODULES = (("for expert_idx in range(self.num_experts):", "for expert_idx in rounds(self.num_experts):"), _WHERE)
_PICKED = (
    ("for expert_idx in expert_hit:", "for k in rounds(self.num_experts):\n        expert_idx = expert_hit[k]"),
    ("expert_layer = self.experts[expert_idx]", "expert_layer = self.experts[k]"),
    _NAMED[1],
)
_EACH = _PICKED if VERSION >= (4, 54) else _MODULES
_LISTED = {
    "mixtral": {"MixtralSparseMoeBlock": {"forward": _EACH}},
    "qwen3_moe": {"Qwen3MoeSparseMoeBlock": {"forward": _EACH}},
}

# Lines of methods (of functions of the module, under no class) in the form that is captured, and in the form that PyTorch is asked with.
STATED = {
    "openai_privacy_filter": {"OpenAIPrivacyFilterExperts": {"forward": (_HIT, _NUMBER, _WHERE)}},
    "dbrx": {"DbrxExperts": {"forward": (_HIT, _NUMBER, _WHERE)}},
    "switch_transformers": {"SwitchTransformersExperts": {"forward": _NAMED}, "SwitchTransformersTop1Router": {"forward": (_SETTLED,)}},
    "jetmoe": {"JetMoeTopKGating": {"forward": (_SIZES,)}},
    "aria": _GEMM,
}
LINES = {**STATED, "jetmoe": {**STATED["jetmoe"], "JetMoeParallelExperts": {"forward": _SPLIT}}}
if VERSION < (5, 0):
    STATED |= _LISTED
    LINES |= _LISTED
    layers.SIDE_BY_SIDE = r"(\.expert_|\.experts\.)"
NAMES = {"expert_rows": expert_rows, "expert_slice": expert_slice, "expert_part": expert_part, "expert_sizes": expert_sizes}
