"""Nyström features of many rows: the kernel of each with the landmarks, times their K^(−½)."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn import kernel_approximation

from bench.fits import Entrant, transform_race
from bench.harness import Workload
from bench.rows import normal_rows
from mercer import Nystroem

COLUMNS, FEATURES = 50, 1000
OPTIONS: dict[str, Any] = {"n_components": FEATURES, "random_state": 0}

WORKLOAD = Workload(
    name="nystroem",
    shape=f"{COLUMNS} → {FEATURES} features",
    rows=100_000,
    make_arrays=partial(normal_rows, columns=COLUMNS),
    races=(
        transform_race(
            Entrant(partial(Nystroem, **OPTIONS)),
            {"scikit-learn": Entrant(partial(kernel_approximation.Nystroem, **OPTIONS), reach=1.3)},
            task="fit_transform",
        ),
    ),
)
