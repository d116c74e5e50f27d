"""Races between fits of one objective: what is compared is how low each contender got."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bench.fits import Entrant, fit_race
from bench.harness import Race
from bench.results import PARITY
from bench.rows import Array, Responses


def objective_race(
    ours: Entrant,
    rivals: Mapping[str, Entrant],
    objective: Callable[[Any, Any], float],
    *,
    task: str = "fit",
    parity: float = PARITY,
) -> Race:
    """Fit from nothing; the value of `objective(model, data)` must agree."""
    return fit_race(
        ours, rivals, lambda model, data: {"objective": np.asarray(objective(model, data))}, task=task, parity=parity
    )


def linear_predictor(model: Any, X: Any) -> Array:
    """X β + b of any contender with scikit-learn's attributes; (rows, classes) where there are several."""
    coefficients = np.squeeze(np.atleast_2d(model.coef_)).T
    return np.asarray(X @ coefficients + np.squeeze(model.intercept_))


def mean_logistic_loss(model: Any, data: Responses) -> float:
    eta = linear_predictor(model, data.X)
    return float(np.mean(np.logaddexp(0.0, eta) - data.y * eta))


def mean_softmax_loss(model: Any, data: Responses) -> float:
    eta = linear_predictor(model, data.X)
    return float(np.mean(np.logaddexp.reduce(eta, axis=1) - eta[np.arange(len(eta)), data.y]))


def mean_poisson_loss(model: Any, data: Responses) -> float:
    eta = linear_predictor(model, data.X)
    return float(np.mean(np.exp(eta) - data.y * eta))


def squared_norm(model: Any) -> float:
    return float(np.sum(np.square(model.coef_)))
