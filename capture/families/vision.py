"""Families of pictures and text that stand beside those of `pictures_and_text.py`: how to draw their config keys (see family.py)."""

from . import pictures_and_text, pictures_and_text_configs, text
from .composed import inside, of_text
from .language import FAMILIES as TEXTS
from .family import Option
from .usual_keys import ACTIVATIONS, drop
from .pictures_and_text import FIXED, GROUPED, _cut, _language, _speaking, _tiles
from .pictures_and_text_configs import TEXT_HEAD, TOWER_TERMS, text_side, tower_side
from .queried_pictures import by_llama, by_t5, captions, plain_text, queried, resampled, written_by


def beside(name, tower, r):
    """A text side of its own family beside a picture side."""
    own = {k: v for k, v in (text.FAMILIES.get(name) or TEXTS[name]).dims(r).items() if k not in ("num_labels", "tie_word_embeddings")}
    return dict(
        text_config={**own, "model_type": name}, vision_config=tower_side(r, tower)["vision_config"], tie_word_embeddings=r.random() < 0.5
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
    d = pictures_and_text_configs.llava(r)
    for key in ("vision_feature_layer", "vision_feature_select_strategy", "multimodal_projector_bias"):
        d.pop(key)
    d["vision_config"]["num_hidden_layers"] = r.randint(19, 22)
    return d | dict(vision_feature_layers=[-2, -5, -8, -11, 6])


def pinpoints(tile, *shapes):
    """Shapes of pictures in tiles."""
    return [[tile * high, tile * wide] for high, wide in shapes]


def next_tiles(r):
    """Squares are seen as two by two tiles, as by every published one of five shapes."""
    d = pictures_and_text_configs.llava(r)
    return d | dict(image_grid_pinpoints=pinpoints(d["vision_config"]["image_size"], (1, 2), (2, 1), (2, 2), (3, 1), (1, 3)))


def one_vision(r):
    """Up to six by six tiles; more than three by three are brought to nine tiles' tokens."""
    text, vision = text_side(r, attention_dropout=drop(r), model_type="qwen2"), tower_side(r, "siglip_vision_model")["vision_config"]
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


def before(r):
    """Tokens of the picture before those of the text, which count beside them."""
    vision = tower_side(r, "git_vision_model")["vision_config"]
    vision.pop("model_type")
    return plain_text(r) | dict(vision_config=vision, pad_token_id=0, tie_word_embeddings=r.random() < 0.5)


def aligned(r):
    """Every patch is a token; the tower pools them besides, for nobody."""
    text, vision = text_side(r, attention_dropout=drop(r), model_type="llama"), tower_side(r, "siglip_vision_model")["vision_config"]
    return dict(text_config=text, vision_config=vision, image_token_id=1, tie_word_embeddings=r.random() < 0.5)


def _quarters(d, s, r):
    """One tile, or four with one of all of it."""
    s["I"] = d["vision_config"]["image_size"] * r.randint(1, 2)


CROSS = " or ".join(f"text_config.cross_attention_layers.{k} == i" for k in range(20))
CLASSED = f"({TOWER_TERMS[1]})*({TOWER_TERMS[1]})+1"  # patches and the token of the class
FOUR_TILES = (Option("vision_config.max_num_tiles == 4 and vision_config.intermediate_layers_indices.length == 5", lambda d, s, r: None),)


def any_size(r):
    """Pictures of any size in one row; four patches are one token."""
    text = text_side(r, attention_dropout=drop(r), model_type="mistral", sliding_window=None, head_dim=8 * r.randint(5, 8))
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
    text = text_side(r, attention_dropout=drop(r), head_dim=width) | dict(
        rope_parameters=pictures_and_text_configs.sections_of(dict(hidden_size=width, num_attention_heads=1))["rope_parameters"]
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
    "glm_ocr": _speaking(pages, pictures_and_text_configs.tokens_of, spelled=None, derived=pictures_and_text.WIDE_SECTIONS),
}
