"""Fits of a folder of Parquet files that is larger than the memory they may use.

Each contender runs in a process of its own, so that its peak is that of the whole process, three times after a warm-up
on the first file; the median counts. Plain reading decodes every column and does nothing with it: what cannot be
beaten. The rivals are what one would write today: scikit-learn's `partial_fit` over batches, or sums of products by
NumPy.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from sklearn import linear_model, naive_bayes

import mercer
from bench.harness import Options, largest_difference, timed
from bench.machine import describe_environment
from bench.memory import kilobytes
from bench.results import Outcome, Report, Timing
from bench.rows import tossed
from mercer import GaussianNB, LogisticRegression, Ridge
from mercer.report.wording import format_count

COLUMNS, ROWS, FILE_ROWS, GROUP_ROWS = 50, 15_000_000, 500_000, 1 << 16
#: share of the speed of plain reading that a pass is to reach, and bytes that a process may take
SPEED, MEMORY = 0.6, 2e9
#: calls of each contender, as of others that take over five seconds
CALLS = 3
FEATURES = [f"x{j}" for j in range(COLUMNS)]


def write(folder: Path, rows: int, columns: int = COLUMNS) -> None:
    """Correlated columns, a number that depends on them, and a class."""
    rng = np.random.default_rng(0)
    weights = 0.3 * rng.standard_normal(columns)
    for number, start in enumerate(range(0, rows, FILE_ROWS)):
        X = rng.standard_normal((min(FILE_ROWS, rows - start), columns)) + 1.0
        X[:, 1:] += 0.5 * X[:, :-1]
        eta = (X - X.mean(axis=0)) @ weights
        table = dict(zip(FEATURES, X.T, strict=False)) | {
            "amount": eta + rng.standard_normal(len(X)),
            "label": tossed(rng, eta),
        }
        options = {"row_group_size": GROUP_ROWS, "compression": "none", "use_dictionary": False}
        pq.write_table(pa.table(table), folder / f"part-{number:04d}.parquet", **options)


# What is done with a folder; each returns the numbers that are to agree.


def _batches(folder: Path, target: str) -> Iterator[tuple[Any, Any]]:
    rows = ds.dataset(folder, format="parquet")
    for batch in rows.to_batches(columns=[*FEATURES, target], batch_size=GROUP_ROWS):
        table = pa.Table.from_batches([batch])
        yield np.column_stack([table[name].to_numpy() for name in FEATURES]), table[target].to_numpy()


def read(folder: Path) -> list[float]:
    for _ in ds.dataset(folder, format="parquet").to_batches(columns=[*FEATURES, "label"]):
        pass
    return []


def _of_classes(model: Any) -> list[float]:
    return [*model.theta_.ravel().tolist(), *model.var_.ravel().tolist()]


def nb(folder: Path) -> list[float]:
    return _of_classes(_planned(GaussianNB().fit(mercer.data.open(folder, target="label", drop=["amount"]))))


def nb_dask(folder: Path) -> list[float]:
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as client:
        client.run(_imported)
        with mercer.engine(client):
            started = time.perf_counter()
            model = GaussianNB().fit(mercer.data.open(folder, target="label", drop=["amount"]))
            TOLD["seconds"] = time.perf_counter() - started  # without the start of the workers
    return _of_classes(_planned(model))


def _imported() -> None:
    """What the first task would pay for."""
    rng = np.random.default_rng(0)
    GaussianNB().fit(rng.standard_normal((100, COLUMNS)), np.arange(100) % 2)


def nb_sklearn(folder: Path) -> list[float]:
    model = naive_bayes.GaussianNB()
    for X, y in _batches(folder, "label"):
        model.partial_fit(X, y, classes=[0, 1])
    return _of_classes(model)


def ridge(folder: Path) -> list[float]:
    model = _planned(Ridge().fit(mercer.data.open(folder, target="amount", drop=["label"])))
    return [*model.coef_.tolist(), float(model.intercept_)]


def ridge_numpy(folder: Path) -> list[float]:
    gram, moment, ones, sums, total = np.zeros((COLUMNS, COLUMNS)), np.zeros(COLUMNS), 0, np.zeros(COLUMNS), 0.0
    for X, y in _batches(folder, "amount"):
        gram, moment, sums = gram + X.T @ X, moment + X.T @ y, sums + X.sum(axis=0)
        ones, total = ones + len(X), total + y.sum()
    mean, level = sums / ones, total / ones
    coefficients = np.linalg.solve(gram - ones * np.outer(mean, mean) + np.eye(COLUMNS), moment - ones * mean * level)
    return [*coefficients.tolist(), float(level - mean @ coefficients)]


def logistic(folder: Path) -> list[float]:
    return _loss(_planned(LogisticRegression().fit(mercer.data.open(folder, target="label", drop=["amount"]))), folder)


def logistic_sklearn(folder: Path) -> list[float]:
    model = linear_model.SGDClassifier(loss="log_loss", random_state=0)
    for X, y in _batches(folder, "label"):
        model.partial_fit(X, y, classes=[0, 1])
    return _loss(model, folder)


def _loss(model: Any, folder: Path) -> list[float]:
    """Mean log loss of the first file: one epoch of stochastic gradients is near the optimum, not at it."""
    X, y = next(_batches(folder if folder.is_file() else folder / "part-0000.parquet", "label"))
    eta = X @ model.coef_[0] + model.intercept_[0]
    return [float(np.mean(np.logaddexp(0, eta) - y * eta))]


TOLD: dict[str, float] = {}
CONTENDERS: dict[str, Callable[[Path], list[float]]] = {
    "read": read,
    "nb": nb,
    "nb_dask": nb_dask,
    "nb_sklearn": nb_sklearn,
    "ridge": ridge,
    "ridge_numpy": ridge_numpy,
    "logistic": logistic,
    "logistic_sklearn": logistic_sklearn,
}


def _planned(model: Any) -> Any:
    TOLD["passes"] = model.plan_.passes
    return model


def _in_this_process(name: str, folder: Path, threads: int) -> dict[str, Any]:
    seconds = []
    with mercer.engine(threads=threads):
        CONTENDERS[name](folder / "part-0000.parquet")
        for _ in range(CALLS):
            TOLD.clear()
            taken, answer = timed(partial(CONTENDERS[name], folder))
            seconds.append(TOLD.get("seconds", taken))
    return {
        "seconds": statistics.median(seconds),
        "passes": TOLD.get("passes", 1),
        "peak": 1024 * kilobytes("VmHWM"),
        "answer": answer,
    }


def measured(name: str, folder: Path, threads: int) -> dict[str, Any]:
    """What a contender does in a process of its own."""
    command = [sys.executable, "-m", "bench.out_of_core", name, str(folder), str(threads)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


class OutOfCore:
    """Races over one folder, which is deleted after."""

    name = "out_of_core"

    def run(self, options: Options) -> Report:
        rows = options.rows or ROWS
        with tempfile.TemporaryDirectory(prefix="mercer-bench-parquet-") as place:
            folder = Path(place)
            write(folder, rows)
            size = sum(file.stat().st_size for file in folder.iterdir())
            found = {name: measured(name, folder, options.threads) for name in CONTENDERS}
        what = f"{rows:,} × {COLUMNS} ({size / 1e9:.1f} GB of Parquet in {-(-rows // FILE_ROWS)} files)"
        outcomes = (
            self._outcome(found, "naive Bayes", "nb", "nb_sklearn", "scikit-learn partial_fit", 5, 1e-6),
            self._outcome(found, "ridge", "ridge", "ridge_numpy", "NumPy, by batches", 5, 1e-6),
            self._outcome(found, "logistic", "logistic", "logistic_sklearn", "scikit-learn SGD, one epoch", 5, 1e-2),
        )
        return Report(self.name, what, describe_environment(options.threads), outcomes, tuple(self._timings(found)))

    def _outcome(
        self, found: Any, task: str, ours: str, theirs: str, rival: str, reach: float, parity: float
    ) -> Outcome:
        mine, other = found[ours], found[theirs]
        difference = largest_difference(*({"answer": np.array(one["answer"])} for one in (mine, other)))
        return Outcome(
            task=task,
            rival=rival,
            seconds=mine["seconds"],
            first_call=None,  # that of one file, which says nothing of the folder
            rival_seconds=other["seconds"],
            reach=reach,
            difference=difference,
            memory=mine["peak"],
            rival_memory=other["peak"],
            parity=parity,
            whole_process=True,
        )

    def _timings(self, found: dict[str, dict[str, Any]]) -> Iterator[Timing]:
        plain = found["read"]["seconds"]
        yield Timing("plain reading by pyarrow", plain)
        for name in ("nb", "ridge", "logistic"):
            seconds, passes, peak = (found[name][what] for what in ("seconds", "passes", "peak"))
            share = f"{plain * passes / seconds:.0%} of the speed of plain reading"
            result = f"{name}: one of {format_count(passes, 'pass')}, {share}, "
            yield Timing(
                f"{result}peak of the process {peak / 1e9:.2f} GB of {MEMORY / 1e9:g}", seconds / passes, plain / SPEED
            )
        overhead = found["nb_dask"]["seconds"] / found["nb"]["seconds"] - 1
        result = f"nb on two Dask workers of one thread: {overhead:+.0%}"
        yield Timing(result, found["nb_dask"]["seconds"], 1.2 * found["nb"]["seconds"])


WORKLOAD = OutOfCore()

if __name__ == "__main__":
    name, folder, threads = sys.argv[1:]
    print(json.dumps(_in_this_process(name, Path(folder), int(threads))))
