"""Formats of numbers and dates in strings: detection, conversion, notes, and new rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from mercer import NaiveBayes, Ridge, TableFeatures, load, save
from mercer._errors import ColumnTypeError
from mercer.application.preparing import prepare_named
from mercer.cli.app import app
from mercer.comparison import compare
from mercer.data import Kind, Schema, Table, read_table
from mercer.data.formats import DateFormat, NumberFormat, detect_format
from mercer.data.infer import read_formats
from mercer.data.target import split_target

ROWS = 120
RNG = np.random.default_rng(0)
PRICES = RNG.normal(2000, 600, ROWS).round(2)
DAYS = pd.to_datetime("2023-01-01") + pd.to_timedelta(RNG.integers(0, 700, ROWS), unit="D")
CITY = RNG.choice(["Ulm", "Bonn", "Kiel"], ROWS)
Y = (PRICES / 500 + (CITY == "Ulm") + RNG.normal(0, 0.3, ROWS)).round(2)
#: what the strings of `spelled` mean
PLAIN = pd.DataFrame({"price": PRICES, "share": (PRICES / 90).round(1), "day": DAYS, "city": CITY})


def european(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def spelled(**columns: Any) -> pd.DataFrame:
    """Return the numbers in European notation."""
    return pd.DataFrame(
        {
            "price": [european(value) for value in PRICES],
            "share": [f"{value:.1f} %".replace(".", ",") for value in PLAIN["share"]],
            "day": DAYS.strftime("%d.%m.%Y"),
            "city": CITY,
            **columns,
        }
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1.234,56", "12,5"], [1234.56, 12.5]),
        (["1,234.5", "-12"], [1234.5, -12]),
        (["1'234", "999"], [1234, 999]),
        (["0,512", "1,234"], [0.512, 1.234]),
        (["1 234 567", "12"], [1234567, 12]),
        (["$1,200", "-$3", "$0.50"], [1200, -3, 0.5]),
        (["3 €", "€4,5"], [3, 4.5]),
        (["€ 12.345", "€ 4.200"], [12345, 4200]),
        (["€ 500", "€ 12.345"], [500, 12345]),
        (["1.549 €", "1.639 €"], [1.549, 1.639]),
        (["£12.345", "£4.2"], [12.345, 4.2]),
        (["12.5%", "3 %"], [12.5, 3]),
        (["(1,200.50)", "300"], [-1200.5, 300]),
        (["1", "2", "."], [1, 2, np.nan]),
        (["1.5", "-", "NA"], [1.5, np.nan, np.nan]),
        ([1.5, "n.a."], [1.5, np.nan]),
    ],
)
def test_numbers_are_parsed(labels: list[Any], expected: list[float]) -> None:
    detected = detect_format(labels)
    assert detected is not None
    np.testing.assert_array_equal([detected.format.read(label) for label in labels], expected)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["31/12/2024", "01/02/2024"], ["2024-12-31", "2024-02-01"]),
        (["12/31/2024", "01/02/2024"], ["2024-12-31", "2024-01-02"]),
        (["31.12.24", "1.2.99"], ["2024-12-31", "1999-02-01"]),
        (["2024/12/31", "-"], ["2024-12-31", "NaT"]),
        (["31 Dec 2024", "1 January 2023"], ["2024-12-31", "2023-01-01"]),
        (["Dec 31, 2024", "Sept. 1, 2024"], ["2024-12-31", "2024-09-01"]),
        (["31-Dec-24"], ["2024-12-31"]),
        (["12/31/2024 5:30 PM", "1/1/2024 12:00 AM"], ["2024-12-31T17:30", "2024-01-01"]),
        (["31.12.2024 17:05:30"], ["2024-12-31T17:05:30"]),
    ],
)
def test_dates_are_parsed(labels: list[str], expected: list[str]) -> None:
    detected = detect_format(labels)
    assert detected is not None
    found = np.array([detected.format.read(label) for label in labels])
    np.testing.assert_array_equal(found, np.array(expected, dtype="datetime64[us]"))


@pytest.mark.parametrize(
    "labels",
    [
        ["1", "2"],  # strings of digits are codes
        ["007", "012", "."],
        ["a", "1,5"],
        ["5 kg", "3 kg"],
        ["$3", "€4"],
        ["10-20", "20-30"],
        ["1,23,456"],
        ["12:30", "13:45"],
        ["31/12/2024", "12/31/2024"],
        ["30/02/2024"],
        ["May", "June"],
        ["1.2.3"],
        ["-", "."],
    ],
)
def test_strings_of_other_formats_stay_strings(labels: list[str]) -> None:
    assert detect_format(labels) is None


def test_ambiguous_formats_have_a_noted_default_that_can_be_changed() -> None:
    thousands = detect_format(["1,234", "5,678"])
    assert thousands is not None
    assert thousands.ambiguous
    assert "--decimal ," in thousands.format.described
    assert thousands.format.read("1,234") == 1234
    assert detect_format(["1,234", "5,678"], decimal=",") == (NumberFormat(","), False)
    for sure in (["1,234", "678"], ["$1,234", "$5,678"], ["1,234,567"]):
        found = detect_format(sure)
        assert found is not None
        assert not found.ambiguous
        assert isinstance(found.format, NumberFormat)
        assert found.format.decimal == "."
    american = detect_format(["01/02/2024", "03/04/2024"])
    assert american == (DateFormat("mdy"), True)
    assert "month/day/year by default" in american.format.described
    assert "--dates dmy" in american.format.described
    assert detect_format(["01/02/2024", "03/04/2024"], dates="dmy") == (DateFormat("dmy"), False)
    assert detect_format(["01.02.2024"]) == (DateFormat("dmy"), True)


def test_other_columns_decide_what_is_ambiguous() -> None:
    frame = pd.DataFrame({"a": ["1,234", "5,678"] * 10, "b": ["1,5", "2,25"] * 10})
    assert Schema.infer(frame[["a"]])["a"].levels == (1234, 5678)
    assert Schema.infer(frame)["a"].kind is Kind.NUMBER
    days = pd.DataFrame({"a": ["01/02/2024", "03/04/2024"] * 10, "b": ["31/12/2024", "1/12/2024"] * 10})
    assert Schema.infer(days).formats == {"a": DateFormat("dmy"), "b": DateFormat("dmy")}


@pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_all_libraries_are_read_alike(convert: Callable[[pd.DataFrame], Any]) -> None:
    frame = convert(spelled(gap=["." if i % 9 == 0 else str(i % 30) for i in range(ROWS)]))
    schema = Schema.infer(frame)
    assert [column.kind for column in schema] == [Kind.NUMBER, Kind.NUMBER, Kind.DATE, Kind.CATEGORY, Kind.COUNT]
    assert schema["price"].notes == ("read as number: decimal comma, separators between thousands",)
    assert schema["share"].notes == ("read as number: unit %, decimal comma",)
    assert schema["day"].notes == ("read as dates, day/month/year",)
    assert schema["gap"].notes == ("read as number: '.' is missing", "12% missing")
    table = read_formats(Table.of(frame, dates=True))
    assert Schema.infer(table) == schema
    assert [column.notes for column in Schema.infer(table)] == [column.notes for column in schema]
    np.testing.assert_array_equal(table.numbers([0, 1]), PLAIN[["price", "share"]])


def test_features_are_computed_from_the_parsed_values(tmp_path: Path) -> None:
    model = make_pipeline(TableFeatures(), Ridge()).fit(spelled(), Y)
    plain = make_pipeline(TableFeatures(), Ridge()).fit(PLAIN, Y)
    expected = plain.predict(PLAIN)
    np.testing.assert_allclose(model.predict(spelled()), expected, rtol=1e-12)
    np.testing.assert_allclose(model.predict(PLAIN), expected, rtol=1e-12)  # numbers and dates are as good
    save(model, tmp_path / "it.mercer")
    np.testing.assert_allclose(load(tmp_path / "it.mercer").predict(spelled()), expected, rtol=1e-12)
    with pytest.raises(ColumnTypeError, match=r"'price' was read as numbers with a decimal comma, but is '12 DM' in"):
        model.predict(spelled(price="12 DM"))


def test_a_declared_kind_overrides_the_format() -> None:
    features = TableFeatures(kinds={"share": "category"}).fit(spelled())
    assert features.schema_["share"].kind is Kind.CATEGORY
    assert any(name.startswith("share[") for name in features.get_feature_names_out())


@pytest.mark.parametrize("name", ["NaiveBayes", "GaussianNB", "LogisticRegression"])
def test_every_model_stores_the_formats_of_columns(name: str) -> None:
    ready = prepare_named(name, spelled())
    model = ready.model.fit(ready.frame, Y > 4)
    rows = spelled()[list(ready.frame.columns)]
    np.testing.assert_array_equal(model.predict(rows), model.predict(PLAIN[list(rows.columns)]))


def test_a_comparison_reads_columns_and_target() -> None:
    target = [european(value) for value in Y]
    found = compare(spelled(), target, models=["Ridge"], cv=3)
    assert found.task.name == "regression"
    np.testing.assert_allclose(found.best_.predict(spelled()), found.best_.predict(PLAIN), rtol=1e-12)
    classes = compare(spelled(), Y > 4, models=["NaiveBayes"], cv=3)
    assert isinstance(classes.best_, NaiveBayes)
    names = list(classes.best_.feature_names_in_)
    np.testing.assert_array_equal(classes.best_.predict(spelled()[names]), classes.best_.predict(PLAIN[names]))


def test_a_target_is_parsed_as_numbers() -> None:
    frame = spelled(y=["-", *(european(value) for value in Y[1:])])
    problem = split_target(frame, "y")
    np.testing.assert_array_equal(problem.y, Y[1:])
    assert (problem.unlabelled, problem.note) == (1, "read as number: decimal comma, '-' is missing")
    assert problem.column("day").dtype.kind == "M"


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_formats_are_detected_on_the_command_line(tmp_path: Path, options: list[str]) -> None:
    data, model, out = (str(tmp_path / name) for name in ("eu.csv", "it.mercer", "out.csv"))
    spelled(y=[european(value) for value in Y]).to_csv(data, sep=";", index=False)
    fitted = CliRunner().invoke(app, ["fit", data, "--target", "y", "--model", "Ridge", "-o", model, *options])
    assert fitted.exit_code == 0, fitted.output
    assert "read as dates, day/month/year" in fitted.stderr
    assert CliRunner().invoke(app, ["predict", model, data, "-o", out]).exit_code == 0
    expected = make_pipeline(TableFeatures(), Ridge()).fit(PLAIN, Y).predict(PLAIN)
    np.testing.assert_allclose(read_table(out)["prediction"].to_numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "options", "kind", "note"),
    [
        (["1,234", "5,678"], [], "number", "read as number: decimal comma"),  # fields are separated by semicolons
        (["1,234", "5,678"], ["--decimal", "."], "binary", "separators between thousands"),
        (["1,234", "5,678"], ["--decimal", ","], "number", "read as number: decimal comma"),
        (["1.234", "5.678"], ["--decimal", ","], "binary", "separators between thousands"),
        (["01/02/2024", "03/04/2024"], ["--dates", "dmy"], "date", "read as dates, day/month/year"),
        (["$1,234", "$5,678"], ["--kind", "x=number"], "number", "unit $"),
        (["1,5", "2,5"], ["--kind", "x=category"], "category", ""),
    ],
)
def test_formats_can_be_forced_on_the_command_line(
    tmp_path: Path, values: list[str], options: list[str], kind: str, note: str
) -> None:
    data = tmp_path / "a.csv"
    rows = [f"{value};{i}" for i, value in enumerate(values * 15)]
    data.write_text("\n".join(["x;y", *rows]))
    arguments = ["fit", str(data), "--target", "y", "--model", "Ridge", "-o", str(tmp_path / "m"), *options]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    line = next(line for line in result.stderr.splitlines() if line.startswith("x "))
    assert kind in line
    assert note in line


def test_an_unknown_decimal_mark_is_rejected() -> None:
    result = CliRunner().invoke(app, ["compare", "iris", "--decimal", ";"])
    assert result.exit_code != 0


def test_a_row_in_json_may_be_written_as_in_the_file(tmp_path: Path) -> None:
    data, model = str(tmp_path / "eu.csv"), str(tmp_path / "it.mercer")
    spelled(y=Y).to_csv(data, sep=";", index=False)
    assert CliRunner().invoke(app, ["fit", data, "--target", "y", "--model", "Ridge", "-o", model]).exit_code == 0
    written = '{"price": "1.200,50", "share": "5 %", "day": "31.12.2023", "city": " Ulm "}'
    plain = '{"price": 1200.5, "share": 5, "day": "2023-12-31", "city": "Ulm"}'
    results = [CliRunner().invoke(app, ["explain", model, row]) for row in (written, plain)]
    assert results[0].stdout.splitlines()[-1] == results[1].stdout.splitlines()[-1]
    assert "Prediction: " in results[0].stdout
    assert not any("no row of the fit had" in result.stderr for result in results)
