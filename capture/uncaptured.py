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
ACROSS = "a block of weights belongs to several layers, with an adapter for each use"
DIRECT = "its code calls the `forward` of layers itself, where only calls of modules are seen"
ON_HOST = "makes parameters on the host whatever device is asked for"
HALF = "equal to PyTorch in float32 and under autocast, not with bfloat16 weights alone yet"
FIRST = "a capture of one point succeeds; its graph has not been made and verified against PyTorch yet"
PICTURES = "the code goes over the pictures of a batch one by one (shapes of tiles, padding cut off), a loop no repeat stands for yet"
STAGES = "unlike stages whose widths and repeats follow lists or rounding rules"
COLOURS = "reads colour tokens or arrays, not what an image processor makes"
ELSEWHERE = "the network, or a kernel of it, is another library's"
COMPILED = "its attention is a kernel that is compiled when the model is made; without it the code runs something else"
FOURIER = "its Fourier transform takes no bfloat16, in which graphs are captured first"
COLLATED = "its collator makes the decoder's inputs, which captured batches do not hold"
REVERSED = "its layers are reversible: an autograd function of its own runs them again in backward"
PAGES = "reads a picture of the page beside words and boxes, which captured batches of text do not hold"
SECOND = "a second name of another family's class, whose name its files have: estimated as that"
PAIRED = "two models of any families, put together by the training code"
PART = "captured, but its peaks are up to 6 % below PyTorch's: what two attentions keep that share queries and keys"
AUTOCAST = "captured and equal to PyTorch but for up to 0.7 % under autocast of float32 weights"
EINSUMS = "captured, but multiplies blocks by sums over letters (`einsum`) for which the engine has no rule"
UNTRIED = "not tried yet"

REASONS = {
    **dict.fromkeys(("aria_text", "blt", "longformer", "led", "jetmoe", "ibert", "funnel", "switch_transformers", "tapas", "flaubert", "xlm", "prophetnet", "nllb-moe"), HOST),
    "zamba2": ACROSS,
    "squeezebert": DIRECT,
    **dict.fromkeys(("xlnet", "olmo_hybrid"), ON_HOST),
    **dict.fromkeys(("mra", "yoso"), COMPILED),
    **dict.fromkeys(("layoutlmv3", "udop"), PAGES),
    **dict.fromkeys(("cohere_compass", "gemma3n_text", "longcat_flash", "longt5", "mimo_v2_flash", "openai_privacy_filter", "qwen4_exp_text", "solar_open", "zaya", "laguna"), DRAWN),
    **dict.fromkeys(("big_bird", "cohere2_moe", "exaone_moe", "gemma4_unified_text", "granitemoe_swa", "hrm_text", "hy_v3", "hy_v4", "inkling_text", "markuplm", "mellum", "minimax_m3_vl_text", "modernvbert", "nystromformer",
                     "t5gemma2", "xmod", "bros"), FIRST),
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
    "deberta": HALF,
    **dict.fromkeys(("deepseek_v32", "deepseek_v4"), SPARSE),
    **dict.fromkeys(("rwkv", "xlstm", "recurrent_gemma", "minimax", "kimi_linear", "zamba"), LOOPS),
    **dict.fromkeys(("llava_next", "llava_next_video", "llava_onevision", "mistral3", "vipllava", "video_llava"), PICTURES),
    **dict.fromkeys(("efficientnet", "levit", "mobilevit", "mobilevitv2", "swiftformer", "hgnet_v2", "pp_lcnet", "textnet", "cvt", "focalnet", "hiera", "pvt", "pvt_v2", "poolformer", "bit"), STAGES),
    **dict.fromkeys(("imagegpt", "perceiver"), COLOURS),
    **dict.fromkeys(("dinat", "timm_wrapper"), ELSEWHERE),
    **dict.fromkeys(("dbrx", "cohere_compass_text", "axk1", "mistral4"), DRAWN),
    **dict.fromkeys(("axk2", "cohere2_moe", "cpmant", "emu3", "glm_moe_dsa", "doge",
                     "t5gemma"), FIRST),
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
