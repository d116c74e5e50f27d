"""Races between fits of one objective: what is compared is how low each contender got."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.harness import Arrays, Contender, Race, Results
from bench.results import PARITY

Array = NDArray[Any]


class Responses(NamedTuple):
    X: Any
    y: Array


class Fitter(NamedTuple):
    make: Callable[[], Any]  # an unfitted model
    reach: float | None = None
    see: Callable[[Arrays], Any] = lambda data: data.X  # the form in which the contender gets X


def objective_race(
    ours: Fitter,
    rivals: Mapping[str, Fitter],
    objective: Callable[[Any, Any], float],
    *,
    task: str = "fit",
    parity: float = PARITY,
) -> Race:
    """Fit from nothing; the value of `objective(model, data)` must agree."""

    def contender(name: str, fitter: Fitter) -> Contender:
        def prepare(data: Arrays) -> Callable[[], Any]:
            X = fitter.see(data)
            return lambda: fitter.make().fit(X, data.y)

        return Contender(name, prepare, fitter.reach)

    def results(model: Any, data: Arrays) -> Results:
        return {"objective": np.asarray(objective(model, data))}

    others = tuple(contender(name, rival) for name, rival in rivals.items())
    return Race(task, contender("mercer", ours), others, results, parity)


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
