"""All formats and standard input give the same results."""

from __future__ import annotations

import gzip
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from tests.cli._program import Run

pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")


@pytest.fixture
def copies(people: Path) -> dict[str, tuple[str, ...]]:
    """Return the arguments that name the same table in each format."""
    folder, table = people.parent, pd.read_csv(people)
    table.to_excel(folder / "a.xlsx", index=False)
    with closing(sqlite3.connect(folder / "a.sqlite")) as connection:
        table.to_sql("people", connection, index=False)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(people, "people.csv")
        archive.write(people, "others.csv")
    return {
        "CSV": (str(people),),
        "Excel": (str(folder / "a.xlsx"), "--sheet", "Sheet1"),
        "SQLite": (str(folder / "a.sqlite"), "--sql", "people"),
        "zip": (str(folder / "a.zip" / "people.csv"),),
        "standard input": ("-",),
    }


def test_fit_and_predict_from_every_format(run: Run, people: Path, copies: dict[str, tuple[str, ...]]) -> None:
    model, answers = people.parent / "a.mercer", {}
    for kind, (data, *options) in copies.items():
        given = {"input": gzip.compress(people.read_bytes())} if data == "-" else {}
        fitted = run("fit", data, *options, "--target", "size", "--model", "NaiveBayes", "-o", model, **given)
        assert fitted.exit_code == 0, fitted.output
        assert f"{'standard input' if data == '-' else data}: " in fitted.stderr
        predicted = run("predict", model, data, *options, "--quiet", **given)
        assert predicted.exit_code == 0, predicted.output
        answers[kind] = predicted.stdout
    assert len(set(answers.values())) == 1
    assert answers["CSV"].count("\n") == 81


def test_standard_input_is_accepted_by_every_command_that_reads_data(run: Run, people: Path) -> None:
    given, folder = {"input": people.read_bytes()}, people.parent
    compared = run("compare", "-", "--target", "size", "--models", "NaiveBayes", "--folds", "2", **given)
    assert compared.exit_code == 0, compared.output
    assert "standard input: fields separated by commas, names in the first line; 80 rows" in compared.stderr
    run("fit", people, "--target", "size", "--model", "NaiveBayes", "-o", folder / "a.mercer")
    streamed = run(
        "fit", "-", "--stream", "--target", "size", "--model", "GaussianNB", "-o", folder / "b.mercer", **given
    )
    assert streamed.exit_code == 0, streamed.output
    explained = run("explain", folder / "a.mercer", "3", "--data", "-", **given)
    assert explained.exit_code == 0, explained.output
    assert explained.stdout == run("explain", folder / "a.mercer", "3", "--data", people).stdout
    assert run("outliers", "-", **given).stdout == run("outliers", people).stdout
