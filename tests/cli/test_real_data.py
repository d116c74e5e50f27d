"""Real tables: fits and predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mercer.data import read_table
from tests.cli._program import Run


@pytest.mark.parametrize(
    ("name", "target", "model", "right"),
    [
        ("heart.csv", "AHD", "LogisticRegression", 0.83),
        ("horse-colic.csv", "22", "NaiveBayes", 0.65),
        ("sms_spam.tsv", "Label", "MultinomialNB", 0.98),
        ("adult-test.csv", "-1", "NaiveBayes", 0.8),
    ],
)
def test_classes_of_real_data(
    run: Run, real_data: Callable[[str], Path], tmp_path: Path, name: str, target: str, model: str, right: float
) -> None:
    data, saved, out = real_data(name), tmp_path / "m.mercer", tmp_path / "out.parquet"
    assert run("fit", data, "--target", target, "--model", model, "-o", saved, "-q").exit_code == 0
    result = run("predict", saved, data, "-o", out, "-q")
    assert result.exit_code == 0, result.output
    table = read_table(data)
    truth = table[target if target in table.column_names else int(target)].to_pylist()
    pairs = [(a, b) for a, b in zip(truth, read_table(out)["prediction"].to_pylist(), strict=True) if a is not None]
    assert sum(a == b for a, b in pairs) / len(pairs) > right


def test_counts_and_intervals_of_real_data(run: Run, real_data: Callable[[str], Path], tmp_path: Path) -> None:
    data, saved, out = real_data("abalone.csv"), tmp_path / "m.mercer", tmp_path / "out.parquet"
    options = ["--target", "-1", "--model", "PoissonRegressor", "--conformal", "0.9"]
    assert run("fit", data, *options, "-o", saved, "-q").exit_code == 0
    assert run("predict", saved, data, "--intervals", "-o", out, "-q").exit_code == 0
    predicted, rings = read_table(out), read_table(data).columns[-1].to_pylist()
    bounds = zip(rings, predicted["lower"].to_pylist(), predicted["upper"].to_pylist(), strict=True)
    inside = sum(lower <= value <= upper for value, lower, upper in bounds)
    assert inside / len(rings) == pytest.approx(0.9, abs=0.03)
