"""The tensors the Trainer hands to models of images and speech."""

import torch

from . import pictures


def _long(*shape):
    return torch.zeros(*shape, dtype=torch.long, device="cuda")


def image_classification(sizes, config):
    side = sizes["I"]
    vision = getattr(config, "vision_config", config)
    if config.model_type == "siglip2":
        return {**patches_of_any_shape(sizes["B"], vision), "labels": _long(sizes["B"])}
    return {
        "pixel_values": torch.zeros(sizes["B"], getattr(vision, "num_channels", 3), side, side, device="cuda"),
        "labels": _long(sizes["B"]),
    }


def patches_of_any_shape(rows, vision):
    """Sixteen by sixteen patches of each square picture: its processor makes 256 of every size (Siglip2ImageProcessor)."""
    pictures.square(16)
    return {
        "pixel_values": _pixels(rows, 256, 3 * vision.patch_size**2),
        "pixel_attention_mask": _long(rows, 256),
        "spatial_shapes": _long(rows, 2),
    }


def segmentation(sizes, config):
    """A class for each pixel."""
    return {**image_classification(sizes, config), "labels": _long(sizes["B"], sizes["I"], sizes["I"])}


def pairs(sizes, config):
    """Pictures and a text for each (run_clip.py), without padding."""
    seen = image_classification(sizes, config)
    seen.pop("labels")
    return {"input_ids": _long(sizes["B"], sizes["S"]), **seen}


def masked_pictures(sizes, config):
    """Which patches are hidden, as run_mim.py's generator of masks says it in whole numbers; the model restores their pixels."""
    pictures_ = image_classification(sizes, config)["pixel_values"]
    patches = (sizes["I"] // config.patch_size) ** 2
    return {"pixel_values": pictures_, "bool_masked_pos": _long(sizes["B"], patches)}


def speech_seq2seq(sizes, config):
    """Log-mel frames of the fixed window the encoder is made for (the feature extractor pads to it), and target tokens."""
    if config.model_type in HEARD_WHOLE:
        return {**HEARD_WHOLE[config.model_type](sizes, config), "labels": _long(sizes["B"], sizes["T"])}
    frames = 2 * config.max_source_positions
    return {"input_features": torch.zeros(sizes["B"], config.num_mel_bins, frames, device="cuda"), "labels": _long(sizes["B"], sizes["T"])}


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
        "image_grid_thw": _long(sizes["B"], 3),
        "mm_token_type_ids": text(torch.int64),
        "labels": text(torch.long),
    }


def _pixels(*shape):
    return torch.zeros(*shape, device="cuda")


def fixed_pictures_and_text(sizes, config):
    """One picture of the model's own side a text."""
    return {
        "input_ids": _long(sizes["B"], sizes["S"]),
        "pixel_values": _pixels(sizes["B"], 3, sizes["I"], sizes["I"]),
        "labels": _long(sizes["B"], sizes["S"]),
    }


def typed_pictures_and_text(sizes, config):
    """Token types tell the picture's tokens, or the prompt's, from the text's."""
    batch = fixed_pictures_and_text(sizes, config)
    return {
        "input_ids": batch["input_ids"],
        "pixel_values": batch["pixel_values"],
        "token_type_ids": _long(sizes["B"], sizes["S"]),
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
        "input_ids": _long(sizes["B"], sizes["S"]),
        "pixel_values": _pixels(sizes["B"] * tiles(sizes["I"], tile), 3, tile, tile),
        "labels": _long(sizes["B"], sizes["S"]),
    }


def tiles_by_text(sizes, config):
    """The tiles of each text's picture, with a mask of the pixels that are none of the padding (Idefics 3, SmolVLM)."""
    tile = config.vision_config.image_size
    shape = sizes["B"], tiles(sizes["I"], tile)
    return {
        "input_ids": _long(sizes["B"], sizes["S"]),
        "pixel_values": _pixels(*shape, 3, tile, tile),
        "pixel_attention_mask": _long(*shape, tile, tile),
        "labels": _long(sizes["B"], sizes["S"]),
    }


