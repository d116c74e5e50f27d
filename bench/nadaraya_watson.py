"""Nadaraya–Watson regression: the mean of what is near, at as many places as there are rows, and at a tenth of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from statsmodels.nonparametric.kernel_regression import KernelReg

from bench.harness import Contender, Race, Results, Workload
from mercer import NadarayaWatson

Array = NDArray[Any]

COLUMNS, BANDWIDTH, FEW = 2, 0.15, 5_000
#: rows of a tile of NumPy's, which holds a number for each of the points
TILE = 500


class Surface(NamedTuple):
    X: Array
    y: Array
    queries: Array


def surface(rows: int) -> Surface:
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((2, rows, COLUMNS))
    return Surface(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(rows), queries)


def with_mercer(queries: int | None) -> Callable[[Surface], Callable[[], Array]]:
    def prepare(data: Surface) -> Callable[[], Array]:
        return lambda: NadarayaWatson(bandwidth=BANDWIDTH).fit(data.X, data.y).predict(data.queries[:queries])

    return prepare


def with_numpy(data: Surface) -> Callable[[], Array]:
    def tile(Q: Array) -> Array:
        squares = np.square(Q).sum(axis=1)[:, None] + np.square(data.X).sum(axis=1) - 2 * Q @ data.X.T
        weights = np.exp(squares / (-2 * BANDWIDTH**2))
        return np.asarray(weights @ data.y / weights.sum(axis=1))

    return lambda: np.concatenate([tile(data.queries[i : i + TILE]) for i in range(0, len(data.queries), TILE)])


def with_statsmodels(data: Surface) -> Callable[[], Array]:
    def call() -> Array:
        model = KernelReg(data.y, data.X, "cc", reg_type="lc", bw=np.full(COLUMNS, BANDWIDTH))
        return np.asarray(model.fit(data.queries[:FEW])[0])

    return call


def results(predictions: Array, data: Surface) -> Results:
    """Of places where there are rows; further out NumPy and statsmodels divide what rounding left them."""
    near = np.abs(data.queries[: len(predictions)]).max(axis=1) < 2.5
    return {"predictions": predictions[near]}


WORKLOAD = Workload(
    name="nadaraya_watson",
    shape=f"{COLUMNS}, as many queries",
    rows=50_000,
    make_arrays=surface,
    races=(
        Race("fit + predict", Contender("mercer", with_mercer(None)), (Contender("NumPy tiles", with_numpy),), results),
        Race(
            f"fit + predict {FEW:,}",
            Contender("mercer", with_mercer(FEW)),
            (Contender("statsmodels", with_statsmodels, reach=50),),
            results,
        ),
    ),
)
