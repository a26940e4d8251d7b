"""Makes conversions that code guards by a dtype comparison unconditional.

`if x.dtype != weight.dtype: x = x.to(weight.dtype)` runs only in some dtype regimes; without the guard it is the same
conversion everywhere (a conversion to the dtype a tensor already has does nothing), so one graph serves all.
"""

import inspect
import re
import textwrap

GUARDS = (
    (re.compile(r"if self\.weight\.dtype in \[torch\.float16, torch\.bfloat16\]:"), "if True:"),
    (re.compile(r"hidden_states\.dtype != self\.(wo|fc2)\.weight\.dtype"), "True"),
    # A module's `forward` called by itself (SqueezeBERT) is a call of the module.
    (re.compile(r"\bself\.layer\.forward\(|(?<== )layer\.forward\("), "layer("),
    # What is done in float16 only is one operator, which does nothing in other dtypes.
    (
        re.compile(
            r"if hidden_states\.dtype == torch\.float16:\n\s+clamp_value = torch\.finfo\(hidden_states\.dtype\)\.max - 1000\n\s+hidden_states = torch\.clamp\(.*?\)\n"
        ),
        "hidden_states = torch.nn.functional.clamp_half(hidden_states, False)\n",
    ),
    (
        re.compile(
            r"if hidden_states\.dtype == torch\.float16:\n(?:\s+max_dtype = [^\n]*\n)?\s+clamp_value = torch\.where\(.*?\)\n\s+hidden_states = torch\.clamp\(.*?\)\n",
            re.DOTALL,
        ),
        "hidden_states = torch.nn.functional.clamp_half(hidden_states, True)\n",
    ),
)
# Attention of one picture (or window) at a time is one operator: how often the loop runs is the batch's matter.
LOOP = re.compile(r"lengths = cu_seqlens\[1:\] - cu_seqlens\[:-1\]\n.*?attn_output = torch\.cat\(attn_outputs, dim=1\)\n", re.DOTALL)
PARTS = "attn_weights, attn_output = None, torch.nn.functional.attention_by_parts(query_states, key_states, value_states, len(cu_seqlens) - 1, self.config._attn_implementation == 'eager')\n"
_done = set()


def unguard(model):
    """Rewrites the forward of every module class of the model that has such a guard, once per class."""
    for cls in {type(m) for m in model.modules()} - _done:
        _done.add(cls)
        forward = cls.__dict__.get("forward")
        if not inspect.isfunction(forward):
            continue
        source = textwrap.dedent(inspect.getsource(forward))  # of what a decorator wraps, too
        if forward.__closure__ and not (LOOP.search(source) and source.startswith("@")):
            continue
        text = source
        for pattern, replacement in GUARDS:
            text = pattern.sub(replacement, text)
        text = LOOP.sub(PARTS, text)
        if text != source:
            space = {}
            exec(compile(text, f"<{cls.__name__}.forward without guards>", "exec"), inspect.unwrap(forward).__globals__, space)
            cls.forward = space["forward"]
