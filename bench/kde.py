"""A Gaussian kernel density in two dimensions: exact, and with an error of 1e-4 that both may make."""

from __future__ import annotations

from sklearn import neighbors

from bench.densities import exact_race, fit_and_score, log_densities, two_clouds
from bench.harness import Contender, Race, Workload
from mercer import KernelDensity

QUERIES = 10_000
TOLERANCE = 1e-4

WORKLOAD = Workload(
    name="kde",
    shape=f"2, {QUERIES:,} queries",
    rows=100_000,
    make_arrays=lambda rows: two_clouds(rows, 2, QUERIES),
    races=(
        exact_race(reach=60),
        Race(
            "relative error 1e-4",
            Contender("mercer", fit_and_score(KernelDensity, rtol=TOLERANCE)),
            (
                Contender("scikit-learn (rtol=1e-4)", fit_and_score(neighbors.KernelDensity, rtol=TOLERANCE)),
                Contender("scikit-learn (exact)", fit_and_score(neighbors.KernelDensity), reach=200),
            ),
            log_densities,
            parity=TOLERANCE,
        ),
    ),
)
