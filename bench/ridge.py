"""Ridge regression: one pass of the normal equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model
from sklearnex import linear_model as intelex

from bench.fits import Entrant, fit_race
from bench.harness import Results, Workload
from bench.rows import Responses, correlated
from mercer import Ridge

COLUMNS = 50


def correlated_numbers(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = correlated(rng, rows, COLUMNS)
    X += rng.standard_normal(COLUMNS)
    return Responses(X, X @ rng.standard_normal(COLUMNS) + rng.standard_normal(rows))


def results(model: Any, data: Responses) -> Results:
    return {"coef_": model.coef_, "intercept_": np.asarray(model.intercept_)}


WORKLOAD = Workload(
    name="ridge",
    shape=f"{COLUMNS}",
    rows=1_000_000,
    make_arrays=correlated_numbers,
    races=(
        fit_race(
            Entrant(Ridge),
            {
                "scikit-learn": Entrant(linear_model.Ridge, reach=8),
                "scikit-learn-intelex": Entrant(intelex.Ridge, reach=2),
            },
            results,
        ),
    ),
)
