"""The columns that a fitted model reads, and their levels, also of wrapped models."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer as m
from mercer.base.pipelines import columns_of_fit, innermost_part, names_read, steps_of
from mercer.data.kinds import Kind
from mercer.data.schema import Column

FRAME = pd.DataFrame(
    {
        "size": [j * 0.37 % 1 for j in range(40)],
        "city": ["Ulm", "Bonn"] * 20,
        "code": [0, 1, 2, 3] * 10,
        "owner": [True, False, False, True] * 10,
        "day": pd.date_range("2024-01-01", periods=40),
        "constant": 1.0,
    }
)
Y = ["a", "b", "b", "a", "b"] * 8


def columns_read(reader: Any) -> dict[str, tuple[Any, ...]]:
    return {column.name: (column.kind, column.stored, column.levels) for column in columns_of_fit(reader)}


def test_a_table_is_read_by_its_features() -> None:
    features = m.TableFeatures(kinds={"code": "number"}).fit(FRAME)
    assert names_read(features) == ["size", "city", "code", "owner", "day"]
    columns = columns_read(features)
    assert list(columns) == list(FRAME.columns)
    assert columns["size"] == (Kind.NUMBER, Kind.NUMBER, None)
    assert columns["city"] == (Kind.CATEGORY, Kind.CATEGORY, ("Bonn", "Ulm"))
    assert columns["code"][0] is Kind.NUMBER
    assert columns["code"][2] is None, "calculated with, though it looks like names"
    assert columns["owner"][1:] == (Kind.BOOLEAN, (False, True))
    assert columns["day"][0] is Kind.DATE
    assert columns["constant"][0] is Kind.CONSTANT


def test_numbers_requested_as_categories_have_levels() -> None:
    features = m.TableFeatures(kinds={"size": "category"}, max_levels=2).fit(FRAME[["size", "city"]])
    assert set(columns_read(features)["size"][2]) == set(FRAME["size"])


@pytest.mark.parametrize("families", ["auto", m.Schema.infer(FRAME[["size", "city", "code", "owner"]])])
def test_naive_bayes_reads_columns_without_a_transformer(families: Any) -> None:
    columns = columns_read(m.NaiveBayes(families).fit(FRAME[["size", "city", "code", "owner"]], Y))
    assert columns["size"][1:] == (Kind.NUMBER, None)
    assert columns["city"] == (Kind.CATEGORY, Kind.CATEGORY, ("Bonn", "Ulm"))
    assert columns["code"][1].numeric
    assert list(columns) == ["size", "city", "code", "owner"]


def test_levels_of_later_batches_are_known() -> None:
    """A merged model has the levels of both parts."""
    parts = [FRAME[["city", "code"]].iloc[:20].replace({"code": {1: 0, 3: 2}}), FRAME[["city", "code"]].iloc[20:]]
    first, second = (m.NaiveBayes(m.Schema.infer(part)).fit(part, Y[:20]) for part in parts)
    assert columns_read(first)["code"] == (Kind.BINARY, Kind.BINARY, (0, 2))
    assert columns_read(first.merge(second))["code"] == (Kind.CODE, Kind.BINARY, (0, 1, 2, 3))
    assert columns_read(first)["city"] == (Kind.CATEGORY, Kind.CATEGORY, ("Bonn", "Ulm"))


def test_a_glm_reads_columns_without_a_transformer() -> None:
    model = m.GLM("bernoulli", penalty="l2").fit(FRAME[["size", "city"]], Y)
    assert columns_of_fit(model) == [Column("size", Kind.NUMBER), Column("city", Kind.CATEGORY, ("Bonn", "Ulm"))]


def test_columns_without_names() -> None:
    model = m.GaussianNB().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], [0, 1, 0, 1])
    assert columns_of_fit(model) == [Column("x0", Kind.NUMBER), Column("x1", Kind.NUMBER)]
    assert names_read(model) == ["x0", "x1"]


def test_wrapped_models_are_unwrapped() -> None:
    pipeline = make_pipeline("passthrough", StandardScaler(), m.GaussianNB())
    X = FRAME[["size", "code"]]
    search = GridSearchCV(pipeline, {"gaussiannb__var_smoothing": [0.1]}, cv=2).fit(X, Y)
    model = m.Decision(m.Calibrated(search, cv="prefit").fit(X, Y), reject=0.1)
    assert isinstance(innermost_part(model, 0), StandardScaler)
    assert isinstance(innermost_part(model, -1), m.GaussianNB)
    assert [type(step) for step in steps_of(pipeline)] == [StandardScaler, m.GaussianNB]
