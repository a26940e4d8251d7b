"""All families of the capture, in `FAMILIES`."""

from dataclasses import replace

from ..recording import environment  # noqa: F401  (before transformers)
from transformers.models.auto import modeling_auto

from . import composed, language, pictures, pictures_and_text, sound
from . import (
    answering,
    hearing,
    padded_pictures,
    paired,
    picture_stages,
    page_readers,
    picture_sides,
    picture_towers,
    transcribing,
    vision,
    windows,
)
from .usual_keys import ACTIVATIONS, drop

FAMILIES = {**language.FAMILIES, **pictures.FAMILIES, **sound.FAMILIES, **pictures_and_text.FAMILIES, **composed.FAMILIES}
FAMILIES |= vision.FAMILIES | padded_pictures.FAMILIES | picture_towers.FAMILIES | picture_sides.FAMILIES
FAMILIES |= picture_stages.FAMILIES
FAMILIES |= hearing.FAMILIES | answering.FAMILIES | paired.FAMILIES | transcribing.FAMILIES | windows.FAMILIES

TEXTS = ("causal-lm", "masked-lm", "seq2seq-lm", "seq-cls", "token-cls")
# Heads that readers and writers of texts get besides, wherever the library's mappings name a class for the family.
HEADS_OF_TEXTS = {
    "seq-cls": "SEQUENCE_CLASSIFICATION",
    "token-cls": "TOKEN_CLASSIFICATION",
    "qa": "QUESTION_ANSWERING",
    "multiple-choice": "MULTIPLE_CHOICE",
}
# Longformer has every word of the question, or of the choice, look at all others: how many those are is in the data. What T5Gemma's
# classifiers write is as long as what they read, while its windows are told apart by lengths of their own.
UNHEADED = {"longformer": ("qa", "multiple-choice"), "t5gemma": ("seq-cls", "token-cls")}
# Heads that models of pictures get besides.
HEADS_OF_PICTURES = {
    # A class for each pixel.
    "image-segmentation": ("mobilenet_v2", "mobilevit", "mobilevitv2", "segformer"),
    # Hidden patches of pictures restored.
    "masked-image": ("deit", "swin", "swinv2", "vit"),
    # Pictures and texts that belong together.
    "contrastive": ("clip", "siglip", "siglip2"),
    # Classifiers of texts that may have pictures, trained on texts alone.
    "seq-cls": ("gemma3", "qwen3_5"),
    "token-cls": ("qwen3_5",),
}
# What classes of these heads ask of a config: restored pictures are as large as they came.
OF_PATCHES = {"masked-image": lambda d, r: {"encoder_stride": d["patch_size"]}}
OF_STAGES = {"masked-image": lambda d, r: {"encoder_stride": 8 * d["patch_size"]}}


def _paired(d, r):
    """The text side beside the tower; both end in embeddings of one width."""
    heads, width = r.randint(3, 7), 2 * r.randint(4, 15)
    kind = d["vision_config"]["model_type"].replace("vision", "text")
    sigmoid = kind.startswith("siglip")
    own = {"projection_size": d["vision_config"]["hidden_size"]} if sigmoid else {"eos_token_id": 49407}
    text = dict(
        model_type=kind,
        num_attention_heads=heads,
        hidden_size=heads * width,
        num_hidden_layers=r.randint(3, 4),
        intermediate_size=r.randint(40, 240),
        vocab_size=r.randint(200, 900),
        max_position_embeddings=r.randint(100, 200),
        attention_dropout=drop(r),
        hidden_act=r.choice(ACTIVATIONS),
        **own,
    )
    return {"text_config": text, **({} if sigmoid else {"projection_dim": r.randint(40, 90)})}


PAIRED = {"contrastive": _paired}
HEADS = {
    **dict.fromkeys(("clip", "siglip", "siglip2"), PAIRED),
    **dict.fromkeys(("deit", "vit"), OF_PATCHES),
    **dict.fromkeys(("swin", "swinv2"), OF_STAGES),
}
FAMILIES |= {name: replace(FAMILIES[name], heads=heads) for name, heads in HEADS.items()}


# Those that classify the states of a text's last end-of-sequence token (modeling_bart.py, modeling_t5.py: `eos_mask`).
ENDED = ("bart", "bigbird_pegasus", "mbart", "mt5", "mvp", "plbart", "t5", "umt5")
ONE_END = page_readers.assumed("graph.one-end", "eos_token_id", "seq-cls")


def _headed(name, family):
    """The family with every head of texts that its config class has a model class for."""
    if family.tasks[0] not in TEXTS:
        return family
    if name in ENDED:
        family = replace(family, assumes=(*family.assumes, ONE_END))
    more = [
        task
        for task, mapping in HEADS_OF_TEXTS.items()
        if name in getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES") and task not in (*family.tasks, *UNHEADED.get(name, ()))
    ]
    return replace(family, tasks=(*family.tasks, *more))


# The Trainer switches the cache off in the whole config, while the text side of these asks its own (trainer.py; modeling_gemma3.py, Gemma3TextModel).
NO_CACHE = page_readers.assumed("graph.no-cache", "text_config.use_cache", "seq-cls", "token-cls")

for task, names in HEADS_OF_PICTURES.items():
    FAMILIES |= {name: replace(FAMILIES[name], tasks=(*FAMILIES[name].tasks, task)) for name in names if task not in FAMILIES[name].tasks}
FAMILIES |= {name: replace(FAMILIES[name], assumes=(*FAMILIES[name].assumes, NO_CACHE)) for name in HEADS_OF_PICTURES["seq-cls"]}
FAMILIES = {name: _headed(name, family) for name, family in FAMILIES.items()}
