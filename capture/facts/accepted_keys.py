"""
Writes `src/formats/*/accepted.json`: every name a library takes at its first level, or in any block of a nested config,
read from its own source without running it. A key that stands there is never called a misspelling.

usage: python -m capture.facts.accepted_keys FOLDER...

Each FOLDER holds sources (site-packages, an unpacked wheel, a checkout); a library that is in none of them keeps the
list it has.
"""

import ast
import re
import sys
from pathlib import Path

from .data import save

FORMATS = Path(__file__).resolve().parent.parent.parent / "src" / "formats"

#: Files of each format, relative to a folder of sources, and what the list is said to come from.
SOURCES = {
    "axolotl": (
        ["axolotl/utils/schemas/*.py", "axolotl/integrations/*/args.py", "transformers/training_args*.py"],
        "`axolotl/utils/schemas`, the arguments of its integrations and TrainingArguments",
    ),
    "ms-swift": (
        [
            "swift/arguments/**/*.py",
            "swift/rlhf_trainers/*arg*.py",
            "swift/trainers/arguments.py",
            "swift/megatron/arguments/*.py",
            "transformers/training_args*.py",
        ],
        "`swift/arguments`, `swift/rlhf_trainers`, `swift/megatron/arguments` and TrainingArguments",
    ),
    "accelerate": (["accelerate/commands/config/config_args.py"], "`accelerate/commands/config/config_args.py`"),
    "ultralytics": (["ultralytics/cfg/default.yaml"], "`ultralytics/cfg/default.yaml`"),
    "megatron": (
        [
            "megatron/training/arguments.py",
            "megatron/training/config/*.py",
            "megatron/arguments.py",
            "megatron/core/transformer/transformer_config.py",
            "megatron/core/model_parallel_config.py",
            "megatron/core/optimizer/optimizer_config.py",
            "megatron/core/distributed/distributed_data_parallel_config.py",
        ],
        "`megatron/training/arguments.py` with the configs it makes arguments of, and those of Megatron-DeepSpeed",
    ),
    "gpt-neox": (["megatron/neox_arguments/*.py"], "`megatron/neox_arguments` of gpt-neox"),
}


#: The same for configs of nested blocks: names count in every block.
NESTED = {
    "verl": (
        ["verl/trainer/config/**/*.yaml", "verl/trainer/config/*.py", "verl/workers/config/*.py", "verl/base_config.py"],
        "`verl/trainer/config`, `verl/workers/config`",
    ),
    "torchtune": (
        [
            "recipes/configs/**/*.yaml",
            "torchtune/models/**/_*builders.py",
            "torchtune/datasets/**/*.py",
            "torchtune/modules/peft/*.py",
            "torchtune/modules/loss/*.py",
            "torchtune/rlhf/loss/*.py",
            "torchtune/training/checkpointing/*.py",
            "torchtune/training/metric_logging.py",
            "torchtune/training/_profiler.py",
        ],
        "`recipes/configs`, and the parameters of torchtune's components",
    ),
    "torchtitan": (
        ["torchtitan/config/*.py", "torchtitan/config_manager.py", "torchtitan/components/*.py", "torchtitan/experiments/**/job_config.py"],
        "`torchtitan/config`, `torchtitan/components` of 0.1 to 0.3",
    ),
    "lightning": (
        ["litgpt/args.py", "litgpt/config.py", "litgpt/pretrain.py", "litgpt/finetune/*.py", "litgpt/data/*.py"],
        "`litgpt/args.py`, the parameters of `litgpt/finetune`, `litgpt/pretrain.py` and `litgpt/data`",
    ),
    "nemo": (
        [
            "examples/nlp/**/conf/**/*.yaml",
            "examples/tts/conf/*.yaml",
            "nemo/collections/*/parts/peft_config.py",
            "nemo/core/config/*.py",
            "nemo/utils/exp_manager.py",
            "megatron/core/transformer/transformer_config.py",
            "megatron/core/model_parallel_config.py",
            "megatron/core/optimizer/optimizer_config.py",
            "megatron/core/distributed/distributed_data_parallel_config.py",
            "megatron/bridge/training/config.py",
            "megatron/bridge/peft/*.py",
        ],
        "the `conf` folders of `examples/nlp` and `examples/tts`, and `nemo/core/config` of NeMo, the configs of megatron-core and Megatron-Bridge",
    ),
    "openrlhf": (["openrlhf/cli/*.py"], "the options of `openrlhf/cli`"),
    "nanotron": (["nanotron/config/*.py"], "`nanotron/config`"),
    "llm-foundry": (
        ["llmfoundry/utils/config_utils.py", "llmfoundry/models/**/*.py", "llmfoundry/data/**/*.py", "llmfoundry/optim/*.py"],
        "`llmfoundry/utils/config_utils.py`, the parameters of its models and data",
    ),
}


def words(path: Path) -> set[str]:
    """Keys of a YAML file at any depth; fields, parameters and the words of options of Python code."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"^[ \t]*(?:- )?([A-Za-z]\w*):", text, re.M))
    found = names(path)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found |= {arg.arg for arg in [*node.args.args, *node.args.kwonlyargs]}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            options = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            found |= {word for option in options for word in option.lstrip("-").replace("-", "_").split(".")}
    return {name for name in found if name.isidentifier() and not name.startswith("_") and len(name) > 3}


def names(path: Path) -> set[str]:
    """Annotated fields of classes, `--options` of argument parsers, or keys of a YAML file's first level."""
    text = path.read_text()
    if path.suffix != ".py":
        return set(re.findall(r"^(\w+):", text, re.M))
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef):
            found |= {field(item) for item in node.body if isinstance(item, ast.AnnAssign)}
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            options = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
            found |= {option[2:].replace("-", "_") for option in options if option.startswith("--")}
    return {name for name in found if name.isidentifier() and not name.startswith("_")}


def field(item: ast.AnnAssign) -> str:
    """Name of a field, or the alias that pydantic reads it by."""
    if isinstance(item.value, ast.Call):
        for keyword in item.value.keywords:
            if keyword.arg == "alias" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return getattr(item.target, "id", "")


def write(folder: str, found: set[str], source: str, where: str) -> None:
    about = f"Every name the library takes {where}, whether or not it touches memory: what is here is no misspelling."
    save(FORMATS / folder / "accepted.json", about, source, "accepted_keys", names=sorted(found))


def main(folders: list[str]) -> None:
    incomplete: list[str] = []
    for sources, read, where in ((SOURCES, names, "at its first level"), (NESTED, words, "in any block")):
        for folder, (patterns, source) in sources.items():
            matched = {pattern: [path for root in folders for path in Path(root).glob(pattern)] for pattern in patterns}
            files = [path for paths in matched.values() for path in paths]
            absent = [pattern for pattern, paths in matched.items() if not paths]
            if files and absent:  # a list from part of its sources would call the other part's names misspelt
                incomplete.append(f"{folder} is left as it is: nothing matches {', '.join(absent)}")
                continue
            found = set().union(*(read(path) for path in files)) if files else set()
            if found:
                write(folder, found, source, where)
            print(folder, len(found), "names in", len(files), "files")
    if incomplete:
        sys.exit("\n".join(incomplete))


if __name__ == "__main__":
    main(sys.argv[1:])
