"""Families of pictures and text that stand beside those of `pictures_and_text.py`: how to draw their config keys (see family.py)."""

from . import pictures_and_text, text
from .composed import inside, of_text
from .language import FAMILIES as TEXTS
from .family import Option
from .usual_keys import ACTIVATIONS, drop
from .pictures_and_text import FIXED, GROUPED, TEXT_HEAD, TOWER_TERMS, _cut, _language, _speaking, _text, _tiles, _tower


def beside(name, tower, r):
    """A text side of its own family beside a picture side."""
    own = {k: v for k, v in (text.FAMILIES.get(name) or TEXTS[name]).dims(r).items() if k not in ("num_labels", "tie_word_embeddings")}
    return dict(
        text_config={**own, "model_type": name}, vision_config=_tower(r, tower)["vision_config"], tie_word_embeddings=r.random() < 0.5
    )


def shuffled(r):
    """Squares of patches side by side in one token, between two linear layers with a gate."""
    d = beside("cohere2", "siglip_vision_model", r)
    vision = d["vision_config"]
    vision |= dict(image_size=2 * vision["patch_size"] * r.randint(2, 4), vision_use_head=False)
    return d | dict(downsample_factor=2, alignment_intermediate_size=2 * r.randint(40, 90), image_token_index=1, image_token_id=1)


WINDOWED = {**FIXED, "sizes": _cut("image_size"), "hidden": (), "kind": "(i+1) % 4 == 0 and 'full_attention' or 'sliding_attention'"}
COHERE = tuple(inside(axis) for axis in TEXTS["cohere2"].axes)
SHUFFLED = {
    **WINDOWED,
    "terms": (*TOWER_TERMS, _tiles("vision_config.image_size"), TEXT_HEAD),
    "axes": (COHERE[0], COHERE[1], (Option("downsample_factor == 2", lambda d, s, r: None),)),
}


def several_layers(r):
    """Features of five layers of the picture side beside each other."""
    d = pictures_and_text._llava(r)
    for key in ("vision_feature_layer", "vision_feature_select_strategy", "multimodal_projector_bias"):
        d.pop(key)
    d["vision_config"]["num_hidden_layers"] = r.randint(19, 22)
    return d | dict(vision_feature_layers=[-2, -5, -8, -11, 6])


def pinpoints(tile, *shapes):
    """Shapes of pictures in tiles."""
    return [[tile * high, tile * wide] for high, wide in shapes]


def next_tiles(r):
    """Squares are seen as two by two tiles, as by every published one of five shapes."""
    d = pictures_and_text._llava(r)
    return d | dict(image_grid_pinpoints=pinpoints(d["vision_config"]["image_size"], (1, 2), (2, 1), (2, 2), (3, 1), (1, 3)))


def one_vision(r):
    """Up to six by six tiles; more than three by three are brought to nine tiles' tokens."""
    text, vision = _text(r, attention_dropout=drop(r), model_type="qwen2"), _tower(r, "siglip_vision_model")["vision_config"]
    tile, sides = vision["image_size"], range(1, 7)
    return dict(
        text_config=text,
        vision_config={**vision, "vision_use_head": False},
        image_token_index=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        multimodal_projector_bias=r.random() < 0.5,
        tie_word_embeddings=r.random() < 0.5,
        image_grid_pinpoints=pinpoints(tile, *((high, wide) for high in sides for wide in sides)),
        vision_aspect_ratio="anyres_max_9",
    )


def _up_to_three(d, s, r):
    s["I"] = d["vision_config"]["image_size"] * r.randint(1, 3)


def crossed(r):
    """Pictures are read by layers of cross attention of their own, listed in the config; four tiles each, some of them empty."""
    kv, groups, width = r.randint(2, 3), r.choice((2, 3)), 8 * r.randint(1, 3)
    kinds = ["self", "cross", "self", "self", *r.sample(["cross", "self"], 2), *["self"] * r.randint(0, 1)]
    text = dict(
        num_attention_heads=kv * groups,
        num_key_value_heads=kv,
        hidden_size=kv * groups * width,
        num_hidden_layers=len(kinds),
        cross_attention_layers=[k for k, kind in enumerate(kinds) if kind == "cross"],
        intermediate_size=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        hidden_act=r.choice(ACTIVATIONS),
        max_position_embeddings=r.randint(400, 500),
        pad_token_id=0,
        dropout=0,
        tie_word_embeddings=False,
    )
    heads, patch = r.randint(2, 4), r.randint(4, 7)
    listed = [r.randint(1, 2)]
    for _ in range(4):
        listed.append(listed[-1] + r.randint(2, 3))
    hidden = heads * 8 * r.randint(1, 2)
    vision = dict(
        hidden_size=hidden,
        attention_heads=heads,
        num_hidden_layers=listed[-1] + 2,
        num_global_layers=r.randint(2, 3),
        intermediate_size=r.randint(40, 240),
        vision_output_dim=6 * hidden,
        image_size=patch * r.randint(3, 5),
        patch_size=patch,
        intermediate_layers_indices=listed,
        hidden_act=r.choice(ACTIVATIONS),
    )
    return dict(text_config=text, vision_config=vision)


