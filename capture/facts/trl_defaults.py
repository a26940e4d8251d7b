"""Defaults of TRL's trainers by version, read from unpacked wheels without running them: test/formats/trl-defaults.json.

usage: python -m capture.facts.trl_defaults FOLDER...        (each FOLDER holds one version: `trl/` and `trl-<version>.dist-info/`)
"""

import ast
import json
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent.parent / "test" / "formats" / "trl-defaults.json"
TRAINERS = ("sft", "dpo", "kto", "orpo", "cpo", "reward", "grpo", "rloo", "gkd", "online_dpo")
NAMES = (
    "bf16 gradient_checkpointing max_length max_prompt_length max_completion_length beta loss_type num_generations disable_dropout precompute_ref_log_probs use_vllm vllm_mode "
    "vllm_gpu_memory_utilization vllm_enable_sleep_mode num_iterations cpo_alpha max_new_tokens lmbda"
).split()


def default(value):
    """A field's default, where it is a constant or a list made anew."""
    if isinstance(value, ast.Call):
        for keyword in value.keywords:
            if keyword.arg == "default":
                return ast.literal_eval(keyword.value)
            if keyword.arg == "default_factory" and isinstance(keyword.value, ast.Lambda):
                return ast.literal_eval(keyword.value.body)
        raise ValueError
    return ast.literal_eval(value)


def fields(path):
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(item, ast.AnnAssign) and getattr(item.target, "id", "") in NAMES and item.value is not None:
                try:
                    found[item.target.id] = default(item.value)
                except ValueError:
                    continue
    return found


def of_trainer(root, trainer):
    """The trainer's own fields over those of the config they come from."""
    places = [root / "experimental" / trainer / f"{trainer}_config.py", root / "trainer" / f"{trainer}_config.py"]
    own = [fields(path) for path in reversed(places) if path.exists()]
    if not any(own):
        return None
    bases = [root / "trainer" / "base_config.py", *([root / "trainer" / "sft_config.py"] if trainer == "gkd" else [])]
    merged = {}
    for found in [*(fields(path) for path in bases if path.exists()), *own]:
        merged.update(found)
    return merged


def main(folders):
    table = {}
    for folder in map(Path, folders):
        (info,) = folder.glob("trl-*.dist-info")
        version = info.name.removeprefix("trl-").removesuffix(".dist-info")
        found = {trainer: of_trainer(folder / "trl", trainer) for trainer in TRAINERS}
        table[version] = {trainer: values for trainer, values in found.items() if values is not None}
    ordered = dict(sorted(table.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
    OUT.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
