"""Visits of patients, in columns of every type; and when two models of them are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from mercer import NaiveBayes

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def visits(n: int = 300) -> tuple[dict[str, Any], np.ndarray]:
    """Columns of every type, some of them with gaps."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    gone = rng.random(n) < 0.3
    age = np.where(gone, np.nan, rng.normal(50 + 5 * y, 9.0))
    town = np.array(["Ulm", "Bonn", "Köln", "Jena"], dtype=object)[(rng.integers(4, size=n) * (y + 1)) % 4]
    columns = {
        "age": age,
        "calls": rng.poisson(2 + y),
        "town": [None if lost else name for lost, name in zip(rng.random(n) < 0.2, town, strict=True)],
        "smokes": rng.random(n) < 0.2 + 0.2 * y,
        "dose": rng.gamma(2.0 + y),
    }
    return columns, np.array(["a", "b", "c"])[y]


def frame(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    columns, y = visits(n)
    return pd.DataFrame(columns), y


def assert_same(a: NaiveBayes, b: NaiveBayes, table: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.predict_joint_log_proba(table), b.predict_joint_log_proba(table), rtol=rtol)
    assert a.parameters_.keys() == b.parameters_.keys()
    for name, parameters in a.parameters_.items():
        for ours, theirs in zip(parameters, b.parameters_[name], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=rtol, err_msg=str(name))
