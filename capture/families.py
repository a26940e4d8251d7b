"""The families that read and write text, and all of them together in `FAMILIES`."""
from dataclasses import replace

from . import media
from .family import Family, Option
from .standard import ACTIVATIONS, draw, drop


def even(r, low, high):
    return 2 * r.randint(low // 2, high // 2)


def heads(r, d, hidden="hidden_size", count="num_attention_heads", groups=None, dim=None):
    """Draws a head layout: hidden = heads x width, key-value heads by `groups`, explicit `dim` different from the width."""
    kv, g = r.randint(2, 5), r.choice((2, 3, 4))
    n = kv * g if groups else r.randint(3, 11)
    width = even(r, 6, 30)
    d[count], d[hidden] = n, n * width
    if groups:
        d[groups] = kv
    if dim:
        d[dim] = width + 2 * r.choice((1, 2, 3, 4, 5))
    return d


def llama_like(r, head_dim=True, act="hidden_act", biases=(), tie=True, extra=None):
    d = heads(r, {}, groups="num_key_value_heads", dim="head_dim" if head_dim else None)
    d.update(intermediate_size=r.randint(31, 190), vocab_size=r.randint(200, 900), num_hidden_layers=r.randint(3, 4), max_position_embeddings=r.randint(1000, 2000),
             attention_dropout=r.choice((0.05, 0.11, 0.13, 0.17, 0.23)), pad_token_id=0, num_labels=r.randint(3, 19))
    d[act] = r.choice(ACTIVATIONS)
    if tie:
        d["tie_word_embeddings"] = r.random() < 0.5
    for b in biases:
        d[b] = r.random() < 0.5
    d.update(extra(r, d) if extra else {})
    return d


def _multi_head(d, sizes, r):
    d["num_key_value_heads"] = d["num_attention_heads"]


GQA = (Option("num_key_value_heads != num_attention_heads", lambda d, s, r: None), Option("num_key_value_heads == num_attention_heads", _multi_head))


def _sets(**values):
    return lambda d, s, r: d.update(values)


def _window(inside, **more):
    """Draws a sliding window above or below the sequence."""

    def change(d, s, r):
        d["sliding_window"] = s["S"] + r.randint(1, 40) if inside else s["S"] - r.randint(0, 6)
        d.update(more)

    return change


WINDOW = (Option("sliding_window != null and S < sliding_window", _window(True)), Option("sliding_window != null and S >= sliding_window", _window(False)),
          Option("sliding_window == null", _sets(sliding_window=None)))


def _late_window(inside):
    """Sliding windows from a layer on (Qwen)."""

    def change(d, s, r):
        _window(inside, use_sliding_window=True)(d, s, r)
        d["max_window_layers"] = r.randint(1, d["num_hidden_layers"] - 2)

    return change


LATE_WINDOW = (Option("not use_sliding_window or max_window_layers >= num_hidden_layers", _sets(use_sliding_window=False)), Option("use_sliding_window and S < sliding_window", _late_window(True)),
               Option("use_sliding_window and S >= sliding_window", _late_window(False)))
LATE_KIND = "use_sliding_window and sliding_window != null and i >= max_window_layers and 'sliding_attention' or 'full_attention'"


def gpt2(r):
    d = heads(r, {}, "n_embd", "n_head")
    d.update(n_layer=r.randint(3, 5), n_inner=r.randint(40, 200), vocab_size=r.randint(200, 900), n_positions=r.randint(100, 200), activation_function=r.choice(ACTIVATIONS), pad_token_id=0,
             resid_pdrop=drop(r), embd_pdrop=drop(r), attn_pdrop=drop(r), tie_word_embeddings=r.random() < 0.5, num_labels=r.randint(3, 19))
    return d


def opt(r):
    d = heads(r, {})
    d.update(num_hidden_layers=r.randint(3, 4), ffn_dim=r.randint(40, 200), vocab_size=r.randint(200, 900), max_position_embeddings=r.randint(100, 200), dropout=drop(r), attention_dropout=drop(r),
             activation_function=r.choice(ACTIVATIONS), enable_bias=r.random() < 0.5, tie_word_embeddings=r.random() < 0.5, num_labels=r.randint(3, 19))
    return d


def _projection(d, s, r):
    d["word_embed_proj_dim"] = d["hidden_size"] + r.randint(1, 30)


def gpt_neox(r):
    n, width = r.randint(3, 9), 8 * r.randint(1, 4)
    d = {"num_attention_heads": n, "hidden_size": n * width}
    d.update(num_hidden_layers=r.randint(3, 4), intermediate_size=r.randint(40, 200), vocab_size=r.randint(200, 900), max_position_embeddings=r.randint(100, 200), hidden_dropout=drop(r),
             attention_dropout=drop(r), classifier_dropout=drop(r), hidden_act=r.choice(ACTIVATIONS), attention_bias=r.random() < 0.5, tie_word_embeddings=r.random() < 0.5, num_labels=r.randint(3, 19), pad_token_id=0,
             rotary_pct=r.choice((0.25, 0.5, 0.75)))
    return d


def bert(r):
    d = heads(r, {})
    d.update(num_hidden_layers=r.randint(3, 4), intermediate_size=r.randint(40, 200), vocab_size=r.randint(200, 900), max_position_embeddings=r.randint(100, 200), type_vocab_size=r.randint(2, 9),
             hidden_dropout_prob=drop(r), attention_probs_dropout_prob=drop(r), classifier_dropout=drop(r), hidden_act=r.choice(ACTIVATIONS), num_labels=r.randint(3, 19), tie_word_embeddings=r.random() < 0.5)
    return d


def vit(r):
    d = heads(r, {})
    d.update(num_hidden_layers=r.randint(3, 4), intermediate_size=r.randint(40, 200), hidden_dropout_prob=drop(r), attention_probs_dropout_prob=drop(r), hidden_act=r.choice(ACTIVATIONS), num_labels=r.randint(3, 19),
             patch_size=r.randint(3, 7), num_channels=r.randint(3, 5), qkv_bias=r.random() < 0.5)
    d["image_size"] = d["patch_size"] * r.randint(3, 9)
    return d


def _image(d, s, r):
    s["I"] = d["image_size"]


def phi3_extra(r, d):
    """Heads wide enough that a part of them turns in whole pairs."""
    return {"resid_pdrop": drop(r), "embd_pdrop": drop(r), "hidden_size": d["num_attention_heads"] * 8 * r.randint(1, 4), "partial_rotary_factor": r.choice((0.25, 0.5, 0.75))}


def gemma_extra(r, d):
    return {}


def t5(r):
    n, width = r.randint(3, 9), 2 * r.randint(3, 12)
    return dict(num_heads=n, d_kv=width, d_model=r.randint(40, 120), d_ff=r.randint(121, 240), num_layers=r.randint(3, 4), num_decoder_layers=r.randint(3, 5), vocab_size=r.randint(200, 900),
                relative_attention_num_buckets=4 * r.randint(5, 12), dropout_rate=drop(r), decoder_start_token_id=0)


T5_AXES = ((Option("not is_gated_act", lambda d, s, r: d.update(feed_forward_proj=r.choice(("relu", "gelu")))), Option("is_gated_act", lambda d, s, r: d.update(feed_forward_proj=r.choice(("gated-gelu", "gated-silu"))))),
           (Option("scale_decoder_outputs", lambda d, s, r: None), Option("not scale_decoder_outputs", _sets(tie_word_embeddings=False))))
T5_DERIVED = {"is_gated_act": "feed_forward_proj == 'gated-gelu' or feed_forward_proj == 'gated-silu'", "scale_decoder_outputs": "tie_word_embeddings != false",
              "dense_act_fn": "feed_forward_proj == 'gated-gelu' and 'gelu_new' or feed_forward_proj == 'gated-silu' and 'silu' or feed_forward_proj"}


def distilbert(r):
    d = heads(r, {}, "dim", "n_heads")
    d.update(n_layers=r.randint(3, 4), hidden_dim=r.randint(40, 200), vocab_size=r.randint(200, 900), max_position_embeddings=r.randint(100, 200), dropout=drop(r), attention_dropout=drop(r),
             seq_classif_dropout=drop(r), activation=r.choice(("gelu", "relu")), num_labels=r.randint(3, 19))
    return d


def mixtral_extra(r, d):
    return {"num_local_experts": r.randint(4, 9), "num_experts_per_tok": r.randint(2, 4)}


CLASSIFIER = {"classifier_dropout": "hidden_dropout_prob"}
HEAD = "hidden_size//num_attention_heads"

FAMILIES = {
    "llama": Family(lambda r: llama_like(r, biases=("attention_bias", "mlp_bias")), axes=(GQA,)),
    "gpt2": Family(gpt2, derived={"n_inner": "4*n_embd"}),
    "qwen2": Family(lambda r: llama_like(r, head_dim=False), axes=(GQA, LATE_WINDOW), kind=LATE_KIND, terms=(HEAD,)),
    "qwen3": Family(lambda r: llama_like(r, biases=("attention_bias",)), axes=(GQA, LATE_WINDOW), kind=LATE_KIND),
    "mistral": Family(lambda r: llama_like(r), axes=(GQA, WINDOW)),
    "gemma2": Family(lambda r: llama_like(r, act="hidden_activation", biases=("attention_bias",)), axes=(GQA, WINDOW[:2])),
    "phi3": Family(lambda r: llama_like(r, head_dim=False, extra=phi3_extra), axes=(GQA, WINDOW), terms=(HEAD,), derived={"partial_rotary_factor": "rope_parameters.partial_rotary_factor or 1"}),
    "gpt_neox": Family(gpt_neox, terms=(HEAD,), derived={"rotary_pct": "rope_parameters.partial_rotary_factor"}, axes=((Option("use_parallel_residual", _sets(use_parallel_residual=True)), Option("not use_parallel_residual", _sets(use_parallel_residual=False))),)),
    "opt": Family(opt, tasks=("causal-lm", "seq-cls"), axes=((Option("do_layer_norm_before", _sets(do_layer_norm_before=True)), Option("not do_layer_norm_before", _sets(do_layer_norm_before=False))),
                                                             (Option("word_embed_proj_dim == hidden_size", lambda d, s, r: None), Option("word_embed_proj_dim != hidden_size", _projection)))),
    "bert": Family(bert, derived=CLASSIFIER, tasks=("masked-lm", "seq-cls", "token-cls")),
    "vit": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
    "roberta": Family(bert, derived=CLASSIFIER, tasks=("masked-lm", "seq-cls", "token-cls")),
    "distilbert": Family(distilbert, tasks=("masked-lm", "seq-cls", "token-cls")),
    "t5": Family(t5, points=5, tasks=("seq2seq-lm",), axes=T5_AXES, derived=T5_DERIVED),
    "mixtral": Family(lambda r: llama_like(r, extra=mixtral_extra), axes=(GQA, WINDOW), derived={"head_dim": HEAD}),
}


def own_width(extra):
    """Draws a head width as well: the code asks for a key that its config class does not name, and published files have it."""
    return lambda r, d: {"head_dim": d["hidden_size"] // d["num_attention_heads"] + 8 * r.randint(1, 3), **(extra(r, d) if extra else {})}


def standard(name, tasks=("causal-lm",), axes=(), fixed=(), extra=None, width=False, **more):
    """A family whose config class uses the usual key names; with `width`, files may name a `head_dim` that the class does not."""
    grouped = any(GQA[0] in axis for axis in axes)
    if "derived" not in more and "partial_rotary_factor" in more.pop("needs", ()):
        more["derived"] = {"partial_rotary_factor": "rope_parameters.partial_rotary_factor"}
    if width:
        more["derived"], extra = {"head_dim": HEAD, **more.get("derived", {})}, own_width(extra)
    return Family(lambda r: draw(name, r, grouped, fixed, extra), tasks=tasks, axes=axes, terms=more.pop("terms", (HEAD,)), **more)


PARTIAL = {"needs": ("partial_rotary_factor",)}
ENCODER = ("masked-lm", "seq-cls", "token-cls")
SEQ2SEQ = ("seq2seq-lm",)
BOTH_WINDOWS = WINDOW[:2]


def _switch(key):
    return (Option(key, _sets(**{key: True})), Option(f"not {key}", _sets(**{key: False})))


def _dense_first(r, d):
    """Layers without experts come first."""
    return {"first_k_dense_replace": r.randint(1, 2), "num_hidden_layers": r.randint(4, 5)}


def _no_window(d, s, r):
    d.update(sliding_window=None, layer_types=["full_attention"] * len(d["layer_types"]))


def _rotary_dim(r, d):
    return {"rotary_dim": d["n_embd"] // d["n_head"] - 2 * r.randint(1, 3)}


def _codegen(r, d):
    width = 8 * r.randint(1, 4)
    n = 4 * r.randint(1, 3)
    return {"n_head": n, "n_embd": n * width, "rotary_dim": width - 2 * r.randint(1, 3)}


def _alternating(r, d):
    pairs = r.randint(2, 3)
    return {"num_layers": 2 * pairs, "attention_types": [[["global", "local"], pairs]], "window_size": r.randint(41, 90)}


def _powers(r, d):
    """Head counts whose ALiBi slopes come in one piece (a power of two); other counts differ by a few hundred bytes."""
    n = r.choice((2, 4, 8))
    return {"n_head": n, "hidden_size": n * 8 * r.randint(1, 4)}


def _alibi(d, s, r):
    n = r.choice((2, 4, 8))
    d.update(new_decoder_architecture=False, multi_query=False, parallel_attn=False, alibi=True, num_attention_heads=n, num_kv_heads=n, hidden_size=n * 8 * r.randint(1, 4))


def _new_falcon(d, s, r):
    kv = r.randint(2, 4)
    heads = kv * r.randint(2, 4)
    d.update(new_decoder_architecture=True, alibi=False, num_kv_heads=kv, num_attention_heads=heads, hidden_size=8 * heads * r.randint(1, 3))


def _one_norm(d, s, r):
    """Falcon 11B: attention and MLP share one norm."""
    _new_falcon(d, s, r)
    d.update(num_ln_in_parallel_attn=1)


FALCON = (Option("new_decoder_architecture and num_ln_in_parallel_attn != 1", _new_falcon),
          Option("new_decoder_architecture and num_ln_in_parallel_attn == 1", _one_norm),
          Option("not new_decoder_architecture and multi_query and parallel_attn", _sets(new_decoder_architecture=False, multi_query=True, parallel_attn=True, alibi=False)),
          Option("not new_decoder_architecture and not multi_query and not parallel_attn", _alibi))

FAMILIES |= {
    "gemma": standard("gemma", axes=(GQA,)),
    "gemma3_text": standard("gemma3_text", axes=(GQA, BOTH_WINDOWS)),
    "ministral": standard("ministral", derived={"head_dim": HEAD}, axes=(GQA, BOTH_WINDOWS)),
    "olmo2": standard("olmo2", axes=(GQA,)),
    "granite": standard("granite", axes=(GQA,)),
    "smollm3": standard("smollm3", axes=(GQA,), fixed=("layer_types",), extra=lambda r, d: {"no_rope_layer_interval": r.randint(2, 3)}),
    "starcoder2": standard("starcoder2", axes=(GQA, WINDOW)),
    "phi": standard("phi", axes=(GQA,), **PARTIAL),
    "stablelm": standard("stablelm", axes=(GQA, _switch("use_parallel_residual")), **PARTIAL),
    "glm4": standard("glm4", axes=(GQA,), **PARTIAL),
    "glm": standard("glm", axes=(GQA,), **PARTIAL),
    "cohere": standard("cohere", axes=(GQA, _switch("use_qk_norm"))),
    "cohere2": standard("cohere2", tasks=("causal-lm",), axes=(GQA, BOTH_WINDOWS)),
    "nemotron": standard("nemotron", axes=(GQA,), **PARTIAL),
    "olmo": standard("olmo", axes=(GQA,)),
    "olmo3": standard("olmo3", axes=(GQA, BOTH_WINDOWS)),
    "exaone4": standard("exaone4", width=True, axes=(GQA, (*BOTH_WINDOWS, Option("sliding_window == null", _no_window)))),
    "xlm-roberta": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "electra": standard("electra", derived=CLASSIFIER, tasks=ENCODER, axes=((Option("embedding_size != hidden_size", lambda d, s, r: None), Option("embedding_size == hidden_size", lambda d, s, r: d.update(embedding_size=d["hidden_size"]))),)),
    "bart": standard("bart", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "mt5": Family(t5, points=5, tasks=SEQ2SEQ, axes=T5_AXES[:1], derived=T5_DERIVED),
    "deit": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
    "gpt_bigcode": standard("gpt_bigcode", derived={"n_inner": "4*n_embd"}, axes=((Option("multi_query", lambda d, s, r: None),),), extra=lambda r, d: {"multi_query": True}),
    "gptj": standard("gptj", attention=("eager",), extra=_rotary_dim, derived={"n_inner": "4*n_embd"}),
    "gpt_neo": standard("gpt_neo", attention=("eager",), extra=_alternating, derived={"intermediate_size": "4*hidden_size"}),
    "bloom": standard("bloom", attention=("eager",), extra=_powers),
    "falcon": standard("falcon", axes=(FALCON,)),
    "codegen": standard("codegen", attention=("eager",), tasks=("causal-lm",), extra=_codegen, derived={"n_inner": "4*n_embd"}),
    "qwen3_moe": standard("qwen3_moe", width=True, axes=(GQA, _switch("norm_topk_prob"))),
    "qwen2_moe": standard("qwen2_moe", axes=(GQA,), fixed=("layer_types",)),
    "olmoe": standard("olmoe", axes=(GQA,)),
    "gpt_oss": standard("gpt_oss", attention=("eager",), axes=(GQA, BOTH_WINDOWS)),
    "phimoe": standard("phimoe", axes=(GQA,)),
    "granitemoe": standard("granitemoe", axes=(GQA,)),
    "mbart": standard("mbart", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "pegasus": standard("pegasus", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "modernbert": standard("modernbert", tasks=ENCODER, fixed=("norm_bias",)),
    "camembert": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "helium": standard("helium", axes=(GQA,)),
    "hunyuan_v1_dense": standard("hunyuan_v1_dense", derived={"head_dim": HEAD}, axes=(GQA,)),
    "seed_oss": standard("seed_oss", axes=(GQA,)),
    "ernie4_5": standard("ernie4_5", axes=(GQA,)),
    "arcee": standard("arcee", axes=(GQA,)),
    "dinov2": Family(vit, points=5, tasks=("image-cls",), axes=(_switch("use_swiglu_ffn"),), sizes=_image, terms=(HEAD, "image_size//patch_size", "(8*hidden_size//3+7)//8*8"), hidden=("I",)),
    "deberta-v2": standard("deberta-v2", tasks=ENCODER, attention=("eager",)),
    "mpt": standard("mpt", attention=("eager",)),
    "nanochat": standard("nanochat", axes=(GQA,)),
    "vaultgemma": standard("vaultgemma", axes=(GQA, BOTH_WINDOWS)),
    "persimmon": standard("persimmon", **PARTIAL),
    "bitnet": standard("bitnet", axes=(GQA,)),
    "glm4_moe": standard("glm4_moe", width=True, axes=(GQA, _switch("use_qk_norm")), extra=_dense_first, **PARTIAL),
    "ernie": Family(bert, derived=CLASSIFIER, tasks=ENCODER, axes=(_switch("use_task_id"),)),
    "roberta-prelayernorm": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "data2vec-text": Family(bert, derived=CLASSIFIER, tasks=ENCODER),
    "mpnet": standard("mpnet", tasks=ENCODER, attention=("eager",)),
    "blenderbot": standard("blenderbot", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "marian": standard("marian", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "m2m_100": standard("m2m_100", tasks=SEQ2SEQ, fixed=("encoder_layerdrop", "decoder_layerdrop")),
    "vit_msn": Family(vit, points=5, tasks=("image-cls",), sizes=_image, terms=(HEAD, "image_size//patch_size"), hidden=("I",)),
}

from . import text  # noqa: E402  (uses what stands above)
from . import encoders  # noqa: E402
from . import decoders, listed, readers, recurrent  # noqa: E402

FAMILIES |= text.FAMILIES
FAMILIES |= encoders.FAMILIES
FAMILIES |= decoders.FAMILIES | listed.FAMILIES | readers.FAMILIES | recurrent.FAMILIES
FAMILIES |= media.FAMILIES

from . import composed  # noqa: E402

FAMILIES |= composed.FAMILIES

from . import answering, hearing, padded, paired, pyramids, sights, towers, transcribing, vision, windows  # noqa: E402

FAMILIES |= vision.FAMILIES | padded.FAMILIES | towers.FAMILIES | sights.FAMILIES
FAMILIES |= pyramids.FAMILIES
FAMILIES |= hearing.FAMILIES | answering.FAMILIES | paired.FAMILIES | transcribing.FAMILIES | windows.FAMILIES

# Heads that families get besides: classifiers of decoders, most by one mixin each (modeling_layers.py, GenericForSequenceClassification and
# GenericForTokenClassification), and heads that mark answers.
CLASSIFIES = {
    "seq-cls": ("arcee", "bloom", "deepseek_v2", "exaone4", "falcon", "glm", "glm4", "gpt_neo", "gpt_oss", "gptj", "hunyuan_v1_dense", "jamba", "minicpm3", "ministral", "nemotron", "olmo", "olmo2", "olmo3",
                "openai-gpt", "persimmon", "phi", "phimoe", "qwen2_moe", "seed_oss", "stablelm", "starcoder2"),
    "token-cls": ("apertus", "arcee", "biogpt", "bloom", "exaone4", "falcon", "gemma", "gemma2", "glm", "glm4", "gpt_bigcode", "gpt_neo", "gpt_neox", "gpt_oss", "llama", "ministral", "mistral", "mixtral", "mpt", "nemotron",
                  "persimmon", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2"),
    # Encoders that people have find answers in texts (SQuAD).
    "qa": ("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta"),
    # A class for each pixel.
    "image-segmentation": ("mobilenet_v2", "mobilevit", "mobilevitv2", "segformer"),
    # Hidden patches of pictures restored.
    "masked-image": ("deit", "swin", "swinv2", "vit"),
    # Pictures and texts that belong together.
    "contrastive": ("clip", "siglip", "siglip2"),
}
# What classes of these heads ask of a config: restored pictures are as large as they came.
OF_PATCHES = {"masked-image": lambda d, r: {"encoder_stride": d["patch_size"]}}
OF_STAGES = {"masked-image": lambda d, r: {"encoder_stride": 8 * d["patch_size"]}}


def _paired(d, r):
    """The text side beside the tower; both end in embeddings of one width."""
    heads, width = r.randint(3, 7), 2 * r.randint(4, 15)
    kind = d["vision_config"]["model_type"].replace("vision", "text")
    sigmoid = kind.startswith("siglip")
    own = {"projection_size": d["vision_config"]["hidden_size"]} if sigmoid else {"eos_token_id": 49407}
    text = dict(model_type=kind, num_attention_heads=heads, hidden_size=heads * width, num_hidden_layers=r.randint(3, 4), intermediate_size=r.randint(40, 240), vocab_size=r.randint(200, 900),
                max_position_embeddings=r.randint(100, 200), attention_dropout=drop(r), hidden_act=r.choice(ACTIVATIONS), **own)
    return {"text_config": text, **({} if sigmoid else {"projection_dim": r.randint(40, 90)})}


PAIRED = {"contrastive": _paired}
HEADS = {**dict.fromkeys(("clip", "siglip", "siglip2"), PAIRED), **dict.fromkeys(("deit", "vit"), OF_PATCHES), **dict.fromkeys(("swin", "swinv2"), OF_STAGES)}
FAMILIES |= {name: replace(FAMILIES[name], heads=heads) for name, heads in HEADS.items()}

for task, names in CLASSIFIES.items():
    FAMILIES |= {name: replace(FAMILIES[name], tasks=(*(t for t in FAMILIES[name].tasks if t != task), task)) for name in names}
