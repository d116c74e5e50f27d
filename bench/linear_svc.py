"""Linear support vector classification of dense rows, to the same value of the objective."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn import svm

from bench.fits import Entrant
from bench.harness import Workload
from bench.logistic import COLUMNS, tossed_coins
from bench.objectives import linear_predictor, objective_race
from bench.rows import Responses
from mercer import LinearSVC

ROWS = 200_000


def objective(model: Any, data: Responses, *, squared: bool) -> float:
    """liblinear's, which penalises the intercept too, for each row; C is 1."""
    short = np.maximum(1 - (2 * data.y - 1) * linear_predictor(model, data.X), 0.0)
    coefficients = np.append(model.coef_, model.intercept_)
    losses = float(short @ short if squared else short.sum())
    return (losses + 0.5 * float(coefficients @ coefficients)) / len(data.y)


WORKLOAD = Workload(
    name="linear_svc",
    shape=f"{COLUMNS}, 2 classes",
    rows=ROWS,
    make_arrays=tossed_coins,
    races=(
        objective_race(
            Entrant(LinearSVC),
            {"scikit-learn liblinear": Entrant(partial(svm.LinearSVC, dual=False, tol=1e-3))},
            partial(objective, squared=True),
            task="fit, squared hinge",
            parity=1e-6,
        ),
        objective_race(
            Entrant(partial(LinearSVC, loss="hinge")),
            # its coordinate descent has not arrived after the thousand passes that it makes by default
            {"scikit-learn liblinear": Entrant(partial(svm.LinearSVC, loss="hinge", random_state=0))},
            partial(objective, squared=False),
            task="fit, hinge",
            parity=1e-6,
        ),
    ),
)
