"""Quadratic discriminant analysis: a covariance for each class, and the densities of all rows."""

from __future__ import annotations

from functools import partial

from sklearn import discriminant_analysis

from bench.classifiers import correlated_classes, fit_race, predict_race
from bench.fits import Entrant
from bench.harness import Workload
from mercer import QuadraticDiscriminantAnalysis

RIVAL = discriminant_analysis.QuadraticDiscriminantAnalysis

WORKLOAD = Workload(
    name="qda",
    shape="50, 2 classes",
    rows=1_000_000,
    make_arrays=partial(correlated_classes, columns=50),
    races=(
        fit_race(
            Entrant(QuadraticDiscriminantAnalysis),
            {"scikit-learn": Entrant(RIVAL, reach=20)},
            attributes=("means_", "priors_"),
        ),
        predict_race(Entrant(QuadraticDiscriminantAnalysis), {"scikit-learn": Entrant(RIVAL, reach=4)}),
    ),
)
