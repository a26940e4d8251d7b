"""Why architectures of transformers have no graph, and the page that lists them beside those that have one."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPHS, PAGE = ROOT / "models" / "graphs", ROOT / "models" / "FAMILIES.md"

HOST = "its code reads values of tensors on the host (routing, lengths of patches), so what runs depends on the data"
SPARSE = "refused: attention picks positions or blocks, with sizes that no expression of the config gives"
LOOPS = "a loop over positions that is not among those a repeat stands for yet (`LOOPS` in `record.py`)"
DRAWN = "refused: its config ties keys together (nested parts, lists of kinds), which the drawing of points does not do yet"
SHARED = "one layer called again and again, where a repeat expects the next"
FIRST = "a first capture succeeds; not verified against PyTorch yet"
PICTURES = "the code goes over the pictures of a batch one by one (shapes of tiles, padding cut off), a loop no repeat stands for yet"
STAGES = "unlike stages whose widths and repeats follow lists or rounding rules"
COLOURS = "reads colour tokens or arrays, not what an image processor makes"
ELSEWHERE = "the network, or a kernel of it, is another library's"
UNTRIED = "not tried yet"

REASONS = {
    **dict.fromkeys(("aria_text", "blt"), HOST),
    **dict.fromkeys(("big_bird", "bigbird_pegasus", "deepseek_v32", "deepseek_v4"), SPARSE),
    **dict.fromkeys(("rwkv", "xlstm", "recurrent_gemma", "minimax", "kimi_linear", "zamba"), LOOPS),
    **dict.fromkeys(("dbrx", "zamba2", "nemotron_h", "gemma3n_text", "gemma4_text", "cohere_compass_text", "jamba", "lfm2_moe", "exaone_moe", "ernie4_5_moe", "minicpm3", "diffllama", "axk1", "mistral4", "dots1", "mamba"), DRAWN),
    **dict.fromkeys(("llava_next", "llava_next_video", "llava_onevision", "mistral3", "vipllava", "video_llava"), PICTURES),
    **dict.fromkeys(("efficientnet", "levit", "mobilevit", "mobilevitv2", "swiftformer", "hgnet_v2", "pp_lcnet", "textnet", "cvt", "focalnet", "hiera", "pvt", "pvt_v2", "poolformer", "bit"), STAGES),
    **dict.fromkeys(("imagegpt", "perceiver"), COLOURS),
    **dict.fromkeys(("dinat", "timm_wrapper"), ELSEWHERE),
    "albert": SHARED,
    **dict.fromkeys(("afmoe", "axk2", "bert-generation", "blenderbot-small", "cohere2_moe", "cpmant", "emu3", "falcon_mamba", "flex_olmo", "glm_moe_dsa", "gpt_neox_japanese", "doge",
                     "hunyuan_v1_moe", "umt5", "t5gemma", "qwen3_5_moe_text", "qwen3_next"), FIRST),
}
MAPPINGS = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM", "SEQUENCE_CLASSIFICATION", "TOKEN_CLASSIFICATION", "IMAGE_CLASSIFICATION", "SPEECH_SEQ_2_SEQ", "CTC", "AUDIO_CLASSIFICATION", "IMAGE_TEXT_TO_TEXT")


def page():
    """Every architecture of the library's mappings: its tasks where it is captured, else the reason."""
    from transformers.models.auto import modeling_auto

    captured = {p.stem: sorted({g["task"] for g in json.loads(p.read_text())["graphs"]}) for p in GRAPHS.glob("*.json")}
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
