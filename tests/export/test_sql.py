"""Tests of SQL: names and values in quotes, dialects, and results next to kept columns."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

import mercer as m
from mercer._errors import ExportError
from mercer.export import to_sql
from mercer.export.expression import Arctangent, Exp, Logarithm, NumberValue
from mercer.export.sql import identifier, literal, number
from tests.export._languages import by_model, in_sql

BOBBY = 'Robert\'); DROP TABLE "rows to predict"; --'
#: what a database may be given as a name or a value
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20)


DATABASE = duckdb.connect()


@given(WORDS)
@settings(max_examples=50)
def test_names_and_values_are_unchanged(word: str) -> None:
    result = DATABASE.sql(f"SELECT {literal(word)} AS {identifier(word)}")
    assert result.fetchall() == [(word,)]
    assert result.columns == [word]


@given(st.floats(allow_infinity=False))
@settings(max_examples=50)
def test_numbers_are_doubles_with_all_digits(value: float) -> None:
    ((got,),) = DATABASE.sql(f"SELECT 0e0 + {number(value)}").fetchall()
    assert got is None if math.isnan(value) else got == value


def test_values_that_sql_cannot_represent_are_rejected() -> None:
    for call in (lambda: identifier("a\0b"), lambda: identifier(""), lambda: literal("a\0b")):
        with pytest.raises(ExportError):
            call()


def test_columns_classes_levels_and_tables_that_look_like_code_stay_text() -> None:
    frame = pd.DataFrame(
        {
            BOBBY: [1.0, 2, 3, 4, 5, 6],
            'quoted "name"': ["it's", BOBBY, "ünï", "it's", BOBBY, "ünï"],
            "select": [True, False, False, True, True, False],
            "c1": [0.0, 1, 0, 1, 2, 5],  # a name that the statement uses itself
        }
    )
    y = [BOBBY, "a\"'b", BOBBY, "a\"'b", "ß", "ß"]
    model = make_pipeline(m.TableFeatures(kinds={'quoted "name"': "category"}), m.LogisticRegression()).fit(frame, y)
    got, expected = in_sql(model, frame), by_model(model, frame)
    np.testing.assert_allclose(got.values, expected.values, atol=1e-9)
    assert got.prediction.tolist() == expected.prediction.tolist()


def test_a_backslash_needs_a_dialect_without_escapes() -> None:
    frame = pd.DataFrame({"path": ["a\\", "\\' OR 1=1", "c"] * 4})
    model = make_pipeline(m.TableFeatures(kinds={"path": "category"}), m.LogisticRegression()).fit(frame, [0, 1, 1] * 4)
    with pytest.raises(ExportError, match="Name the database"):
        to_sql(model)
    np.testing.assert_allclose(in_sql(model, frame).values, by_model(model, frame).values, atol=1e-9)


def test_a_backslash_in_a_name_needs_a_dialect_without_escapes() -> None:
    """Some databases read quoted names as strings."""
    model = m.LinearRegression().fit(pd.DataFrame({"a\\": [0.0, 1.0], "b": [2.0, 5.0]}), [0, 1])
    other = m.LinearRegression().fit([[0.0], [1.0]], [0, 1])
    for call in (
        lambda: to_sql(model),
        lambda: to_sql(other, "t\\"),
        lambda: to_sql(other, ("s\\", "t")),
        lambda: to_sql(other, keep=["k\\"]),
    ):
        with pytest.raises(ExportError, match="has a backslash, by which some databases"):
            call()
    assert '"a\\"' in to_sql(model, dialect="sqlite")


def test_a_backslash_for_postgresql_is_independent_of_settings() -> None:
    model = m.LogisticRegression().fit([[0.0], [1.0]], ["a\\' OR 1", "b"])
    assert r"E'a\\'' OR 1'" in to_sql(model, dialect="postgresql")
    with duckdb.connect() as connection:  # which reads such texts, too
        assert connection.sql(rf"SELECT {literal(model.classes_[0], 'postgresql')}").fetchall() == [("a\\' OR 1",)]


@pytest.mark.parametrize("table", ["s0", "S1", "s", "t", "p1", "d0", "s_0"])
@pytest.mark.parametrize("viewed", [False, True])
def test_tables_may_be_named_like_intermediate_stages(table: str, viewed: bool) -> None:
    X = np.random.default_rng(0).normal(size=(9, 2))
    model = m.KernelRidge(kernel="rbf").fit(X, X[:, 0])
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f'CREATE TABLE "{table}" (x0 REAL, x1 REAL)')
        connection.executemany(f'INSERT INTO "{table}" VALUES (?, ?)', X.tolist())
        connection.execute(f'CREATE VIEW seen AS SELECT * FROM "{table}"')
        got = connection.execute(to_sql(model, "seen" if viewed else table, dialect="sqlite")).fetchall()
    np.testing.assert_allclose([row[0] for row in got], model.predict(X), atol=1e-9)


def test_columns_are_kept_from_a_table_in_a_schema() -> None:
    X = load_iris(as_frame=True).data
    model = m.LogisticRegression().fit(X, load_iris().target)
    with duckdb.connect() as connection:
        connection.register("flowers", X.assign(id=range(len(X)), v1="own"))
        connection.sql("CREATE SCHEMA garden")
        connection.sql("CREATE TABLE garden.flowers AS SELECT * FROM flowers")
        result = connection.sql(to_sql(model, ("garden", "flowers"), keep=["id", "v1"]))
        names = ["id", "v1", "prediction", "probability_0", "probability_1", "probability_2"]
        assert result.columns == names
        table = result.df()
    assert table["id"].tolist() == list(range(len(X)))
    assert table["prediction"].tolist() == model.predict(X).tolist()
    assert (table["v1"] == "own").all()


def test_a_kept_column_may_not_have_the_name_of_a_result() -> None:
    model = m.LinearRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ExportError, match="'prediction' would be the name of 2"):
        to_sql(model, keep=["Prediction"])


def test_classes_that_differ_in_case_only() -> None:
    sql = to_sql(m.LogisticRegression().fit([[0.0], [1.0]], ["Yes", "yes"]))
    assert '"probability_Yes"' in sql
    assert '"probability_yes_2"' in sql


def test_nan_and_infinity_are_missing() -> None:
    """Databases take NaN for a number above all others, which equals itself."""
    X, y = load_iris(return_X_y=True)
    model = m.GaussianNB().fit(X, y)
    with duckdb.connect() as connection:
        values = "(5.1, NULL, 'NaN'::DOUBLE, 'inf'::DOUBLE), (5.1, NULL, NULL, NULL)"
        connection.sql(f"CREATE TABLE data AS SELECT * FROM (VALUES {values}) AS t(x0, x1, x2, x3)")
        first, second = connection.sql(to_sql(model)).fetchall()
    assert first == second
    np.testing.assert_allclose(first[1:], model.predict_proba([[5.1, np.nan, np.nan, np.nan]])[0], atol=1e-12)


def test_one_column_name_may_be_kept_and_a_table_name_is_required() -> None:
    model = m.LinearRegression().fit([[0.0], [1.0]], [0, 1])
    assert to_sql(model, keep="id") == to_sql(model, keep=["id"])
    with pytest.raises(ExportError, match="no table"):
        to_sql(model, ())


def test_integers_are_divided_as_doubles() -> None:
    """Products of integers and decimals would be decimals, of few digits."""
    X = pd.DataFrame({"large": np.arange(5) * 10**15, "small": [1, 2, 3, 4, 7]})
    model = m.LinearRegression().fit(X, [1.0, 2, 3, 4, 5])
    np.testing.assert_allclose(in_sql(model, X).prediction, model.predict(X), rtol=1e-9)


def test_a_wide_sum_is_not_too_deep() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1500))
    model = m.Ridge().fit(X, X[:, 0])
    np.testing.assert_allclose(in_sql(model, X).prediction, model.predict(X), atol=1e-9)


@pytest.mark.skipif("ENABLE_MATH_FUNCTIONS" not in str(sqlite3.connect(":memory:").execute(
    "PRAGMA compile_options").fetchall()), reason="this SQLite has no EXP and LN")  # fmt: skip
def test_statements_run_in_sqlite() -> None:
    data = load_iris(as_frame=True)
    X = data.data.mask(np.random.default_rng(0).random(data.data.shape) < 0.2)
    for model, materialized in ((m.GaussianNB(), False), (m.LinearDiscriminantAnalysis(), True)):
        model.fit(X, data.target)
        with sqlite3.connect(":memory:") as connection:
            X.to_sql("data", connection, index=False)
            table = pd.read_sql(to_sql(model, materialized=materialized), connection)
        np.testing.assert_allclose(table.iloc[:, 1:], model.predict_proba(X), atol=1e-9)


def test_a_table_without_a_column_is_rejected() -> None:
    """Names of columns used by the statement, or read as strings by SQLite, are accepted."""
    model = m.LinearRegression().fit(pd.DataFrame({"c0": [0.0, 1, 2], "c1": [1.0, 0, 5]}), [0, 1, 2])
    sql = to_sql(model)
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE data AS SELECT 1.0 AS c0")
        with pytest.raises(duckdb.BinderException, match="c1"):
            connection.sql(sql)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE data (c0 REAL)")
        with pytest.raises(sqlite3.OperationalError, match="c1"):
            connection.execute(sql)


def test_exponentials_and_logarithms_outside_the_range_of_a_database() -> None:
    from mercer.export.formula import Formula, ModelOutput
    from mercer.export.sql import _Statement

    outputs = (
        Exp(NumberValue(-1e6)),
        Logarithm(NumberValue(-1.0)),
        Logarithm(NumberValue(0.0)),
        Arctangent(NumberValue(1.0)),
    )
    sql = _Statement(Formula(model="none", columns=(), output=ModelOutput(outputs)), ["data"], ()).text()
    with duckdb.connect() as connection:
        connection.sql("CREATE TABLE data AS SELECT 1 AS one")
        assert connection.sql(sql).fetchall() == [(0.0, None, None, math.pi / 4)]