def plain_text(r, **more):
    """A text side with as many keys as queries."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    return dict(
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        hidden_act=r.choice(ACTIVATIONS),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        **more,
    )


def before(r):
    """Tokens of the picture before those of the text, which count beside them."""
    vision = _tower(r, "git_vision_model")["vision_config"]
    vision.pop("model_type")
    return plain_text(r) | dict(vision_config=vision, pad_token_id=0, tie_word_embeddings=r.random() < 0.5)


def aligned(r):
    """Every patch is a token; the tower pools them besides, for nobody."""
    text, vision = _text(r, attention_dropout=drop(r), model_type="llama"), _tower(r, "siglip_vision_model")["vision_config"]
    return dict(text_config=text, vision_config=vision, image_token_id=1, tie_word_embeddings=r.random() < 0.5)


def captions(r):
    """A decoder that looks at the picture by cross attention."""
    vision = _tower(r, "blip_vision_model")["vision_config"]
    text = plain_text(
        r,
        pad_token_id=0,
        is_decoder=True,
        encoder_hidden_size=vision["hidden_size"],
        projection_dim=r.randint(20, 40),
        tie_word_embeddings=r.random() < 0.5,
    )
    for side in (vision,):
        side.pop("model_type")
    return dict(text_config=text, vision_config=vision, projection_dim=r.randint(20, 40), tie_word_embeddings=r.random() < 0.5)


def by_t5(r):
    """Text of T5's: an encoder that reads the picture's tokens with the text, and a decoder."""
    return {
        **TEXTS["t5"].dims(r),
        "model_type": "t5",
        "feed_forward_proj": r.choice(("gated-gelu", "gated-silu")),
        "tie_word_embeddings": False,
        "pad_token_id": 0,
    }


def by_llama(r):
    """Text of Vicuna's."""
    own = _text(r, attention_dropout=drop(r), model_type="llama", tie_word_embeddings=r.random() < 0.5)
    return {**own, "num_key_value_heads": own["num_attention_heads"]}


def written_by(when, dims):
    """A branch whose text side is of another family."""
    return Option(f"{when} and qformer_config.cross_attention_frequency == 2", lambda d, s, r: d.update(text_config=dims(r)))


def queried(r):
    """A small transformer asks the picture for a few tokens, which stand in the text."""
    heads, width = r.randint(3, 6), 8 * r.randint(1, 4)
    vision = _tower(r, "blip_2_vision_model")["vision_config"]
    vision.pop("model_type")
    small = dict(
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=2 * r.randint(2, 3),
        intermediate_size=r.randint(40, 240),
        hidden_dropout_prob=drop(r),
        attention_probs_dropout_prob=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        encoder_hidden_size=vision["hidden_size"],
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
    )
    n, wide = r.randint(3, 6), 8 * r.randint(1, 4)
    text = dict(
        model_type="opt",
        num_attention_heads=n,
        hidden_size=n * wide,
        word_embed_proj_dim=n * wide,
        ffn_dim=r.randint(40, 240),
        num_hidden_layers=r.randint(3, 4),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(400, 500),
        dropout=drop(r),
        attention_dropout=drop(r),
        activation_function=r.choice(ACTIVATIONS),
        tie_word_embeddings=r.random() < 0.5,
    )
    return dict(vision_config=vision, qformer_config=small, text_config=text, num_query_tokens=r.randint(9, 30), image_token_index=1)


