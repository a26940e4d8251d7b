"""
Writes `src/formats/hf-scripts/signatures.json`: the arguments that the classes and functions of Hugging Face's libraries
take, by version, read from their sources without running them. What stands there may be written into a call.

usage: python -m capture.facts.signatures FOLDER...

Each FOLDER holds sources (site-packages, an unpacked wheel) of one version of one or more of the libraries; the more
versions, the nearer the versions between which an argument came and went.
"""

import ast
import re
import sys
from pathlib import Path

from .data import save

OUT = Path(__file__).resolve().parent.parent.parent / "src" / "formats" / "hf-scripts" / "signatures.json"

#: Files of each library, and the classes of theirs that people call in scripts.
SOURCES = {
    "transformers": (
        ["training_args*.py", "trainer.py", "trainer_seq2seq.py", "utils/quantization_config.py"],
        r"(?:Seq2Seq)?(?:TrainingArguments|Trainer)|BitsAndBytesConfig",
    ),
    "trl": (
        ["trainer/**/*.py", "experimental/**/*.py", "scripts/utils.py"],
        r"(?:SFT|DPO|ORPO|KTO|CPO|Reward|PPO|RLOO|GRPO|GKD|BCO|XPO|NashMD|OnlineDPO)(?:Config|Trainer)|ModelConfig",
    ),
    "peft": (["tuners/**/config.py", "tuners/lora.py", "config.py", "utils/config.py"], r"LoraConfig"),
}

Version = tuple[int, ...]


def version_of(root: Path, library: str) -> Version | None:
    for found in root.glob(f"{library}-*.dist-info"):
        return tuple(int(part) for part in re.findall(r"\d+", found.name.removeprefix(f"{library}-"))[:3])
    return None


class Library:
    """Classes of one version."""

    def __init__(self, root: Path, patterns: list[str]) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        for pattern in patterns:
            for path in sorted(root.glob(pattern)):
                for node in ast.parse(path.read_text()).body:
                    if isinstance(node, ast.ClassDef):
                        self.classes.setdefault(node.name, node)

    def own(self, name: str) -> tuple[set[str], set[str]]:
        """Names that a class of this library takes, and its bases that are of another one."""
        node = self.classes.get(name)
        if node is None:
            return set(), {name}
        for item in node.body:
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                arguments = item.args
                found = {arg.arg for arg in [*arguments.args, *arguments.kwonlyargs]} - {"self"}
                return found, set()
        found = {
            item.target.id
            for item in node.body
            if isinstance(item, ast.AnnAssign)
            and isinstance(item.target, ast.Name)
            and not item.target.id.startswith("_")
            and "ClassVar" not in ast.unparse(item.annotation)
            and "init=False" not in ast.unparse(item)
        }
        outside: set[str] = set()
        for base in node.bases:
            inner, above = self.own(ast.unparse(base).split(".")[-1])
            found |= inner
            outside |= above
        return found, outside


def spelled(name: str, versions: list[Version], having: set[Version]) -> str:
    """`name`, `name@1.2` where 1.2 is the first version with it, `name!1.4` where 1.4 is the first one without it again."""
    first = min(having)
    gone = [version for version in versions if version > max(having)]
    text = ".".join(map(str, first[:2]))
    return name + (f"@{text}" if first != versions[0] else "") + (f"!{'.'.join(map(str, gone[0][:2]))}" if gone else "")


def main(folders: list[str]) -> None:
    classes: dict[str, dict[str, object]] = {}
    for library, (patterns, wanted) in SOURCES.items():
        found: dict[Version, Library] = {}
        for folder in folders:
            version = version_of(Path(folder), library)
            if version is not None:
                found[version] = Library(Path(folder) / library, patterns)
        versions = sorted(found)
        names = {name for one in found.values() for name in one.classes if re.fullmatch(wanted, name)}
        for name in sorted(names):
            by_name: dict[str, set[Version]] = {}
            outside: set[str] = set()
            own_versions = [version for version in versions if name in found[version].classes]
            for version in own_versions:
                taken, above = found[version].own(name)
                outside = above
                for argument in taken:
                    by_name.setdefault(argument, set()).add(version)
            base = next((one for one in sorted(outside) if one.endswith("TrainingArguments")), None)
            if not by_name:
                continue
            takes = [spelled(argument, own_versions, having) for argument, having in sorted(by_name.items())]
            classes[name] = {"library": library, **({"base": base} if base else {}), "takes": takes}
        print(library, [".".join(map(str, version)) for version in versions], len(names), "classes")
    about = "Arguments that classes of Hugging Face's libraries take: `name@1.2` since that version, `name!1.4` until before it."
    save(OUT, about, "the libraries' own code", "signatures", classes=classes)


if __name__ == "__main__":
    main(sys.argv[1:])
