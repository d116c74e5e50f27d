"""How the code measures up to the sizes it was meant to have; `make lint` prints this.

Nothing fails here, but for the order of imports, which lint-imports checks: what is beyond its budget is marked, and
the largest are named, so that a reader knows where to begin. What is meant to be larger is named with its reason.
"""

from __future__ import annotations

import ast
import re
import statistics
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "mercer"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTION)
#: classes with more public methods than others, and why they are not split
MEANT = {
    "families/base.py Family": "one object is both p(x|y) and p(y|η), so that density, maps and fit are written once",
    "families/tweedie.py Tweedie": "no closed form for most powers: it replaces what others derive from Family",
    "kernels/_base.py Kernel": "what a kernel says of itself, how it fills a tile, and scikit-learn's parameters",
    "smoothing/density.py Density": "twelve things that a density has to know, and the questions answered from them",
    "smoothing/windows.py Windows": "these twelve, and what its sums need, found once; half of them are properties",
}


@dataclass(frozen=True)
class Measure:
    """A number, what it should stay below, and the places that make it so large."""

    what: str
    value: float
    budget: float
    worst: str = ""
    #: those that are larger on purpose
    meant: tuple[str, ...] = ()

    def __str__(self) -> str:
        mark = " " if self.value <= self.budget else "!"
        line = f"{mark} {self.what:<36} {self.value:>6.4g}   budget {self.budget:<6g} {self.worst}".rstrip()
        return "\n".join([line, *(f"    meant: {each}" for each in self.meant)])


def main() -> None:
    for measure in measures():
        print(measure)


def measures() -> list[Measure]:
    """All of them, of the package."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    files = {_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    functions = {_place(path, node): _code_lines(node) for path, node in _nodes(trees, FUNCTION)}
    all_classes = {_place(path, node): _public_methods(node) for path, node in _nodes(trees, ast.ClassDef)}
    classes = {place: size for place, size in all_classes.items() if _named(place) not in MEANT}
    meant = tuple(
        f"{place} ({size}): {MEANT[_named(place)]}" for place, size in all_classes.items() if place not in classes
    )
    said = sum(_docstring_lines(node) for _, node in _nodes(trees, DOCUMENTED))
    ninth = statistics.quantiles(functions.values(), n=10)[-1]
    return [
        Measure("lines of a file, median", statistics.median(files.values()), 180),
        Measure("lines of a file, largest", max(files.values()), 400, _largest(files, 400)),
        Measure("lines of a function, median", statistics.median(functions.values()), 8),
        Measure("lines of a function, 90 of 100 below", ninth, 25),
        Measure("lines of a function, largest", max(functions.values()), 80, _largest(functions, 80)),
        Measure("public methods of a class, median", statistics.median(all_classes.values()), 5),
        Measure("public methods of a class, largest", max(classes.values()), 20, _largest(classes, 20), meant),
        Measure("docstrings, share of lines in %", 100 * said / sum(files.values()), 35),
        Measure("exceptions to the order of imports", _exceptions(), 0),
    ]


def _name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def _place(path: Path, node: ast.AST) -> str:
    """Where it is: by its line, too, as several may have one name."""
    return f"{_name(path)}:{node.lineno} {node.name}"


def _named(place: str) -> str:
    """A place without its line, which moves."""
    return re.sub(r":\d+ ", " ", place)


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
