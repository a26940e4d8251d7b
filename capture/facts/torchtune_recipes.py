"""
Writes `src/formats/torchtune/recipes.json`: what the configs that torchtune's recipes have by name (`tune run … --config NAME`) say of
memory, read from a checkout or an unpacked wheel without running it. Values that most of them have are said once.

usage: python -m capture.facts.torchtune_recipes FOLDER
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import yaml

from .data import save

TARGET = Path(__file__).resolve().parent.parent.parent / "src" / "formats" / "torchtune" / "recipes.json"

#: Keys of a config that change memory (`keys.ts`), for the recipes whose runs are followed.
KEYS = re.compile(
    r"^(?:model\._component_|model\.lora_(?:rank|attn_modules)|model\.apply_lora_to_\w+|model\.use_dora|model\.\w+_trainable|model\.image_size"
    r"|batch_size|gradient_accumulation_steps|tokenizer\.max_seq_len|dataset\.packed|dtype|enable_activation_\w+|ac_\w+"
    r"|optimizer\._component_|optimizer\.fused|optimizer_in_bwd|clip_grad_norm|fsdp_cpu_offload|custom_sharded_layers"
    r"|tensor_parallel_dim|data_parallel_\w+_dim|compile|loss\._component_)$"
)

#: Recipes with other models beside the trained one, or other weights than they load.
OTHERS = re.compile(r"(?:^dev/|qat|knowledge_distillation|ppo|grpo|quantiz|eval|generat|dpo)")


#: What only models with adapters have.
LORA = re.compile(r"^model\.(?:lora_(?:rank|attn_modules)|apply_lora_to_\w+)$")


def flat(config, path=""):
    """Each scalar or list of a config with its dotted path."""
    for key, value in config.items():
        inner = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            yield from flat(value, inner)
        elif value is not None:
            yield inner, value


def spelled(value):
    """A value as a command would have it."""
    if isinstance(value, list):
        return "[" + ",".join(str(item) for item in value) + "]"
    return str(value)


def configs(folder):
    """The settings of each config by its name."""
    for file in sorted(folder.rglob("*.yaml")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        config = yaml.safe_load(file.read_text())
        if OTHERS.search(name) or not {"model", "optimizer", "batch_size"} <= set(config):
            continue
        yield name, {key: spelled(value) for key, value in flat(config) if KEYS.match(key)}


def main():
    """Writes the table."""
    [source] = sys.argv[1:]
    found = dict(configs(Path(source) / "recipes" / "configs"))
    values = defaultdict(Counter)
    for settings in found.values():
        for key, value in settings.items():
            values[key][value] += 1
    # What few of them say is said where they do; a model without adapters says nothing of LoRA.
    common = {
        key: counted.most_common(1)[0][0]
        for key, counted in values.items()
        if LORA.match(key) or (counted.total() > len(found) / 2 and key != "model._component_")
    }
    names = {}
    for name, settings in found.items():
        words = [settings["model._component_"].removeprefix("torchtune.models.")]
        adapted = "model.lora_rank" in settings
        for key, value in common.items():
            if key not in settings and value != "False" and (adapted or not LORA.match(key)):
                words.append(f"-{key}")
        for key, value in settings.items():
            if key != "model._component_" and common.get(key, "False") != value:
                words.append(f"{key}={value}")
        names[name] = " ".join(words)
    about = "Configs of torchtune's recipes by name: the model's builder, then what differs from `common` (`-key`: absent)."
    save(TARGET, about, "`recipes/configs`", "torchtune_recipes", common=common, names=names)


if __name__ == "__main__":
    main()
