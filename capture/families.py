"""All families of the capture, in `FAMILIES`."""
from dataclasses import replace

from . import composed, language, media
from . import answering, hearing, padded, paired, pyramids, sights, towers, transcribing, vision, windows
from .standard import ACTIVATIONS, drop

FAMILIES = {**language.FAMILIES, **media.FAMILIES, **composed.FAMILIES}
FAMILIES |= vision.FAMILIES | padded.FAMILIES | towers.FAMILIES | sights.FAMILIES
FAMILIES |= pyramids.FAMILIES
FAMILIES |= hearing.FAMILIES | answering.FAMILIES | paired.FAMILIES | transcribing.FAMILIES | windows.FAMILIES

# Heads that families get besides: classifiers of decoders, most by one mixin each (modeling_layers.py, GenericForSequenceClassification and
# GenericForTokenClassification), and heads that mark answers.
CLASSIFIES = {
    "seq-cls": ("arcee", "bloom", "deepseek_v2", "exaone4", "falcon", "glm", "glm4", "gpt_neo", "gpt_oss", "gptj", "hunyuan_v1_dense", "jamba", "minicpm3", "ministral", "nemotron", "olmo", "olmo2", "olmo3",
                "openai-gpt", "persimmon", "phi", "phimoe", "qwen2_moe", "seed_oss", "stablelm", "starcoder2"),
    "token-cls": ("apertus", "arcee", "biogpt", "bloom", "exaone4", "falcon", "gemma", "gemma2", "glm", "glm4", "gpt_bigcode", "gpt_neo", "gpt_neox", "gpt_oss", "llama", "ministral", "mistral", "mixtral", "mpt", "nemotron",
                  "persimmon", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2"),
    # Encoders that people have find answers in texts (SQuAD).
    "qa": ("albert", "bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta", "xlm-roberta"),
    # A class for each pixel.
    "image-segmentation": ("mobilenet_v2", "mobilevit", "mobilevitv2", "segformer"),
    # Hidden patches of pictures restored.
    "masked-image": ("deit", "swin", "swinv2", "vit"),
    # Pictures and texts that belong together.
    "contrastive": ("clip", "siglip", "siglip2"),
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
    text = dict(model_type=kind, num_attention_heads=heads, hidden_size=heads * width, num_hidden_layers=r.randint(3, 4), intermediate_size=r.randint(40, 240), vocab_size=r.randint(200, 900),
                max_position_embeddings=r.randint(100, 200), attention_dropout=drop(r), hidden_act=r.choice(ACTIVATIONS), **own)
    return {"text_config": text, **({} if sigmoid else {"projection_dim": r.randint(40, 90)})}


PAIRED = {"contrastive": _paired}
HEADS = {**dict.fromkeys(("clip", "siglip", "siglip2"), PAIRED), **dict.fromkeys(("deit", "vit"), OF_PATCHES), **dict.fromkeys(("swin", "swinv2"), OF_STAGES)}
FAMILIES |= {name: replace(FAMILIES[name], heads=heads) for name, heads in HEADS.items()}

for task, names in CLASSIFIES.items():
    FAMILIES |= {name: replace(FAMILIES[name], tasks=(*(t for t in FAMILIES[name].tasks if t != task), task)) for name in names}
