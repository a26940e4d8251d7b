"""torchtitan's decoders (`torchtitan/models/<name>/model/model.py`) from the dimensions of published models.

0.2.2, the last release whose runs are described by TOML files.
"""

import torch

from ..families.family import Family
from ..families.shared import GQA
from ..recording import stand_ins
from .code import Code, dimensions

LAYER = "TransformerBlock"

stand_ins.install("torch.utils.tensorboard")


def captured():
    import importlib.metadata

    return {"torchtitan": importlib.metadata.version("torchtitan"), "license": "BSD-3-Clause"}


class Layers(torch.nn.ModuleList):
    """Layers in a list, where the model has them in a dictionary by their numbers."""

    def values(self):
        return iter(self)


def listed(model):
    layers = Layers(model.layers.values())
    del model.layers
    model.layers = layers
    return model


def llama3(c, sizes):
    from torchtitan.models.llama3.model.args import TransformerModelArgs
    from torchtitan.models.llama3.model.model import Transformer

    dim = c["hidden_size"]
    arguments = TransformerModelArgs(
        dim=dim,
        n_layers=c["num_hidden_layers"],
        n_heads=c["num_attention_heads"],
        n_kv_heads=c["num_key_value_heads"],
        vocab_size=c["vocab_size"],
        multiple_of=1,
        ffn_dim_multiplier=(c["intermediate_size"] + 0.5) / int(2 * 4 * dim / 3),
        max_seq_len=sizes["S"],
    )
    return listed(Transformer(arguments))


def qwen3(c, sizes):
    from torchtitan.models.qwen3.model.args import Qwen3ModelArgs
    from torchtitan.models.qwen3.model.model import Qwen3Model

    arguments = Qwen3ModelArgs(
        dim=c["hidden_size"],
        n_layers=c["num_hidden_layers"],
        n_heads=c["num_attention_heads"],
        n_kv_heads=c["num_key_value_heads"],
        head_dim=c["head_dim"],
        hidden_dim=c["intermediate_size"],
        vocab_size=c["vocab_size"],
        enable_weight_tying=c["tie_word_embeddings"],
        max_seq_len=sizes["S"],
    )
    model = listed(Qwen3Model(arguments))
    if c["tie_word_embeddings"]:
        model.output.weight = model.tok_embeddings.weight
    return model


def loss(model, batch, _):
    """`forward_backward_step` of train.py with `cross_entropy_loss` of components/loss.py; the logits have no name any more in backward."""
    from torchtitan.components.loss import cross_entropy_loss

    labels = batch["labels"]
    pred = model(batch["input_ids"])
    value = cross_entropy_loss(pred, labels)
    del pred
    return {"loss": value}


def code(name, like, build, tie=False, **drawn):
    family = Family(dimensions(tie=tie, **drawn), axes=(GQA,), attention=("sdpa",), tasks=("causal-lm",))
    return Code(f"torchtitan.{name}", like, family, build, loss, LAYER, captured)


CODES = (
    code("llama3", "llama", llama3),
    code("qwen3", "qwen3", qwen3, head_dim=True, tie=True),
)
