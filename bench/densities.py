"""What the workloads of densities share: points, places to ask at, and scikit-learn's way to answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import neighbors

from bench.harness import Contender, Race, Results
from mercer import KernelDensity

Array = NDArray[Any]


class Points(NamedTuple):
    X: Array
    #: places that a density is asked for
    queries: Array
    bandwidth: float


def two_clouds(rows: int, columns: int, queries: int) -> Points:
    """A mixture of two normal distributions, and the bandwidth that would be right for either."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> Array:
        return rng.standard_normal((n, columns)) + np.where(rng.random((n, 1)) < 0.5, -1.5, 1.5)

    return Points(draw(rows), draw(queries), rows ** (-1 / (columns + 4)))


def fit_and_score(make: Callable[..., Any], **tolerance: float) -> Callable[[Points], Callable[[], Array]]:
    """From rows to the log density of the queries."""

    def prepare(data: Points) -> Callable[[], Array]:
        return lambda: np.asarray(make(bandwidth=data.bandwidth, **tolerance).fit(data.X).score_samples(data.queries))

    return prepare


def log_densities(found: Array, data: Points) -> Results:
    return {"log density": found}


#: scikit-learn's sums without tolerance have lost so many digits at the loneliest of the queries
THEIR_ERROR = 1e-4


def exact_race(reach: float) -> Race:
    ours = Contender("mercer", fit_and_score(KernelDensity))
    theirs = Contender("scikit-learn", fit_and_score(neighbors.KernelDensity), reach)
    return Race("fit + score_samples", ours, (theirs,), log_densities, parity=THEIR_ERROR)
