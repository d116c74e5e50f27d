"""Tests that modules whose names begin with `_` are imported only within their folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"


def dotted(file: Path) -> list[str]:
    parts = list(file.relative_to(SOURCES).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


MODULES = {".".join(dotted(file)): file for file in SOURCES.rglob("*.py")}


def imported(file: Path) -> Iterator[list[str]]:
    """The modules of ours that a file names."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        else:
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        yield from (name.split(".") for name in names if name in MODULES)


def invalid_imports(file: Path) -> Iterator[str]:
    folder = list(file.parent.relative_to(SOURCES).parts)
    for name in imported(file):
        # modules next to the packages (`mercer._errors`, `mercer._jit`) are for all of them
        owners = (name[:depth] for depth in range(2, len(name)) if name[depth].startswith("_"))
        if any(folder[: len(owner)] != owner for owner in owners):
            yield f"{'/'.join(folder)}/{file.name} imports {'.'.join(name)}"


def test_private_modules_are_imported_only_within_their_folder() -> None:
    assert len(MODULES) > 500
    assert sorted({line for file in MODULES.values() for line in invalid_imports(file)}) == []
