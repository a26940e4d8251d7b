"""
Writes `src/formats/*/fields.json`: what the fields of libraries' config classes are (type, whether None is one of their
values, default), by release, read from the libraries' own sources without running them. The rows of a format's `keys.ts`
say what the fields mean.

usage: python -m capture.facts.fields FOLDER...

Each FOLDER holds sources (site-packages, an unpacked wheel) of one release; the more releases, the nearer those at which a
field went or its default changed. A library that is in none of them keeps the file it has.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from .data import save
from .signatures import version_of

ROOT = Path(__file__).resolve().parent.parent.parent
FORMATS = ROOT / "src" / "formats"

Version = tuple[int, ...]
Field = dict[str, object]
#: A default that is not written as a plain value.
COMPUTED = object()

#: Of each format: its library with the package in it, its files, and the classes whose fields stand in one config, by the name of
#: the trainer that they are of; what a field is, the first class that has it says. `block.=Class`: the class of a block's keys.
SOURCES = {
    "hf-training-arguments": (
        ("transformers", "transformers"),
        ["training_args.py", "training_args_seq2seq.py"],
        {"": "TrainingArguments", "seq2seq": "Seq2SeqTrainingArguments"},
    ),
    "trl": (
        ("trl", "trl"),
        ["trainer/**/*_config.py", "experimental/**/*_config.py"],
        {
            "": "ModelConfig",
            "sft": "SFTConfig",
            "dpo": "DPOConfig",
            "grpo": "GRPOConfig",
            "kto": "KTOConfig",
            "orpo": "ORPOConfig",
            "cpo": "CPOConfig",
            "reward": "RewardConfig",
            "rloo": "RLOOConfig",
            "gkd": "GKDConfig",
            "ppo": "PPOConfig",
            "online-dpo": "OnlineDPOConfig",
            "xpo": "XPOConfig",
            "nash-md": "NashMDConfig",
        },
    ),
    "llama-factory": (
        ("llamafactory", "llamafactory"),
        ["hparams/*.py"],
        {"": "ModelArguments DataArguments FinetuningArguments TrainingArguments GeneratingArguments"},
    ),
    "ms-swift": (
        ("ms_swift", "swift"),
        ["arguments/**/*.py", "rlhf_trainers/args_mixin.py", "trainers/arguments.py"],
        {"": "SftArguments RLHFArguments TrainArgumentsMixin"},
    ),
    "deepspeed": (
        ("deepspeed", "deepspeed"),
        ["runtime/zero/config.py", "runtime/zero/offload_config.py", "runtime/precision_config.py"],
        {
            "": "zero_optimization.=DeepSpeedZeroConfig zero_optimization.offload_param.=DeepSpeedZeroOffloadParamConfig "
            "zero_optimization.offload_optimizer.=DeepSpeedZeroOffloadOptimizerConfig fp16.=DeepSpeedFP16Config bf16.=DeepSpeedBF16Config",
        },
    ),
    "torchtitan": (
        ("torchtitan", "torchtitan"),
        ["config/job_config.py", "config_manager.py"],
        {
            "": "model.=Model training.=Training parallelism.=Parallelism "
            "activation_checkpoint.=ActivationCheckpoint optimizer.=Optimizer compile.=Compile "
            "quantize.linear.float8.=Float8Linear"
        },
    ),
    "axolotl": (
        ("axolotl", "axolotl"),
        ["utils/schemas/*.py"],
        {"": "AxolotlInputConfig"},
    ),
}

#: Releases before which a trainer's class was another one altogether.
ANOTHER = {"GRPOConfig": (0, 18), "RLOOConfig": (0, 22), "OnlineDPOConfig": (0, 23)}


def members(annotation: ast.expr) -> Iterator[str]:
    """Names of an annotation's alternatives; `list[int]` is `list`."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from members(ast.parse(annotation.value, mode="eval").body)
    elif isinstance(annotation, ast.BinOp):
        yield from members(annotation.left)
        yield from members(annotation.right)
    elif isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value).split(".")[-1] in ("Optional", "Union"):
        parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        for part in parts:
            yield from members(part)
        if "Optional" in ast.unparse(annotation.value):
            yield "None"
    elif isinstance(annotation, ast.Subscript):
        yield ast.unparse(annotation.value).split(".")[-1].lower()
    else:
        yield ast.unparse(annotation).split(".")[-1]


