"""Fits of Parquet folders of a million to a hundred million rows: time grows as the rows do, memory does not."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mercer
from bench.memory import peak_of
from bench.out_of_core import write
from bench.results import Timing
from bench.scaling import Scaling
from mercer import GaussianNB, LogisticRegression, Ridge

COLUMNS = 8
ROWS = (1_000_000, 10_000_000, 100_000_000)
MODELS = {"nb": (GaussianNB, "label"), "ridge": (Ridge, "amount"), "logistic": (LogisticRegression, "label")}


def streamed(rows: int) -> Iterator[Timing]:
    with tempfile.TemporaryDirectory(prefix="mercer-bench-parquet-") as place:
        folder = Path(place)
        write(folder, rows, COLUMNS)
        for name, (model, target) in MODELS.items():
            other = "amount" if target == "label" else "label"
            model().fit(mercer.data.open(folder / "part-0000.parquet", target=target, drop=[other]))  # compiles
            source = mercer.data.open(folder, target=target, drop=[other])
            began = time.perf_counter()
            peak = peak_of(partial(_fitted, model, source))
            seconds = time.perf_counter() - began
            what = f"{name}, {rows:,} rows: {seconds:.3g} s, peak memory beyond the start {peak / 1e6:.0f} MB"
            yield Timing(what, 1e6 * seconds / rows)


def _fitted(model: Any, source: Any) -> Any:
    return model().fit(source)


WORKLOAD = Scaling("out_of_core_scaling", ROWS, COLUMNS, streamed)
