"""What the last out-of-memory message of a text says, in figures and in a sentence for each thing that it tells."""

import re

_TRIED = re.compile(r"Tried to allocate ([\d.]+) (bytes|KiB|MiB|GiB)")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_FIGURES = {
    "total": r"total capacity of ([\d.]+) (bytes|KiB|MiB|GiB)",
    "free": r"of which ([\d.]+) (bytes|KiB|MiB|GiB) is free",
    "process": r"this process has ([\d.]+) (bytes|KiB|MiB|GiB) memory in use",
    "allocated": r"([\d.]+) (bytes|KiB|MiB|GiB) is allocated by PyTorch",
    "unallocated": r"([\d.]+) (bytes|KiB|MiB|GiB) is reserved by PyTorch but unallocated",
}
_OTHERS = re.compile(r"Process \d+ has ([\d.]+) (bytes|KiB|MiB|GiB) memory in use")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
PHASES = (
    ("backward", re.compile(r"\bin (?:run_backward|backward|_engine_run_backward)\b")),
    ("optimizer", re.compile(r"torch/optim/|\bin (?:_multi_tensor_\w+|_single_tensor_\w+)\b")),
    ("loss", re.compile(r"\bin (?:cross_entropy|compute_loss|ForCausalLMLoss)\b")),
    ("load", re.compile(r"\bin (?:from_pretrained|_load_pretrained_model|_apply|load_state_dict)\b")),
    ("forward", re.compile(r"\bin (?:forward|_call_impl|_wrapped_call_impl)\b")),
)


def read(text):
    """Figures in bytes, the phase and the last line of the person's own code; None where the text has no such message."""
    tried = list(_TRIED.finditer(text))
    if not tried:
        return None
    at = tried[-1]
    line = text[at.start() : at.start() + 2000].split("\n\n")[0]
    bytes_of = lambda m: int(float(m[1]) * _UNITS[m[2]])
    found = {"tried": bytes_of(at)}
    for name, pattern in _FIGURES.items():
        if (m := re.search(pattern, line)) is not None:
            found[name] = bytes_of(m)
    found["others"] = sum(bytes_of(m) for m in _OTHERS.finditer(line))
    before = text[max(0, text.rfind("Traceback", 0, at.start())) : at.start()]
    found["phase"] = next((name for name, pattern in PHASES if pattern.search(before)), None)
    own = [m for m in _FRAME.finditer(before) if "site-packages" not in m[1] and not m[1].startswith("<")]
    found["line"] = f"{own[-1][1]}:{own[-1][2]}" if own else None
    return found


def sentences(found):
    """What a person can do with the figures."""
    gib = lambda n: f"{n / 2**30:.1f} GiB"
    yield (
        f"{gib(found['tried'])} were asked for"
        + (f" in {found['phase']}" if found["phase"] else "")
        + (f", at {found['line']}." if found["line"] else ".")
    )
    if "total" in found and "free" in found:
        yield f"The card has {gib(found['total'])}, {gib(found['free'])} of it free."
    if found["others"] > 2**28:
        yield f"Other processes have {gib(found['others'])} of it: ending them would have left room for that much."
    if found.get("unallocated", 0) >= found["tried"]:
        yield (
            f"{gib(found['unallocated'])} are reserved and empty, in pieces too small: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "
            "joins them."
        )
    yield "`vram-lens explain` names the tensor and the smallest change, from the config beside the log."
