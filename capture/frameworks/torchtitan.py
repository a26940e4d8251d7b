"""torchtitan's decoders (`torchtitan/models/<name>/model/model.py`) from the dimensions of published models.

0.2.2, the last release whose runs are described by TOML files.
"""

import torch
from vram_lens.tracing.events import Event

from ..families.family import Family, Option
from ..families.shared import GQA
from ..families.latent_attention import LATENT, latent
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


def qwen3(c, sizes, **experts):
    from torchtitan.models.qwen3.model.args import Qwen3ModelArgs
    from torchtitan.models.qwen3.model.model import Qwen3Model

    arguments = Qwen3ModelArgs(
        **experts,
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


class Exchange:
    """The recorder that is told of what ranks send one another; none: nothing is recorded."""

    recorder = None


def exchanged(rows, *_, **__):
    """As many rows come from the other ranks as go to them (`all_to_all_single_autograd`, routing being even)."""
    recorder = Exchange.recorder
    with recorder.silence():
        out = torch.empty_like(rows)
    recorder.emit(Event("op", "all_to_all_single", recorder.scopes[-1], [recorder.operand(rows)]), out)
    return out


def grouped(rows, matrices, offs):
    """`torch._grouped_mm`, of which the fake device knows only some sizes."""
    return torch.nn.functional.grouped_mm(rows, matrices, offs=offs)


class Kernel:
    """A kernel that writes numbers of rows, where no row is anywhere."""

    def __getitem__(self, _):
        return lambda *_, **__: None


def spread_over(ranks):
    """Experts of one rank of so many (`ExpertParallel` of distributed/expert_parallel.py: rows go to their experts' ranks and back)."""
    from torchtitan.models.moe import moe, utils

    class GroupedExperts(moe.GroupedExperts):
        def forward(self, rows, counts):
            counts = exchanged(counts)
            rows = exchanged(rows)
            shape, rows, places, counts = utils._permute(rows, counts, ranks, self.w1.shape[0])
            out = moe._run_experts_grouped_mm(self.w1, self.w2, self.w3, rows, counts)
            return exchanged(utils._unpermute(out, shape, places))

    return GroupedExperts


def deepseek_v3(c, sizes):
    from torchtitan.models.deepseek_v3.model import args, model
    from torchtitan.models.moe import MoEArgs

    groups = c["n_group"] if c["n_group"] > 1 else None
    arguments = args.DeepSeekV3ModelArgs(
        vocab_size=c["vocab_size"],
        dim=c["hidden_size"],
        inter_dim=c["intermediate_size"],
        moe_inter_dim=c["moe_intermediate_size"],
        n_layers=c["num_hidden_layers"],
        n_dense_layers=c["first_k_dense_replace"],
        n_heads=c["num_attention_heads"],
        max_seq_len=sizes["S"],
        q_lora_rank=c["q_lora_rank"] or 0,
        **{name: c[name] for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")},
        moe_args=MoEArgs(
            num_experts=c["n_routed_experts"],
            num_shared_experts=c["n_shared_experts"],
            top_k=c["num_experts_per_tok"],
            num_expert_groups=groups,
            num_limited_groups=groups and c["topk_group"],
            score_func=c["scoring_func"],
            route_norm=c["norm_topk_prob"],
            score_before_experts=False,
        ),
    )
    arguments.moe_impl = "standard"
    return spread(listed(model.DeepSeekV3Model(arguments)), c, c["n_routed_experts"])


def spread(model, c, experts):
    """The model with one rank's share of its experts."""
    ranks = c["expert_parallel_degree"]
    for layer in model.layers:
        if ranks > 1 and layer.moe_enabled:
            layer.moe.experts = spread_over(ranks)(c["hidden_size"], c["moe_intermediate_size"], experts // ranks, True)
    return model


def qwen3_moe(c, sizes):
    from torchtitan.models.moe import MoEArgs

    routing = MoEArgs(
        num_experts=c["num_experts"],
        num_shared_experts=0,
        top_k=c["num_experts_per_tok"],
        score_func="softmax",
        route_norm=True,
        score_before_experts=False,
    )
    model = qwen3(c, sizes, moe_enabled=True, moe_inter_dim=c["moe_intermediate_size"], moe_args=routing)
    return spread(model, c, c["num_experts"])


def experts_loss(model, batch, recorder):
    """The loss of a model with experts."""
    from torchtitan.models.moe import kernels

    Exchange.recorder, kernels._fill_indices_kernel = recorder(), Kernel()
    whole, torch._grouped_mm = torch._grouped_mm, grouped
    try:
        return loss(model, batch, recorder)
    finally:
        torch._grouped_mm = whole


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


def _routed(r):
    d = dimensions(tie=False)(r)
    for key in ("head_dim", "num_key_value_heads"):
        del d[key]
    d |= {"hidden_size": 8 * r.randint(6, 20), **latent(r, d), "moe_intermediate_size": 8 * r.randint(3, 20)}
    del d["num_key_value_heads"]
    return d | {"num_experts_per_tok": r.randint(2, 4)}


def _kind(groups, score):
    def change(d, s, r):
        d |= {"scoring_func": score, "norm_topk_prob": score == "sigmoid"}
        if not groups:
            d |= {"q_lora_rank": None, "n_group": 1, "topk_group": 1}

    return change


def _spread(d, s, r):
    ranks, count = r.choice((2, 3, 5)), "n_routed_experts" if "n_routed_experts" in d else "num_experts"
    d |= {"expert_parallel_degree": ranks, count: ranks * d[count]}


def _padded(experts):
    """Rows of a rank's experts, each padded to a multiple of eight wherever its rows end (models/moe/utils.py, `_permute`)."""
    return f"(B*S*num_experts_per_tok+7)//8*8+{experts}//expert_parallel_degree*8"


# With a row of zeros, which places of nobody's rows read.
ZERO = "B*S*num_experts_per_tok+1"

KINDS = (
    Option("q_lora_rank == null and n_group == 1 and scoring_func == 'softmax'", _kind(False, "softmax")),
    Option("q_lora_rank != null and n_group > 1 and scoring_func == 'softmax'", _kind(True, "softmax")),
    Option("q_lora_rank != null and n_group > 1 and scoring_func == 'sigmoid'", _kind(True, "sigmoid")),
)
SPREAD = (
    Option("expert_parallel_degree == 1", lambda d, s, r: d.update(expert_parallel_degree=1)),
    Option("expert_parallel_degree > 1", _spread),
)
DEEPSEEK = Family(
    _routed,
    axes=(KINDS[:1], SPREAD),
    attention=("sdpa",),
    tasks=("causal-lm",),
    derived={"expert_parallel_degree": "1"},
    terms=(*LATENT["terms"], "n_routed_experts//expert_parallel_degree", _padded("n_routed_experts"), ZERO),
    points=4,
)


QWEN3_MOE = Family(
    dimensions(
        tie=True,
        head_dim=True,
        hidden_size=lambda r, d: 8 * r.randint(6, 20),
        num_experts=lambda r, d: r.randint(5, 9),
        num_experts_per_tok=lambda r, d: r.randint(2, 4),
        moe_intermediate_size=lambda r, d: 8 * r.randint(3, 20),
    ),
    axes=(GQA, SPREAD),
    attention=("sdpa",),
    tasks=("causal-lm",),
    derived={"expert_parallel_degree": "1"},
    terms=("num_experts//expert_parallel_degree", _padded("num_experts"), ZERO),
    points=6,
)

CODES = (
    code("llama3", "llama", llama3),
    code("qwen3", "qwen3", qwen3, head_dim=True, tie=True),
    Code("torchtitan.deepseek_v3", "deepseek_v3", DEEPSEEK, deepseek_v3, experts_loss, LAYER, captured),
    Code("torchtitan.qwen3_moe", "qwen3_moe", QWEN3_MOE, qwen3_moe, experts_loss, LAYER, captured),
)
