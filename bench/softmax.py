"""Softmax regression on images: 784 pixels, 10 classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model
from sklearnex import linear_model as intelex

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import mean_softmax_loss, objective_race, squared_norm
from bench.rows import Responses
from mercer import LogisticRegression

SIDE, CLASSES = 28, 10
C = 0.01
#: relative to a loss of about 0.3; the rivals' line search ends there
PARITY = 1e-6


def blurred_strokes(rows: int) -> Responses:
    """Images like handwritten digits: smooth blobs in the middle, the margin always dark, pixels from 0 to 1."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, SIDE)], indexing="ij"), axis=-1).reshape(-1, 2)
    strokes = rng.uniform(-0.7, 0.7, size=(CLASSES, 6, 2))
    y = rng.integers(CLASSES, size=rows)
    X = np.zeros((rows, SIDE * SIDE))
    for block in np.array_split(np.arange(rows), max(1, rows // 2000)):
        centres = strokes[y[block]] + 0.25 * rng.standard_normal((len(block), 6, 2))
        squared = ((grid[None, :, None, :] - centres[:, None, :, :]) ** 2).sum(axis=-1)
        X[block] = np.exp(-squared / 0.02).sum(axis=-1)
    np.clip(X, 0.0, 1.0, out=X)
    X[X < 0.02] = 0.0
    return Responses(X, y)


def objective(model: Any, data: Responses) -> float:
    return mean_softmax_loss(model, data) + squared_norm(model) / (2 * C * len(data.y))


WORKLOAD = Workload(
    name="softmax",
    shape=f"{SIDE * SIDE}, {CLASSES} classes",
    rows=60_000,
    make_arrays=blurred_strokes,
    races=(
        objective_race(
            Entrant(partial(LogisticRegression, C=C)),
            {
                "scikit-learn lbfgs": Entrant(
                    partial(linear_model.LogisticRegression, C=C, max_iter=1000, tol=1e-5), reach=5
                ),
                "scikit-learn-intelex": Entrant(
                    partial(intelex.LogisticRegression, C=C, max_iter=1000, tol=1e-4), reach=5
                ),
            },
            objective,
            parity=PARITY,
        ),
    ),
)
