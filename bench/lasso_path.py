"""The lasso along a path of penalties, many more columns than rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import celer
import numpy as np
from numpy.typing import NDArray
from skglm import datafits, penalties, solvers
from skglm.utils.jit_compilation import compiled_clone
from sklearn import linear_model

from bench.harness import Contender, Race, Results, Workload
from bench.rows import Responses
from mercer.linear_model import lasso_path

COLUMNS, NONZERO, ALPHAS = 20_000, 100, 100
SMALLEST = 1e-2  # of the penalty at which every coefficient is zero
#: of the objective at zero; every contender stops at a duality gap below it
PARITY = 1e-5
GAP = 1e-6
SKGLM_TOLERANCE = 1e-2

Array = NDArray[Any]


def sparse_truth(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((rows, COLUMNS)))
    X[:, 1:] = np.sqrt(0.5) * X[:, 1:] + np.sqrt(0.5) * X[:, :-1]  # neighbours are correlated
    truth = np.zeros(COLUMNS)
    truth[rng.choice(COLUMNS, NONZERO, replace=False)] = rng.choice([-1.0, 1.0], NONZERO)
    y = X @ truth
    y += np.linalg.norm(y) / np.sqrt(10 * rows) * rng.standard_normal(rows)
    return Responses(X, y - y.mean())


def alphas(data: Responses) -> Array:
    largest = np.abs(data.X.T @ data.y).max() / len(data.y)
    return np.geomspace(largest, SMALLEST * largest, ALPHAS)


def with_scikit_learn(function: Callable[..., Any]) -> Callable[[Responses], Callable[[], Array]]:
    """The coefficients, one column per penalty, by a function with scikit-learn's signature."""

    def prepare(data: Responses) -> Callable[[], Array]:
        chosen = alphas(data)
        return lambda: np.asarray(function(data.X, data.y, alphas=chosen, tol=GAP, max_iter=100_000)[1])

    return prepare


def with_skglm(data: Responses) -> Callable[[], Array]:
    chosen = alphas(data)
    # its tolerance is on the violation of the optimality conditions: found to give the objectives of the others
    solver = solvers.AndersonCD(tol=SKGLM_TOLERANCE * chosen[-1], fit_intercept=False)
    datafit, penalty = compiled_clone(datafits.Quadratic()), compiled_clone(penalties.L1(1.0))
    return lambda: np.asarray(solver.path(data.X, data.y, datafit, penalty, chosen)[1])


def with_celer(data: Responses) -> Callable[[], Array]:
    chosen = alphas(data)
    return lambda: np.asarray(celer.celer_path(data.X, data.y, "lasso", alphas=chosen, tol=GAP, max_iter=50)[1])


def results(coefficients: Array, data: Responses) -> Results:
    residuals = data.y[:, None] - data.X @ coefficients
    losses = np.square(residuals).mean(axis=0) / 2 + alphas(data) * np.abs(coefficients).sum(axis=0)
    return {"objective": losses / (np.square(data.y).mean() / 2)}


WORKLOAD = Workload(
    name="lasso_path",
    shape=f"{COLUMNS:,}, {ALPHAS} penalties",
    rows=2_000,
    make_arrays=sparse_truth,
    races=(
        Race(
            "path",
            Contender("mercer", with_scikit_learn(lasso_path)),
            (
                Contender("scikit-learn", with_scikit_learn(linear_model.lasso_path), reach=3),
                Contender("skglm", with_skglm, reach=1.3),
                Contender("celer", with_celer, reach=1.3),
            ),
            results,
            PARITY,
        ),
    ),
)
