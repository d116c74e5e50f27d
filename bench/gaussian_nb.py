"""Gaussian naive Bayes: one pass of means and variances, and the densities of all rows."""

from __future__ import annotations

from functools import partial

from sklearn import naive_bayes

from bench.classifiers import correlated_classes, fit_race, predict_race
from bench.fits import Entrant
from bench.harness import Workload
from mercer import GaussianNB

WORKLOAD = Workload(
    name="gaussian_nb",
    shape="50, 2 classes",
    rows=1_000_000,
    make_arrays=partial(correlated_classes, columns=50),
    races=(
        fit_race(
            Entrant(GaussianNB),
            {"scikit-learn": Entrant(naive_bayes.GaussianNB, reach=15)},
            attributes=("theta_", "var_", "class_prior_"),
        ),
        predict_race(Entrant(GaussianNB), {"scikit-learn": Entrant(naive_bayes.GaussianNB, reach=8)}),
    ),
)
