"""llm-foundry's MPT (`llmfoundry/models/mpt/modeling_mpt.py`) as Composer's trainer runs it.

The package is on `PYTHONPATH` as its sources (its requirements pin torch); flash-attn is stood in for by what its functions allocate.
"""

import sys

import torch

from ..families.family import Family, Option
from ..families.shared import _sets
from ..recording import stand_ins
from .code import Code

LAYER = "MPTBlock"


def captured():
    import llmfoundry._version

    return {"llm-foundry": llmfoundry._version.__version__, "license": "Apache-2.0"}


def modules():
    """The modeling module, imported with flash-attn's functions as they stand."""
    if "llmfoundry.models.mpt.modeling_mpt" not in sys.modules:
        names = (
            "flash_attn",
            "flash_attn.bert_padding",
            "flash_attn.flash_attn_interface",
            "flash_attn.layers",
            "flash_attn.layers.rotary",
        )
        stand_ins.install("mlflow", "composer", "composer.models", "composer.utils", *names)
        stand_ins.package("llmfoundry", "llmfoundry.models", "llmfoundry.models.utils", "llmfoundry.utils")
        flash = sys.modules["flash_attn"]
        flash.__version__ = "2.7.4"
        flash.bert_padding, flash.flash_attn_interface = (sys.modules[name] for name in names[1:3])
        # flash_attn/bert_padding.py: IndexFirstAxis and IndexPutFirstAxis allocate their result, and keep the positions alone; of a
        # batch without padding both pick all rows
        flash.bert_padding.index_first_axis = lambda rows, indices: torch.index_select(rows, 0, indices)
        flash.bert_padding.pad_input = lambda rows, indices, b, s: torch.index_select(rows, 0, indices).view(b, s, -1)
        flash.flash_attn_interface.flash_attn_varlen_func = attention
    import llmfoundry.models.mpt.modeling_mpt as mpt

    return mpt


def attention(q, k, v, cu_seqlens_q, max_seqlen_q, **_):
    """What the kernel keeps is what SDPA's flash kernel does: queries, keys, values, the result and the rows' sums."""
    shaped = [x.view(-1, max_seqlen_q, *x.shape[1:]).transpose(1, 2) for x in (q, k, v)]
    gqa = {"enable_gqa": True} if k.shape[1] < q.shape[1] else {}
    out = torch.nn.functional.scaled_dot_product_attention(*shaped, is_causal=True, **gqa)
    return out.transpose(1, 2).reshape(q.shape)


def positions(bsz, S, past_key_len, device, *_):
    """`gen_flash_attn_padding_info` of a batch without padding."""
    rows = {f"indices_{name}": torch.arange(bsz * S, device=device) for name in "qkv"}
    ends = {f"cu_seqlens_{name}": torch.zeros(bsz + 1, dtype=torch.int32, device=device) for name in "qk"}
    return rows | ends | {"max_seqlen_q": S, "max_seqlen_k": S}


def mpt(c, sizes):
    code = modules()
    code.gen_flash_attn_padding_info = positions
    code.MPTModel.param_init_fn = lambda self, module: None
    config = code.MPTConfig(
        d_model=c["d_model"],
        n_heads=c["n_heads"],
        n_layers=c["n_layers"],
        expansion_ratio=c["expansion_ratio"],
        max_seq_len=c["max_seq_len"],
        vocab_size=c["vocab_size"],
        learned_pos_emb=c["learned_pos_emb"],
        no_bias=c["no_bias"],
        tie_word_embeddings=c["tie_word_embeddings"],
        attn_config={
            "attn_type": "grouped_query_attention",
            "kv_n_heads": c["kv_n_heads"],
            "attn_impl": "torch" if c["attn_implementation"] == "eager" else "flash",
            "alibi": c["alibi"],
            "clip_qkv": 6.0 if c["clips_qkv"] else None,
        },
        ffn_config={"ffn_type": "mptmlp"},
        init_device="cuda",
        use_cache=False,
        pad_token_id=None,
    )
    model = code.MPTForCausalLM(config)
    model.fused_loss = c["fused_loss"]
    return model


def loss(model, batch, recorder):
    """`_train_microbatch` of composer/trainer/trainer.py: it names the model's outputs until the next micro-batch's are there.

    The loss is flash-attn's kernel (flash_attn/ops/triton/cross_entropy.py), which keeps the logits as they are, or PyTorch's.
    """
    norm = sys.modules["llmfoundry.models.layers.norm"]
    norm._cast_if_autocast_enabled = lambda x: recorder().to_autocast(x)
    logits = model(batch["input_ids"]).logits
    targets = torch.roll(batch["labels"], shifts=-1)
    targets[:, -1] = -100
    rows, targets = logits.view(-1, logits.size(-1)), targets.view(-1)
    if model.fused_loss:
        losses = recorder().whole("flash_log_probs", lambda: torch.empty(len(targets), device="cuda"), rows, targets, False)
    else:
        losses = torch.nn.functional.cross_entropy(rows, targets, reduction="none")
    del rows
    value = losses.sum() / (targets != -100).sum()
    return {"loss": value, "logits": logits}


def draw(r):
    heads = r.choice((2, 4, 8))  # slopes of other numbers of heads are two series put together
    return {
        "d_model": heads * 2 * r.randint(10, 30),
        "n_heads": heads,
        "kv_n_heads": heads,
        "n_layers": r.randint(3, 6),
        "expansion_ratio": r.randint(2, 5),
        "max_seq_len": r.randint(300, 600),
        "vocab_size": r.randint(900, 1800),
    }


def flag(key):
    return (Option(f"not {key}", _sets(**{key: False})), Option(key, _sets(**{key: True})))


PLACES = (
    Option("learned_pos_emb", _sets(learned_pos_emb=True, alibi=False)),
    Option("alibi and not learned_pos_emb", _sets(learned_pos_emb=False, alibi=True)),
)

TIED = tuple(reversed(flag("tie_word_embeddings")))

CODES = (
    Code(
        "llm-foundry.mpt",
        "mpt",
        Family(
            draw,
            axes=(PLACES, flag("clips_qkv"), flag("no_bias"), flag("fused_loss"), TIED),
            attention=("sdpa", "eager"),
            tasks=("causal-lm",),
        ),
        mpt,
        loss,
        LAYER,
        captured,
        asks=("not rope", "not gated", "low_precision_norm"),
    ),
)
