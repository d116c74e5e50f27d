"""Poisson regression with an L2 penalty, to the same value of the objective."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from glum import GeneralizedLinearRegressor
from sklearn import linear_model

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import mean_poisson_loss, objective_race, squared_norm
from bench.rows import Responses, correlated
from mercer import PoissonRegressor

COLUMNS = 50
ALPHA = 1e-3


def counted(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = correlated(rng, rows, COLUMNS)
    return Responses(X, rng.poisson(np.exp(X @ (0.1 * rng.standard_normal(COLUMNS)) + 0.3)).astype(float))


def objective(model: Any, data: Responses) -> float:
    return mean_poisson_loss(model, data) + 0.5 * ALPHA * squared_norm(model)


WORKLOAD = Workload(
    name="poisson",
    shape=f"{COLUMNS}",
    rows=1_000_000,
    make_arrays=counted,
    races=(
        objective_race(
            Entrant(partial(PoissonRegressor, alpha=ALPHA)),
            {
                "scikit-learn lbfgs": Entrant(partial(linear_model.PoissonRegressor, alpha=ALPHA, tol=1e-6), reach=2.5),
                "scikit-learn newton-cholesky": Entrant(
                    partial(linear_model.PoissonRegressor, alpha=ALPHA, solver="newton-cholesky"), reach=2.5
                ),
                "glum": Entrant(
                    partial(GeneralizedLinearRegressor, family="poisson", alpha=ALPHA, l1_ratio=0), reach=2.5
                ),
            },
            objective,
        ),
    ),
)
