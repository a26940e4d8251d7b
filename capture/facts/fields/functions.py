"""Parameters of a function as fields: those of litgpt's commands, whose blocks are dataclasses that a default makes."""

import ast
from collections.abc import Callable

from .values import Field, bounds_of, default_of, members, type_of


def parameters(tree: ast.AST, name: str, fields_of: Callable[[str], dict[str, Field]]) -> dict[str, Field]:
    """
    Parameters of the function, with the fields of those that are of a class below their names.

    fields_of -- fields of a class by name; none of one that is not known
    """
    function = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name), None)
    if function is None:
        return {}
    arguments = [*function.args.args, *function.args.kwonlyargs]
    defaults = [*function.args.defaults, *function.args.kw_defaults]
    padded = [None] * (len(arguments) - len(defaults)) + defaults
    found: dict[str, Field] = {}
    for argument, value in zip(arguments, padded, strict=True):
        names = set(members(argument.annotation)) if argument.annotation is not None else set()
        block = next((fields for one in sorted(names) if (fields := fields_of(one))), {})
        if not block:
            kind = type_of(names - {"None"})
            found[argument.arg] = {
                "type": kind,
                "nullable": "None" in names,
                "default": default_of(value),
                **bounds_of(value, kind == "integer"),
            }
            continue
        made = {keyword.arg: default_of(keyword.value) for keyword in value.keywords} if isinstance(value, ast.Call) else {}
        for field, said in block.items():
            found[f"{argument.arg}.{field}"] = {**said, **({"default": made[field]} if field in made else {})}
    return found
