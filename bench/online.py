"""One epoch of the logistic learning rule over hashed features: the same updates in the same order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model

from bench.harness import Contender, Race, Results, Workload
from bench.objectives import Responses
from bench.sparse_rows import hashed_words
from mercer import LinearThreshold

COLUMNS, WORDS, RATE = 1 << 20, 40, 0.1


def contender(name: str, make: Any, reach: float | None = None) -> Contender:
    return Contender(name, lambda data: lambda: make().fit(data.X, data.y), reach)


def rule() -> Any:
    return LinearThreshold(
        "logistic", mode="incremental", rate=RATE, max_iter=1, shuffle=False, tol=None, fit_intercept=False
    )


def stochastic_gradient() -> Any:
    return linear_model.SGDClassifier(
        loss="log_loss",
        alpha=0.0,
        learning_rate="constant",
        eta0=RATE,
        max_iter=1,
        shuffle=False,
        tol=None,
        fit_intercept=False,
    )


def results(model: Any, data: Responses) -> Results:
    return {"coef_": np.ravel(model.coef_), "intercept_": np.ravel(model.intercept_)}


WORKLOAD = Workload(
    name="online",
    shape=f"{COLUMNS:,} hashed features, {WORDS} per row",
    rows=5_000_000,
    make_arrays=partial(hashed_words, columns=COLUMNS, words=WORDS),
    races=(Race("epoch", contender("mercer", rule), (contender("scikit-learn", stochastic_gradient, 3),), results),),
)
