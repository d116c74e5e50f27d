"""Linear discriminant analysis: one pass of means and covariance, against all of scikit-learn's solvers."""

from __future__ import annotations

from functools import partial

from sklearn import discriminant_analysis

from bench.classifiers import correlated_classes, fit_race
from bench.fits import Entrant
from bench.harness import Workload
from mercer import LinearDiscriminantAnalysis

REACH = {"svd": 40, "lsqr": 6, "eigen": None}


def rival(solver: str) -> Entrant:
    return Entrant(partial(discriminant_analysis.LinearDiscriminantAnalysis, solver=solver), REACH[solver])


WORKLOAD = Workload(
    name="lda",
    shape="50, 2 classes",
    rows=1_000_000,
    make_arrays=partial(correlated_classes, columns=50),
    races=(
        fit_race(
            Entrant(LinearDiscriminantAnalysis),
            {f"scikit-learn {solver}": rival(solver) for solver in REACH},
            attributes=("means_", "priors_"),
        ),
    ),
)
