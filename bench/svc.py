"""Support vector classification with a Gaussian kernel, and the decisions of new rows."""

from __future__ import annotations

from functools import partial

from sklearn import svm
from sklearnex import svm as intelex

from bench.fits import Entrant
from bench.harness import Workload
from bench.margins import clusters, fit_race, predict_race
from mercer import SVC

WORKLOAD = Workload(
    name="svc",
    shape="40, C = 1",
    rows=16_000,
    make_arrays=partial(clusters, columns=40, informative=20),
    races=(
        fit_race(
            Entrant(SVC),
            {
                "scikit-learn (libsvm)": Entrant(svm.SVC, reach=10),
                "scikit-learn-intelex": Entrant(intelex.SVC, reach=2.5),
            },
        ),
        predict_race(
            Entrant(SVC),
            {
                "scikit-learn (libsvm)": Entrant(svm.SVC, reach=20),
                "scikit-learn-intelex": Entrant(intelex.SVC, reach=1.5),
            },
        ),
    ),
)
