"""Families that read and write text whose code needs more than the usual keys (`families.py` holds the plain ones)."""

from .family import Option
from .shared import BOTH_WINDOWS, CLASSIFIER, ENCODER, GQA, HEAD, SEQ2SEQ, WINDOW, _sets, _switch, standard
from .usual_keys import drop
from .state_spaces import (
    CHUNK,
    CONVOLVED,
    DELTA,
    DELTA_FACTS,
    LIQUID_WIDTH,
    LISTED,
    MIXER,
    SCAN_WIDTHS,
    STATE_SPACE,
    bamba,
    chunked,
    falcon_h1,
    gated_delta,
    hybrid,
    jamba,
    liquid,
    liquid_experts,
    mamba2,
    mixed,
    nemotron_h,
    selective,
    widths,
)
from .latent_attention import LATENT, QUERIES, latent, low_rank, routed

HEADS = ("causal-lm", "seq-cls")


def plain_width(r, d):
    """The output projection takes the hidden size for the heads' width."""
    return {"head_dim": d["hidden_size"] // d["num_attention_heads"]}


def llama4(r, d):
    step, interval = r.choice(((2, 3), (2, 3), (2, 3), (1, 2), (1, 4)))  # the first has every kind of layer
    return {
        "num_hidden_layers": r.randint(6, 7),
        "interleave_moe_layer_step": step,
        "no_rope_layer_interval": interval,
        "intermediate_size_mlp": r.randint(40, 240),
    }


def chunk(inside):
    def change(d, s, r):
        d["attention_chunk_size"] = s["S"] + r.randint(1, 40) if inside else r.randint(3, s["S"] - 1)

    return change


def global_first(r, d):
    """Windows anywhere but in the first layer."""
    later = mixed(r, "sliding_attention", 2)["layer_types"]
    return {"num_hidden_layers": 1 + len(later), "layer_types": ["full_attention", *later]}


# The convolution calls the activation as a function, which stands in a graph as its operators.
SILU = (Option("hidden_act == 'silu'", _sets(hidden_act="silu")),)


def given(**values):
    """A branch that must be so: the only one captured."""
    test = " and ".join(
        k if v is True else f"not {k}" if v is False else f"{k} == null" if v is None else f"{k} == {v!r}" for k, v in values.items()
    )
    return (Option(test, _sets(**values)),)


RELATIVE = (
    *given(relative_attention=True, share_att_key=True, norm_rel_ebd="layer_norm", position_biased_input=False),
    *given(relative_attention=False, position_biased_input=True),
)
"""DeBERTa-v2 tells how far words are in the attention, as all published ones do, or where they stand with the embeddings, as a config says that names neither."""


def deberta(r, d):
    """The third version's layout: keys and queries of positions shared with those of words, positions in log buckets."""
    return {
        "position_buckets": 2 * r.randint(15, 30),
        "max_position_embeddings": r.randint(130, 200),
        "type_vocab_size": 0,
        "pooler_hidden_size": d["hidden_size"],
        "pos_att_type": "p2c|c2p",
        "pooler_dropout": drop(r),
    }


def modern(inside):
    def change(d, s, r):
        d["local_attention"] = 2 * (s["S"] + r.randint(1, 40)) if inside else 2 * r.randint(2, s["S"] // 2 - 1)

    return change


FAMILIES = {
    "helium": standard("helium", tasks=HEADS, axes=(GQA,), extra=plain_width),
    "nemotron": standard(
        "nemotron",
        axes=(GQA,),
        derived={"num_key_value_heads": "num_attention_heads", "partial_rotary_factor": "rope_parameters.partial_rotary_factor"},
    ),
    "mpt": standard(
        "mpt",
        tasks=HEADS,
        attention=("eager",),
        extra=lambda r, d: {"n_heads": (n := r.choice((2, 4, 8))), "d_model": n * 8 * r.randint(1, 4), "expansion_ratio": r.randint(2, 4)},
    ),
    "rembert": standard(
        "rembert",
        tasks=ENCODER,
        attention=("eager",),
        derived=CLASSIFIER,
        extra=lambda r, d: {"input_embedding_size": r.randint(20, 90), "output_embedding_size": r.randint(91, 150)},
    ),
    "deepseek_v3": standard(
        "deepseek_v3",
        tasks=HEADS[:2],
        axes=(QUERIES, (Option("rope_interleave", lambda d, s, r: None),)),
        fixed=("head_dim",),
        extra=latent,
        **LATENT,
    ),
    "deepseek_v2": standard(
        "deepseek_v2",
        axes=(
            QUERIES,
            (
                Option("topk_method == 'greedy'", _sets(topk_method="greedy")),
                Option("topk_method == 'group_limited_greedy'", _sets(topk_method="group_limited_greedy")),
            ),
        ),
        derived={"num_experts_per_tok": "1", "n_group": "1", "topk_group": "1"},
        fixed=("head_dim",),
        extra=latent,
        **LATENT,
    ),
    "llama4_text": standard(
        "llama4_text",
        axes=(GQA[:1], (Option("S < attention_chunk_size", chunk(True)), Option("S >= attention_chunk_size", chunk(False)))),
        fixed=("layer_types",),
        extra=llama4,
        points=6,
    ),
    "granitemoeshared": standard("granitemoeshared", axes=(GQA,)),
    "lfm2": standard(
        "lfm2",
        kernels={"packages": ["causal_conv1d"], "module": "conv"},
        axes=(GQA, given(conv_bias=False, block_auto_adjust_ff_dim=True)),
        fixed=("head_dim",),
        extra=liquid,
        terms=(HEAD, LIQUID_WIDTH),
        kind=f"({LISTED.replace('attn_layer_indices', 'full_attn_idxs')}) and 'full_attention' or 'conv'",
        derived={"head_dim": HEAD, "intermediate_size": "block_ff_dim or 12288"},
    ),
    "lfm2_moe": standard(
        "lfm2_moe",
        kernels={"packages": ["causal_conv1d"], "module": "conv"},
        axes=(GQA, given(conv_bias=False, use_expert_bias=True)),
        extra=liquid_experts,
        derived={"layer_types": "null"},
        kind="'full_attention'",
        points=4,
    ),
    "minicpm3": standard(
        "minicpm3",
        fixed=("head_dim",),
        axes=(given(attention_bias=False),),
        extra=low_rank,
        derived={"v_head_dim": HEAD},
        terms=(HEAD, "qk_nope_head_dim+qk_rope_head_dim", "qk_nope_head_dim+v_head_dim"),
    ),
    "apertus": standard("apertus", axes=(GQA,), fixed=("hidden_act",)),
    "mamba2": standard(
        "mamba2",
        kernels=MIXER,
        attention=("eager",),
        axes=(
            SILU,
            given(expand=2, use_conv_bias=True),
            chunked("chunk_size"),
        ),
        extra=mamba2,
        derived={"time_step_rank": "ceil_div(hidden_size,16)"},
        terms=(CHUNK.format("chunk_size"), *widths("num_heads", "head_dim", "n_groups", "state_size")),
    ),
    "bamba": standard(
        "bamba",
        kernels=STATE_SPACE,
        axes=(
            GQA[:1],
            SILU,
            given(mamba_conv_bias=True),
            chunked("mamba_chunk_size"),
        ),
        fixed=("head_dim",),
        extra=bamba,
        kind=f"({LISTED}) and 'full_attention' or 'linear_attention'",
        derived={"head_dim": HEAD, "attn_layer_indices": "null"},
        terms=(HEAD, CHUNK.format("mamba_chunk_size"), *SCAN_WIDTHS),
    ),
    "granitemoehybrid": standard(
        "granitemoehybrid",
        kernels=STATE_SPACE,
        derived={"num_key_value_heads": "num_attention_heads"},
        axes=(
            GQA,
            SILU,
            given(mamba_conv_bias=True),
            chunked("mamba_chunk_size"),
            (
                Option("position_embedding_type == 'rope'", _sets(position_embedding_type="rope")),
                Option("position_embedding_type != 'rope'", _sets(position_embedding_type=None)),
            ),
            (Option("num_local_experts > 0", lambda d, s, r: None), Option("num_local_experts == 0", _sets(num_local_experts=0))),
        ),
        extra=lambda r, d: {**hybrid(r, d), **mixed(r), "shared_intermediate_size": r.randint(40, 200)},
        terms=(HEAD, CHUNK.format("mamba_chunk_size"), *SCAN_WIDTHS),
    ),
    "falcon_h1": standard(
        "falcon_h1",
        kernels=STATE_SPACE,
        width=True,
        axes=(GQA[:1], SILU, given(mamba_conv_bias=True), chunked("mamba_chunk_size"), _switch("mamba_rms_norm")),
        extra=falcon_h1,
        terms=(HEAD, CHUNK.format("mamba_chunk_size"), *SCAN_WIDTHS),
    ),
    "cwm": standard("cwm", axes=(GQA, BOTH_WINDOWS)),
    "deberta-v2": standard(
        "deberta-v2",
        tasks=ENCODER,
        attention=("eager",),
        axes=(RELATIVE, CONVOLVED),
        fixed=("type_vocab_size",),
        extra=deberta,
        derived={"pooler_hidden_size": "hidden_size", "pos_att_type": "null"},
    ),
    "modernbert": standard(
        "modernbert",
        tasks=ENCODER,
        axes=(
            given(norm_bias=False),
            (Option("2*S < local_attention", modern(True)), Option("2*S >= local_attention", modern(False))),
            (
                Option("classifier_pooling == 'mean'", _sets(classifier_pooling="mean")),
                Option("classifier_pooling == 'cls'", _sets(classifier_pooling="cls")),
            ),
        ),
        kind="i % global_attn_every_n_layers == 0 and 'full_attention' or 'sliding_attention'",
        derived={"global_attn_every_n_layers": "3"},
        extra=global_first,
    ),
    "qwen3_next": standard("qwen3_next", axes=(GQA[:1], SILU, DELTA), extra=gated_delta, **DELTA_FACTS),
    "qwen3_5_text": standard("qwen3_5_text", tasks=HEADS, axes=(GQA[:1], SILU, DELTA), extra=gated_delta, **DELTA_FACTS),
    "qwen3_5_moe_text": standard("qwen3_5_moe_text", axes=(GQA[:1], SILU, DELTA), extra=gated_delta, **DELTA_FACTS),
    "mamba": standard(
        "mamba",
        kernels=MIXER,
        attention=("eager",),
        axes=(SILU, given(expand=2, use_bias=False), _switch("use_conv_bias")),
        fixed=("intermediate_size",),
        derived={"time_step_rank": "ceil_div(hidden_size,16)", "intermediate_size": "2*hidden_size"},
        terms=("2*hidden_size",),
        extra=selective,
    ),
    "falcon_mamba": standard(
        "falcon_mamba",
        kernels=MIXER,
        attention=("eager",),
        axes=(SILU, given(expand=2, use_bias=False), _switch("use_conv_bias")),
        fixed=("intermediate_size",),
        derived={"time_step_rank": "ceil_div(hidden_size,16)", "intermediate_size": "2*hidden_size"},
        terms=("2*hidden_size",),
        extra=selective,
    ),
    "jamba": standard(
        "jamba",
        kernels=STATE_SPACE,
        axes=(GQA, SILU, given(mamba_expand=2, mamba_conv_bias=True)),
        extra=jamba,
        kind="i % attn_layer_period == attn_layer_offset and 'full_attention' or 'linear_attention'",
        derived={"mamba_dt_rank": "ceil_div(hidden_size,16)"},
        terms=(HEAD, "2*hidden_size"),
        points=4,
    ),
    "nemotron_h": standard(
        "nemotron_h",
        kernels=MIXER,
        axes=(GQA[:1], given(mamba_hidden_act="silu", use_conv_bias=True, moe_latent_size=None), chunked("chunk_size")),
        extra=nemotron_h,
        points=4,
        terms=(
            CHUNK.format("chunk_size"),
            "n_routed_experts//n_group",
            "mamba_num_heads//n_groups",
            *widths("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size"),
        ),
    ),
    "eurobert": standard("eurobert", tasks=ENCODER, axes=(GQA,)),
    "glm4_moe_lite": standard("glm4_moe_lite", axes=(QUERIES,), fixed=("head_dim",), extra=latent, **LATENT),
    "dots1": standard(
        "dots1",
        axes=(GQA, (Option("sliding_window == null or max_window_layers >= num_hidden_layers", _sets(sliding_window=None)),)),
        fixed=("layer_types",),
        extra=routed,
        kind="'full_attention'",
        derived={"n_shared_experts": "null", "n_routed_experts": "null", "num_experts_per_tok": "null"},
        terms=(HEAD, "n_routed_experts//n_group"),
        points=4,
    ),
    "hunyuan_v1_moe": standard(
        "hunyuan_v1_moe",
        axes=(GQA,),
        derived={"moe_topk": "moe_topk.0 or 1", "head_dim": HEAD},
        extra=lambda r, d: {"moe_topk": r.randint(2, 4)},
    ),
    "flex_olmo": standard("flex_olmo", axes=(GQA,)),
    "minimax_m2": standard("minimax_m2", axes=(GQA,), derived={"partial_rotary_factor": "rope_parameters.partial_rotary_factor"}),
    "ernie4_5_moe": standard(
        "ernie4_5_moe",
        axes=(GQA,),
        extra=lambda r, d: {
            "moe_num_experts": r.randint(5, 9),
            "moe_k": r.randint(2, 4),
            "moe_num_shared_experts": r.randint(1, 3),
            "moe_layer_start_index": r.randint(1, 2),
        },
    ),
    "biogpt": standard("biogpt", tasks=HEADS, axes=(given(scale_embedding=True),)),
    "xglm": standard(
        "xglm",
        attention=("eager",),
        axes=(given(scale_embedding=True),),
        extra=lambda r, d: {"attention_heads": (n := r.randint(3, 9)), "d_model": n * 2 * r.randint(4, 12)},
        terms=("d_model//attention_heads",),
    ),
    "openai-gpt": standard("openai-gpt", attention=("eager",), axes=(given(afn="gelu"),), terms=("n_embd//n_head",)),
    "gpt_neox_japanese": standard(
        "gpt_neox_japanese", attention=("eager",), extra=lambda r, d: {"intermediate_multiple_size": r.randint(2, 6)}
    ),
    "ministral3": standard("ministral3", tasks=HEADS, axes=(GQA, WINDOW)),
    "blenderbot-small": standard(
        "blenderbot-small", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop", "tie_word_embeddings")
    ),
}
