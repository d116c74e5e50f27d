"""Logistic regression on fifty million nonzeros with an L2 penalty."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn import linear_model

from bench.fits import Entrant
from bench.harness import Workload
from bench.objectives import mean_logistic_loss, objective_race, squared_norm
from bench.rows import Responses, hashed_words
from mercer import LogisticRegression

COLUMNS, WORDS = 100_000, 50


def objective(model: Any, data: Responses) -> float:
    return mean_logistic_loss(model, data) + squared_norm(model) / (2 * len(data.y))


WORKLOAD = Workload(
    name="sparse_logistic",
    shape=f"{COLUMNS:,}, {WORDS} nonzeros per row, L2",
    rows=1_000_000,
    make_arrays=partial(hashed_words, columns=COLUMNS, words=WORDS),
    races=(
        objective_race(
            Entrant(partial(LogisticRegression, max_iter=1000)),
            {
                # the loosest tolerances at which the rivals' objectives are right to 1e-6
                "scikit-learn lbfgs": Entrant(
                    partial(linear_model.LogisticRegression, tol=1e-6, max_iter=1000), reach=4
                ),
                "scikit-learn newton-cg": Entrant(
                    partial(linear_model.LogisticRegression, solver="newton-cg", tol=1e-5, max_iter=1000), reach=4
                ),
            },
            objective,
            parity=1e-6,
        ),
    ),
)
