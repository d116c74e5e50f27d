"""Logistic regression with an L2 penalty, two classes, to the same value of the objective."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from glum import GeneralizedLinearRegressor
from sklearn import linear_model
from sklearnex import linear_model as intelex

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import mean_logistic_loss, objective_race, squared_norm
from bench.rows import Responses, correlated, tossed
from mercer import LogisticRegression

COLUMNS = 50
ROWS = 1_000_000


def tossed_coins(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = correlated(rng, rows, COLUMNS)
    return Responses(X, tossed(rng, X @ (0.3 * rng.standard_normal(COLUMNS)) - 0.5))


def objective(model: Any, data: Responses) -> float:
    return mean_logistic_loss(model, data) + squared_norm(model) / (2 * len(data.y))


WORKLOAD = Workload(
    name="logistic",
    shape=f"{COLUMNS}, 2 classes",
    rows=ROWS,
    make_arrays=tossed_coins,
    races=(
        objective_race(
            Entrant(LogisticRegression),
            {
                # the loosest tolerances at which the rivals' objectives are right to 1e-8
                "scikit-learn lbfgs": Entrant(
                    partial(linear_model.LogisticRegression, tol=1e-6, max_iter=1000), reach=3
                ),
                "scikit-learn newton-cholesky": Entrant(
                    partial(linear_model.LogisticRegression, solver="newton-cholesky", tol=1e-5), reach=3
                ),
                "scikit-learn-intelex": Entrant(partial(intelex.LogisticRegression, tol=1e-4), reach=3),
                "glum": Entrant(
                    partial(GeneralizedLinearRegressor, family="binomial", alpha=1 / ROWS, l1_ratio=0), reach=3
                ),
            },
            objective,
        ),
    ),
)
