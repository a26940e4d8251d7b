"""Why architectures of transformers have no graph, and the page that lists them beside those that have one."""
import json
import pathlib

from .stored import content_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPHS, PAGE = ROOT / "models" / "graphs", ROOT / "models" / "FAMILIES.md"

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
CUT = "cuts recordings into windows by lengths that it reads on the host"
PAIRED = "an encoder and a decoder of other families in one config, for which no drawing of points is written yet"
NESTED = "its picture or sound side is a network of its own kind, for which no drawing of points is written yet"
LOSSLESS = "its classifier computes no loss; to write text it is Gemma 3's class under another name, of which no graph is stored"
BUILT = "refused: built and recorded since its rates of stochastic depth are numbers, but a size in it follows no expression of the config that is drawn"
ELSEWHERE = "the network, or a kernel of it, is another library's"
COMPILED = "its attention is a kernel that is compiled when the model is made; without it the code runs something else"
FOURIER = "its Fourier transform takes no bfloat16, in which graphs are captured first"
COLLATED = "its collator makes the decoder's inputs, which captured batches do not hold"
REVERSED = "its layers are reversible: an autograd function of its own runs them again in backward"
PAGES = "reads a picture of the page beside words and boxes, which captured batches of text do not hold"
SECOND = "a second name of another family's class, whose name its files have: estimated as that"
PART = "captured, but its peaks are up to 6 % below PyTorch's: what two attentions keep that share queries and keys"
AUTOCAST = "captured and equal to PyTorch but for up to 0.7 % under autocast of float32 weights"
EINSUMS = "captured, but multiplies blocks by sums over letters (`einsum`) for which the engine has no rule"
BOXED = "captured, but its peaks are up to 0.3 % above PyTorch's: what becomes of its boxes' coordinates once they are scaled"
NEARLY = "captured, but its peaks differ from PyTorch's by up to 0.6 %: positions in a dtype of their own, converted in the first step"
# Families whose graph is written from their config's lists (src/core/networks).
WRITTEN = {"efficientnet": "image-cls"}
MERGED = "merges each picture's patches by itself, with convolutions or gathers and tokens at the ends; a loop of rounds over pictures (`picture_part`) would say it, and its text or tower is not drawn yet"
ROUNDS = "recorded as rounds over its pictures (`picture_part`), which `layers.py` does not fold yet (a list of what rounds made is used in part); taken all at once its peaks are up to 7 % off"
BAGGED = "sums learned positions by `embedding_bag`, for which the engine has no rule, and gathers each clip's patches by lists made on the host"
PARTED = "sends the places of pictures to experts of their own, by masks whose counts size the products, and picks frames by lists made on the host"
ONE_BY_ONE = "multiplies its experts one by one, over rows whose numbers it reads on the host; a rule for balanced rows would do"
DRAFTS = "a draft model: reads the states, keys and values of the model it drafts for, and computes no loss"
KINDLESS = "refused: a block that some points of the drawing run and others do not, which no condition on the config's keys tells apart"
WINDOWED = "gives layers of one kind windows of several lengths by their place (`per_layer_config`), which the drawing of points does not do yet"
UNTRIED = "not tried yet"