def resampled(r):
    """Tiles of any number a picture, each asked for a few tokens by a small transformer."""
    text, vision = (
        _text(r, attention_dropout=drop(r), model_type="mistral", sliding_window=None, head_dim=8 * r.randint(5, 8)),
        _tower(r, "idefics2_vision")["vision_config"],
    )
    vision.pop("model_type")
    kv, groups = r.randint(1, 3), r.choice((2, 3))
    perceiver = dict(
        hidden_size=text["hidden_size"],
        resampler_n_latents=r.randint(9, 30),
        resampler_depth=r.randint(3, 4),
        resampler_n_heads=kv * groups,
        num_key_value_heads=kv,
        resampler_head_dim=8 * r.randint(1, 4),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
    )
    return dict(text_config=text, vision_config=vision, perceiver_config=perceiver, image_token_id=1, tie_word_embeddings=r.random() < 0.5)


def _quarters(d, s, r):
    """One tile, or four with one of all of it."""
    s["I"] = d["vision_config"]["image_size"] * r.randint(1, 2)


CROSS = " or ".join(f"text_config.cross_attention_layers.{k} == i" for k in range(20))
CLASSED = f"({TOWER_TERMS[1]})*({TOWER_TERMS[1]})+1"  # patches and the token of the class
FOUR_TILES = (Option("vision_config.max_num_tiles == 4 and vision_config.intermediate_layers_indices.length == 5", lambda d, s, r: None),)


def any_size(r):
    """Pictures of any size in one row; four patches are one token."""
    text = _text(r, attention_dropout=drop(r), model_type="mistral", sliding_window=None, head_dim=8 * r.randint(5, 8))
    heads = r.randint(2, 5)
    vision = dict(
        model_type="pixtral",
        num_attention_heads=heads,
        hidden_size=heads * 8 * r.randint(1, 3),
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        patch_size=r.randint(3, 5),
        image_size=r.randint(100, 200),
    )
    return dict(
        text_config=text,
        vision_config=vision,
        spatial_merge_size=2,
        image_token_index=1,
        projector_hidden_act=r.choice(ACTIVATIONS),
        vision_feature_layer=-1,
        multimodal_projector_bias=r.random() < 0.5,
        tie_word_embeddings=r.random() < 0.5,
    )


def read_pages(r):
    """The same with a text side of Qwen 3's and no choice of layers."""
    d = any_size(r)
    for key in ("vision_feature_layer", "image_token_index", "projector_hidden_act", "multimodal_projector_bias"):
        d.pop(key)
    return d | dict(image_token_id=1)


def pages(r):
    """Patches without learned positions, four of them one token."""
    heads, width = r.randint(2, 5), 8 * r.randint(5, 8)
    text = _text(r, attention_dropout=drop(r), head_dim=width) | dict(
        rope_parameters=pictures_and_text._sections(dict(hidden_size=width, num_attention_heads=1))["rope_parameters"]
    )
    vision = dict(
        depth=r.randint(3, 4),
        hidden_size=heads * 8 * r.randint(1, 3),
        intermediate_size=r.randint(40, 240),
        num_heads=heads,
        out_hidden_size=r.randint(40, 90),
        patch_size=r.randint(3, 5),
        hidden_act=r.choice(ACTIVATIONS),
        attention_bias=r.random() < 0.5,
        attention_dropout=0.0,
    )
    return dict(
        text_config=text,
        vision_config={**vision, "out_hidden_size": text["hidden_size"]},
        tie_word_embeddings=r.random() < 0.5,
        image_token_id=1,
        video_token_id=2,
        image_start_token_id=3,
        image_end_token_id=4,
        video_start_token_id=5,
        video_end_token_id=6,
    )


def _merged_tokens(d, s, r):
    s["I"] = d["vision_config"]["patch_size"] * 2 * r.randint(3, 7)


