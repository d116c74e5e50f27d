"""The picture of a scaling has a point for each number of rows that a task names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import plots
from bench.results import Cell, Outcome, Report


def outcome(task: str) -> Outcome:
    return Outcome(task, "rival", 1.0, 1.0, 2.0, None, 0.0, None, None)


def test_the_number_of_rows_is_in_the_task() -> None:
    assert plots.rows_of(outcome("fit 64,000 rows")) == 64_000
    with pytest.raises(ValueError, match=r"name it like 'fit 2,000 rows'"):
        plots.rows_of(outcome("fit"))


def test_only_scalings_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("svc_scaling", "ridge"):
        plots.draw(Report(name, "", "", (outcome("fit 2,000 rows"), outcome("fit 4,000 rows"))), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["svc_scaling.svg"]


def test_cells_are_drawn_also_where_some_are_absent_or_differ(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    cells = (Cell("Ridge", "fit", 100, 1.0, 2.0, 0.0), Cell("SVC", "fit", 1_000, 1.0, 2.0, 0.5, 0.1))
    plots.draw(Report("sizes", "", "", cells=cells), tmp_path)
    drawn = (tmp_path / "sizes.svg").read_text(encoding="utf-8")
    assert drawn.startswith("<?xml")
