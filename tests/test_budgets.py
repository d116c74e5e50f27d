"""What `make lint` prints of sizes is measured, not guessed."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def budgets() -> dict[str, Any]:
    return runpy.run_path(str(REPOSITORY / "tools" / "budgets.py"))


@pytest.fixture(scope="module")
def measures(budgets: dict[str, Any]) -> list[Any]:
    return list(budgets["measures"]())


def test_lines_of_a_function_are_those_without_its_docstring(budgets: dict[str, Any]) -> None:
    code = 'def area(r):\n    """Of a circle.\n\n    By radius.\n    """\n    square = r * r\n    return 3.14 * square'
    assert budgets["_code_lines"](ast.parse(code).body[0]) == 3


def test_what_is_beyond_its_budget_is_marked_and_named(budgets: dict[str, Any]) -> None:
    measure = budgets["Measure"]("lines of a file, largest", 500, 400, budgets["_largest"]({"a": 500, "b": 10}, 400))
    assert str(measure).startswith("!")
    assert str(measure).endswith("a (500)")


def test_no_import_is_an_exception(measures: list[Any]) -> None:
    assert [measure.value for measure in measures if "exceptions" in measure.what] == [0]


def test_what_is_larger_on_purpose_has_a_reason_and_still_is(budgets: dict[str, Any], measures: list[Any]) -> None:
    (measure,) = [measure for measure in measures if measure.meant]
    sizes = [int(re.findall(r"\((\d+)\): \w", each)[0]) for each in measure.meant]
    assert len(sizes) == len(budgets["MEANT"])
    assert min(sizes) > measure.budget >= measure.value
