"""The tensors the Trainer hands to models of pictures and text."""

import torch
from . import pictures


def long_zeros(*shape):
    return torch.zeros(*shape, dtype=torch.long, device="cuda")


def pictures_and_text(sizes, config):
    """One picture a text, of whole tokens; the text's length counts the picture's tokens."""
    vision = config.vision_config
    side, merge = sizes["I"] // vision.patch_size, getattr(vision, "spatial_merge_size", 1)
    pictures.arrange(sizes["B"], side, merge, sizes["S"])
    values = [getattr(vision, "in_channels", 3) * getattr(vision, "temporal_patch_size", 1) * vision.patch_size**2]
    if config.model_type in pictures.CUT_OUT:
        values = [3, vision.patch_size, vision.patch_size]
    text = lambda dtype: torch.zeros(sizes["B"], sizes["S"], dtype=dtype, device="cuda")
    return {
        "input_ids": text(torch.long),
        "pixel_values": torch.zeros(sizes["B"] * side**2, *values, device="cuda"),
        "image_grid_thw": long_zeros(sizes["B"], 3),
        "mm_token_type_ids": text(torch.int64),
        "labels": text(torch.long),
    }


def pixel_zeros(*shape):
    return torch.zeros(*shape, device="cuda")


def fixed_pictures_and_text(sizes, config):
    """One picture of the model's own side a text."""
    return {
        "input_ids": long_zeros(sizes["B"], sizes["S"]),
        "pixel_values": pixel_zeros(sizes["B"], 3, sizes["I"], sizes["I"]),
        "labels": long_zeros(sizes["B"], sizes["S"]),
    }


def typed_pictures_and_text(sizes, config):
    """Token types tell the picture's tokens, or the prompt's, from the text's."""
    batch = fixed_pictures_and_text(sizes, config)
    return {
        "input_ids": batch["input_ids"],
        "pixel_values": batch["pixel_values"],
        "token_type_ids": long_zeros(sizes["B"], sizes["S"]),
        "labels": batch["labels"],
    }


