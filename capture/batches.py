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
    pictures.arrange(sizes["B"], side, merge)
    values = getattr(vision, "in_channels", 3) * vision.temporal_patch_size * vision.patch_size**2
    text = lambda dtype: torch.zeros(sizes["B"], sizes["S"], dtype=dtype, device="cuda")
    return {"input_ids": text(torch.long), "pixel_values": torch.zeros(sizes["B"] * side**2, values, device="cuda"), "image_grid_thw": _long(sizes["B"], 3),
            "mm_token_type_ids": text(torch.int64), "labels": text(torch.long)}


def fixed_pictures_and_text(sizes, config):
    """One picture of the model's own side a text; token types tell its tokens from the text's."""
    side, text = sizes["I"], lambda: _long(sizes["B"], sizes["S"])
    return {"input_ids": text(), "pixel_values": torch.zeros(sizes["B"], 3, side, side, device="cuda"), "token_type_ids": text(), "labels": text()}


def any_pictures_and_text(sizes, config):
    """By how the vision model takes pictures: patches in a row, or whole pictures of one side."""
    patches = hasattr(config.vision_config, "spatial_merge_size")
    return (pictures_and_text if patches else fixed_pictures_and_text)(sizes, config)


def waves(sizes, config):
    """Raw samples, and the tokens that are heard in them."""
    return {"input_values": torch.zeros(sizes["B"], sizes["A"], device="cuda"), "labels": _long(sizes["B"], sizes["T"])}


MEDIA = {"ctc": waves, "image-text-to-text": any_pictures_and_text, "image-cls": image_classification, "speech-seq2seq": speech_seq2seq}