def _anyres(across):
    """Tiles of a square picture, so many a side, behind one of all of it, with its side in pixels (LLaVA-NeXT)."""

    def batch(sizes, config):
        tile = config.vision_config.image_size
        count = across(sizes["I"], tile)
        pictures.square(count * tile)
        return {
            "input_ids": _long(sizes["B"], sizes["S"]),
            "pixel_values": _pixels(sizes["B"], count**2 + 1, 3, tile, tile),
            "image_sizes": _long(sizes["B"], 2),
            "labels": _long(sizes["B"], sizes["S"]),
        }

    return batch


def with_merges(sizes, config):
    """Pictures of any shape with how many of their patches are merged: none of a picture's (VideoLlama3ImageProcessor)."""
    batch = pictures_and_text(sizes, config)
    batch.pop("mm_token_type_ids")
    return {**batch, "image_merge_sizes": _long(sizes["B"])}


def bare_patches(sizes, config):
    """Patches of one picture a text, those of all in a row (FuyuProcessor)."""
    return {
        "input_ids": _long(sizes["B"], sizes["S"]),
        "image_patches": _pixels(sizes["B"] * (sizes["I"] // config.patch_size) ** 2, 3 * config.patch_size**2),
        "labels": _long(sizes["B"], sizes["S"]),
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
        "qformer_input_ids": _long(sizes["B"], words),
        "qformer_attention_mask": _long(sizes["B"], words),
    }


def films_with_instructions(sizes, config):
    """A film of four frames a text (InstructBlipVideoProcessor puts the tokens of four frames before it)."""
    b, side, words = sizes["B"], sizes["I"], sizes["S"] - 4 * config.num_query_tokens
    return {
        "input_ids": _long(b, sizes["S"]),
        "pixel_values": _pixels(b, 4, 3, side, side),
        "qformer_input_ids": _long(b, words),
        "qformer_attention_mask": _long(b, words),
        "labels": _long(b, sizes["S"]),
    }


def two_resolutions(sizes, config):
    """One picture a text, and the same at the side of the other tower (DeepseekVLHybridImageProcessor)."""
    high = config.high_res_vision_config.image_size
    return {**fixed_pictures_and_text(sizes, config), "high_res_pixel_values": _pixels(sizes["B"], 3, high, high)}


def merged_patches_and_text(sizes, config):
    """Squares of patches of one picture a text, padded to 280 (Gemma4UnifiedImageProcessor), with the place of each."""
    vision, b, s = config.vision_config, sizes["B"], sizes["S"]
    side, pool, most = sizes["I"] // vision.patch_size, vision.pooling_kernel_size, 280
    tokens = (side // pool) ** 2
    pictures.arrange(b, side, pool, s)
    pictures.place(b, most, tokens)
    pictures.place_wide(b, s, config.text_config.hidden_size, tokens)
    return {
        "input_ids": _long(b, s),
        "pixel_values": _pixels(b, most, 3 * (vision.patch_size * pool) ** 2),
        "image_position_ids": _long(b, most, 2),
        "mm_token_type_ids": _long(b, s),
        "labels": _long(b, s),
    }


def with_places(sizes, config):
    """One picture a text, with a mask of where its tokens stand (Kosmos2Processor)."""
    pictures.place(sizes["B"], sizes["S"], config.latent_query_num)
    return {**fixed_pictures_and_text(sizes, config), "image_embeds_position_mask": _long(sizes["B"], sizes["S"])}


def masked_pictures_and_text(sizes, config):
    """The same with a mask of the text, by which its positions are counted (Qwen2_5OmniProcessor)."""
    batch = pictures_and_text(sizes, config)
    batch.pop("mm_token_type_ids")
    return {**batch, "attention_mask": _long(sizes["B"], sizes["S"])}


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
        "input_ids": _long(sizes["B"], sizes["S"]),
        "pixel_values": _pixels(sizes["B"], 3, side, side),
        "image_sizes": _long(sizes["B"], 2),
        "labels": _long(sizes["B"], sizes["S"]),
    }


def own_side_or_any(sizes, config):
    """One picture a text: of the tower's own side, or of any, with its side in pixels (Pixtral 12B)."""
    if config.vision_config.model_type != "pixtral":
        return fixed_pictures_and_text(sizes, config)
    across = sizes["I"] // config.vision_config.patch_size
    pictures.arrange(sizes["B"], across, 1, sizes["S"])
    pictures.square(sizes["I"], tokens=across**2)
    return {**fixed_pictures_and_text(sizes, config), "image_sizes": _long(sizes["B"], 2)}


def four_tiles(sizes, config):
    """Up to four tiles a picture, with a mask of those that text looks at (Llama 3.2 Vision)."""
    side, tiles = config.vision_config.image_size, config.vision_config.max_num_tiles
    b, s = sizes["B"], sizes["S"]
    return {
        "input_ids": _long(b, s),
        "pixel_values": _pixels(b, 1, tiles, 3, side, side),
        "aspect_ratio_ids": _long(b, 1),
        "aspect_ratio_mask": _long(b, 1, tiles),
        "cross_attention_mask": _long(b, s, 1, tiles),
        "labels": _long(b, s),
    }


def tiles_of_patches(sizes, config):
    """Tiles of 32 by 32 patches of all pictures in a row, with the shape of each (Lfm2VlImageProcessor)."""
    patch, side, b = config.vision_config.patch_size, 32, sizes["B"]
    rows = b * tiles(sizes["I"], side * patch)
    pictures.square(side)
    return {
        "input_ids": _long(b, sizes["S"]),
        "pixel_values": _pixels(rows, side**2, 3 * patch**2),
        "spatial_shapes": _long(rows, 2),
        "pixel_attention_mask": _long(rows, side**2),
        "labels": _long(b, sizes["S"]),
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
        "input_ids": _long(b, s),
        "pixel_values": _pixels(b, most * pool**2, 3 * vision.patch_size**2),
        "image_position_ids": _long(b, most * pool**2, 2),
        "mm_token_type_ids": _long(b, s),
        "labels": _long(b, s),
    }


def asked_of_pictures(sizes, config):
    """A text with the tokens of one picture in it, and what is written of both (Florence2Processor)."""
    side, b = sizes["I"], sizes["B"]
    pictures.place_wide(b, sizes["S"], config.text_config.d_model, (side // 32) ** 2 + 1)
    return {
        "input_ids": _long(b, sizes["S"]),
        "pixel_values": _pixels(b, config.vision_config.in_channels, side, side),
        "labels": _long(b, sizes["T"]),
    }


def written_from_pictures(sizes, config):
    """One picture of the encoder's own sides, and the text that is written of it (VisionEncoderDecoderModel)."""
    side = config.encoder.image_size
    high, wide = (side, side) if isinstance(side, int) else side
    return {"pixel_values": _pixels(sizes["B"], config.encoder.num_channels, high, wide), "labels": _long(sizes["B"], sizes["T"])}


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
        return {"input_ids": _long(sizes["B"], sizes["S"]), "labels": _long(sizes["B"], sizes["S"])}
    return PICTURES.get(config.model_type, fixed_pictures_and_text)(sizes, config)


def waves(sizes, config):
    """Raw samples, and the tokens that are heard in them."""
    return {**recordings(sizes, config), "labels": _long(sizes["B"], sizes["T"])}


def recordings(sizes, config):
    """Whole recordings to tell apart: as the model hears them, samples or frames of a spectrogram."""
    if config.model_type in HEARD_WHOLE:
        heard = HEARD_WHOLE[config.model_type](sizes, config)
    elif config.model_type == "whisper":
        heard = {"input_features": _pixels(sizes["B"], config.num_mel_bins, 2 * config.max_source_positions)}
    elif config.model_type == "audio-spectrogram-transformer":
        heard = {"input_values": _pixels(sizes["B"], config.max_length, config.num_mel_bins)}
    else:
        heard = {"input_values": _pixels(sizes["B"], sizes["A"])}
    return {**heard, "labels": _long(sizes["B"])}


def pairs_of_frames(sizes, config):
    """Pairs of log-mel frames of 25 ms every 10 ms (SeamlessM4TFeatureExtractor)."""
    return {"input_features": _pixels(sizes["B"], (1 + (sizes["A"] - 400) // 160) // 2, config.feature_projection_input_dim)}


def masked_pairs_of_frames(sizes, config):
    """The same with a mask of those that are none of the padding."""
    heard = pairs_of_frames(sizes, config)
    return {**heard, "attention_mask": torch.ones(heard["input_features"].shape[:2], dtype=torch.int32, device="cuda")}


def samples(sizes, config):
    """Raw samples."""
    return {"input_values": _pixels(sizes["B"], sizes["A"])}


def frames(sizes, config):
    """Log-mel frames of 25 ms every 10 ms (Speech2TextFeatureExtractor, Kaldi's without dither)."""
    return {"input_features": _pixels(sizes["B"], 1 + (sizes["A"] - 400) // 160, config.input_feat_per_channel)}


def _masked(count):
    """Frames with a mask of those that are none of the padding."""

    def heard(sizes, config):
        shape = sizes["B"], count(sizes["A"])
        return {
            "input_features": _pixels(*shape, config.encoder_config.num_mel_bins),
            "attention_mask": torch.ones(*shape, dtype=torch.bool, device="cuda"),
        }

    return heard


def told(mask, tokens, dtype=torch.int32, whole=None):
    """As `half_minute` with a mask of the frames, and one of the text's tokens, which the loss is taken by."""

    def heard(sizes, config):
        audio, b, t = config.audio_config, sizes["B"], sizes["T"]
        positions = getattr(audio, "max_source_positions", None) or audio.max_position_embeddings
        pictures.place_wide(b, t, config.text_config.hidden_size, tokens(positions))
        return {
            "input_ids": _long(b, t),
            "input_features": _pixels(b, audio.num_mel_bins, 2 * positions),
            "attention_mask": _long(b, t),
            mask: torch.ones(b, 2 * positions, dtype=dtype, device="cuda"),
        }

    return heard


def half_minute(sizes, config):
    """A recording of thirty seconds in each text, whose length counts the recording's tokens."""
    audio = config.audio_config
    pictures.place_wide(sizes["B"], sizes["T"], config.text_config.hidden_size, audio.max_source_positions // 4)
    return {
        "input_ids": _long(sizes["B"], sizes["T"]),
        "input_features": _pixels(sizes["B"], audio.num_mel_bins, 2 * audio.max_source_positions),
    }


def _after(frames, halvings):
    """Frames behind so many convolutions of three frames with a stride of two."""
    for _ in range(halvings):
        frames = (frames - 1) // 2 + 1
    return frames


def in_chunks(sizes, config):
    """Recordings padded to whole chunks of frames, which are brought to an eighth chunk by chunk (Qwen3ASRFeatureExtractor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames = 2 * audio.n_window, sizes["A"] // 160
    chunks, each = -(-frames // chunk), _after(chunk, 3)
    tokens = each * (frames // chunk) + _after(frames % chunk, 3)
    pictures.stretch(b, tokens, each * (audio.n_window_infer // chunk))
    pictures.place_row(b * chunks * each, b * tokens)
    pictures.place_wide(b, t, config.text_config.hidden_size, tokens)
    return {
        "input_ids": _long(b, t),
        "input_features": _pixels(b, audio.num_mel_bins, chunks * chunk),
        "input_features_mask": torch.ones(b, chunks * chunk, dtype=torch.int32, device="cuda"),
        "attention_mask": _long(b, t),
    }


def in_pieces(sizes, config):
    """Recordings padded to ten times the thirty seconds that the encoder has positions for (the `chunk_length` of 300 in the published
    preprocessor_config.json), whose frames are picked out and cut into pieces (Qwen2_5OmniProcessor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames, most = 2 * audio.n_window, sizes["A"] // 160, 20 * audio.max_source_positions
    length = _after(frames, 1)
    tokens = (length - 2) // 2 + 1
    pictures.stretch(b, length, audio.n_window, b * -(-frames // chunk), min(chunk, frames), tokens)
    pictures.place(b, most, frames)
    return _heard(b, t, audio.num_mel_bins, most)


def _heard(b, t, mels, frames):
    return {
        "input_ids": _long(b, t),
        "input_features": _pixels(b, mels, frames),
        "feature_attention_mask": torch.ones(b, frames, dtype=torch.int32, device="cuda"),
        "attention_mask": _long(b, t),
    }


def stacked_frames(sizes, config):
    """Seven log-mel frames of 25 ms side by side for every six of 10 ms (FunAsrNanoFeatureExtractor, Kaldi's)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    frames = -(-(1 + (sizes["A"] - 400) // 160) // 6)
    pictures.place_wide(b, t, config.text_config.hidden_size, frames)
    return {
        "input_ids": _long(b, t),
        "input_features": _pixels(b, frames, audio.input_size),
        "input_features_mask": torch.ones(b, frames, dtype=torch.int32, device="cuda"),
        "attention_mask": _long(b, t),
    }


def as_said(sizes, config):
    """As many frames as the tokens that are written while they are heard (VoxtralRealtimeProcessor)."""
    b, t = sizes["B"], sizes["T"]
    return {
        "input_ids": _long(b, t),
        "input_features": _pixels(b, config.audio_config.num_mel_bins, 2 * config.downsample_factor * t),
        "attention_mask": _long(b, t),
    }


def in_long_chunks(sizes, config):
    """Recordings padded to the longest, whose frames are picked out and cut into chunks (Qwen3OmniMoeProcessor)."""
    audio, b, t = config.audio_config, sizes["B"], sizes["T"]
    chunk, frames = 2 * audio.n_window, sizes["A"] // 160
    tokens = _after(chunk, 3) * (frames // chunk) + _after(frames % chunk, 3)
    pictures.stretch(b, tokens, _after(chunk, 3) * (audio.n_window_infer // chunk), b * -(-frames // chunk), min(chunk, frames), tokens)
    pictures.place(b, frames, frames)
    return _heard(b, t, audio.num_mel_bins, frames)


# How models hear recordings of any length that take no raw samples, or give them another name.
HEARD_WHOLE = {
    **dict.fromkeys(("seamless_m4t", "seamless_m4t_v2"), masked_pairs_of_frames),
    "wav2vec2-bert": pairs_of_frames,
    "speech_to_text": frames,
    "moonshine": samples,
    "voxtral": half_minute,
    "qwen2_audio": told("feature_attention_mask", lambda positions: positions // 2),
    "audioflamingo3": told("input_features_mask", lambda positions: positions // 2),
    "qwen3_asr": in_chunks,
    "fun_asr_nano": stacked_frames,
    "voxtral_realtime": as_said,
    "qwen2_5_omni_thinker": in_pieces,
    "qwen3_omni_moe_thinker": in_long_chunks,
    "glmasr": told("input_features_mask", lambda positions: positions // 4),
    "speecht5": samples,
    "speech-encoder-decoder": samples,
    **dict.fromkeys(("canary", "cohere_asr"), _masked(lambda samples: samples // 160 + 1)),
    "parakeet_ctc": _masked(lambda samples: samples // 160 + 1),  # centred windows (ParakeetFeatureExtractor)
    "lasr_ctc": _masked(lambda samples: (samples - 400) // 160 + 1),  # whole windows (LasrFeatureExtractor)
}

MEDIA = {
    "audio-cls": recordings,
    "ctc": waves,
    "image-text-to-text": any_pictures_and_text,
    "image-cls": image_classification,
    "image-segmentation": segmentation,
    "masked-image": masked_pictures,
    "contrastive": pairs,
    "speech-seq2seq": speech_seq2seq,
}