def tiles(side, tile):
    """Tiles of a square picture cut into whole ones, with one of all of it when there is more than one."""
    across = -(-side // tile)
    return across**2 + min(1, across - 1)


def tiles_in_a_row(sizes, config):
    """The tiles of all pictures in a row (InternVL)."""
    own = config.vision_config.image_size
    tile = own if isinstance(own, int) else own[0]
    return {
        "input_ids": long_zeros(sizes["B"], sizes["S"]),
        "pixel_values": pixel_zeros(sizes["B"] * tiles(sizes["I"], tile), 3, tile, tile),
        "labels": long_zeros(sizes["B"], sizes["S"]),
    }


def tiles_by_text(sizes, config):
    """The tiles of each text's picture, with a mask of the pixels that are none of the padding (Idefics 3, SmolVLM)."""
    tile = config.vision_config.image_size
    shape = sizes["B"], tiles(sizes["I"], tile)
    return {
        "input_ids": long_zeros(sizes["B"], sizes["S"]),
        "pixel_values": pixel_zeros(*shape, 3, tile, tile),
        "pixel_attention_mask": long_zeros(*shape, tile, tile),
        "labels": long_zeros(sizes["B"], sizes["S"]),
    }


def _anyres(across):
    """Tiles of a square picture, so many a side, behind one of all of it, with its side in pixels (LLaVA-NeXT)."""

    def batch(sizes, config):
        tile = config.vision_config.image_size
        count = across(sizes["I"], tile)
        pictures.square(count * tile)
        return {
            "input_ids": long_zeros(sizes["B"], sizes["S"]),
            "pixel_values": pixel_zeros(sizes["B"], count**2 + 1, 3, tile, tile),
            "image_sizes": long_zeros(sizes["B"], 2),
            "labels": long_zeros(sizes["B"], sizes["S"]),
        }

    return batch


def with_merges(sizes, config):
    """Pictures of any shape with how many of their patches are merged: none of a picture's (VideoLlama3ImageProcessor)."""
    batch = pictures_and_text(sizes, config)
    batch.pop("mm_token_type_ids")
    return {**batch, "image_merge_sizes": long_zeros(sizes["B"])}


def bare_patches(sizes, config):
    """Patches of one picture a text, those of all in a row (FuyuProcessor)."""
    return {
        "input_ids": long_zeros(sizes["B"], sizes["S"]),
        "image_patches": pixel_zeros(sizes["B"] * (sizes["I"] // config.patch_size) ** 2, 3 * config.patch_size**2),
        "labels": long_zeros(sizes["B"], sizes["S"]),
    }


def pictures_not_films(sizes, config):
    """One picture of the model's own side a text, beside which films have a name of their own (Video-LLaVA)."""
    batch = fixed_pictures_and_text(sizes, config)
    return {"pixel_values_images" if k == "pixel_values" else k: v for k, v in batch.items()}


def tiles_in_brackets(sizes, config):
    """The tiles of all pictures in a row, between tokens that say where lines of them end (Ovis2Processor)."""
    pictures.place(sizes["B"], sizes["S"], 1)
    return tiles_in_a_row(sizes, config)


def with_instructions(sizes, config):
    """One picture a text, and the text once more for those who ask the picture (InstructBlipProcessor puts the picture's tokens before it)."""
    words = sizes["S"] - config.num_query_tokens
    return {
        **fixed_pictures_and_text(sizes, config),
        "qformer_input_ids": long_zeros(sizes["B"], words),
        "qformer_attention_mask": long_zeros(sizes["B"], words),
    }


def films_with_instructions(sizes, config):
    """A film of four frames a text (InstructBlipVideoProcessor puts the tokens of four frames before it)."""
    b, side, words = sizes["B"], sizes["I"], sizes["S"] - 4 * config.num_query_tokens
    return {
        "input_ids": long_zeros(b, sizes["S"]),
        "pixel_values": pixel_zeros(b, 4, 3, side, side),
        "qformer_input_ids": long_zeros(b, words),
        "qformer_attention_mask": long_zeros(b, words),
        "labels": long_zeros(b, sizes["S"]),
    }


def two_resolutions(sizes, config):
    """One picture a text, and the same at the side of the other tower (DeepseekVLHybridImageProcessor)."""
    high = config.high_res_vision_config.image_size
    return {**fixed_pictures_and_text(sizes, config), "high_res_pixel_values": pixel_zeros(sizes["B"], 3, high, high)}


def merged_patches_and_text(sizes, config):
    """Squares of patches of one picture a text, padded to 280 (Gemma4UnifiedImageProcessor), with the place of each."""
    vision, b, s = config.vision_config, sizes["B"], sizes["S"]
    side, pool, most = sizes["I"] // vision.patch_size, vision.pooling_kernel_size, 280
    tokens = (side // pool) ** 2
    pictures.arrange(b, side, pool, s)
    pictures.place(b, most, tokens)
    pictures.place_wide(b, s, config.text_config.hidden_size, tokens)
    return {
        "input_ids": long_zeros(b, s),
        "pixel_values": pixel_zeros(b, most, 3 * (vision.patch_size * pool) ** 2),
        "image_position_ids": long_zeros(b, most, 2),
        "mm_token_type_ids": long_zeros(b, s),
        "labels": long_zeros(b, s),
    }


def with_places(sizes, config):
    """One picture a text, with a mask of where its tokens stand (Kosmos2Processor)."""
    pictures.place(sizes["B"], sizes["S"], config.latent_query_num)
    return {**fixed_pictures_and_text(sizes, config), "image_embeds_position_mask": long_zeros(sizes["B"], sizes["S"])}


def masked_pictures_and_text(sizes, config):
    """The same with a mask of the text, by which its positions are counted (Qwen2_5OmniProcessor)."""
    batch = pictures_and_text(sizes, config)
    batch.pop("mm_token_type_ids")
    return {**batch, "attention_mask": long_zeros(sizes["B"], sizes["S"])}


def lines_and_text(sizes, config):
    """Patches of pictures that end their lines with a token, between one before and one behind (HunYuanVLProcessor)."""
    batch, vision = pictures_and_text(sizes, config), config.vision_config
    across = sizes["I"] // vision.patch_size // vision.spatial_merge_size
    pictures.place_wide(sizes["B"], sizes["S"], config.text_config.hidden_size, across * (across + 1) + 2)
    return batch


def in_a_row(sizes, config):
    """One picture a text, of whole tokens of merged patches, with its side in pixels (Mistral 3)."""
    patch, merge, side = config.vision_config.patch_size, config.spatial_merge_size, sizes["I"]
    pictures.arrange(sizes["B"], side // patch, merge, sizes["S"])
    pictures.square(side)
    return {
        "input_ids": long_zeros(sizes["B"], sizes["S"]),
        "pixel_values": pixel_zeros(sizes["B"], 3, side, side),
        "image_sizes": long_zeros(sizes["B"], 2),
        "labels": long_zeros(sizes["B"], sizes["S"]),
    }


def own_side_or_any(sizes, config):
    """One picture a text: of the tower's own side, or of any, with its side in pixels (Pixtral 12B)."""
    if config.vision_config.model_type != "pixtral":
        return fixed_pictures_and_text(sizes, config)
    across = sizes["I"] // config.vision_config.patch_size
    pictures.arrange(sizes["B"], across, 1, sizes["S"])
    pictures.square(sizes["I"], tokens=across**2)
    return {**fixed_pictures_and_text(sizes, config), "image_sizes": long_zeros(sizes["B"], 2)}


def four_tiles(sizes, config):
    """Up to four tiles a picture, with a mask of those that text looks at (Llama 3.2 Vision)."""
    side, tiles = config.vision_config.image_size, config.vision_config.max_num_tiles
    b, s = sizes["B"], sizes["S"]
    return {
        "input_ids": long_zeros(b, s),
        "pixel_values": pixel_zeros(b, 1, tiles, 3, side, side),
        "aspect_ratio_ids": long_zeros(b, 1),
        "aspect_ratio_mask": long_zeros(b, 1, tiles),
        "cross_attention_mask": long_zeros(b, s, 1, tiles),
        "labels": long_zeros(b, s),
    }


def tiles_of_patches(sizes, config):
    """Tiles of 32 by 32 patches of all pictures in a row, with the shape of each (Lfm2VlImageProcessor)."""
    patch, side, b = config.vision_config.patch_size, 32, sizes["B"]
    rows = b * tiles(sizes["I"], side * patch)
    pictures.square(side)
    return {
        "input_ids": long_zeros(b, sizes["S"]),
        "pixel_values": pixel_zeros(rows, side**2, 3 * patch**2),
        "spatial_shapes": long_zeros(rows, 2),
        "pixel_attention_mask": long_zeros(rows, side**2),
        "labels": long_zeros(b, sizes["S"]),
    }


def padded_pictures_and_text(sizes, config):
    """Patches of one square picture a text, padded to those of 280 tokens (Gemma4ImageProcessor), with the place of each."""
    vision, b, s = config.vision_config, sizes["B"], sizes["S"]
    side, pool = sizes["I"] // vision.patch_size, vision.pooling_kernel_size
    most, wide = 280, config.text_config.hidden_size
    pictures.arrange(b, side, pool, s)
    pictures.pad(b, most * pool**2)
    tokens = (side // pool) ** 2
    pictures.place(b, most, tokens)
    pictures.place_wide(b, s, wide, tokens)
    return {
        "input_ids": long_zeros(b, s),
        "pixel_values": pixel_zeros(b, most * pool**2, 3 * vision.patch_size**2),
        "image_position_ids": long_zeros(b, most * pool**2, 2),
        "mm_token_type_ids": long_zeros(b, s),
        "labels": long_zeros(b, s),
    }


def asked_of_pictures(sizes, config):
    """A text with the tokens of one picture in it, and what is written of both (Florence2Processor)."""
    side, b = sizes["I"], sizes["B"]
    pictures.place_wide(b, sizes["S"], config.text_config.d_model, (side // 32) ** 2 + 1)
    return {
        "input_ids": long_zeros(b, sizes["S"]),
        "pixel_values": pixel_zeros(b, config.vision_config.in_channels, side, side),
        "labels": long_zeros(b, sizes["T"]),
    }


def written_from_pictures(sizes, config):
    """One picture of the encoder's own sides, and the text that is written of it (VisionEncoderDecoderModel)."""
    side = config.encoder.image_size
    high, wide = (side, side) if isinstance(side, int) else side
    return {"pixel_values": pixel_zeros(sizes["B"], config.encoder.num_channels, high, wide), "labels": long_zeros(sizes["B"], sizes["T"])}


# How models take pictures beside text; others take whole ones of one side.
PICTURES = {
    "florence2": asked_of_pictures,
    "vision-encoder-decoder": written_from_pictures,
    **dict.fromkeys((*pictures.MODELS, "glmga"), pictures_and_text),
    **dict.fromkeys(("gemma3", "paligemma"), typed_pictures_and_text),
    **dict.fromkeys(("aya_vision", "cohere2_vision", "internvl", "llama4", "qianfan_ocr"), tiles_in_a_row),
    **dict.fromkeys(("idefics2", "idefics3", "smolvlm"), tiles_by_text),
    **dict.fromkeys(("lighton_ocr", "mistral3"), in_a_row),
    **dict.fromkeys(("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker"), masked_pictures_and_text),
    "hunyuan_vl": lines_and_text,
    "gemma4": padded_pictures_and_text,
    "deepseek_vl_hybrid": two_resolutions,
    "instructblipvideo": films_with_instructions,
    "gemma4_unified": merged_patches_and_text,
    "video_llama_3": with_merges,
    "fuyu": bare_patches,
    "ovis2": tiles_in_brackets,
    "video_llava": pictures_not_films,
    "instructblip": with_instructions,
    "kosmos-2": with_places,
    "lfm2_vl": tiles_of_patches,
    "llava": own_side_or_any,
    "mllama": four_tiles,
    **dict.fromkeys(("llava_next", "llava_next_video"), _anyres(lambda side, tile: 2)),
    "llava_onevision": _anyres(lambda side, tile: -(-side // tile)),
}


def any_pictures_and_text(sizes, config):
    """One picture a text; texts alone where pictures have no side."""
    if sizes.get("I") == 0:
        return {"input_ids": long_zeros(sizes["B"], sizes["S"]), "labels": long_zeros(sizes["B"], sizes["S"])}
    return PICTURES.get(config.model_type, fixed_pictures_and_text)(sizes, config)
