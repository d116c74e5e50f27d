"""Linear support vector classification of five million nonzeros, to the same value of the objective."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn import svm

from bench.fits import Entrant
from bench.harness import Workload
from bench.linear_svc import objective
from bench.objectives import objective_race
from bench.rows import hashed_words
from mercer import LinearSVC

COLUMNS, WORDS = 50_000, 50


def fitter(library: Any, **options: Any) -> Entrant:
    return Entrant(partial(library, **options, random_state=0))


WORKLOAD = Workload(
    name="sparse_linear_svc",
    shape=f"{COLUMNS:,}, {WORDS} nonzeros per row, 2 classes",
    rows=100_000,
    make_arrays=partial(hashed_words, columns=COLUMNS, words=WORDS),
    races=(
        objective_race(
            fitter(LinearSVC),
            {
                # the loosest tolerances at which its objectives are right to 1e-6
                "scikit-learn liblinear, dual": fitter(svm.LinearSVC, dual=True, tol=1e-2),
                "scikit-learn liblinear, primal": fitter(svm.LinearSVC, dual=False, tol=5e-4),
            },
            partial(objective, squared=True),
            task="fit, squared hinge",
            parity=1e-6,
        ),
        objective_race(
            fitter(LinearSVC, loss="hinge"),
            {"scikit-learn liblinear": fitter(svm.LinearSVC, loss="hinge", tol=1e-4, max_iter=2000)},
            partial(objective, squared=False),
            task="fit, hinge",
            parity=1e-6,
        ),
    ),
)
