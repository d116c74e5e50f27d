"""Logistic regression on five million nonzeros with an L1 penalty.

scikit-learn's saga is not among the rivals: one of its passes took 20 seconds, and it needs dozens of them.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import mean_logistic_loss, objective_race
from bench.rows import Responses, hashed_words
from mercer import LogisticRegression

COLUMNS, WORDS, C = 50_000, 50, 1.0
# liblinear penalises the intercept too, so that no contender has one
PENALISED: dict[str, Any] = {"l1_ratio": 1.0, "C": C, "fit_intercept": False}


def objective(model: Any, data: Responses) -> float:
    return mean_logistic_loss(model, data) + float(np.abs(model.coef_).sum()) / (C * len(data.y))


WORKLOAD = Workload(
    name="sparse_logistic_l1",
    shape=f"{COLUMNS:,}, {WORDS} nonzeros per row, L1",
    rows=100_000,
    make_arrays=partial(hashed_words, columns=COLUMNS, words=WORDS),
    races=(
        objective_race(
            Entrant(partial(LogisticRegression, **PENALISED, solver="saga", tol=1e-3)),
            {
                "scikit-learn liblinear": Entrant(
                    partial(linear_model.LogisticRegression, **PENALISED, solver="liblinear", tol=1e-3), reach=3
                ),
            },
            objective,
            parity=1e-6,
        ),
    ),
)
