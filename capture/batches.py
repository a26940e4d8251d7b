"""The tensors the Trainer hands to models of images and speech."""
import torch

from . import pictures


def _long(*shape):
    return torch.zeros(*shape, dtype=torch.long, device="cuda")


def image_classification(sizes, config):
    side = sizes["I"]
    vision = getattr(config, "vision_config", config)
    return {"pixel_values": torch.zeros(sizes["B"], getattr(vision, "num_channels", 3), side, side, device="cuda"), "labels": _long(sizes["B"])}


def speech_seq2seq(sizes, config):
    """Log-mel frames of the fixed window the encoder is made for (the feature extractor pads to it), and target tokens."""
    frames = 2 * config.max_source_positions
    return {"input_features": torch.zeros(sizes["B"], config.num_mel_bins, frames, device="cuda"), "labels": _long(sizes["B"], sizes["T"])}


def pictures_and_text(sizes, config):
    """One picture a text, of whole tokens; the text's length counts the picture's tokens."""
    vision = config.vision_config
    side, merge = sizes["I"] // vision.patch_size, vision.spatial_merge_size
    pictures.arrange(sizes["B"], side, merge, sizes["S"])
    values = getattr(vision, "in_channels", 3) * vision.temporal_patch_size * vision.patch_size**2
    text = lambda dtype: torch.zeros(sizes["B"], sizes["S"], dtype=dtype, device="cuda")
    return {"input_ids": text(torch.long), "pixel_values": torch.zeros(sizes["B"] * side**2, values, device="cuda"), "image_grid_thw": _long(sizes["B"], 3),
            "mm_token_type_ids": text(torch.int64), "labels": text(torch.long)}


def _pixels(*shape):
    return torch.zeros(*shape, device="cuda")


def fixed_pictures_and_text(sizes, config):
    """One picture of the model's own side a text."""
    return {"input_ids": _long(sizes["B"], sizes["S"]), "pixel_values": _pixels(sizes["B"], 3, sizes["I"], sizes["I"]), "labels": _long(sizes["B"], sizes["S"])}


def typed_pictures_and_text(sizes, config):
    """Token types tell the picture's tokens, or the prompt's, from the text's."""
    batch = fixed_pictures_and_text(sizes, config)
    return {"input_ids": batch["input_ids"], "pixel_values": batch["pixel_values"], "token_type_ids": _long(sizes["B"], sizes["S"]), "labels": batch["labels"]}


def tiles(side, tile):
    """Tiles of a square picture cut into whole ones, with one of all of it when there is more than one."""
    across = -(-side // tile)
    return across**2 + min(1, across - 1)


def tiles_in_a_row(sizes, config):
    """The tiles of all pictures in a row (InternVL)."""
    tile = config.vision_config.image_size[0]
    return {"input_ids": _long(sizes["B"], sizes["S"]), "pixel_values": _pixels(sizes["B"] * tiles(sizes["I"], tile), 3, tile, tile), "labels": _long(sizes["B"], sizes["S"])}


def tiles_by_text(sizes, config):
    """The tiles of each text's picture, with a mask of the pixels that are none of the padding (Idefics 3, SmolVLM)."""
    tile = config.vision_config.image_size
    shape = sizes["B"], tiles(sizes["I"], tile)
    return {"input_ids": _long(sizes["B"], sizes["S"]), "pixel_values": _pixels(*shape, 3, tile, tile), "pixel_attention_mask": _long(*shape, tile, tile), "labels": _long(sizes["B"], sizes["S"])}


# How models take pictures beside text; others take whole ones of one side.
PICTURES = {
    **dict.fromkeys(pictures.MODELS, pictures_and_text),
    **dict.fromkeys(("gemma3", "paligemma"), typed_pictures_and_text),
    "internvl": tiles_in_a_row,
    **dict.fromkeys(("idefics3", "smolvlm"), tiles_by_text),
}


def any_pictures_and_text(sizes, config):
    return PICTURES.get(config.model_type, fixed_pictures_and_text)(sizes, config)


def waves(sizes, config):
    """Raw samples, and the tokens that are heard in them."""
    return {**recordings(sizes, config), "labels": _long(sizes["B"], sizes["T"])}


def recordings(sizes, config):
    """Whole recordings to tell apart: as the model hears them, samples or frames of a spectrogram."""
    if hasattr(config, "max_source_positions"):
        heard = {"input_features": _pixels(sizes["B"], config.num_mel_bins, 2 * config.max_source_positions)}
    elif config.model_type == "audio-spectrogram-transformer":
        heard = {"input_values": _pixels(sizes["B"], config.max_length, config.num_mel_bins)}
    elif config.model_type == "wav2vec2-bert":
        heard = {"input_features": _pixels(sizes["B"], frames(sizes["A"]), config.feature_projection_input_dim)}
    else:
        heard = {"input_values": _pixels(sizes["B"], sizes["A"])}
    return {**heard, "labels": _long(sizes["B"])}


def frames(samples):
    """Pairs of log-mel frames of 25 ms every 10 ms (SeamlessM4TFeatureExtractor)."""
    return (1 + (samples - 400) // 160) // 2


MEDIA = {"audio-cls": recordings, "ctc": waves, "image-text-to-text": any_pictures_and_text, "image-cls": image_classification, "speech-seq2seq": speech_seq2seq}