def type_of(names: set[str]) -> str:
    """A key's type of our tables; `any` where several kinds of value are taken."""
    if names == {"int"}:
        return "integer"
    if names and names <= {"int", "float"}:
        return "number"
    if names == {"bool"}:
        return "boolean"
    if "dict" in names:
        return "map"
    if names == {"list"}:
        return "list"
    return "string" if names and names <= {"str", "literal"} or any(name.endswith(("Strategy", "Type")) for name in names) else "any"


def default_of(value: ast.expr | None) -> object:
    """A field's default where it is a plain value."""
    if isinstance(value, ast.Call):
        given = {keyword.arg: keyword.value for keyword in value.keywords}
        factory = given.get("default_factory")
        if isinstance(factory, ast.Lambda):
            return default_of(factory.body)
        if value.args:  # `Field(5, ge=0)`, and numbers that only print prettily: `pp_int(5e8)`
            return default_of(value.args[0])
        return default_of(given["default"]) if "default" in given else COMPUTED
    try:
        found = COMPUTED if value is None else ast.literal_eval(value)
    except ValueError:
        return COMPUTED
    # A list of one loss or one weight is what that one would be.
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def bounds_of(value: ast.expr | None, whole: bool) -> Field:
    """What pydantic's `Field` says of a number's range, and the name beside the field's own one."""
    given = {keyword.arg: keyword.value for keyword in value.keywords} if isinstance(value, ast.Call) else {}
    number = {name: default_of(given[name]) for name in ("ge", "gt", "le") if name in given}
    found: Field = {}
    if "ge" in number:
        found["min"] = number["ge"]
    elif "gt" in number and whole:
        found["min"] = number["gt"] + 1
    if "le" in number:
        found["max"] = number["le"]
    return found


def alias_of(value: ast.expr | None) -> str | None:
    """The name that pydantic reads a field by, where it is not its own."""
    for keyword in value.keywords if isinstance(value, ast.Call) else []:
        if keyword.arg == "alias" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    return None


class Release:
    """Config classes of one release of a library."""

    def __init__(self, root: Path, patterns: list[str]) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    known = self.classes.get(node.name)
                    # A class that only says where its code went has no fields.
                    if known is None or len(node.body) > len(known.body):
                        self.classes[node.name] = node

    def fields(self, name: str) -> dict[str, Field]:
        """Fields of a class by name, those of its bases among them."""
        node = self.classes.get(name)
        if node is None:
            return {}
        found: dict[str, Field] = {}
        for base in reversed(node.bases):
            found |= self.fields(ast.unparse(base).split(".")[-1])
        for item in node.body:
            if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
                continue
            if item.target.id.startswith("_") or "ClassVar" in ast.unparse(item.annotation) or "init=False" in ast.unparse(item):
                continue
            names = set(members(item.annotation))
            kind = type_of(names - {"None"})
            default = default_of(item.value)
            said: Field = {"type": kind, "nullable": "None" in names, "default": default, **bounds_of(item.value, kind == "integer")}
            if kind == "integer" and isinstance(default, float):
                said["default"] = int(default)
            alias = alias_of(item.value)
            if alias is not None:
                said["aliases"] = [item.target.id]
            found[alias or item.target.id] = said
        return found

    def together(self, names: list[str]) -> dict[str, Field]:
        """Fields of several classes, the first's before the others'."""
        found: dict[str, Field] = {}
        for name in reversed(names):
            block, _, own = name.rpartition("=")
            for field, said in self.fields(own).items():
                other = {"aliases": [f"{block}{alias}" for alias in said["aliases"]]} if "aliases" in said else {}
                found[f"{block}{field}"] = {**said, **other}
        return found


