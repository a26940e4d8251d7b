"""Why architectures of transformers have no graph, and the page that lists them beside those that have one."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPHS, PAGE = ROOT / "models" / "graphs", ROOT / "models" / "FAMILIES.md"

HOST = "its code reads values of tensors on the host (routing, lengths of patches), so what runs depends on the data"
SPARSE = "attention picks positions at run time, in blocks or by an index whose sizes follow the data"
RECURRENT = "a loop over positions carries state through Python objects that a repeat cannot express"
PARTS = "made of several models of other families, whose configs are nested"
OLD = "its code branches on values rather than on config keys"
KINDS = "more than two kinds of layers, which no expression of the config tells apart yet"
UNTRIED = "not tried yet"

REASONS = {
    "aria_text": HOST, "blt": HOST, "dbrx": "its attention and feed-forward configs are nested and validated together, which the drawing of points does not do yet",
    "big_bird": SPARSE, "bigbird_pegasus": SPARSE, "longformer": SPARSE, "led": SPARSE, "longt5": SPARSE, "reformer": SPARSE, "nystromformer": SPARSE, "yoso": SPARSE, "mra": SPARSE, "pegasus_x": SPARSE,
    "deepseek_v32": SPARSE, "deepseek_v4": SPARSE, "glm_moe_dsa": SPARSE, "minimax_m3_vl_text": SPARSE,
    "rwkv": RECURRENT, "xlstm": RECURRENT, "recurrent_gemma": RECURRENT, "minimax": RECURRENT, "kimi_linear": RECURRENT, "zamba": RECURRENT,
    "encoder-decoder": PARTS, "trocr": PARTS, "moshi": PARTS, "musicgen": PARTS, "musicgen_melody": PARTS, "git": PARTS, "fuyu": PARTS, "emu3": PARTS,
    "xlm": OLD, "flaubert": OLD, "xlnet": OLD, "funnel": OLD, "ctrl": OLD, "fsmt": OLD, "prophetnet": OLD, "tapas": OLD, "luke": OLD, "canine": OLD, "perceiver": OLD,
    "zamba2": KINDS, "nemotron_h": KINDS, "gemma3n_text": KINDS, "gemma4_text": KINDS,
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
