"""Why architectures of transformers have no graph, and the page that lists them beside those that have one."""

import pathlib

from ..storing.stored import content_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GRAPHS, PAGE = ROOT / "models" / "graphs", ROOT / "models" / "FAMILIES.md"

# Families whose graph is written from their config's lists (src/core/networks).
WRITTEN = {"efficientnet": "image-cls"}
HOST = "its code reads values of tensors on the host (routing, lengths of patches), so what runs depends on the data"
SPARSE = "refused: attention picks positions or blocks, with sizes that no expression of the config gives"
LOOPS = "a loop over positions that is not among those a repeat stands for yet (`LOOPS` in `record.py`)"
DRAWN = "refused: its config ties keys together (nested parts, lists of kinds), which the drawing of points does not do yet"
ADAPTERS = "captured, but its peaks with adapters are up to 2 % off PyTorch's, which refuses its checkpointing under autocast"
PICTURES = "the code goes over the pictures of a batch one by one (shapes of tiles, padding cut off), a loop no repeat stands for yet"
STAGES = "unlike stages whose widths and repeats follow lists or rounding rules"
COLOURS = "reads colour tokens or arrays, not what an image processor makes"
CODES = "its sound or pictures are codes of a codec, several a place, for which the run description has no batch"
UNSAID = "its processor makes tensors that the run description does not say (boxes on a page, patches with coordinates, beats, actions, proteins)"
COUNTED = "its pictures are counted on the host (`grid_thw`), and `pictures.py` does not state the counts for it yet"
LOSSLESS = "its classifier computes no loss; to write text it is Gemma 3's class under another name, and is estimated as that"
BUILT = "refused: built and recorded since its rates of stochastic depth are numbers, but a size in it follows no expression of the config that is drawn"
ELSEWHERE = "the network, or a kernel of it, is another library's"
DETECTRON = "its picture side is built by detectron2, which no package registry has, so neither its code nor its weights' shapes can be recorded here"
COMPILED = "its attention is a kernel that is compiled when the model is made; without it the code gives zeros (MRA) or goes on in an autograd function of its own (YOSO), which takes a rule in the engine"
REVERSED = "its layers are reversible: an autograd function of its own runs them again in backward"
PAGES = "reads a picture of the page beside words and boxes, which captured batches of text do not hold"
SECOND = "a second name of another family's class, whose name its files have: estimated as that"
UNTRIED = "not tried yet"
ZIPPED = "goes over pairs of pieces of the text that lists hold (`zip`), a loop no repeat stands for yet"
BY_HEAD = "its scans go over the heads, and over the positions inside each: a loop in a loop, which no repeat stands for yet"
RANGES = "keeps ranges of its activations in buffers that every forward replaces, which graphs do not say, and reads them on the host"
PATCHED = "cuts bytes into patches whose number a second model's entropies decide, so every text has a length of its own"
EXPERTS = "gives every token to the first two experts, by a mask of ones and noughts that it takes for numbers of experts (`one_hot(router_mask)`): rows of shares that no balanced router has, which the operators for experts do not say yet"
POOLED = "pools texts between blocks of unlike layers, whose positions it counts from tensors on the host"
TABLES = "reads rows, columns and ranks of table cells as seven kinds of token types, for which the run description has no batch"
COMPARED = "drawn and captured (`paired.py`), equal to PyTorch but for adapters under checkpointing, up to 0.2 % above: its embeddings put the vector of the token behind pictures in place, and what tells them to require grad is not what the engine takes for it"
CODEC = "hears through a codec's convolutions, whose stages follow lists of ratios and depths, with noise drawn into what they give"
KERNEL = (
    "asks for one kernel of attention by name (`sdpa_kernel`) under a mask that it adds up itself, which attention in graphs does not say"
)
SEARCHED = "places windows of recordings in time by a search over their lengths (`searchsorted`), for which the engine has no rule"
DRAFTS = "a draft model: reads the states, keys and values of the model it drafts for, and computes no loss"
WINDOWED = (
    "gives layers of one kind windows of several lengths by their place (`per_layer_config`), which the drawing of points does not do yet"
)
MERGED = "drawn in `sights.py` and captured, 512 bytes above PyTorch in every case tried: positions that its main body keeps to the next forward are counted once more where the second step replays the first (`keeps` in kept.ts looks at layers only)"
BAGGED = (
    "sums learned positions by `embedding_bag`, for which the engine has no rule, and gathers each clip's patches by lists made on the host"
)
DISTANCES = "drawn in `hearing.py`; refused: a number in its attention by distances follows no expression of the config that is drawn"
KINDLESS = "refused: a block that some points of the drawing run and others do not, which no condition on the config's keys tells apart"
ONE_BY_ONE = "multiplies its experts one by one, over rows whose numbers it reads on the host; a rule for balanced rows would do"
PARTED = "sends the places of pictures to experts of their own, by masks whose counts size the products, and picks frames by lists made on the host"
EACH_ITS_MASK = "makes a mask of its own for every layer before any layer runs (`sliding_windows`), a list whose parts the layers take one by one, which a repeat does not say"
HALVING = "halves its frames behind the layers that a list names (`subsample_layers`), and hears its own letters in the middle of its layers: blocks of one list with lengths that follow no key"
CROSSED = "its layers of text and those of cross attention stand in two lists that one loop reads in turn, where a repeat folds one list"
WORDS_AND_SIGHTS = "fills words in, or tells texts apart, beside pictures: the run description gives those tasks no pictures (without them it is ModernBERT, by other names of its weights)"
MIDWAY = "brings its patches together in windows behind one layer in the middle of its tower (`insert_layer_id`), after which attention has parts of another length"
TOKENS_OF_SOUND = "reads its sound as one code per band of the spectrum, and cuts pictures into patches of several frames, for which the run description has no batch"
FORMULAS = "a tower of windows before a decoder of mBART's: its pictures have one side each, and no drawing of its points is written yet"

