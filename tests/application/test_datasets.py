"""Problems by name or path."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from mercer._errors import ColumnMismatchError, DataNotFoundError, EmptyDataError
from mercer.application.datasets import BUNDLED, open_data, problem_of


@pytest.mark.parametrize(
    ("name", "rows", "columns", "first_label"),
    [
        ("breast-cancer", 569, 30, "malignant"),
        ("digits", 1797, 64, 0),
        ("iris", 150, 4, "setosa"),
        ("wine", 178, 13, "class_0"),
    ],
)
def test_bundled_datasets_are_found_by_name(name: str, rows: int, columns: int, first_label: object) -> None:
    X, y, target, unlabelled = problem_of(open_data(name))[:4]
    assert (X.num_rows, X.num_columns, len(y), y[0]) == (rows, columns, rows, first_label)
    assert (target, unlabelled) == (BUNDLED[name].target, 0)


def test_columns_of_bundled_sets_can_be_chosen() -> None:
    problem = problem_of(open_data("iris"), target="petal width (cm)", drop=["species"])
    assert problem.X.num_columns == 3


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,a\n2,b\n")
    assert problem_of(open_data(path), target="y").y.tolist() == ["a", "b"]
    with pytest.raises(ColumnMismatchError, match=r"'a.csv'.*--target.*'x', 'y'"):
        problem_of(open_data(path))


def test_an_unknown_name_suggests_the_nearest_dataset() -> None:
    with pytest.raises(DataNotFoundError, match=r"'brest-cancer'.*'breast-cancer'"):
        problem_of(open_data("brest-cancer"))


def test_a_file_wins_over_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("iris").mkdir()
    parquet.write_table(pa.table({"x": [1.5], "y": ["a"]}), Path("iris") / "part.parquet")
    with pytest.raises(ColumnMismatchError, match="target"):
        problem_of(open_data("iris"))


def test_a_target_without_values_is_rejected(tmp_path: Path) -> None:
    (path := tmp_path / "empty.csv").write_text("x,y\n1,\n2,NA\n")
    with pytest.raises(EmptyDataError, match=r"'y' is missing in all 2 rows of 'empty\.csv'; name another column"):
        problem_of(open_data(path), target="y")
