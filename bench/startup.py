"""What a user waits for before any data is touched: imports, the command line, the first fit of a new process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.harness import Options
from bench.machine import describe_environment
from bench.results import Report, Timing

REPEATS = 5

IMPORT = """
import sklearn.naive_bayes, time
start = time.perf_counter()
from mercer import GaussianNB
print(time.perf_counter() - start)
"""

FIRST_FIT = """
import numpy, time
from mercer import GaussianNB
X = numpy.random.default_rng(0).standard_normal((1000, 50))
start = time.perf_counter()
GaussianNB().fit(X, X[:, 0] > 0)
print(time.perf_counter() - start)
"""


@dataclass(frozen=True)
class Startup:
    name: str = "startup"

    def run(self, options: Options) -> Report:
        with tempfile.TemporaryDirectory(prefix="mercer-startup-") as cache:
            compiling = _reported_by(FIRST_FIT, cache)
            cached = _median(partial(_reported_by, FIRST_FIT, cache))
            importing = _median(partial(_reported_by, IMPORT, cache))
        timings = (
            Timing("`from mercer import GaussianNB` beyond scikit-learn's own import", importing, limit=0.3),
            Timing("`mercer --help`, the whole process", _median(_seconds_of_help), limit=0.5),
            Timing("first fit of the first process, which compiles", compiling),
            Timing("first fit of a later process, compiled code from the cache", cached, limit=1.0),
        )
        return Report(self.name, "", describe_environment(options.threads), timings=timings)


def _median(seconds: Callable[[], float]) -> float:
    return statistics.median(seconds() for _ in range(REPEATS))


def _reported_by(code: str, cache: str) -> float:
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    finished = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(finished.stdout)


def _seconds_of_help() -> float:
    command = Path(sys.executable).with_name("mercer")
    start = time.perf_counter()
    subprocess.run([command, "--help"], capture_output=True, check=True)
    return time.perf_counter() - start


WORKLOAD = Startup()
