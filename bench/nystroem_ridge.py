"""Kernel ridge regression of many rows by Nyström features; scikit-learn writes these out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import kernel_approximation, linear_model
from sklearn.pipeline import make_pipeline

from bench.fits import Entrant, fit_race
from bench.harness import Results, Workload
from bench.rows import Responses
from mercer import KernelRidge, Nystroem
from mercer.kernels import RBF

COLUMNS, LANDMARKS, SHOWN = 28, 1000, 1000


def waves(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    return Responses(X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(rows))


def ours() -> Any:
    features = Nystroem(n_components=LANDMARKS, random_state=0)
    return KernelRidge(alpha=1.0, kernel=RBF(gamma=1 / COLUMNS), approximate=features)


def theirs() -> Any:
    """The same landmarks: both draw them with the same random numbers."""
    features = kernel_approximation.Nystroem(gamma=1 / COLUMNS, n_components=LANDMARKS, random_state=0)
    return make_pipeline(features, linear_model.Ridge(alpha=1.0, fit_intercept=False))


def results(model: Any, data: Responses) -> Results:
    return {"predictions": model.predict(data.X[:SHOWN])}


WORKLOAD = Workload(
    name="nystroem_ridge",
    shape=f"{COLUMNS}, {LANDMARKS} landmarks",
    rows=500_000,
    make_arrays=waves,
    races=(fit_race(Entrant(ours), {"scikit-learn": Entrant(theirs, reach=8)}, results, parity=1e-4),),
)
