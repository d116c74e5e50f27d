"""Nyström features of many rows: the kernel of each with the landmarks, times their K^(−½)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import kernel_approximation

from bench.harness import Contender, Race, Results, Workload
from mercer import Nystroem

COLUMNS, FEATURES = 50, 1000


class Rows(NamedTuple):
    X: NDArray[Any]


def numbers(rows: int) -> Rows:
    return Rows(np.random.default_rng(0).standard_normal((rows, COLUMNS)))


def contender(name: str, make: Any, reach: float | None = None) -> Contender:
    def prepare(data: Rows) -> Any:
        return lambda: make(n_components=min(FEATURES, len(data.X)), random_state=0).fit_transform(data.X)

    return Contender(name, prepare, reach)


def results(features: Any, data: Rows) -> Results:
    return {"features": features}


WORKLOAD = Workload(
    name="nystroem",
    shape=f"{COLUMNS} → {FEATURES} features",
    rows=100_000,
    make_arrays=numbers,
    races=(
        Race(
            "fit_transform",
            contender("mercer", Nystroem),
            (contender("scikit-learn", kernel_approximation.Nystroem, reach=1.3),),
            results,
        ),
    ),
)
