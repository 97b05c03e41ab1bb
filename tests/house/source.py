"""The project's own source, parsed once, for rules that are tests."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: The stations of the house, top to bottom.
STATIONS = ("cli", "actors", "middleware", "broker", "ledger", "clients", "schema", "base")


@dataclass(frozen=True)
class Module:
    """One file: its path from the root, its text, its tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def station(self) -> str:
        """The package at the root that it belongs to."""
        return self.path.split("/", 1)[0]

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self.text.count("\n")

    def calls(self) -> Iterator[ast.Call]:
        """Every call in it."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def attributes(self) -> Iterator[tuple[int, str]]:
        """Every dotted name in it, as line and `os.environ`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield node.lineno, f"{node.value.id}.{node.attr}"

    def imports(self) -> Iterator[tuple[int, str]]:
        """Every name it imports, dotted."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)

    def texts(self) -> Iterator[tuple[int, str]]:
        """Every string in it that is not a docstring."""
        documentation = {id(_docstring(node)) for node in ast.walk(self.tree)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                yield node.lineno, node.value


def _docstring(node: ast.AST) -> ast.AST | None:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else None
    return first.value if isinstance(first, ast.Expr) else None


@cache
def modules(*stations: str) -> tuple[Module, ...]:
    """The modules of these stations, of all without any."""
    found = []
    for station in stations or STATIONS:
        for path in sorted((ROOT / station).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            found.append(Module(path.relative_to(ROOT).as_posix(), text, ast.parse(text)))
    return tuple(found)
