"""torchtune's decoders (`torchtune/models/*/_component_builders.py`) from the dimensions of published models.

Releases: 0.6.1 from PyPI; what only its main branch has (Qwen3, the loss with the head inside) from bd2a0fc. torchao 0.9 is on
`PYTHONPATH`, which 0.6 needs.
"""

import torch

from ..families.family import Family, Option
from ..families.shared import GQA, _sets
from .code import Code, dimensions

LAYER = "TransformerSelfAttentionLayer"


def captured():
    import torchtune

    return {"torchtune": torchtune.__version__.split("+")[0], "license": "BSD-3-Clause"}


def common(c):
    return {
        "vocab_size": c["vocab_size"],
        "num_layers": c["num_hidden_layers"],
        "num_heads": c["num_attention_heads"],
        "num_kv_heads": c["num_key_value_heads"],
        "embed_dim": c["hidden_size"],
        "max_seq_len": c["max_position_embeddings"],
        "intermediate_dim": c["intermediate_size"],
    }


def prepared(model, each):
    """The model with what its layers share where the graph has one place for it: rotary tables, and a tied head as a module of its own.

    `each`: every layer has a table of its own, as `lora_<model>_self_attention` makes them.
    """
    rope = model.layers[0].attn.pos_embeddings
    if not each:
        model.pos_embeddings = rope
    for layer in model.layers:
        if each:
            layer.attn.pos_embeddings = type(rope)(dim=rope.dim, max_seq_len=rope.max_seq_len, base=rope.base)
        else:
            del layer.attn._modules["pos_embeddings"]
            layer.attn.__dict__["pos_embeddings"] = rope
        # one module is the default argument of all
        layer.mlp.activation = type(layer.mlp.activation)(**activation(layer.mlp.activation))
    if not isinstance(model.output, torch.nn.Module):
        tied = model.tok_embeddings.weight
        del model.output
        model.output = torch.nn.Linear(tied.shape[1], tied.shape[0], bias=False)
        model.output.weight = tied
    return model


def activation(module):
    return {"approximate": module.approximate} if hasattr(module, "approximate") else {}


def llama(c):
    from torchtune.models.llama3 import llama3
    from torchtune.models.llama3_1._position_embeddings import Llama3ScaledRoPE
    from torchtune.models.llama3_2 import llama3_2

    Llama3ScaledRoPE.apply_scaling = lambda self, freqs, *_, **__: freqs  # numbers only, which it reads off the device one by one
    return (llama3_2 if c["tie_word_embeddings"] else llama3)(**common(c))


def qwen2(c):
    from torchtune.models.qwen2 import qwen2

    return qwen2(**common(c), tie_word_embeddings=c["tie_word_embeddings"])


def qwen3(c):
    from torchtune.models.qwen3._component_builders import qwen3

    own = {f"{part}_proj_bias": False for part in "qkv"} | {"q_norm": True, "k_norm": True, "head_dim": c["head_dim"]}
    return qwen3(**common(c), **own, tie_word_embeddings=c["tie_word_embeddings"])


def phi3(c):
    from torchtune.models.phi3._component_builders import phi3

    return phi3(**common(c))


def gemma(c):
    from torchtune.models.gemma import gemma

    return gemma(**common(c), head_dim=c["head_dim"])


def gemma2(c):
    from torchtune.models.gemma2 import gemma2

    own = {"sliding_window_size": c["sliding_window"], "query_pre_attn_scalar": c["query_pre_attn_scalar"]}
    return gemma2(**common(c), head_dim=c["head_dim"], **own)


def loss(model, batch, _):
    """`_loss_step` of the recipes with a loss over all logits (`torchtune/recipes/full_finetune_single_device.py`)."""
    labels = batch["labels"]
    logits = model(batch["input_ids"])
    labels = torch.hstack((labels[..., 1:], torch.full((labels.shape[0], 1), -100, device=labels.device)))
    labels = labels.reshape(-1)
    logits = logits.reshape(-1, logits.size(-1))
    value = torch.nn.functional.cross_entropy(logits, labels)
    del logits
    return {"loss": value}


ROPE = (Option("not rope_in_layers", _sets(rope_in_layers=False)), Option("rope_in_layers", _sets(rope_in_layers=True)))
SCALAR = {"query_pre_attn_scalar": lambda r, d: r.randint(100, 300), "sliding_window": lambda r, d: r.randint(4000, 5000)}


def code(name, build, tie=True, **drawn):
    family = Family(dimensions(tie=tie, **drawn), axes=(GQA, ROPE), attention=("sdpa",), tasks=("causal-lm",))
    return Code(f"torchtune.{name}", name, family, lambda c, _: prepared(build(c), c["rope_in_layers"]), loss, LAYER, captured)


CODES = (
    code("llama", llama),
    code("qwen2", qwen2),
    code("qwen3", qwen3, head_dim=True),
    code("phi3", phi3, tie=False),
    code("gemma", gemma, tie=False, head_dim=True),
    code("gemma2", gemma2, tie=False, head_dim=True, **SCALAR),
)