LAST = (Option("vision_feature_layer == -1 and spatial_merge_size == 2", lambda d, s, r: None),)
OPT = Option(
    "text_config.model_type == 'opt' and text_config.word_embed_proj_dim == text_config.hidden_size and qformer_config.cross_attention_frequency == 2",
    lambda d, s, r: None,
)
T5 = written_by("text_config.model_type == 't5' and text_config.is_gated_act and not text_config.scale_decoder_outputs", by_t5)
LLAMA = written_by("text_config.model_type == 'llama' and text_config.num_key_value_heads == text_config.num_attention_heads", by_llama)
# What the other text sides' classes fill in, where a file leaves it out: the defaults of the family are those of OPT (T5Config, LlamaConfig).
BY_T5 = {
    **{of_text(k): of_text(v) for k, v in TEXTS["t5"].derived.items()},
    "text_config.num_decoder_layers": "text_config.num_layers",
    "text_config.feed_forward_proj": "'relu'",
    "text_config.relative_attention_num_buckets": "32",
    "text_config.relative_attention_max_distance": "128",
    "text_config.dropout_rate": "0.1",
    "text_config.decoder_start_token_id": "0",
}
BY_LLAMA = {
    "text_config.num_key_value_heads": "text_config.num_attention_heads",
    "text_config.head_dim": TEXT_HEAD,
    "text_config.hidden_act": "'silu'",
    "text_config.tie_word_embeddings": "text_config.model_type != 'llama'",
}
NINE = (Option("I <= 3*vision_config.image_size and vision_aspect_ratio == 'anyres_max_9'", _up_to_three),)
SECOND_LAST = (
    Option(
        "vision_feature_layer == -2 and vision_feature_select_strategy == 'default' and image_grid_pinpoints.length == 5",
        lambda d, s, r: None,
    ),
)
FAMILIES = {
    "aya_vision": _speaking(shuffled, **{**SHUFFLED, "derived": {"alignment_intermediate_size": "text_config.hidden_size"}}),
    "cohere2_vision": _speaking(shuffled, **SHUFFLED),
    "vipllava": _speaking(
        several_layers, **FIXED, terms=(*TOWER_TERMS, TEXT_HEAD), axes=((_language("llama", False), _language("llama")),)
    ),
    "llava_next": _speaking(
        next_tiles,
        **FIXED,
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=((_language("llama", False), _language("llama"), _language("mistral", sliding_window=None)), SECOND_LAST),
    ),
    "llava_onevision": _speaking(
        one_vision,
        **{**FIXED, "sizes": _up_to_three, "hidden": ()},
        terms=(*TOWER_TERMS, "ceil_div(I,vision_config.image_size)", TEXT_HEAD),
        axes=((_language("qwen2"),), NINE),
    ),
    "mllama": _speaking(
        crossed,
        **FIXED,
        kind=f"({CROSS}) and 'cross' or 'self'",
        terms=("vision_config.hidden_size//vision_config.attention_heads", *TOWER_TERMS, CLASSED, f"ceil_div({CLASSED},8)*8", TEXT_HEAD),
        axes=(GROUPED, FOUR_TILES),
    ),
    "git": _speaking(
        before,
        **{**FIXED, "spelled": r"git\.visual_projection\.visual_projection"},
        attention=("eager",),
        terms=(*TOWER_TERMS, "hidden_size//num_attention_heads", CLASSED),
        axes=((Option("num_image_with_embedding == null", lambda d, s, r: None),),),
    ),
    "blip": _speaking(captions, **FIXED, attention=("eager",), terms=(*TOWER_TERMS, TEXT_HEAD, CLASSED), axes=()),
    "blip-2": _speaking(
        queried,
        **{**FIXED, "derived": {"image_token_index": "null", **BY_T5}},
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, CLASSED, "qformer_config.hidden_size//qformer_config.num_attention_heads"),
        axes=((OPT, T5),),
    ),
    "idefics2": _speaking(
        resampled,
        **{**FIXED, "sizes": _quarters, "hidden": ()},
        terms=(*TOWER_TERMS, _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("mistral", sliding_window=None),),),
    ),
    "mistral3": _speaking(
        any_size,
        **{**FIXED, "sizes": _merged_tokens, "hidden": ()},
        terms=("I//vision_config.patch_size", "I//vision_config.patch_size//2", TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("mistral", sliding_window=None), _language("ministral3", sliding_window=None)), LAST),
    ),
    "deepseek_vl": _speaking(aligned, **FIXED, terms=(*TOWER_TERMS, TEXT_HEAD), axes=((_language("llama", False), _language("llama")),)),
    "lighton_ocr": _speaking(
        read_pages,
        **{**FIXED, "sizes": _merged_tokens, "hidden": ()},
        terms=("I//vision_config.patch_size", "I//vision_config.patch_size//2", TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen3"),), (Option("spatial_merge_size == 2", lambda d, s, r: None),)),
    ),
    "glm_ocr": _speaking(pages, pictures_and_text._tokens, spelled=None, derived=pictures_and_text.WIDE_SECTIONS),
}
