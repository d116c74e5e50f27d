"""Draw the imports between packages (docs/pictures/layers.svg), and write the table of packages in architecture.md.

    python docs/pictures/layers.py

A mark in row a and column b says that files of a import from b; it is larger where many do. Packages stand in the order
of the contract in pyproject.toml, so that all marks lie above the diagonal as long as imports flow one way.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1]
SOURCE = DOCS.parent / "src" / "mercer"
PICTURE = DOCS / "pictures" / "layers.svg"
PAGE = DOCS / "architecture.md"

CELL, LEFT, TOP = 26, 150, 96
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2933 } .few { fill: #627d98; font-size: 11px }
  .band { fill: #f0f4f8 } .grid { stroke: #d9e2ec } .mark { fill: #2b6cb0 } .self { fill: #bcccdc }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .few { fill: #9fb3c8 } .band { fill: #1f2933 } .grid { stroke: #3e4c59 }
    .mark { fill: #63b3ed } .self { fill: #52606d } }
"""


def layers() -> list[list[str]]:
    """Return the packages of each layer, from the top, as the contract of import-linter lists them."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    return [re.findall(r"\w+", line) for line in contract["layers"]]


def imports() -> Counter[tuple[str, str]]:
    """Count the statements of one package that import from another at run time; annotations do not count."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package != "__init__":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.update((package, other) for other in _imported(tree) if other != package)
    return found


def _imported(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "mercer":
            parts = str(child.module).split(".")
            yield from parts[1:2] or (alias.name for alias in child.names)
        yield from _imported(child)


def purpose(package: str) -> str:
    """Return the first sentence of the docstring of a package."""
    folder = SOURCE / package
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].replace("\n", " ")


def picture() -> str:
    """Return the matrix of imports as SVG."""
    stack = layers()
    packages = [package for layer in stack for package in layer]
    size = len(packages) * CELL
    width, height = LEFT + size + 16, TOP + size + 40
    parts = [*_bands(stack, size), *_grid(packages, size), *_marks(packages)]
    parts.append(
        f'<text class="few" x="{LEFT}" y="{TOP + size + 24}">A row imports from the columns marked in it.</text>'
    )
    body = "\n".join(parts)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return f"{head}\n<style>{STYLE}</style>\n{body}\n</svg>\n"


def _bands(stack: list[list[str]], size: int) -> Iterator[str]:
    top = TOP
    for number, layer in enumerate(stack):
        if number % 2 == 0:
            yield f'<rect class="band" x="0" y="{top}" width="{LEFT + size}" height="{len(layer) * CELL}"/>'
        top += len(layer) * CELL


def _grid(packages: list[str], size: int) -> Iterator[str]:
    for number, package in enumerate(packages):
        middle = number * CELL + CELL / 2
        yield f'<text x="{LEFT - 10}" y="{TOP + middle + 4}" text-anchor="end">{package}</text>'
        turn = f"translate({LEFT + middle + 4},{TOP - 10}) rotate(-60)"
        yield f'<text transform="{turn}">{package}</text>'
        yield f'<line class="grid" x1="{LEFT}" x2="{LEFT + size}" y1="{TOP + middle}" y2="{TOP + middle}"/>'
        yield f'<line class="grid" y1="{TOP}" y2="{TOP + size}" x1="{LEFT + middle}" x2="{LEFT + middle}"/>'
        yield f'<rect class="self" x="{LEFT + middle - 3}" y="{TOP + middle - 3}" width="6" height="6"/>'


def _marks(packages: list[str]) -> Iterator[str]:
    place = {package: number * CELL + CELL / 2 for number, package in enumerate(packages)}
    for (package, other), count in sorted(imports().items()):
        if other in place:
            radius = min(3 + 3 * int(math.log10(count)), CELL / 2 - 1)  # a size for ones, tens and hundreds
            where = f'cx="{LEFT + place[other]}" cy="{TOP + place[package]}" r="{radius:g}"'
            yield f'<circle class="mark" {where}><title>{package} imports from {other}</title></circle>'


def table() -> str:
    """Return the table of packages with their purposes, by layer."""
    rows = [f"| {_link(package)} | {purpose(package)} |" for layer in layers() for package in layer]
    return "\n".join(["| package | purpose |", "| --- | --- |", *rows])


def _link(package: str) -> str:
    page = DOCS / "packages" / f"{package}.md"
    return f"[`{package}`](packages/{page.name})" if page.exists() else f"`{package}`"


def page() -> str:
    """Return architecture.md with the current table."""
    before, mark, rest = PAGE.read_text(encoding="utf-8").partition("<!-- packages -->\n")
    return before + mark + table() + "\n" + rest[rest.index("<!-- /packages -->") :]


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
