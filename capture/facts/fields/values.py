"""What source says of a field's values: its type, whether None is one of them, its default, its range."""

import ast
from collections.abc import Iterator

Field = dict[str, object]
#: A default that is not written as a plain value.
COMPUTED = object()


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
