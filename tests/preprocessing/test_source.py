"""`TableFeatures` of a source is that of the whole table, whatever the blocks."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mercer import TableFeatures
from mercer._errors import ColumnTypeError, EmptyDataError, MercerError, NonFiniteError
from mercer.data.sources.memory import MemorySource
from mercer.data.sources.read_all import read_all

ROWS = 230


@functools.cache
def columns():
    rng = np.random.default_rng(2)
    days = np.datetime64("2024-01-30") + rng.integers(90, size=ROWS)
    return {
        "amount": np.where(rng.uniform(size=ROWS) < 0.1, np.nan, rng.normal(1e6, 3.0, ROWS)),
        "whole until late": np.append(rng.integers(3, size=ROWS - 1).astype(float), 0.5),
        "code": rng.integers(4, size=ROWS),
        "count": rng.poisson(30, size=ROWS),
        "two": rng.choice(["no", "yes"], ROWS),
        "city": np.append(rng.choice(["Ulm", "Bonn"], ROWS - 1), "Jena"),
        "gap at the end": np.array(["x", "y"] * (ROWS // 2 - 1) + ["x", None], dtype=object),
        "user_id": np.arange(ROWS) * 7,
        "name": np.array([f"n{i}" for i in range(ROWS)], dtype=object),
        "day": days.astype("datetime64[us]"),
        "spelled": days.astype(str).astype(object),
        "rows in file order": np.arange(1, ROWS + 1),
        "price": np.array([f"{value:.2f}".replace(".", ",") for value in rng.normal(50, 9, ROWS)], dtype=object),
        "written": np.array([f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(ROWS)], dtype=object),
        "visits": rng.poisson(0.7, size=ROWS),
        "one": np.full(ROWS, 3.0),
        "one or none": np.where(rng.uniform(size=ROWS) < 0.2, np.nan, 1.0),
        "nothing": np.full(ROWS, np.nan),
    }


def pandas_frame():
    return pd.DataFrame(columns())


def arrow_frame():
    return pa.Table.from_pandas(pandas_frame(), preserve_index=False)


@pytest.mark.parametrize("frame", [pandas_frame, arrow_frame])
@pytest.mark.parametrize("rows", [1000, 60, 7])
@pytest.mark.parametrize("options", [{}, {"scale": False, "min_frequency": 3, "exclude": ["city"]}], ids=str)
def test_streamed_fits_agree_with_fits_in_memory(frame, rows, options):
    X = frame()
    expected = TableFeatures(**options).fit(X)
    streamed = TableFeatures(**options).fit(MemorySource(X, rows=rows))
    assert str(streamed.schema_) == str(expected.schema_)
    assert str(streamed.grid()) == str(expected.grid())
    assert streamed.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    features = streamed.transform(MemorySource(X, rows=rows))
    blocks = np.vstack([np.asarray(chunk.X.toarray()) for chunk in features])
    np.testing.assert_allclose(blocks, expected.transform(X).toarray(), rtol=1e-10, atol=1e-10)
    assert streamed.plan_.passes == 2  # once more to read what strings spell


def test_a_source_has_the_zone_of_its_dates():
    t = pd.Series(pd.date_range("2024-06-01", periods=48, freq="h", tz="Europe/Paris"))
    features = TableFeatures(output="array").fit(MemorySource(t.to_frame("t"), rows=20))
    expected = TableFeatures(output="array").fit_transform(t.to_frame("t"))
    np.testing.assert_allclose(features.transform(t.dt.tz_convert("UTC").to_frame("t")), expected)


def test_columns_of_many_different_values_are_judged_in_bounded_memory():
    n = 140_000  # labels, of which a pass keeps fewer
    X = pd.DataFrame({"name": [f"n{i}" for i in range(n)], "city": np.tile(["Ulm", "Bonn"], n // 2)})
    expected = TableFeatures(kinds={"name": "category"}).fit(X)
    streamed = TableFeatures(kinds={"name": "category"}).fit(MemorySource(X, rows=50_000))
    kinds = [column.kind for column in streamed.schema_]
    assert kinds == [column.kind for column in expected.schema_]
    assert streamed.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()


def test_requested_kinds_and_columns_that_do_not_exist_are_named():
    X = pandas_frame()
    with pytest.raises(ColumnTypeError, match=r"'city' must hold numbers, but is '(Ulm|Bonn)'"):
        TableFeatures(kinds={"city": "number"}).fit(MemorySource(X, rows=50))
    with pytest.raises(ColumnTypeError, match="has 3 different values"):
        TableFeatures(kinds={"city": "binary"}).fit(MemorySource(X, rows=50))
    with pytest.raises(NonFiniteError, match="'amount' has a missing value"):
        TableFeatures(missing="error").fit(MemorySource(X, rows=50))
    with pytest.raises(MercerError, match="nothing"):
        TableFeatures(kinds={"nothing else": "number"}).fit(MemorySource(X, rows=50))


@pytest.mark.parametrize(
    ("column", "kind"), [("count", "date"), ("city", "date"), ("day", "number"), ("day", "binary")]
)
def test_columns_of_another_kind_are_rejected_as_in_memory(column, kind):
    X, features = pandas_frame(), TableFeatures(kinds={column: kind})
    for data in (X, MemorySource(X, rows=50)):
        with pytest.raises(ColumnTypeError, match=f"'{column}' must hold"):
            features.fit(data)


def test_infinity_is_named():
    X = pandas_frame()
    X.loc[ROWS - 1, "amount"] = np.inf
    with pytest.raises(NonFiniteError, match="'amount' is inf"):
        TableFeatures().fit(MemorySource(X, rows=50))


def test_a_table_without_usable_columns_is_rejected():
    with pytest.raises(EmptyDataError, match="no column to learn from"):
        TableFeatures().fit(MemorySource(pandas_frame()[["one", "user_id"]], rows=50))


def test_a_formula_is_read_into_memory():
    X = pandas_frame()[["count", "code"]]
    expected = TableFeatures(formula="count + code").fit(X)
    streamed = TableFeatures(formula="count + code").fit(MemorySource(X, rows=50))
    np.testing.assert_allclose(read_all(streamed.transform(MemorySource(X))).X, expected.transform(X))