def short(version: Version) -> str:
    """`5` of 5.0, `4.54` of 4.54.1."""
    return ".".join(map(str, version[:2])).removesuffix(".0")


def history(library: str, by_version: dict[Version, Field | None]) -> Field:
    """A field of a class as the newest release that has it says it, with what older ones had in its place."""
    versions = sorted(by_version)
    having = [version for version in versions if by_version[version] is not None]
    said = {version: field for version, field in by_version.items() if field is not None}
    newest = said[having[-1]]
    found: Field = {"type": newest["type"]}
    if newest["nullable"]:
        found["nullable"] = True
    if isinstance(newest["default"], (str, int, float, type(None))):
        found["default"] = newest["default"]
    found |= {key: newest[key] for key in ("min", "max", "aliases") if key in newest}
    older: dict[str, object] = {}
    for before, after in zip(having, having[1:], strict=False):
        old, new = said[before]["default"], said[after]["default"]
        if old != new and COMPUTED not in (old, new) and not isinstance(old, (list, dict, tuple)):
            older[f"{library}<{short(after)}"] = old
    if older:
        found["defaultsBy"] = older
    if having[0] != versions[0]:
        found["since"] = f"{library} {short(having[0])}"
    if having[-1] != versions[-1]:
        found["removedIn"] = f"{library} {short(versions[versions.index(having[-1]) + 1])}"
    return found


def histories(library: str, releases: dict[Version, Release], name: str) -> dict[str, Field]:
    """Fields of a class over the releases that have it."""
    first = ANOTHER.get(name, ())
    by_version = {version: release.together(name.split()) for version, release in sorted(releases.items()) if version >= first}
    own = {version: fields for version, fields in by_version.items() if fields}
    names = {field for fields in own.values() for field in fields}
    return {field: history(library, {version: fields.get(field) for version, fields in own.items()}) for field in sorted(names)}


#: What trainers may say otherwise of a field that they share.
OF_TRAINER = ("default", "defaultsBy", "since", "removedIn")


def collected(
    library: str, releases: dict[Version, Release], classes: dict[str, str]
) -> tuple[dict[str, Field], dict[str, dict[str, Field]]]:
    """Fields by name, and what each trainer says of those of which not all say the same."""
    by_class = {trainer: histories(library, releases, name) for trainer, name in classes.items()}
    fields: dict[str, Field] = {}
    trainers: dict[str, dict[str, Field]] = {}
    for name in sorted({name for found in by_class.values() for name in found}):
        said = {trainer: found[name] for trainer, found in by_class.items() if name in found}
        first = next(iter(said.values()))
        shared = {
            key: value for key, value in first.items() if key not in OF_TRAINER or all(one.get(key) == value for one in said.values())
        }
        fields[name] = shared
        own = {trainer: {key: one[key] for key in OF_TRAINER if key in one} for trainer, one in said.items()}
        if any(one.get(key) != shared.get(key) for one in said.values() for key in OF_TRAINER):
            for trainer, one in own.items():
                trainers.setdefault(trainer, {})[name] = one
    return fields, trainers


def main(folders: list[str]) -> None:
    for folder, ((library, package), patterns, classes) in SOURCES.items():
        releases = {
            version: Release(Path(root) / package, patterns) for root in folders if (version := version_of(Path(root), library)) is not None
        }
        if not releases:
            continue
        fields, trainers = collected(library, releases, classes)
        stated = ", ".join(".".join(map(str, version)) for version in sorted(releases))
        save(
            FORMATS / folder / "fields.json",
            "Fields of the library's config classes: type, default, what older releases had. The rows of `keys.ts` say what they mean.",
            f"{', '.join(classes.values())} of {library} {stated}",
            "fields",
            fields=fields,
            **({"trainers": trainers} if trainers else {}),
        )
        print(folder, len(fields), "fields of", stated)


if __name__ == "__main__":
    main(sys.argv[1:])
