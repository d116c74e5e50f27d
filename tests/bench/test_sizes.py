"""The race of sizes has a cell for each drop-in, task and number of rows."""

from __future__ import annotations

from dataclasses import replace

import mercer
from bench import sizes
from bench.harness import Options


def test_every_drop_in_of_scikit_learn_takes_part() -> None:
    named = {one.name for one in sizes.DROP_INS}
    modules = {one.module for one in sizes.DROP_INS}
    classes = {name for name in mercer.__all__ if name[0].isupper()}
    assert {name for name in classes if any(hasattr(module, name) for module in modules)} == named


def test_a_cell_is_measured_for_each_task_and_the_answers_agree() -> None:
    (ridge,) = [one for one in sizes.DROP_INS if one.name == "Ridge"]
    found = list(sizes.cells(ridge, 100))
    assert [one.task for one in found] == ["fit", "predict one row", "predict all rows"]
    assert all(one.ratio is not None and one.rows == 100 for one in found)
    assert all(one.ratio is None for one in sizes.cells(replace(ridge, parity=-1.0), 100))


def test_an_option_sets_the_largest_number_of_rows() -> None:
    assert sizes.Sizes(sizes.DROP_INS[:1]).run(Options(1, rows=300)).size == "100 to 300 × 10"
