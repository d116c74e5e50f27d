"""Ridge regression: one pass of the normal equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model
from sklearnex import linear_model as intelex

from bench.harness import Contender, Race, Results, Workload
from bench.objectives import Responses
from mercer import Ridge

COLUMNS = 50


def correlated_numbers(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    mixing = np.eye(COLUMNS) + 0.3 * rng.standard_normal((COLUMNS, COLUMNS)) / np.sqrt(COLUMNS)
    X = rng.standard_normal((rows, COLUMNS)) @ mixing
    X += rng.standard_normal(COLUMNS)
    return Responses(X, X @ rng.standard_normal(COLUMNS) + rng.standard_normal(rows))


def contender(name: str, make: Any, reach: float | None = None) -> Contender:
    return Contender(name, lambda data: lambda: make().fit(data.X, data.y), reach)


def results(model: Any, data: Responses) -> Results:
    return {"coef_": model.coef_, "intercept_": np.asarray(model.intercept_)}


WORKLOAD = Workload(
    name="ridge",
    shape=f"{COLUMNS}",
    rows=1_000_000,
    make_arrays=correlated_numbers,
    races=(
        Race(
            "fit",
            contender("mercer", Ridge),
            (
                contender("scikit-learn", linear_model.Ridge, reach=8),
                contender("scikit-learn-intelex", intelex.Ridge, reach=2),
            ),
            results,
        ),
    ),
)