REASONS = {
    **dict.fromkeys(("deepseek_ocr2", "diffusion_gemma", "longcat_flash"), HOST),
    **dict.fromkeys(("deepseek_v32", "deepseek_v4", "glm5_next", "qwen4_exp_text"), SPARSE),
    **dict.fromkeys(("minimax", "rwkv", "xlstm"), LOOPS),
    **dict.fromkeys(("cohere_compass_text", "mimo_v2_flash"), DRAWN),
    "llama4": ADAPTERS,
    **dict.fromkeys(("granite4_vision", "step3p7"), PICTURES),
    **dict.fromkeys(("hgnet_v2", "pp_lcnet", "textnet"), STAGES),
    **dict.fromkeys(("imagegpt", "perceiver"), COLOURS),
    **dict.fromkeys(("chameleon", "dia", "emu3", "kyutai_speech_to_text", "moshi", "musicgen", "musicgen_melody"), CODES),
    **dict.fromkeys(("evolla", "kosmos-2.5", "pi0", "pix2struct", "pop2piano"), UNSAID),
    **dict.fromkeys(("cohere_compass", "cosmos3_edge", "cosmos3_omni", "minimax_m3_vl", "muse_glimmer", "qwen4_exp"), COUNTED),
    "granite_speech5_ctc": HALVING,
    "idefics": CROSSED,
    "inkling_mm_model": TOKENS_OF_SOUND,
    "minicpmv4_6": MIDWAY,
    "modernvbert": WORDS_AND_SIGHTS,
    "moonshine_streaming": EACH_ITS_MASK,
    "pp_formulanet": FORMULAS,
    "shieldgemma2": LOSSLESS,
    "bit": BUILT,
    **dict.fromkeys(("dinat", "fast_vlm", "gemma3n", "perception_lm", "timm_wrapper"), ELSEWHERE),
    "layoutlmv2": DETECTRON,
    **dict.fromkeys(("mra", "yoso"), COMPILED),
    "reformer": REVERSED,
    "udop": PAGES,
    "gpt-sw3": SECOND,
    "canine": ZIPPED,
    "zamba": BY_HEAD,
    "ibert": RANGES,
    "blt": PATCHED,
    "nllb-moe": EXPERTS,
    "funnel": POOLED,
    "tapas": TABLES,
    "t5gemma2": COMPARED,
    **dict.fromkeys(("vibevoice", "vibevoice_asr"), CODEC),
    **dict.fromkeys(("granite_speech", "granite_speech_plus"), KERNEL),
    "musicflamingo": SEARCHED,
    **dict.fromkeys(("gemma4_assistant", "gemma4_unified_assistant"), DRAFTS),
    "neomme": WINDOWED,
    "hunyuan_vl": MERGED,
    "sew-d": DISTANCES,
    "kimi_k25": BAGGED,
    "exaone4_5": KINDLESS,
    "aria": ONE_BY_ONE,
    "ernie4_5_vl_moe": PARTED,
}
MAPPINGS = (
    "CAUSAL_LM",
    "MASKED_LM",
    "SEQ_TO_SEQ_CAUSAL_LM",
    "SEQUENCE_CLASSIFICATION",
    "TOKEN_CLASSIFICATION",
    "IMAGE_CLASSIFICATION",
    "SPEECH_SEQ_2_SEQ",
    "CTC",
    "AUDIO_CLASSIFICATION",
    "IMAGE_TEXT_TO_TEXT",
)


def page():
    """Every architecture of the library's mappings: its tasks where it is captured, else the reason."""
    from transformers.models.auto import modeling_auto

    captured = {p.stem: sorted({g["task"] for g in content_of(p.read_text())["graphs"]}) for p in GRAPHS.glob("*.json")}
    captured |= {n: [task] for n, task in WRITTEN.items()}
    names = sorted({n for m in MAPPINGS for n in getattr(modeling_auto, f"MODEL_FOR_{m}_MAPPING_NAMES")} | set(captured))
    left = [n for n in names if n not in captured]
    lines = [
        "# Model families",
        "",
        "Made by `python -m capture families`; do not edit.",
        "",
        f"{len(captured)} families have a graph of their own. Any other model is estimated on its nearest relative, which the estimate says, with a wide band.",
        "",
        "| family | tasks |",
        "|---|---|",
    ]
    lines += [f"| {n} | {', '.join(captured[n])} |" for n in names if n in captured]
    lines += ["", "## Without a graph", "", "| reason | families |", "|---|---|"]
    for reason in sorted({REASONS.get(n, UNTRIED) for n in left}, key=lambda r: (r == UNTRIED, r)):
        lines.append(f"| {reason} | {', '.join(n for n in left if REASONS.get(n, UNTRIED) == reason)} |")
    return "\n".join(lines) + "\n"


def write():
    PAGE.write_text(page())
