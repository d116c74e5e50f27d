"""Support vector classification of wide rows, as of images: the time is that of products of rows."""

from __future__ import annotations

import numpy as np
from sklearn import svm
from sklearnex import svm as intelex

from bench.fits import Entrant
from bench.harness import Workload
from bench.margins import Split, clusters, fit_race
from bench.rows import Array
from mercer import SVC

PIXELS, FACTORS = 784, 20


def images(rows: int) -> Split:
    """Two classes of pictures that differ in few ways: clusters of factors, seen through pixels that cannot be dark."""
    rng = np.random.default_rng(0)
    factors = clusters(rows, FACTORS, informative=FACTORS)
    mixing = rng.standard_normal((FACTORS, PIXELS)) / np.sqrt(FACTORS)

    def pictures(Z: Array) -> Array:
        return np.asarray(np.maximum(Z @ mixing, 0.0) + 0.1 * rng.standard_normal((len(Z), PIXELS)))

    return Split(pictures(factors.X), factors.y, pictures(factors.new))


WORKLOAD = Workload(
    name="svc_wide",
    shape=f"{PIXELS}, C = 1",
    rows=20_000,
    make_arrays=images,
    races=(
        fit_race(
            Entrant(SVC),
            {
                "scikit-learn (libsvm)": Entrant(svm.SVC, reach=20),
                "scikit-learn-intelex": Entrant(intelex.SVC, reach=2),
            },
        ),
    ),
)
