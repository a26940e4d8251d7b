"""Options of an argument parser as fields: `--zero_stage`, with its type and default."""

import ast
from collections.abc import Iterator

from .values import COMPUTED, Field, default_of, type_of

#: Texts that commands are given for what their configs have as switches.
SWITCHES = {"true": True, "false": False}


def options(tree: ast.AST, group: str) -> dict[str, Field]:
    """Options that are added to a group: the name of its variable, or that of the function that adds them."""
    return dict(found for call in calls(tree, group) if (found := option(call)) is not None)


def calls(tree: ast.AST, group: str) -> Iterator[ast.Call]:
    """`group.add_argument(…)`, and every such call of a function of that name."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == group]
    for node in (inner for place in functions or [tree] for inner in ast.walk(place)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            if functions or ast.unparse(node.func.value) == group:
                yield node


def option(call: ast.Call) -> tuple[str, Field] | None:
    """Name and field of one option; those that only show a help text are none."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    names = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and str(arg.value).startswith("--")]
    action = getattr(given.get("action"), "value", None)
    if not names or action in ("help", "version"):
        return None
    default = default_of(given["default"]) if "default" in given else None
    if action in ("store_true", "store_false"):
        # A switch is named as it is written, and then stands for what it does.
        return name_of(names[0]), {"type": "boolean", "nullable": False, "default": False}
    kind = ast.unparse(given["type"]).split(".")[-1] if "type" in given else "str"
    said = type_of({"list"}) if "nargs" in given else type_of({kind})
    if isinstance(default, str) and default.lower() in SWITCHES and "choices" not in given:
        said, default = "boolean", SWITCHES[default.lower()]
    if said == "integer" and isinstance(default, float):
        default = int(default)
    return name_of(names[0]), {"type": said, "nullable": default is None, "default": default if default is not COMPUTED else COMPUTED}


def name_of(written: str) -> str:
    return written[2:].replace("-", "_")
