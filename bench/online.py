"""One epoch of the logistic learning rule over hashed features: the same updates in the same order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import linear_model

from bench.fits import Entrant, fit_race
from bench.harness import Results, Workload
from bench.rows import Responses, hashed_words
from mercer import LinearThreshold

COLUMNS, WORDS, RATE = 1 << 20, 40, 0.1


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
    races=(fit_race(Entrant(rule), {"scikit-learn": Entrant(stochastic_gradient, reach=3)}, results, task="epoch"),),
)
