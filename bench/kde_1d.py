"""A Gaussian kernel density of very many numbers, on a grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from KDEpy import FFTKDE

from bench.densities import Array, Points, two_clouds
from bench.harness import Contender, Race, Results, Workload
from mercer import KernelDensity

GRID = 4096


def with_mercer(data: Points) -> Callable[[], tuple[Array, Array]]:
    return lambda: KernelDensity(bandwidth=data.bandwidth).fit(data.X).on_grid(GRID)


def with_kdepy(data: Points) -> Callable[[], tuple[Array, Array]]:
    return lambda: FFTKDE(bw=data.bandwidth).fit(data.X[:, 0]).evaluate(GRID)


def at_the_same_places(found: tuple[Array, Array], data: Points) -> Results:
    """Each chooses its own grid; between its points a density is nearly straight."""
    places, density = found
    return {"density": np.interp(np.linspace(-4, 4, 1001), places, density)}


WORKLOAD = Workload(
    name="kde_1d",
    shape=f"1, grid of {GRID}",
    rows=10_000_000,
    make_arrays=lambda rows: two_clouds(rows, 1, 1),
    races=(
        Race(
            "fit + grid",
            Contender("mercer", with_mercer),
            (Contender("KDEpy (FFT)", with_kdepy, reach=2),),
            at_the_same_places,
            parity=1e-4,
        ),
    ),
)
