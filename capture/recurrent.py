"""Decoders whose layers carry a state along the text (`text.py` holds those of state spaces), and older models that go over it in ways of their own."""
from .families import GQA, HEAD, Option, _sets, standard
from .text import CHUNK, DELTA, DELTA_TERMS, HEADS, SDPA, SILU, gated_delta, given

EAGER = ("eager",)


def griffin(r, d):
    """Linear recurrences as wide as the config says, in blocks of the heads' number."""
    heads = d["num_attention_heads"]
    return {"lru_width": heads * 2 * r.randint(4, 15), "conv1d_width": r.randint(3, 5), "num_hidden_layers": r.randint(4, 6), "intermediate_size": 2 * r.randint(20, 120)}


def _reach(inside):
    def change(d, s, r):
        d["attention_window_size"] = s["S"] + r.randint(1, 40) if inside else s["S"] - r.randint(0, 6)

    return change


REACH = (Option("S < attention_window_size", _reach(True)), Option("S >= attention_window_size", _reach(False)))


FAMILIES = {
    "recurrent_gemma": standard("recurrent_gemma", attention=SDPA, axes=(GQA, REACH), fixed=("head_dim",), extra=griffin, derived={"lru_width": "hidden_size", "num_key_value_heads": "num_attention_heads", "partial_rotary_factor": "rope_parameters.partial_rotary_factor or 1/2"}),
    "olmo_hybrid": standard("olmo_hybrid", attention=SDPA, axes=(GQA[:1], SILU, given(linear_allow_neg_eigval=True), DELTA), extra=gated_delta, terms=DELTA_TERMS, kind="i % 4 == 3 and 'full_attention' or 'linear_attention'",
                            kernels={"packages": ["flash-linear-attention", "causal_conv1d"], "module": "linear_attn"},
                            derived={"num_key_value_heads": "num_attention_heads", "linear_num_key_heads": "num_attention_heads", "linear_num_value_heads": "num_attention_heads", "linear_key_head_dim": "3*hidden_size//(4*linear_num_key_heads)", "linear_value_head_dim": "2*linear_key_head_dim"}),
    "xlnet": standard("xlnet", tasks=("seq-cls", "token-cls", "causal-lm"), attention=EAGER, axes=(given(attn_type="bi", bi_data=False, use_mems_train=False),), extra=lambda r, d: {"d_inner": r.randint(40, 240), "ff_activation": r.choice(("gelu", "relu", "silu"))}, derived={"d_head": "d_model//n_head"}, terms=("d_model//n_head",)),
}
