"""Families of pictures and text whose picture side, or the bridge from it, is a kind of its own: how to draw their config keys (see family.py)."""

from . import padded_pictures, pictures, pictures_and_text, pictures_and_text_configs, vision
from .composed import inside, of_text
from .language import FAMILIES as TEXTS
from .family import Family, Option
from .pictures_and_text import FIXED, _cut, _language, _speaking, _tiles
from .pictures_and_text_configs import TEXT_HEAD, TOWER_TERMS
from .picture_towers import sampled
from .picture_side_configs import (
    one_by_one,
    position_side,
    same,
    whole,
    whole_patches,
    aligned_layers,
    any_shape,
    experts_sampled,
    films,
    grounded,
    instructed,
    lined,
    no_tower,
    of_pictures_or_films,
    patches_only,
    recognised,
    shared_keys,
    shuffled_tiles,
    twofold,
    unmerged,
    visual_words,
    windowed,
    with_senses,
)


NORMED_LAYERS = (
    Option(
        "downsample_ratio == 0.5 and vision_config.norm_type == 'layer_norm' and not vision_config.use_qk_norm and vision_config.use_mean_pooling and vision_feature_layer == -1",
        same,
    ),
)
ALL_OVER = " or ".join(f"vision_config.global_attn_indexes.{k} == i" for k in range(8))
WINDOWS = f"({ALL_OVER}) and 'global' or 'window'"
SAM = (Option("vision_config.image_size == 1024 and vision_config.patch_size == 16 and vision_config.window_size == 14", same),)
# Rotary angles of half of each head, in parts of the published sizes.
HALF_TURNED = pictures_and_text.OWN_WIDTH | {
    f"text_config.rope_parameters.mrope_section.{k}": f"text_config.head_dim*{share}//32" for k, share in enumerate((2, 3, 3))
}
ACROSS = pictures_and_text.SQUARE[2]  # tokens a side
FAMILIES = {
    "janus": _speaking(
        aligned_layers,
        **{**FIXED, "spelled": r"model\.vqmodel\..*", "hidden": ("I", "vq_config.num_patches")},
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=(
            (_language("llama", False), _language("llama")),
            (
                Option(
                    "vision_config.depth == 2 and not vision_config.use_qk_norm and vq_config.base_channels == 128 and vq_config.channel_multiplier.length == 5",
                    same,
                ),
            ),
        ),
    ),
    "qianfan_ocr": _speaking(
        shuffled_tiles,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(TOWER_TERMS[0], "vision_config.image_size.0//vision_config.patch_size.0", _tiles("vision_config.image_size.0"), TEXT_HEAD),
        axes=((_language("qwen3"),), NORMED_LAYERS),
    ),
    "instructblip": _speaking(
        instructed,
        **{**FIXED, "derived": {"image_token_index": "null", **vision.BY_T5, **vision.BY_LLAMA}},
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, vision.CLASSED, "qformer_config.hidden_size//qformer_config.num_attention_heads"),
        axes=((vision.OPT, vision.T5, vision.LLAMA),),
    ),
    "kosmos-2": _speaking(
        grounded, **FIXED, terms=(*TOWER_TERMS, "text_config.embed_dim//text_config.attention_heads", vision.CLASSED), axes=()
    ),
    "got_ocr2": _speaking(
        windowed,
        **FIXED,
        kind=WINDOWS,
        attention=("eager",),
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2", False), _language("qwen2")), SAM),
    ),
    "pp_chart2table": _speaking(
        windowed,
        **FIXED,
        kind=WINDOWS,
        attention=("eager",),
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2", False), _language("qwen2")), SAM),
    ),
    "fuyu": _speaking(
        patches_only,
        **{**FIXED, "sizes": whole, "hidden": ()},
        terms=("I//patch_size", TEXT_HEAD, *map(of_text, TEXTS["persimmon"].terms)),
        axes=tuple(map(inside, TEXTS["persimmon"].axes)),
    ),
    "video_llava": _speaking(
        of_pictures_or_films,
        **FIXED,
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=(
            (_language("llama", False), _language("llama")),
            (Option("vision_feature_layer == -2 and vision_feature_select_strategy == 'default'", same),),
        ),
    ),
    "ovis2": _speaking(
        visual_words,
        **{**FIXED, "sizes": _cut("image_size"), "hidden": ()},
        terms=(*TOWER_TERMS, _tiles("vision_config.image_size"), TEXT_HEAD),
        axes=((_language("qwen2"),), (Option("vision_config.hidden_stride == 2 and vision_config.tokenize_function == 'softmax'", same),)),
    ),
    "siglip2": pictures._plain(
        any_shape,
        derived={"text_config.projection_size": "text_config.hidden_size"},
        sizes=position_side,
        hidden=("I",),
        inputs_follow=True,
        terms=(TOWER_TERMS[0], TEXT_HEAD),
        axes=((Option("vision_config.num_patches == 256", same),),),
    ),
    "llava_next_video": _speaking(
        vision.next_tiles,
        **FIXED,
        terms=(*TOWER_TERMS, TEXT_HEAD),
        axes=((_language("llama", False), _language("llama")), vision.SECOND_LAST),
    ),
    "deepseek_vl_hybrid": _speaking(
        twofold,
        **FIXED,
        inputs_follow=True,
        kind=WINDOWS.replace("vision_config", "high_res_vision_config"),
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, "high_res_vision_config.hidden_size//high_res_vision_config.num_attention_heads"),
        axes=(
            (_language("llama", False), _language("llama")),
            (Option(SAM[0].when.replace("vision_config", "high_res_vision_config"), same),),
        ),
    ),
    "instructblipvideo": _speaking(
        films,
        **{**FIXED, "derived": {"video_token_index": "null", **vision.BY_T5, **vision.BY_LLAMA}},
        points=5,
        terms=(*TOWER_TERMS, TEXT_HEAD, vision.CLASSED, "qformer_config.hidden_size//qformer_config.num_attention_heads"),
        axes=((vision.OPT, vision.T5, vision.LLAMA),),
    ),
    "gemma4_unified": _speaking(
        no_tower,
        padded_pictures._squares,
        spelled=None,
        aliases={},
        kind="((i+1) % 6 == 0 or (i+1) % text_config.num_hidden_layers == 0) and 'full_attention' or 'sliding_attention'",
        derived={of_text(k): of_text(v) for k, v in TEXTS["gemma4_unified_text"].derived.items()},
        axes=(
            *map(inside, TEXTS["gemma4_unified_text"].axes),
            (Option("text_config.use_bidirectional_attention == 'vision' and audio_config.audio_embed_dim != null", same),),
        ),
        terms=("I//vision_config.patch_size//3", *map(of_text, TEXTS["gemma4_unified_text"].terms)),
    ),
    "exaone4_5": _speaking(
        shared_keys,
        pictures_and_text_configs.windows_of,
        derived={},
        aliases={},
        terms=(*pictures_and_text.SQUARE, *map(of_text, TEXTS["exaone4"].terms)),
        kind="(i+1) % 4 == 0 and 'full_attention' or 'sliding_attention'",
        axes=(*map(inside, TEXTS["exaone4"].axes), (Option("vision_config.fullatt_block_indexes.0 == 7", same),)),
    ),
    "glmga": _speaking(
        sampled,
        pictures_and_text_configs.tokens_of,
        spelled=None,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
    "phi4_multimodal": Family(
        with_senses,
        tasks=("causal-lm",),
        axes=TEXTS["phi3"].axes,
        terms=TEXTS["phi3"].terms,
        points=4,
        derived=TEXTS["phi3"].derived,
        spelled=r"model\.embed_tokens_extend\.audio_embed\..*conv",
    ),
    "hunyuan_vl": _speaking(
        lined,
        one_by_one,
        spelled=None,
        derived={
            "text_config.head_dim": TEXT_HEAD,
            "vision_config.text_hidden_size": "text_config.hidden_size",
            **{f"text_config.rope_parameters.mrope_section.{k}": "text_config.head_dim//8" for k in range(4)},
        },
        axes=(pictures_and_text.GROUPED,),
        terms=(
            *pictures_and_text.SQUARE,
            TOWER_TERMS[0],
            "vision_config.max_image_size//vision_config.patch_size",
            f"({ACROSS})*({ACROSS}+1)",
            f"({ACROSS})*({ACROSS}+1)+2",
        ),
    ),
    "paddleocr_vl": _speaking(
        recognised, one_by_one, spelled=None, derived={}, aliases={}, terms=(*pictures_and_text.SQUARE, *TOWER_TERMS)
    ),
    "video_llama_3": _speaking(
        unmerged,
        whole_patches,
        spelled=None,
        derived={},
        aliases={},
        terms=("I//vision_config.patch_size", TOWER_TERMS[0], TEXT_HEAD),
        axes=((_language("qwen2"),),),
    ),
    "glm4v_moe": _speaking(
        experts_sampled,
        pictures_and_text_configs.tokens_of,
        points=6,
        spelled=None,
        derived=HALF_TURNED,
        terms=(*pictures_and_text.SQUARE, "vision_config.image_size//vision_config.patch_size"),
    ),
}