REASONS = {
    **dict.fromkeys(("aria_text", "blt", "longformer", "led", "jetmoe", "ibert", "funnel", "switch_transformers", "tapas", "flaubert", "xlm", "prophetnet", "nllb-moe"), HOST),
    **dict.fromkeys(("mra", "yoso"), COMPILED),
    **dict.fromkeys(("udop",), PAGES),
    **dict.fromkeys(("cohere_compass", "gemma3n_text", "longcat_flash", "longt5", "mimo_v2_flash", "qwen4_exp_text", "zaya"), DRAWN),
    "canine": LOOPS,
    "convbert": AUTOCAST,
    "pegasus_x": EINSUMS,
    "diffllama": PART,
    "encoder-decoder": PAIRED,
    "fnet": FOURIER,
    "fsmt": COLLATED,
    "gpt-sw3": SECOND,
    "layoutlmv2": ELSEWHERE,
    "reformer": REVERSED,
    **dict.fromkeys(("deepseek_v32", "deepseek_v4"), SPARSE),
    **dict.fromkeys(("rwkv", "xlstm", "recurrent_gemma", "minimax", "kimi_linear", "zamba"), LOOPS),
    "granite4_vision": PICTURES,
    **dict.fromkeys(("hgnet_v2", "pp_lcnet", "textnet"), STAGES),
    "bit": BUILT,
    **dict.fromkeys(("imagegpt", "perceiver"), COLOURS),
    **dict.fromkeys(("dinat", "fast_vlm", "gemma3n", "perception_lm", "timm_wrapper"), ELSEWHERE),
    **dict.fromkeys(("dia", "kyutai_speech_to_text", "moshi", "musicgen", "musicgen_melody", "chameleon"), CODES),
    **dict.fromkeys(("evolla", "pi0", "pix2struct", "pop2piano", "kosmos-2.5"), UNSAID),
    **dict.fromkeys(("cosmos3_edge", "cosmos3_omni", "minicpmv4_6", "minimax_m3_vl", "muse_glimmer", "qwen4_exp"), COUNTED),
    "paddleocr_vl": ROUNDS,
    "ernie4_5_vl_moe": PARTED,
    "exaone4_5": KINDLESS,
    "kimi_k25": BAGGED,
    "hunyuan_vl": MERGED,
    "glm5_next": SPARSE,
    **dict.fromkeys(("gemma4_assistant", "gemma4_unified_assistant"), DRAFTS),
    "neomme": WINDOWED,
    "step3p7": PICTURES,
    **dict.fromkeys(("qwen2_5_omni_thinker", "qwen3_asr", "qwen3_omni_moe_thinker"), CUT),
    **dict.fromkeys(("speech-encoder-decoder", "trocr", "vision-encoder-decoder", "donut-swin", "florence2"), PAIRED),
    **dict.fromkeys(("audioflamingo3", "canary", "cohere_asr", "fun_asr_nano", "glmasr", "granite_speech", "granite_speech5_ctc", "granite_speech_plus", "idefics",
                     "inkling_mm_model", "modernvbert", "moonshine_streaming", "musicflamingo", "pp_formulanet", "qwen2_audio",
                     "seamless_m4t", "seamless_m4t_v2", "sew-d", "speecht5", "vibevoice", "vibevoice_asr", "voxtral_realtime"), NESTED),
    "aria": ONE_BY_ONE,
    **dict.fromkeys(("deepseek_ocr2", "diffusion_gemma"), HOST),
    "shieldgemma2": LOSSLESS,
    "bros": BOXED,
    "openai_privacy_filter": HOST,
    **dict.fromkeys(("t5gemma", "t5gemma2"), PAIRED),
    **dict.fromkeys(("dbrx", "cohere_compass_text"), DRAWN),
    "wav2vec2-conformer": NEARLY,
    "emu3": CODES,
    "llama4": ADAPTERS,
}
MAPPINGS = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "CTC", "AUDIO_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT")


def page():
    """Every architecture of the library's mappings: its tasks where it is captured, else the reason."""
    from transformers.models.auto import modeling_auto

    captured = {p.stem: sorted({g["task"] for g in content_of(p.read_text())["graphs"]}) for p in GRAPHS.glob("*.json")}
    captured |= {n: [task] for n, task in WRITTEN.items()}
    names = sorted({n for m in MAPPINGS for n in getattr(modeling_auto, f"MODEL_FOR_{m}_MAPPING_NAMES")} | set(captured))
    left = [n for n in names if n not in captured]
    lines = ["# Model families", "", "Made by `python -m capture families`; do not edit.", "",
             f"{len(captured)} families have a graph of their own. Any other model is estimated on its nearest relative, which the estimate says, with a wide band.", "", "| family | tasks |", "|---|---|"]
    lines += [f"| {n} | {', '.join(captured[n])} |" for n in names if n in captured]
    lines += ["", "## Without a graph", "", "| reason | families |", "|---|---|"]
    for reason in sorted({REASONS.get(n, UNTRIED) for n in left}, key=lambda r: (r == UNTRIED, r)):
        lines.append(f"| {reason} | {', '.join(n for n in left if REASONS.get(n, UNTRIED) == reason)} |")
    return "\n".join(lines) + "\n"


def write():
    PAGE.write_text(page())
