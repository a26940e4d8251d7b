"""The fields of one release of a library, wherever it states them: classes, options of a parser, parameters of a function, a document."""

import ast
from pathlib import Path

from .documents import flat
from .functions import parameters
from .options import options
from .values import Field, alias_of, bounds_of, default_of, members, type_of


class Release:
    """Config classes of one release of a library, and what its other files state."""

    def __init__(self, root: Path, patterns: list[str]) -> None:
        self.root = root
        self.classes: dict[str, ast.ClassDef] = {}
        for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    known = self.classes.get(node.name)
                    # A class that only says where its code went has no fields.
                    if known is None or len(node.body) > len(known.body):
                        self.classes[node.name] = node

    def fields(self, name: str) -> dict[str, Field]:
        """Fields of a class by name, those of its bases among them; of `FILE.py::NAME` a parser's or a function's, of `FILE.yaml` its keys."""
        if "." in name:
            return self.stated(name)
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

    def stated(self, name: str) -> dict[str, Field]:
        """Fields of what is no class: options that stand in a file, parameters of a function, or a document's keys."""
        file, _, inside = name.partition("::")
        path = self.root / file
        if not path.exists():
            return {}
        if not inside:
            return flat(path, self.fields)
        tree = ast.parse(path.read_text())
        return options(tree, inside) or parameters(tree, inside, self.fields)

    def together(self, names: list[str]) -> dict[str, Field]:
        """Fields of several classes, the first's before the others'."""
        found: dict[str, Field] = {}
        for name in reversed(names):
            block, _, own = name.rpartition("=")
            for field, said in self.fields(own).items():
                other = {"aliases": [f"{block}{alias}" for alias in said["aliases"]]} if "aliases" in said else {}
                found[f"{block}{field}"] = {**said, **other}
        return found
