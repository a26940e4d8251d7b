"""Loops over the pictures of a batch as one operation for all of them: its pictures are alike, so each round does the same.

What a round makes and lets go of before the next is alive for all pictures at once here; only such passing bytes differ.
"""

import inspect
import sys
import textwrap

import torch

from . import experts, pictures
from .host_reads import REWRITTEN


def anyres(self, image_features, image_sizes, *_, image_newline=None, **__):
    """LLaVA-NeXT's tiles of a picture put together again, with a token at the end of each line, behind the whole picture."""
    tiles, tokens, width = image_features.shape[1:]
    across, side = round((tiles - 1) ** 0.5), round(tokens**0.5)
    base, rest = image_features[:, 0], image_features[:, 1:]
    rest = rest.view(-1, across, across, side, side, width).permute(0, 5, 1, 3, 2, 4).contiguous()
    rest = rest.flatten(2, 3).flatten(3, 4)
    newline = image_newline[:, None, None].expand(rest.shape[0], *rest.shape[1:-1], 1).to(rest.device, rest.dtype)
    rest = torch.cat((rest, newline), dim=-1).flatten(2, 3).transpose(1, 2)
    return torch.cat((base, rest), dim=1).unbind(), None


def merged(self, image_features, image_sizes):
    """Mistral 3's squares of patches side by side in one token, of all pictures at once."""
    width, (high, wide) = image_features.shape[-1], (side // self.patch_size for side in image_sizes[0])
    grid = image_features.view(-1, high, wide, width).permute(0, 3, 1, 2)
    grid = torch.nn.functional.unfold(grid, kernel_size=self.spatial_merge_size, stride=self.spatial_merge_size)
    return self.merging_layer(grid.transpose(1, 2).reshape(-1, width * self.spatial_merge_size**2))


def resized(positional_embeddings, spatial_shapes, max_length):
    """SigLIP 2's positions brought to the shape of the pictures, once for all of them."""
    (high, wide), width = pictures.sizes()[0], positional_embeddings.shape[-1]
    result = torch.empty(
        (spatial_shapes.shape[0], max_length, width), device=positional_embeddings.device, dtype=positional_embeddings.dtype
    )
    whole = positional_embeddings.permute(2, 0, 1).unsqueeze(0)
    whole = torch.nn.functional.interpolate(whole, size=(high, wide), mode="bilinear", align_corners=False, antialias=True)
    whole = whole.reshape(width, high * wide).transpose(0, 1)
    result[:, : high * wide] = whole
    result[:, high * wide :] = whole[0]
    return result


def unfolded(self, pixel_values, spatial_shapes, pixel_attention_mask, **more):
    """LFM2-VL's projector over the patches of all tiles."""
    outputs = self.vision_tower(
        pixel_values=pixel_values, spatial_shapes=spatial_shapes, pixel_attention_mask=pixel_attention_mask, return_dict=True
    )
    features = outputs.last_hidden_state
    pixel_attention_mask.sum(dim=1)
    features = self.multi_modal_projector(features.reshape(features.shape[0], *pictures.sizes()[0], -1))
    outputs.pooler_output = [features.reshape(-1, features.size(-1))]
    return outputs


def crossing(rows, columns, indexing):
    """`torch.meshgrid` as the views that it makes."""
    shape = len(rows), len(columns)
    return rows.view(-1, 1).expand(shape), columns.view(1, -1).expand(shape)


# Methods that take another form, and lines of methods that do.
METHODS = {
    "siglip2": {"Siglip2VisionEmbeddings": {"resize_positional_embeddings": staticmethod(resized)}},
    "lfm2_vl": {"Lfm2VlModel": {"get_image_features": unfolded}},
    "mistral3": {"Mistral3PatchMerger": {"forward": merged}},
    "lighton_ocr": {"LightOnOcrPatchMerger": {"forward": merged}},
    "llava_next": {"LlavaNextModel": {"pack_image_features": anyres}},
    "llava_next_video": {"LlavaNextVideoModel": {"pack_image_features": anyres}},
    "llava_onevision": {"LlavaOnevisionModel": {"pack_image_features": anyres}},
}
_TILES = (
    "_pixel_values_list = [pix_val[:num_patch] for pix_val, num_patch in zip(pixel_values, image_num_patches)]",
    "_pixel_values_list = pixel_values.unbind()",
)
_SPLIT = (
    "image_features = torch.split(image_features, image_num_patches, dim=0)",
    "image_features = image_features.view(-1, image_num_patches[0], *image_features.shape[1:])",
)
_SIZES = ("for imsize in image_sizes", "for imsize in known_sizes()")
_PAIRS = ("in zip(image_sizes, need_patching)", "in zip(known_sizes(), need_patching)")
_DOWN = ("if query_output.dtype != image_embeds.dtype:", "if True:")  # a conversion to the dtype it has does nothing (guards.py)
_ACROSS = ("if encoder_hidden_states.dtype != query_embeds.dtype:", "if True:")
_FLAT = (
    "[\n        embed[..., : (size[0] // self.patch_size), : (size[1] // self.patch_size)]\n        for embed, size in zip(patch_embeds, image_sizes)\n    ]",
    "[patch_embeds]",
)
_ROW = (
    "torch.cat([p.flatten(1).T for p in patch_embeds_list], dim=0).unsqueeze(0)",
    "patch_embeds.flatten(2).transpose(1, 2).reshape(1, -1, patch_embeds.shape[1])",
)
_PLACES = ("position_ids = torch.cat(position_ids, dim=0)", "position_ids = position_ids[0].repeat(patch_embeds_list[0].shape[0], 1)")
_BLOCKS = ("[p.shape[-2] * p.shape[-1] for p in patch_embeds_list]", "[patch_embeds.shape[1]]")
# Lines that read a shape or a number of patches off the device, where every picture is alike and whole.
_BRACKETS = ("if mask.any():", "if True:")  # every picture has its brackets
_EACH = (
    "zip(hidden_states_chunks, grid_thw, merge_sizes)",
    "zip(hidden_states_chunks, [known_grid()] * len(known_patches()), [1] * len(known_patches()))",
)
STATED = {
    "video_llama_3": {"VideoLlama3VisionModel": {"pixel_unshuffle": (("grid_thw.prod(dim=1).tolist()", "known_patches()"), _EACH)}},
    "ovis2": {"Ovis2Model": {"forward": (_BRACKETS,)}},
    "paddleocr_vl": {
        "PaddleOCRProjector": {
            "forward": (("image_grid_thw.prod(dim=1).tolist()", "known_patches()"), ("t, h, w = image_grid", "t, h, w = known_grid()"))
        }
    },
    "lfm2_vl": {
        "Lfm2VlModel": {
            "get_image_features": (
                ("feature[: img_feature_lengths[img_idx], :]", "feature"),
                ("spatial_shapes[img_idx]", "known_sizes()[0]"),
            )
        }
    },
}
# One picture after the other, as rounds of a loop that runs as often as there are pictures.
_APART = ("image_features_chunks = image_features.split(image_grid_thw.prod(dim=1).tolist(), dim=0)", "each = known_patches()[0]")
_ROUNDS = (
    "for image_feature, image_grid in zip(image_features_chunks, image_grid_thw):\n        image_feature = self.pre_norm(image_feature)",
    "for k in rounds(len(known_patches())):\n        image_feature = self.pre_norm(picture_part(image_features, each, k))",
)
_GRID = ("t, h, w = image_grid", "t, h, w = known_grid()")
_CHUNKS = (
    "hidden_states_chunks = hidden_states.split(grid_thw.prod(dim=1).tolist(), dim=0)",
    "whole, each = hidden_states, known_patches()[0]",
)
_MERGES = (
    "for hidden_states, (t, h, w), merge_size in zip(hidden_states_chunks, grid_thw, merge_sizes):",
    "(t, h, w), merge_size = known_grid(), 1\n    for k in rounds(len(known_patches())):\n        hidden_states = picture_part(whole, each, k)",
)
# A weight clamped where it lies takes no memory; as `.data` it would be a tensor nobody knows.
_CLAMPED = ("self.prediction_coefs.weight.data.clamp_(-self.config.altup_coef_clip, self.config.altup_coef_clip)", "pass")
LINES = {
    "gemma3n": {"Gemma3nTextAltUp": {"predict": (_CLAMPED,)}},
    "video_llama_3": {"VideoLlama3VisionModel": {"pixel_unshuffle": (_CHUNKS, _MERGES)}},
    "paddleocr_vl": {"PaddleOCRProjector": {"forward": (_APART, _ROUNDS, _GRID)}},
    "ovis2": STATED["ovis2"],
    "pixtral": {"PixtralVisionModel": {"forward": (_FLAT, _ROW, ("torch.meshgrid(", "crossing("), _PLACES, _BLOCKS)}},
    "blip_2": {"Blip2ForConditionalGeneration": {"get_image_features": (_DOWN,)}, "Blip2QFormerModel": {"forward": (_ACROSS,)}},
    "llava_next_video": {"LlavaNextVideoModel": {"get_image_features": (_SIZES, _TILES, _SPLIT)}},
    "llava_next": {"LlavaNextModel": {"get_image_features": (_SIZES, _TILES, _SPLIT)}},
    "llava_onevision": {"LlavaOnevisionModel": {"get_image_features": (_PAIRS, _TILES, _SPLIT)}},
}
# HunYuan's positions and merger, picture by picture.
_PLACED = ("for t, h, w in grid_thw:", "t, h, w = known_grid()\n    for k in rounds(len(known_patches())):")
_ITEMS = (
    "split_sizes = grid_thw.prod(dim=-1).tolist()\n    split_items = torch.split(hidden_states, split_sizes, dim=1)",
    "each = known_patches()[0]\n    _, h, w = known_grid()",
)
_MERGED = (
    "for grid, item in zip(grid_thw.tolist(), split_items):\n        _, h, w = grid\n",
    "for k in rounds(len(known_patches())):\n        item = picture_part(hidden_states, each, k, 1)\n",
)
LINES["hunyuan_vl"] = {"HunYuanVLVisionPatchEmbed": {"forward": (_PLACED,)}, "HunYuanVLVisionTransformer": {"forward": (_ITEMS, _MERGED)}}
STATED["hunyuan_vl"] = {
    "HunYuanVLVisionPatchEmbed": {"forward": (("for t, h, w in grid_thw:", "for t, h, w in [known_grid()] * len(known_patches()):"),)},
    "HunYuanVLVisionTransformer": {
        "forward": (("grid_thw.prod(dim=-1).tolist()", "known_patches()"), ("grid_thw.tolist()", "[known_grid()] * len(known_patches())"))
    },
}
# Layers that stand in several lists, which one loop reads in turn.
layers = range
_LAYERS = ("for i in range(self.n_layers):", "for i in layers(self.n_layers):")
LINES |= experts.LINES | {"xlm": {"XLMModel": {"forward": (_LAYERS,)}}, "flaubert": {"FlaubertModel": {"forward": (_LAYERS,)}}}
STATED |= experts.STATED
_done = set()


def _rewritten(function, lines, module):
    """A method with some of its lines in another form; its decorators are applied again."""
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in lines:
        if old not in source:
            raise ValueError(f"{function.__qualname__} has no line {old}")
        source = source.replace(old, new)
    space = {"auto_docstring": lambda first=None, **_: first or (lambda method: method)}
    vars(module).update(
        known_sizes=pictures.sizes,
        known_patches=pictures.patches,
        known_grid=pictures.grid,
        crossing=crossing,
        rounds=lambda count: pictures.rounds(count),
        layers=lambda count: layers(count),
        picture_part=lambda *given: pictures.part(*given),
        **experts.NAMES,
    )
    exec(compile(source, f"<{function.__qualname__}{REWRITTEN}", "exec"), vars(module), space)
    return space[function.__name__]


def install(model):
    """Puts the other forms in place, once for each module of modelling code."""
    _each(model, LINES, METHODS)


def state(model):
    """States what loops over pictures read of each: the loops stay."""
    _each(model, STATED, {})


def _each(model, lines, methods):
    for module in {sys.modules[type(part).__module__] for part in model.modules()}:
        _install(module, lines, methods)


def _install(module, changed, replaced):
    name = module.__name__.split(".")[-2]
    if name in _done or not module.__name__.startswith("transformers.models."):
        return
    _done.add(name)
    for cls, methods in changed.get(name, {}).items():
        owner = getattr(module, cls) if cls else module
        for method, lines in methods.items():
            setattr(owner, method, _rewritten(getattr(owner, method), lines, module))
    for cls, methods in replaced.get(name, {}).items():
        for method, other in methods.items():
            setattr(getattr(module, cls), method, other)
