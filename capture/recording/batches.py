"""The tensors the Trainer hands to models of images and speech."""

import torch

from . import pictures
from .batches_of_pictures import long_zeros, pixel_zeros, any_pictures_and_text
from .batches_of_sound import recordings, speech_seq2seq, waves


def image_classification(sizes, config):
    side = sizes["I"]
    vision = getattr(config, "vision_config", config)
    if config.model_type == "siglip2":
        return {**patches_of_any_shape(sizes["B"], vision), "labels": long_zeros(sizes["B"])}
    return {
        "pixel_values": torch.zeros(sizes["B"], getattr(vision, "num_channels", 3), side, side, device="cuda"),
        "labels": long_zeros(sizes["B"]),
    }


def patches_of_any_shape(rows, vision):
    """Sixteen by sixteen patches of each square picture: its processor makes 256 of every size (Siglip2ImageProcessor)."""
    pictures.square(16)
    return {
        "pixel_values": pixel_zeros(rows, 256, 3 * vision.patch_size**2),
        "pixel_attention_mask": long_zeros(rows, 256),
        "spatial_shapes": long_zeros(rows, 2),
    }


def segmentation(sizes, config):
    """A class for each pixel."""
    return {**image_classification(sizes, config), "labels": long_zeros(sizes["B"], sizes["I"], sizes["I"])}


def pairs(sizes, config):
    """Pictures and a text for each (run_clip.py), without padding."""
    seen = image_classification(sizes, config)
    seen.pop("labels")
    return {"input_ids": long_zeros(sizes["B"], sizes["S"]), **seen}


def masked_pictures(sizes, config):
    """Which patches are hidden, as run_mim.py's generator of masks says it in whole numbers; the model restores their pixels."""
    pictures_ = image_classification(sizes, config)["pixel_values"]
    patches = (sizes["I"] // config.patch_size) ** 2
    return {"pixel_values": pictures_, "bool_masked_pos": long_zeros(sizes["B"], patches)}


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
