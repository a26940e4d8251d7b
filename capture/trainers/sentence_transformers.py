"""The losses of sentence-transformers, reduced to what they read: a sample's first text is embedded by itself, the others together
(sentence_transformers/base/losses/merged_forward.py, embed_columns), and similarities are taken between what was pooled.

`K` texts follow the first one; a loss over single texts has none. To be run with sentence-transformers on `PYTHONPATH`.
"""

from types import SimpleNamespace

from ..recording import environment  # noqa: F401  (before transformers)
import torch
import sentence_transformers
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling

# Embeddings are dense already: torch gives back what it was given.
torch.Tensor.to_dense = lambda self, *_, **__: self

NAME = "sentence-transformers"
LIBRARY = ("sentence-transformers", sentence_transformers.__version__)
FUSED = False
WHOLE = ()
POOLINGS = ("mean", "cls", "lasttoken")


class Embedder(torch.nn.Module):
    """Texts to vectors as a `SentenceTransformer` of two modules makes them, prepared by accelerate: its outputs leave in float32."""

    def __init__(self, backbone, width, pooling):
        super().__init__()
        self.base_model, self.pooling = backbone, Pooling(width, pooling_mode=pooling)
        self.requires_grad_(False)

    def forward(self, features):
        features["token_embeddings"] = self.base_model(features["input_ids"], features["attention_mask"]).last_hidden_state
        return self.pooling(features)


class Prepared(torch.nn.Module):
    """accelerate/utils/operations.py, convert_outputs_to_fp32: a copy of what the forward gave, beside the batch's own names for it."""

    def __init__(self, policy):
        super().__init__()
        self.policy = policy

    def forward(self, features):
        given = self.policy(features)
        return {name: value.to(torch.float32) if value.is_floating_point() else value for name, value in given.items()}


def models(backbone_of, settings, sizes):
    return tuple(Embedder(backbone_of(sizes["H"]), sizes["H"], settings["pooling"]) for _ in range(2))


def embedding(policy, reference, accelerator, settings):
    return SimpleNamespace(policy=policy, prepared=Prepared(policy), columns=settings["columns"])


TRAINERS = {"embedding": embedding}


def fuse_head(kind, model, settings, reference=False):
    """No head is fused."""


def symbols(kind, r):
    return {"B": r.randint(5, 9), "S": r.randint(31, 60), "K": r.randint(2, 4), "H": r.randint(70, 99)}


def batch_of(kind, settings, sizes, device):
    rows = {"anchor": sizes["B"], **({"others": sizes["K"] * sizes["B"]} if settings["columns"] == "several" else {})}
    batch = {}
    for name, count in rows.items():
        batch[f"{name}_input_ids"] = torch.zeros(count, sizes["S"], dtype=torch.long, device=device)
        batch[f"{name}_attention_mask"] = torch.ones(count, sizes["S"], dtype=torch.long, device=device)
    if settings["columns"] == "one":
        batch["gradient"] = torch.randn(sizes["B"], sizes["H"], device=device)
    return batch


def loss_of(trainer, inputs):
    texts = [
        {part: inputs[f"{name}_{part}"] for part in ("input_ids", "attention_mask")}
        for name in ("anchor", "others")
        if f"{name}_input_ids" in inputs
    ]
    embedded = [trainer.prepared(features)["sentence_embedding"] for features in texts]
    if trainer.columns == "one":
        # what the losses of GradCache go back from, text by text (sentence_transformers/base/losses/gradcache.py, _backward_hook)
        return torch.dot(embedded[0].flatten(), inputs["gradient"].flatten())
    return MultipleNegativesRankingLoss(None).compute_loss_from_embeddings(embedded, None)


def variants():
    for columns in ("one", "several"):
        for pooling in POOLINGS:
            yield "embedding", {"columns": columns, "pooling": pooling}
