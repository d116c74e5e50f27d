"""docs/architecture.md agrees with the code: its picture, its packages, and the functions that rows pass through."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.docs._pages import REPOSITORY

PAGE = REPOSITORY / "docs" / "architecture.md"


class Trace(NamedTuple):
    """A section of the page: the example that is run, and the functions that it must call, in this order."""

    title: str
    language: str
    block: str
    steps: list[str]


def traces() -> list[Trace]:
    found = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        steps = re.findall(r"`([\w/]+\.py::[\w.]+)`", section)
        if steps:
            ((language, block),) = re.findall(r"```(python|sh)\n(.*?)```", section, flags=re.DOTALL)
            found.append(Trace(section.splitlines()[0], language, block, steps))
    return found


def rows_of_the_examples() -> str:
    (block,) = re.findall(r"```python\n(# the rows .*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return str(block)


@pytest.fixture(scope="module")
def layers() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / "docs" / "pictures" / "layers.py"))


def test_the_picture_of_the_layers_agrees_with_the_code(layers: dict[str, Any]) -> None:
    assert (REPOSITORY / "docs" / "pictures" / "layers.svg").read_text(encoding="utf-8") == layers["picture"]()


def test_the_table_of_packages_agrees_with_their_docstrings(layers: dict[str, Any]) -> None:
    assert PAGE.read_text(encoding="utf-8") == layers["page"]()


def test_all_imports_go_down(layers: dict[str, Any]) -> None:
    height = {package: level for level, layer in enumerate(layers["layers"]()) for package in layer}
    assert [pair for pair in layers["imports"]() if pair[1] in height and height[pair[0]] >= height[pair[1]]] == []


@pytest.mark.parametrize("trace", traces(), ids=lambda trace: trace.title)
def test_functions_are_called_in_the_order_of_the_page(trace: Trace, tmp_path: Path) -> None:
    """Each function is first called after the one before it."""
    if "dask" in trace.block:
        pytest.importorskip("distributed", reason="the package distributed is not installed")
    if "torch" in trace.block:
        pytest.importorskip("torch", reason="the package torch is not installed")
    called = [
        sys.executable,
        str(REPOSITORY / "tests" / "docs" / "_trace.py"),
        trace.language,
        trace.block,
        rows_of_the_examples(),
    ]
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])}
    done = subprocess.run(called, cwd=tmp_path, capture_output=True, text=True, env=around)
    assert done.returncode == 0, done.stderr
    order = json.loads(done.stdout.splitlines()[-1])
    assert [step for step in trace.steps if step not in order] == []
    places = [order.index(step) for step in trace.steps]
    assert [step for step, place, last in zip(trace.steps[1:], places[1:], places, strict=False) if place < last] == []
