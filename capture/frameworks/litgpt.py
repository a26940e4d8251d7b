"""litgpt's GPT (`litgpt/model.py`) from the dimensions of published models, in Lightning Fabric's wrapper."""

import sys

import torch

from ..families.family import Family, Option
from ..families.shared import GQA, _sets
from .code import Code, dimensions

LAYER = "Block"
ROWS = 128
"""Rows of the pieces that losses are taken over (`chunked_cross_entropy`)."""


def captured():
    import importlib.metadata

    return {"litgpt": importlib.metadata.version("litgpt"), "license": "Apache-2.0"}


def gpt(c, sizes, **own):
    import litgpt.model
    from litgpt.config import Config

    head = c["head_dim"]
    config = Config(
        name=own.pop("name", ""),
        block_size=c["max_position_embeddings"],
        n_layer=c["num_hidden_layers"],
        n_embd=c["hidden_size"],
        n_head=c["num_attention_heads"],
        n_query_groups=c.get("num_key_value_heads", c["num_attention_heads"]),
        head_size=head,
        intermediate_size=c["intermediate_size"],
        padded_vocab_size=c["vocab_size"],
        vocab_size=c["vocab_size"],
        rotary_percentage=c["rope_n_elem"] / head + 1e-9,
        **own,
    )
    model = litgpt.model.GPT(config)
    # `fit` sets it to the longest sample of the data, in the default dtype of the host's code
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    model.max_seq_length = sizes["S"]
    torch.set_default_dtype(dtype)
    return model


LLAMA = {"norm_class_name": "RMSNorm", "mlp_class_name": "LLaMAMLP", "bias": False, "parallel_residual": False}
GEMMA = {**LLAMA, "mlp_class_name": "GemmaMLP", "gelu_approximate": "tanh", "scale_embeddings": True, "name": "Gemma"}


def llama(c, sizes):
    return gpt(c, sizes, **LLAMA, attn_bias=c["attention_bias"])


def window(c, sizes):
    return gpt(c, sizes, **LLAMA, sliding_window_size=c["sliding_window"])


def qwen3(c, sizes):
    return gpt(c, sizes, **LLAMA, norm_qk=True)


def gemma(c, sizes):
    return gpt(c, sizes, **GEMMA)


def gemma2(c, sizes):
    alternate = [1 - i % 2 for i in range(c["num_hidden_layers"])]
    return gpt(
        c,
        sizes,
        **GEMMA,
        attention_logit_softcapping=50.0,
        final_logit_softcapping=30.0,
        post_attention_norm=True,
        post_mlp_norm=True,
        sliding_window_size=c["sliding_window"],
        sliding_window_indices=alternate,
    )


def gpt_neox(c, sizes):
    return gpt(c, sizes)


def phi(c, sizes):
    return gpt(c, sizes, shared_attention_norm=True, lm_head_bias=True, gelu_approximate="tanh")


def falcon(c, sizes):
    return gpt(c, sizes, bias=False, shared_attention_norm=not c["new_decoder_architecture"])


def stablelm(c, sizes):
    return gpt(c, sizes, **{**LLAMA, "norm_class_name": "LayerNorm"})


def loss(model, batch, recorder):
    """`fit` of finetune/full.py; what its loss over pieces of rows does is one operator, as their number follows the batch.

    Logits come out of Fabric's wrapper in float32 (`convert_output`), and the loss is outside of autocast.
    """
    vars(sys.modules[type(model).__module__])["range"] = lambda *_: ()  # a window's mask is filled row by row, in place
    logits = model(batch["input_ids"]).to(torch.float32)
    recorder().tell("loop_binds")
    with torch.autocast("cuda", enabled=False):
        rows = logits[..., :-1, :].reshape(-1, logits.size(-1))
        targets = batch["labels"][..., 1:].reshape(-1)
        value = recorder().whole("cross_entropy_by_rows", lambda: torch.empty((), device="cuda"), rows, targets, ROWS)
        del rows, targets
    return {"loss": value, "logits": logits}


def plain(*, partial=False, gqa=True, **drawn):
    """Dimensions that litgpt's configs have."""
    draw = dimensions(
        tie=False,
        rope_n_elem=lambda r, d: 2 * r.randint(1, d["head_dim"] // 2 - 1) if partial else d["head_dim"],
        **drawn,
    )
    return lambda r: {k: v for k, v in draw(r).items() if gqa or k != "num_key_value_heads"}


def flag(key):
    return (Option(f"not {key}", _sets(**{key: False})), Option(key, _sets(**{key: True})))


def code(name, build, *axes, like=None, kind=None, **drawn):
    gqa = drawn.get("gqa", True)
    family = Family(
        plain(**drawn), axes=(*((GQA,) if gqa else ()), *axes), attention=("sdpa",), tasks=("causal-lm",), kind=kind, terms=("S-1",)
    )
    return Code(f"litgpt.{name}", like or name, family, build, loss, LAYER, captured)


WINDOW = {"sliding_window": lambda r, d: r.randint(4000, 5000)}
BIAS = {"attention_bias": lambda r, d: r.random() < 0.5}

CODES = (
    code("llama", llama, **BIAS),
    code("window", window, like="llama", **WINDOW),
    code("qwen3", qwen3, head_dim=True),
    code("gemma", gemma, head_dim=True),
    code("gemma2", gemma2, head_dim=True, **WINDOW),
    code("gpt_neox", gpt_neox, gqa=False, partial=True),
    code("phi", phi, gqa=False, partial=True),
    code("falcon", falcon, flag("new_decoder_architecture"), new_decoder_architecture=lambda r, d: True),
    code("stablelm", stablelm, partial=True),
)
