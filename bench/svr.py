"""Support vector regression with a Gaussian kernel."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn import svm
from sklearnex import svm as intelex

from bench.fits import Entrant
from bench.harness import Workload
from bench.margins import Split, fit_race
from mercer import SVR

COLUMNS, EPSILON = 40, 0.2


def waves(rows: int, *, new: int = 4_000) -> Split:
    """A smooth function of eight of the columns, standardised, with noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(rows + new, COLUMNS))
    t = 2 * np.sin(X[:, :5] @ rng.standard_normal(5)) + X[:, 5] * X[:, 6] + X[:, 7] ** 2 / 2
    t = (t - t.mean()) / t.std() + 0.2 * rng.standard_normal(rows + new)
    return Split(X[:rows], t[:rows], X[rows:])


WORKLOAD = Workload(
    name="svr",
    shape=f"{COLUMNS}, C = 1, ε = {EPSILON}",
    rows=16_000,
    make_arrays=waves,
    races=(
        fit_race(
            Entrant(partial(SVR, epsilon=EPSILON)),
            {
                "scikit-learn (libsvm)": Entrant(partial(svm.SVR, epsilon=EPSILON), reach=12),
                "scikit-learn-intelex": Entrant(partial(intelex.SVR, epsilon=EPSILON), reach=3),
            },
        ),
    ),
)
