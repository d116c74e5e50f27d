"""Models fitted on a Dask cluster with any number of workers agree with those of rows in memory."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import pytest
from distributed import Client
from sklearn.base import clone

import mercer
from tests.engines._clusters import cluster_of
from tests.laws._models import MODELS, Case, learnt
from tests.laws._sources import ARRAYS, KINDS, TABLE, supports

FEW = ("GaussianNB", "NaiveBayes", "Ridge", "logistic", "table")
#: that take an array of numbers
OF_NUMBERS = ("GaussianNB", "MultinomialNB", "Ridge", "Lasso", "PoissonRegressor", "softmax")


@pytest.fixture(scope="module", params=[1, 2, 3])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with cluster_of(request.param, processes=False) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def processes() -> Iterator[Client]:
    with cluster_of(2, processes=True) as cluster, Client(cluster) as client:
        yield client


@functools.cache
def in_memory(name: str) -> Any:
    return MODELS[name].held()


def same(name: str, model: Any) -> bool:
    case = MODELS[name]
    return case.distance(model, in_memory(name)) <= case.precision


@pytest.mark.parametrize("name", FEW)
def test_any_number_of_workers_agrees_with_rows_in_memory(name: str, client: Client, folder: Path) -> None:
    with mercer.engine(client):
        assert same(name, MODELS[name].of(KINDS["Parquet folder"](folder, MODELS[name].inputs, 37)))


def on_processes() -> Iterator[tuple[str, str]]:
    """Test what is sent to workers: all models, and pieces of the different kinds of sources."""
    yield from ((name, "Parquet folder") for name in MODELS)
    for kind in ("CSV folder", "JSON lines", "DuckDB relation", "SQLite", "function of frames", "memory map"):
        yield from ((name, kind) for name in FEW if supports(kind, MODELS[name].inputs))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), on_processes())
def test_worker_processes_agree_with_rows_in_memory(name: str, kind: str, processes: Client, folder: Path) -> None:
    case = MODELS[name]
    with mercer.engine(processes):
        model = case.of(KINDS[kind](folder, case.inputs, 37))
    assert case.distance(model, in_memory(name), as_array=kind in ARRAYS) <= case.precision


def fitted(case: Case, X: Any, y: Any, weight: Any) -> Any:
    """Fit a model to collections as a user does, with weights as a second collection."""
    arguments = {f"{step}__sample_weight": weight for step in case.weighted} or {"sample_weight": weight}
    return clone(case.model).fit(X, y, **arguments)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_models_of_dask_arrays_agree_with_rows_in_memory(name: str) -> None:
    case = MODELS[name]
    X = da.from_array(case.inputs.array(), chunks=(50, 1))
    y, weight = (
        da.from_array(case.inputs.values(each), chunks=70) for each in (case.inputs.target, case.inputs.weight)
    )
    model = fitted(case, X, y, weight)
    assert case.distance(model, in_memory(name), as_array=True) <= case.precision


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes", "Ridge", "logistic", "table", "categories"])
def test_models_of_dask_data_frames_agree_with_rows_in_memory(name: str) -> None:
    case = MODELS[name]
    rows = dd.from_pandas(TABLE.to_pandas(), npartitions=5)
    model = fitted(case, rows[list(case.inputs.features)], rows[case.inputs.target], rows[case.inputs.weight])
    assert same(name, model)


def test_collections_on_a_cluster(client: Client) -> None:
    rows = dd.from_pandas(TABLE.to_pandas(), npartitions=5).persist()
    for name in ("GaussianNB", "Ridge"):
        case = MODELS[name]
        with client.as_current():
            model = fitted(case, rows[list(case.inputs.features)], rows[case.inputs.target], rows[case.inputs.weight])
        assert same(name, model)


def test_workers_give_identical_results(folder: Path) -> None:
    case, results = MODELS["logistic"], []
    for workers in (1, 3):
        with cluster_of(workers, processes=False) as cluster, Client(cluster) as client, mercer.engine(client):
            model = case.of(KINDS["Parquet folder"](folder, case.inputs, 37))
        results.append({what: values.tobytes() for what, values in learnt(model, case.rows()).items()})
    assert results[0] == results[1]
