"""Models that read pictures of any shape count their patches on the host. Here the pictures of a batch are known.

The counts come from `image_grid_thw`, a tensor on the device whose values a fake tensor does not have. The helper functions
that read them are replaced by ones that answer for square pictures of one side, one per text; the small index tensors
they would make beside are left out.
"""

import functools
import importlib

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor

MODELS = (
    "hunyuan_vl",
    "qwen2_5_omni",
    "qwen3_omni_moe",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen3_vl",
    "qwen3_vl_moe",
    "qwen3_5",
    "qwen3_5_moe",
    "glm_ocr",
    "glm4v",
    "glm46v",
    "glm4v_moe",
    "paddleocr_vl",
    "exaone4_5",
    "video_llama_3",
)
# Kinds of positions in texts of pictures, where texts may have recordings in their place.
POSITIONS = {"qwen2_5_omni": torch.long, "qwen3_omni_moe": torch.float32}
# Those that cut recordings into windows.
HEARERS = ("qwen2_5_omni", "qwen3_asr", "qwen3_omni_moe")
# Those whose processors hand over patches as small pictures.
CUT_OUT = ("paddleocr_vl",)
_grid = {}


def arrange(batch, side, merge, length):
    """States the pictures: `side` patches a side each, `merge` of them a side to a token, in texts of `length` tokens."""
    _grid.update(batch=batch, side=side, merge=merge)
    _picked.update({(batch, length): batch * (side // merge) ** 2})


_picked = {}
_padded = set()


def place(batch, length, tokens):
    """States that each of the `batch` texts has a picture of `tokens` tokens among its `length`."""
    _picked.update({(batch, length): batch * tokens})


def place_wide(batch, length, width, tokens):
    """The same where the mask is as wide as the embeddings."""
    _picked.update({(batch, length, width): batch * tokens * width})


def place_row(places, picked):
    """States how many of so many places in one row are picked."""
    _picked.update({(places,): picked})


def pad(batch, length):
    """States that rows of `length` patches end in padding."""
    _padded.add((batch, length))


def pads(mask):
    """Whether a mask of what is none of the padding leaves anything out."""
    return mask is not None and tuple(mask.shape) in _padded


def forget():
    """What was stated of another batch."""
    _grid.clear()
    _picked.clear()
    _padded.clear()


def picked(mask):
    """How many places a boolean mask picks: the tokens of pictures in texts, and everything else (nothing is padding)."""
    return _picked.get(tuple(mask.shape), mask.numel())


PUTS = ("index_put", "index_put_", "_index_put_impl_")


def mask_of(name, args):
    """The boolean index of an operator that picks by one."""
    indices = args[1] if name in ("index.Tensor", *PUTS) else ()
    # A number in the masked places is a masked fill, which counts nothing: Python's numbers become tensors of the host for
    # it (csrc/autograd/python_variable_indexing.cpp, aten/native/TensorAdvancedIndexing.h: canDispatchToMaskedFill).
    if name in PUTS and args[2].numel() == 1 and args[2].device.type == "cpu":
        return None
    return next((t for t in indices if t is not None and t.dtype == torch.bool), None)


class _Ends(np.ndarray):
    """Ends of parts, known on the host. What code adds up on the device is made there."""

    def cumsum(self, dim):
        return _long(len(self))


def _ends(lengths):
    return np.cumsum([0, *lengths]).view(_Ends)


def _long(*shape, device="cuda"):
    return torch.zeros(*shape, dtype=torch.long, device=device)


def position_ids(grid_thw, spatial_merge_size, include_temporal=False, kwargs=None):
    return _long(_grid["batch"] * _grid["side"] ** 2, 2)


def attention_seqlens(grid_thw, config, merge_temporal=False, kwargs=None):
    return _ends([_grid["side"] ** 2] * _grid["batch"]), None


def window_index(grid_thw, spatial_merge_size, window_size, patch_size, kwargs=None):
    """Windows of whole tokens, smaller ones at the edges; the order of the patches stays on the host."""
    tokens, size = _grid["side"] // _grid["merge"], window_size // spatial_merge_size // patch_size
    _grid["window"] = size
    sides = [min(size, tokens - at) for at in range(0, tokens, size)]
    lengths = [a * b * _grid["merge"] ** 2 for a in sides for b in sides]
    return _long(_grid["batch"] * tokens**2, device="cpu"), _ends(lengths * _grid["batch"])


def interpolation_indices_and_weights(
    grid_thw, num_grid_per_side, mode="bilinear", align_corners=False, spatial_merge_size=1, padding="border", kwargs=None
):
    """Where each patch finds its learned position, and how much of it: four neighbours a patch, or sixteen."""
    patches, taps = _grid["batch"] * _grid["side"] ** 2, 4 if mode == "bilinear" else 16
    return _long(patches, taps), torch.zeros(patches, taps, device="cuda")


# Axes of positions: time, height and width, but for those that count more.
AXES = {"HunYuanVLModel": 4}


def rope_index(self, input_ids, *args, **kwargs):
    return _long(AXES.get(type(self).__name__, 3), *input_ids.shape), _long(input_ids.shape[0], 1)


rope_index.known = True


def stretch(batch, length, window, chunks=0, longest=0, tokens=0):
    """States that every one of the `batch` recordings has `length` frames, which attend in windows of so many; before that they
    are `chunks` pieces in all, padded to the longest, and in the end `tokens` of the text."""
    _grid.update(batch=batch, length=length, window=window, chunks=chunks, longest=longest, tokens=tokens)


def chunk_and_pad_features(input_features, feature_lens, n_window, kwargs=None):
    """Pieces of all recordings in one tensor, and how long each is."""
    padded = torch.full(
        (_grid["chunks"], _grid["longest"], input_features.shape[0]), 0.0, dtype=input_features.dtype, device=input_features.device
    )
    return padded.transpose(1, 2), _long(_grid["chunks"])


def valid_indices(*lengths, kwargs=None):
    return _long(_grid["batch"] * _grid["length"])


def pool_indices(feature_lens, kwargs=None):
    return _long(_grid["batch"] * _grid["tokens"])


def stretch_ends(*lengths, kwargs=None):
    """Ends of the windows of all recordings, the last of each a shorter one."""
    return _ends(
        [min(_grid["window"], _grid["length"] - at) for _ in range(_grid["batch"]) for at in range(0, _grid["length"], _grid["window"])]
    )


def _of_sounds(counted, dtype):
    """Positions of texts with pictures; those with recordings alone are counted as the library counts them, by the mask."""

    def rope(self, input_ids, image_grid_thw=None, *args, **kwargs):
        if image_grid_thw is None:
            return counted(self, input_ids, image_grid_thw, *args, **kwargs)
        return tuple(positions.to(dtype) for positions in rope_index(self, input_ids))

    rope.known = True
    return rope


def parts(count):
    """What says how many attend apart: pictures, tokens a side of a window (0: whole pictures), patches a side of a token; or
    recordings, and frames of a window."""
    if "length" in _grid:
        return ["stretches", _grid["batch"], _grid["window"], 1]
    whole = count == _grid["batch"]
    return ["pictures" if whole else "windows", _grid["batch"], 0 if whole else _grid["window"], _grid["merge"]]


def square(side, **tokens):
    """States that every picture is a square of `side` pixels, and how many `tokens` it is where its sides are never read."""
    _grid.update(pixels=side, **tokens)


rounds, part = range, None  # a recorder's own while it runs


def patches():
    """Patches of each picture."""
    return [_grid["side"] ** 2] * _grid["batch"]


def grid():
    """One picture's times, rows and columns of patches."""
    return 1, _grid["side"], _grid["side"]


def sizes():
    """Height and width of one picture, which are those of all."""
    return [(_grid["pixels"], _grid["pixels"])]


def tokens_per_picture(tensor):
    """What `.tolist()` of a count per picture gives, or of the height and width of one."""
    if _grid.get("tokens") and tensor.shape == (_grid["batch"],):
        return [_grid["tokens"]] * _grid["batch"]
    if "pixels" in _grid and tensor.shape == (2,):
        return [_grid["pixels"]] * 2
    if "batch" in _grid and tensor.shape == (_grid["batch"],):
        return [(_grid["side"] // _grid["merge"]) ** 2] * _grid["batch"]
    return None


_tolist = FakeTensor.tolist
FakeTensor.tolist = lambda tensor: tokens_per_picture(tensor) or _tolist(tensor)


def blocks(lengths, tensor):
    """Pixtral's mask: pictures that follow each other in one row see themselves only; their lengths stay on the host."""
    row = tensor.shape[1]
    mask = torch.full((row, row), fill_value=torch.finfo(tensor.dtype).min, dtype=tensor.dtype, device=tensor.device)
    for start, end in zip(_ends(lengths), _ends(lengths)[1:]):
        mask[int(start) : int(end), int(start) : int(end)] = 0
    return mask[None, None, :, :].expand(tensor.shape[0], 1, -1, -1)


def _known_sizes(method):
    """A method that is given the sizes of all pictures as numbers."""

    @functools.wraps(method)
    def known(self, pixel_values, image_sizes=None, **more):
        given = {} if image_sizes is None else {"image_sizes": sizes() * _grid["batch"]}  # LLaVA's own tower takes none
        return method(self, pixel_values=pixel_values, **given, **more)

    return known


def _install_rows():
    """Pictures of any size in one row (Pixtral, Mistral 3, LightOnOCR)."""
    from transformers.models.lighton_ocr.modeling_lighton_ocr import LightOnOcrModel
    from transformers.models.llava.modeling_llava import LlavaModel
    from transformers.models.mistral3.modeling_mistral3 import Mistral3Model
    from transformers.models.pixtral import modeling_pixtral as rows

    if rows.generate_block_attention_mask is not blocks:
        rows.generate_block_attention_mask = blocks
        for model in (Mistral3Model, LightOnOcrModel, LlavaModel):
            model.get_image_features = _known_sizes(model.get_image_features)


def install():
    """Puts the known counts in place of those that are read off the device."""
    _install_rows()
    for name in HEARERS:
        module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        module.get_audio_cu_seqlens = stretch_ends
        for label, known in (
            ("chunk_and_pad_features", chunk_and_pad_features),
            ("get_valid_indices", valid_indices),
            ("get_pool_indices", pool_indices),
        ):
            if hasattr(module, label):
                setattr(module, label, known)
    for name in MODELS:
        module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
        for known in (position_ids, attention_seqlens, window_index, interpolation_indices_and_weights):
            if hasattr(module, f"get_vision_{known.__name__}"):
                setattr(module, f"get_vision_{known.__name__}", known)
        for cls in vars(module).values():
            if isinstance(cls, type) and "get_rope_index" in vars(cls) and not hasattr(cls.get_rope_index, "known"):
                cls.get_rope_index = _of_sounds(cls.get_rope_index, POSITIONS[name]) if name in POSITIONS else rope_index
