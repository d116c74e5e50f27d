"""Kernel logistic regression of many rows by Nyström features, to the same value of the objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import kernel_approximation, linear_model
from sklearn.pipeline import make_pipeline

from bench.fits import Entrant
from bench.harness import Workload
from bench.nystroem_ridge import COLUMNS, LANDMARKS
from bench.objectives import objective_race
from bench.rows import Responses, tossed
from mercer import LogisticRegression, Nystroem, kernelize
from mercer.kernels import RBF


def tossed_coins(rows: int) -> Responses:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    return Responses(X, tossed(rng, 2 * np.sin(2 * X[:, 0]) + 2 * X[:, 1] * X[:, 2]))


def ours() -> Any:
    features = Nystroem(n_components=LANDMARKS, random_state=0)
    return kernelize(LogisticRegression(C=1.0), RBF(gamma=1 / COLUMNS), approximate=features)


def theirs() -> Any:
    """The same landmarks: both draw them with the same random numbers."""
    features = kernel_approximation.Nystroem(gamma=1 / COLUMNS, n_components=LANDMARKS, random_state=0)
    # the loosest tolerance at which the objective is right to 1e-7
    return make_pipeline(features, linear_model.LogisticRegression(C=1.0, tol=1e-6, max_iter=1000))


def objective(model: Any, data: Responses) -> float:
    """Mean loss and penalty, at a norm that is the same function of both models' attributes: ‖f‖² = aᵀKa, or ‖w‖²."""
    eta = model.decision_function(data.X)
    if hasattr(model, "dual_coef_"):
        norm = float(model.dual_coef_ @ (model.kernel_(model.X_fit_) @ model.dual_coef_))
    else:
        norm = float(np.sum(np.square(model[-1].coef_)))
    return float(np.mean(np.logaddexp(0.0, eta) - data.y * eta)) + norm / (2 * len(data.y))


WORKLOAD = Workload(
    name="nystroem_logistic",
    shape=f"{COLUMNS}, {LANDMARKS} landmarks",
    rows=500_000,
    make_arrays=tossed_coins,
    races=(objective_race(Entrant(ours), {"scikit-learn lbfgs": Entrant(theirs, reach=5)}, objective, parity=1e-6),),
)
