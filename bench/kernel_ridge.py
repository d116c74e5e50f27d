"""Kernel ridge regression, exact: what is left over of y is no more than 1e-8 of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import kernel_ridge

from bench.fits import Entrant, fit_race
from bench.harness import Results, Workload
from bench.rows import Responses
from mercer import KernelRidge

COLUMNS = 20


def smooth_numbers(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    return Responses(X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(rows))


def results(model: Any, data: Responses) -> Results:
    return {"dual_coef_": model.dual_coef_}


WORKLOAD = Workload(
    name="kernel_ridge",
    shape=f"{COLUMNS}",
    rows=10_000,
    make_arrays=smooth_numbers,
    races=(
        fit_race(
            Entrant(partial(KernelRidge, alpha=1.0, kernel="rbf")),
            {"scikit-learn": Entrant(partial(kernel_ridge.KernelRidge, alpha=1.0, kernel="rbf"), reach=5)},
            results,
        ),
    ),
)
