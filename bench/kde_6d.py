"""A Gaussian kernel density in six dimensions, exact."""

from __future__ import annotations

from bench.densities import exact_race, two_clouds
from bench.harness import Workload

QUERIES = 5_000

WORKLOAD = Workload(
    name="kde_6d",
    shape=f"6, {QUERIES:,} queries",
    rows=50_000,
    make_arrays=lambda rows: two_clouds(rows, 6, QUERIES),
    races=(exact_race(reach=50),),
)
