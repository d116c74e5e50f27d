"""Random Fourier features of an RBF kernel: the same frequencies, hence the same numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import kernel_approximation

from bench.harness import Contender, Race, Results, Workload
from mercer import RBFSampler

COLUMNS, COMPONENTS = 50, 1000


class Rows(NamedTuple):
    X: NDArray[Any]


def normal_rows(rows: int) -> Rows:
    return Rows(np.random.default_rng(0).standard_normal((rows, COLUMNS)))


def contender(name: str, make: Any, reach: float | None = None) -> Contender:
    def fit_and_transform(data: Rows) -> Any:
        return lambda: make(gamma=1 / COLUMNS, n_components=COMPONENTS, random_state=0).fit_transform(data.X)

    return Contender(name, fit_and_transform, reach)


def results(features: NDArray[Any], data: Rows) -> Results:
    return {"features": features}


WORKLOAD = Workload(
    name="fourier",
    shape=f"{COLUMNS} → {COMPONENTS:,}",
    rows=100_000,
    make_arrays=normal_rows,
    races=(
        Race(
            "fit and transform",
            contender("mercer", RBFSampler),
            (contender("scikit-learn", kernel_approximation.RBFSampler, reach=5),),
            results,
        ),
    ),
)
