"""Random Fourier features of an RBF kernel: the same frequencies, hence the same numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn import kernel_approximation

from bench.fits import Entrant, transform_race
from bench.harness import Workload
from bench.rows import normal_rows
from mercer import RBFSampler

COLUMNS, COMPONENTS = 50, 1000
OPTIONS: dict[str, Any] = {"gamma": 1 / COLUMNS, "n_components": COMPONENTS, "random_state": 0}

WORKLOAD = Workload(
    name="fourier",
    shape=f"{COLUMNS} → {COMPONENTS:,}",
    rows=100_000,
    make_arrays=partial(normal_rows, columns=COLUMNS),
    races=(
        transform_race(
            Entrant(partial(RBFSampler, **OPTIONS)),
            {"scikit-learn": Entrant(partial(kernel_approximation.RBFSampler, **OPTIONS), reach=5)},
            task="fit and transform",
        ),
    ),
)
