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
NESTED = "its picture or sound side is a network of its own kind, for which no drawing of points is written yet"
LOSSLESS = "its class computes no loss"
BUILT = "reads rates of stochastic depth as numbers while it is built, in a way that fake tensors refuse"
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
KERNEL = "asks for one kernel of attention by name (`sdpa_kernel`) under a mask that it adds up itself, which attention in graphs does not say"
SEARCHED = "places windows of recordings in time by a search over their lengths (`searchsorted`), for which the engine has no rule"
CODEC = "hears through a codec's convolutions, whose stages follow lists of ratios and depths, with noise drawn into what they give"
COMPARED = "drawn and captured (`paired.py`), its peaks not compared with PyTorch's yet"
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
    "fnet": FOURIER,
    "fsmt": COLLATED,
    "gpt-sw3": SECOND,
    "layoutlmv2": ELSEWHERE,
    "reformer": REVERSED,
    **dict.fromkeys(("deepseek_v32", "deepseek_v4"), SPARSE),
    **dict.fromkeys(("rwkv", "xlstm", "recurrent_gemma", "minimax", "kimi_linear", "zamba"), LOOPS),
    "granite4_vision": PICTURES,
    **dict.fromkeys(("efficientnet", "hgnet_v2", "pp_lcnet", "textnet"), STAGES),
    "bit": BUILT,
    **dict.fromkeys(("imagegpt", "perceiver"), COLOURS),
    **dict.fromkeys(("dinat", "fast_vlm", "gemma3n", "perception_lm", "timm_wrapper"), ELSEWHERE),
    **dict.fromkeys(("dia", "kyutai_speech_to_text", "moshi", "musicgen", "musicgen_melody", "chameleon"), CODES),
    **dict.fromkeys(("evolla", "pi0", "pix2struct", "pop2piano", "kosmos-2.5"), UNSAID),
    **dict.fromkeys(("cosmos3_edge", "cosmos3_omni", "ernie4_5_vl_moe", "exaone4_5", "glm5_next", "hunyuan_vl", "kimi_k25", "minicpmv4_6", "minimax_m3_vl", "muse_glimmer", "paddleocr_vl", "qwen4_exp",
                     "step3p7", "video_llama_3"), COUNTED),
    **dict.fromkeys(("qwen2_5_omni_thinker", "qwen3_asr", "qwen3_omni_moe_thinker"), CUT),
    **dict.fromkeys(("fun_asr_nano", "granite_speech5_ctc", "idefics", "inkling_mm_model", "modernvbert", "moonshine_streaming", "pp_formulanet", "voxtral_realtime"), NESTED),
    **dict.fromkeys(("aria", "deepseek_ocr2", "diffusion_gemma"), HOST),
    "shieldgemma2": LOSSLESS,
    "bros": BOXED,
    "openai_privacy_filter": HOST,
    "t5gemma2": COMPARED,
    **dict.fromkeys(("granite_speech", "granite_speech_plus"), KERNEL),
    "musicflamingo": SEARCHED,
    **dict.fromkeys(("vibevoice", "vibevoice_asr"), CODEC),
    **dict.fromkeys(("dbrx", "cohere_compass_text"), DRAWN),
    "emu3": CODES,
    "llama4": ADAPTERS,
}
MAPPINGS = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "CTC", "AUDIO_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT")


def page():
    """Every architecture of the library's mappings: its tasks where it is captured, else the reason."""
    from transformers.models.auto import modeling_auto

    captured = {p.stem: sorted({g["task"] for g in content_of(p.read_text())["graphs"]}) for p in GRAPHS.glob("*.json")}
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
