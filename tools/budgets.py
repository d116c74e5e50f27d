"""How the code measures up to the sizes it was meant to have; `make lint` prints this.

Nothing fails here, but for the order of imports, which lint-imports checks: what is beyond its budget is marked, and
the largest are named, so that a reader knows where to begin.
"""

from __future__ import annotations

import ast
import statistics
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mercer"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTION)


@dataclass(frozen=True)
class Measure:
    """A number, what it should stay below, and the places that make it so large."""

    what: str
    value: float
    budget: float
    worst: str = ""

    def __str__(self) -> str:
        mark = " " if self.value <= self.budget else "!"
        return f"{mark} {self.what:<36} {self.value:>6.4g}   budget {self.budget:<6g} {self.worst}".rstrip()


def main() -> None:
    for measure in measures():
        print(measure)


def measures() -> list[Measure]:
    """All of them, of the package."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    files = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    functions = {_place(path, node): _code_lines(node) for path, node in _nodes(trees, FUNCTION)}
    classes = {_place(path, node): _public_methods(node) for path, node in _nodes(trees, ast.ClassDef)}
    said = sum(_docstring_lines(node) for _, node in _nodes(trees, DOCUMENTED))
    ninth = statistics.quantiles(functions.values(), n=10)[-1]
    return [
        Measure("lines of a file, median", statistics.median(files.values()), 180),
        Measure("lines of a file, largest", max(files.values()), 400, _largest(files, 400)),
        Measure("lines of a function, median", statistics.median(functions.values()), 8),
        Measure("lines of a function, 90 of 100 below", ninth, 25),
        Measure("lines of a function, largest", max(functions.values()), 80, _largest(functions, 80)),
        Measure("public methods of a class, median", statistics.median(classes.values()), 5),
        Measure("public methods of a class, largest", max(classes.values()), 20, _largest(classes, 20)),
        Measure("docstrings, share of lines in %", 100 * said / sum(files.values()), 35),
        Measure("exceptions to the order of imports", _exceptions(), 0),
    ]


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _place(path: Path, node: ast.AST) -> str:
    """Where it is: by its line, too, as several may have one name."""
    return f"{_name(path)}:{node.lineno} {node.name}"


def _nodes(trees: dict[Path, ast.Module], kinds: type | tuple[type, ...]) -> Iterator[tuple[Path, ast.AST]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield path, node


def _docstring_lines(node: ast.AST) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    string = node.body[0]
    return string.end_lineno - string.lineno + 1


def _code_lines(node: ast.AST) -> int:
    """From its name to its end, without what is said about it."""
    return node.end_lineno - node.lineno + 1 - _docstring_lines(node)


def _public_methods(node: ast.ClassDef) -> int:
    return sum(isinstance(item, FUNCTION) and not item.name.startswith("_") for item in node.body)


def _largest(sizes: dict[str, int], budget: float, most: int = 4) -> str:
    beyond = sorted((name for name in sizes if sizes[name] > budget), key=lambda name: -sizes[name])
    more = f", and {len(beyond) - most} more" if len(beyond) > most else ""
    return ", ".join(f"{name} ({sizes[name]})" for name in beyond[:most]) + more


def _exceptions() -> int:
    """Imports that the contract of layers is told to overlook."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return sum(len(contract.get("ignore_imports", ())) for contract in contracts if contract["type"] == "layers")


if __name__ == "__main__":
    main()
