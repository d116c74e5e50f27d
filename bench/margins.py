"""Races between support vector machines: what is compared is the dual objective, and the decisions of new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from bench import fits
from bench.fits import Entrant
from bench.harness import Race, Results
from bench.rows import Array

#: dual objectives count as equal if they differ by so much, relatively: all contenders stop at a violation of 1e-3
SAME_DUAL = 1e-5
#: decisions of new rows, which the same violation lets differ by more
SAME_DECISIONS = 1e-2


class Split(NamedTuple):
    X: Array
    y: Array
    new: Array


def clusters(rows: int, columns: int, *, informative: int, new: int = 4_000) -> Split:
    """Two classes of several normal clusters each, with a few labels wrong."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        rows + new,
        columns,
        n_informative=informative,
        n_redundant=0,
        n_clusters_per_class=4,
        flip_y=0.03,
        random_state=0,
    )
    return Split(X[:rows], y[:rows], X[rows:])


def dual_objective(model: Any, data: Split) -> float:
    """Σ t β − ε Σ|β| − ½ βᵀKβ of the support vectors of any library."""
    support, beta = data.X[model.support_], np.ravel(model.dual_coef_)
    gamma = 1.0 / (data.X.shape[1] * data.X.var())
    linear = np.abs(beta).sum()
    if not hasattr(model, "classes_"):
        linear = data.y[model.support_] @ beta - model.epsilon * linear
    blocks = np.array_split(np.arange(len(beta)), 1 + len(beta) // 2_000)
    norm = sum(beta[block] @ (rbf_kernel(support[block], support, gamma=gamma) @ beta) for block in blocks)
    return float(linear - 0.5 * norm)


def fit_race(ours: Entrant, rivals: Mapping[str, Entrant], *, task: str = "fit") -> Race:
    def results(model: Any, data: Split) -> Results:
        return {"dual objective": np.asarray(dual_objective(model, data))}

    return fits.fit_race(ours, rivals, results, task=task, parity=SAME_DUAL)


def predict_race(ours: Entrant, rivals: Mapping[str, Entrant]) -> Race:
    def ask(model: Any, data: Split) -> Any:
        return model, model.predict(data.new)

    def results(returned: Any, data: Split) -> Results:
        model, predicted = returned
        decide = getattr(model, "decision_function", model.predict)
        decisions = np.ravel(decide(data.new))
        # labels must follow from the decisions that are compared
        agrees = predicted == (model.classes_[(decisions > 0).astype(int)] if hasattr(model, "classes_") else decisions)
        return {"decisions": decisions, "agreement": np.asarray(np.mean(agrees))}

    return fits.asked_race(ours, rivals, ask, results, task="predict 4,000 rows", parity=SAME_DECISIONS)
