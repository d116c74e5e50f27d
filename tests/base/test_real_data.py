"""Real tables, end to end and through frames of all three kinds: patients, horses and a census."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.model_selection import cross_val_score

from mercer import NaiveBayes, Schema

COLUMNS_OF_ADULT = ["age", "work", "weight", "education", "years", "marital", "job", "relation", "race", "sex"]
COLUMNS_OF_ADULT += ["gain", "loss", "hours", "country", "income"]


def with_pandas(path: Path, missing: str, names: list[str] | None) -> Any:
    return pd.read_csv(path, na_values=[missing], keep_default_na=False, names=names)


def with_polars(path: Path, missing: str, names: list[str] | None) -> Any:
    table = pl.read_csv(path, null_values=[missing], has_header=names is None, infer_schema_length=None)
    return table if names is None else table.rename(dict(zip(table.columns, names, strict=True)))


def with_pyarrow(path: Path, missing: str, names: list[str] | None) -> Any:
    convert = pa.csv.ConvertOptions(null_values=[missing], strings_can_be_null=True)
    return pa.csv.read_csv(path, pa.csv.ReadOptions(column_names=names), convert_options=convert)


READERS: dict[str, Callable[..., Any]] = {"pandas": with_pandas, "polars": with_polars, "pyarrow": with_pyarrow}


def without(table: Any, *columns: str) -> Any:
    if isinstance(table, pd.DataFrame):
        return table.drop(columns=list(columns))
    return table.drop(list(columns)) if isinstance(table, pa.Table) else table.drop(*columns)


def log_probabilities(read: Callable[[str], Any], target: str, families: Any = "auto") -> list[np.ndarray]:
    """Return log probabilities of a model that was fitted to each kind of frame."""
    found = []
    for library in READERS:
        table = read(library)
        X = without(table, target)
        model = NaiveBayes(Schema.infer(X) if families == "schema" else families).fit(X, np.asarray(table[target]))
        found.append(model.predict_log_proba(X))
        assert type(model.sample(3, random_state=0)[0]) is type(X)
    return found


def assert_equal(results: list[np.ndarray]) -> None:
    for other in results[1:]:
        np.testing.assert_allclose(other, results[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("families", ["auto", "schema", {"Chol": "lognormal", "Ca": "poisson", "Oldpeak": "histogram"}])
def test_patients_with_gaps(real_data, families):
    path = real_data("heart.csv")

    def read(library: str) -> Any:
        return without(READERS[library](path, "NA", None), "key")

    results = log_probabilities(read, "AHD", families)
    assert_equal(results)
    y = np.asarray(read("pandas")["AHD"])
    assert np.mean(np.array(["No", "Yes"])[results[0].argmax(axis=1)] == y) > 0.8


def test_the_gaps_of_patients_are_integrated_out(real_data):
    table = with_pandas(real_data("heart.csv"), "NA", None)
    X, y = table.drop(columns=["key", "AHD"]), table["AHD"]
    gaps = X.isna().any(axis=1)
    assert set(X.columns[X.isna().any()]) == {"Ca", "Thal"}
    model = NaiveBayes().fit(X, y)
    for column in ("Ca", "Thal"):
        gone = X[column].isna()
        rest = NaiveBayes().fit(X.drop(columns=column), y)
        np.testing.assert_allclose(
            model.predict_log_proba(X[gone]), rest.predict_log_proba(X.drop(columns=column)[gone]), rtol=1e-9
        )
    assert 0 < gaps.sum() < 10


def test_horses_with_a_third_missing(real_data):
    path = real_data("horse-colic.csv")
    names = [f"c{j}" for j in range(28)]

    def read(library: str) -> Any:
        # hospital number and the codes of the lesions name the horse rather than describe it
        return without(READERS[library](path, "?", names), "c2", "c24", "c25", "c26")

    assert_equal(log_probabilities(read, "c23"))
    assert_equal(log_probabilities(read, "c23", "schema"))
    assert_equal(log_probabilities(read, "c23", {("c3", "c4", "c5"): "multivariate_gaussian"}))
    table = read("pandas")
    X, y = table.drop(columns="c23"), table["c23"]
    assert 0.2 < X.isna().to_numpy().mean() < 0.4
    assert cross_val_score(NaiveBayes(Schema.infer(X)), X, y, cv=5).mean() > max(y.value_counts(normalize=True)) + 0.1


def test_a_census_of_mixed_columns(real_data, tmp_path):
    paths = {}
    for part in ("train", "test"):
        paths[part] = tmp_path / f"{part}.csv"
        text = real_data(f"adult-{part}.csv").read_text(encoding="utf-8")
        rows = [line.rstrip(".") for line in text.replace(", ", ",").splitlines() if line.count(",") == 14]
        paths[part].write_text("\n".join(rows), encoding="utf-8")
    scores, results = [], []
    for read in READERS.values():
        train, test = (read(paths[part], "?", COLUMNS_OF_ADULT) for part in ("train", "test"))
        model = NaiveBayes().fit(without(train, "income"), np.asarray(train["income"]))
        results.append(model.predict_log_proba(without(test, "income")))
        scores.append(model.score(without(test, "income"), np.asarray(test["income"])))
    assert_equal(results)
    assert {part.family.name for part in model.parts_} == {"gaussian", "categorical"}
    assert len(model.tables()["country"][">50K"]) == 41
    assert min(scores) > 0.82
