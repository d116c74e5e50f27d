"""Fit time against the number of rows: linear from a hundred thousand to ten million."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mercer
from bench.harness import Options, timed
from bench.machine import describe_environment
from bench.memory import peak_of
from bench.results import Report, Timing
from bench.rows import tossed
from mercer import LinearRegression, LogisticRegression, PoissonRegressor

COLUMNS = 20
ROWS = (100_000, 1_000_000, 10_000_000)
MODELS: dict[str, Callable[[], Any]] = {
    "linear": LinearRegression,
    "logistic": partial(LogisticRegression, C=np.inf),
    "poisson": partial(PoissonRegressor, alpha=0.0),
}


def make_arrays(rows: int) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, COLUMNS))
    eta = X @ (0.2 * rng.standard_normal(COLUMNS))
    return X, {
        "linear": eta + rng.standard_normal(rows),
        "logistic": tossed(rng, eta),
        "poisson": rng.poisson(np.exp(eta)).astype(float),
    }


def _fit(make: Callable[[], Any], X: Any, y: Any) -> Any:
    return make().fit(X, y)


@dataclass(frozen=True)
class Scaling:
    """Seconds per million rows and model; a report of timings, not a race."""

    name: str
    rows: tuple[int, ...]
    columns: int
    timings: Callable[[int], Iterable[Timing]]

    def run(self, options: Options) -> Report:
        sizes = self.rows if options.rows is None else (options.rows,)
        with mercer.engine(threads=options.threads):
            timings = tuple(timing for rows in sizes for timing in self.timings(rows))
        size = f"fits of {', '.join(f'{rows:,}' for rows in sizes)} rows × {self.columns}, by seconds per million rows"
        return Report(self.name, size, describe_environment(options.threads), timings=timings)


def in_memory(rows: int) -> list[Timing]:
    X, responses = make_arrays(rows)
    timings = []
    for name, make in MODELS.items():
        y = responses[name]
        make().fit(X[:10_000], y[:10_000])
        fit = partial(_fit, make, X, y)
        seconds = statistics.median(timed(fit)[0] for _ in range(3))
        share = peak_of(fit) / X.nbytes
        what = f"{name}, {rows:,} rows: {seconds:.3g} s, peak memory beyond X {share:.0%} of it"
        timings.append(Timing(what, 1e6 * seconds / rows))
    return timings


WORKLOAD = Scaling("scaling", ROWS, COLUMNS, in_memory)
