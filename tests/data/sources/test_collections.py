"""Dask collections as sources: each partition is read once, on its worker, with its targets and weights."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from scipy import sparse
from sklearn.pipeline import make_pipeline

from mercer import LogisticRegression, Ridge, TableFeatures
from mercer._errors import ColumnMismatchError, DataError
from mercer.data.sources.base import Chunk
from mercer.data.sources.collections import of_collection, with_targets
from mercer.data.sources.memory import MemorySource
from mercer.data.sources.read_all import read_all
from mercer.engines import engine, fold
from tests.engines._clusters import cluster_of
from tests.engines._summaries import column_sums

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4))
Y = RNG.integers(0, 3, 50)
WEIGHT = RNG.uniform(size=50)
FRAME = pd.DataFrame({"a": X[:, 0], "word": [f"w{code}" for code in Y], "b": X[:, 1], "y": Y})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with cluster_of(2, processes=False) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(params=["alone", "cluster"])
def _where(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run with and without a current client."""
    if request.param == "alone":
        yield
    else:
        with request.getfixturevalue("client").as_current():
            yield


def of_unknown_lengths(collection: Any) -> Any:
    """Return the same rows in partitions of unknown lengths."""
    return collection[collection[:, 0] > -np.inf] if collection.ndim == 2 else collection[collection > -np.inf]


ARRAYS = {
    "blocks of rows": (da.from_array(X, chunks=(20, 4)), da.from_array(Y, chunks=20)),
    "blocks of rows and columns": (da.from_array(X, chunks=(20, 3)), da.from_array(Y, chunks=20)),
    "other blocks of y": (da.from_array(X, chunks=(20, 4)), da.from_array(Y, chunks=7)),
    "y in memory": (da.from_array(X, chunks=(20, 4)), Y),
    "unknown lengths": (
        of_unknown_lengths(da.from_array(X, chunks=(20, 4))),
        of_unknown_lengths(da.from_array(Y, chunks=20)),
    ),
    "unknown lengths of y": (da.from_array(X, chunks=(20, 4)), of_unknown_lengths(da.from_array(Y, chunks=20))),
}


@pytest.mark.usefixtures("_where")
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_is_read_as_it_is(kind: str) -> None:
    held = read_all(of_collection(*ARRAYS[kind]))
    np.testing.assert_array_equal(held.X, X)
    np.testing.assert_array_equal(held.y, Y)


@pytest.mark.usefixtures("_where")
def test_a_dataframe_is_read_as_it_is_and_its_target_may_be_a_column() -> None:
    frame = dd.from_pandas(FRAME, npartitions=3)
    features = frame[["a", "word", "b"]]
    for source in (of_collection(frame, "y"), of_collection(features, frame["y"])):
        assert source.columns.features == ("a", "word", "b")
        held = read_all(source)
        assert list(held.X.columns) == ["a", "word", "b"]
        assert held.X["word"].tolist() == FRAME["word"].tolist()
        np.testing.assert_array_equal(held.X[["a", "b"]], X[:, :2])
        np.testing.assert_array_equal(held.y, Y)


def test_a_dataframe_is_combined_with_arrays_of_the_same_partitions() -> None:
    frame = dd.from_pandas(FRAME[["a", "b"]], npartitions=3)
    y = dd.from_pandas(FRAME["y"], npartitions=3).to_dask_array()
    np.testing.assert_array_equal(read_all(of_collection(frame, y)).y, Y)


def test_weights_and_offsets_follow_their_rows() -> None:
    cut = da.from_array(WEIGHT, chunks=13)
    held = read_all(of_collection(da.from_array(X, chunks=(20, 4)), Y, cut, -cut))
    np.testing.assert_array_equal(held.weight, WEIGHT)
    np.testing.assert_array_equal(held.offset, -WEIGHT)


def test_blocks_may_be_sparse() -> None:
    blocks = da.from_array(X, chunks=(20, 4)).map_blocks(sparse.csr_matrix)
    held = read_all(of_collection(blocks))
    assert sparse.issparse(held.X)
    np.testing.assert_array_equal(held.X.toarray(), X)


def test_a_series_is_a_column() -> None:
    held = read_all(of_collection(dd.from_pandas(FRAME["word"], npartitions=2)))
    assert held.X["word"].tolist() == FRAME["word"].tolist()


def test_partitions_without_rows_are_no_chunks() -> None:
    frame = dd.from_pandas(FRAME, npartitions=5)
    assert {chunk.n_rows for chunk in of_collection(frame[frame["a"] > 10], "y")} == set()


def test_a_large_partition_is_several_chunks() -> None:
    for given, target in ((da.from_array(X, chunks=(50, 4)), Y), (dd.from_pandas(FRAME, npartitions=1), "y")):
        chunks = list(of_collection(given, target, rows=7))
        assert max(chunk.n_rows for chunk in chunks) == 7
        np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), Y)


# Where it is read.


def test_a_client_implies_its_cluster_unless_threads_are_requested(client: Client) -> None:
    source = of_collection(da.from_array(X, chunks=(7, 2)))
    with client.as_current():
        assert source.client is client
        spread = fold(thread_name, source, operator.or_)
        with engine("threads"):
            names = fold(thread_name, source, operator.or_)
        np.testing.assert_allclose(fold(column_sums, source, operator.add), X.sum(axis=0), rtol=1e-12)
    assert not spread & names
    assert not any(name.startswith("mercer") for name in spread)


def thread_name(chunk: Chunk) -> set[str]:
    import threading

    return {threading.current_thread().name}


READ = list[str]()


def note_reading(block: Any, name: str) -> Any:
    if block.size:  # Dask tries it on an empty one
        READ.append(name)
    return block


def test_persisted_blocks_are_not_recomputed_and_shared_ones_are_computed_once(client: Client) -> None:
    with client.as_current():
        for persisted in (False, True):
            name = f"persisted: {persisted}"
            both = da.from_array(X, chunks=(10, 4)).map_blocks(note_reading, name, meta=X[:0])
            both = both.persist() if persisted else both
            source = of_collection(both[:, :3], both[:, 3])
            for _ in range(2):
                fold(column_sums, source, operator.add)
            assert READ.count(name) == (5 if persisted else 10)


def test_a_large_state_reaches_the_partitions(client: Client) -> None:
    with client.as_current():
        shifted = fold(
            functools.partial(add_state, np.ones(100_000)), of_collection(da.from_array(X, chunks=10)), operator.add
        )
    np.testing.assert_allclose(shifted, (X + 1).sum(axis=0), rtol=1e-12)


def add_state(state: Any, chunk: Chunk) -> Any:
    return (chunk.X + state[0]).sum(axis=0)


def test_an_error_names_the_partition(client: Client) -> None:
    short = da.from_array(Y[:48], chunks=10)
    source = of_collection(da.from_array(X, chunks=(10, 4)), of_unknown_lengths(short))
    for where in (engine("threads"), engine(client)):
        with where, pytest.raises(DataError, match="In block 4 of a Dask array of 5 blocks, X has 10 rows and y has 8"):
            fold(column_sums, source, operator.add)


# With models.


def test_a_fit_to_collections_agrees_with_a_fit_to_their_rows(client: Client) -> None:
    local = LogisticRegression().fit(X, Y, WEIGHT)
    with client.as_current():
        spread = LogisticRegression().fit(
            da.from_array(X, chunks=(20, 3)), da.from_array(Y, chunks=7), sample_weight=da.from_array(WEIGHT, chunks=30)
        )
    np.testing.assert_allclose(spread.coef_, local.coef_, rtol=1e-6)
    assert spread.plan_.source == "a Dask array of 3 blocks"


def test_a_pipeline_passes_on_targets_and_weights() -> None:
    local = make_pipeline(TableFeatures(), Ridge()).fit(FRAME[["a", "word"]], FRAME["b"])
    frame = dd.from_pandas(FRAME, npartitions=3)
    streamed = make_pipeline(TableFeatures(), Ridge()).fit(frame[["a", "word"]], frame["b"])
    np.testing.assert_allclose(streamed[-1].coef_, local[-1].coef_, rtol=1e-10)


def test_only_a_collection_without_a_target_takes_one() -> None:
    alone, cut = of_collection(da.from_array(X, chunks=20)), da.from_array(Y, chunks=20)
    mapped = with_targets(alone.map(doubled), y=cut)
    assert mapped is not None
    np.testing.assert_array_equal(read_all(mapped).X, 2 * X)
    np.testing.assert_array_equal(read_all(mapped).y, Y)
    assert with_targets(of_collection(da.from_array(X, chunks=20), cut), y=cut) is None
    assert with_targets(MemorySource(X), y=cut) is None
    assert with_targets(MemorySource(X).map(doubled), y=cut) is None
    with pytest.raises(TypeError, match="exposure"):
        with_targets(alone, exposure=cut)


def doubled(chunk: Chunk) -> Chunk:
    return chunk._replace(X=2 * chunk.X)


# What is known of it.


def test_the_size_of_an_array_is_known_unless_lengths_are_unknown() -> None:
    source = of_collection(da.from_array(X, chunks=(20, 4)), Y)
    assert (source.n_rows, source.n_bytes, source.described) == (50, X.nbytes, "a Dask array of 3 blocks")
    assert of_collection(of_unknown_lengths(da.from_array(X, chunks=20))).n_rows is None
    assert of_collection(of_unknown_lengths(da.from_array(X))).n_bytes is None


def test_identity_follows_the_data() -> None:
    one, same, other = (of_collection(da.from_array(given, chunks=20), Y).identity for given in (X, X.copy(), X + 1))
    assert one == same != other


# What cannot be.


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (lambda: (da.from_array(X, chunks=20), Y[:49]), DataError, "X has 50 rows and y has 49"),
        (lambda: (da.from_array(X[0]),), DataError, "two dimensions.* has 1"),
        (lambda: (dask.bag.from_sequence([1]),), DataError, "Dask Bag has no columns"),
        (lambda: (dd.from_pandas(FRAME, npartitions=2), "z"), ColumnMismatchError, "no column 'z'"),
        (lambda: (da.from_array(X), "z"), ColumnMismatchError, "no column 'z'"),
        (
            lambda: (dd.from_pandas(FRAME, npartitions=2), Y),
            DataError,
            "numbers of rows of the partitions of X are not known, so that y",
        ),
        (
            lambda: (dd.from_pandas(FRAME, npartitions=2), da.from_array(Y, chunks=10)),
            DataError,
            "X has 2 partitions and y has 5",
        ),
        (
            lambda: (dd.from_pandas(FRAME, npartitions=2), dd.from_pandas(FRAME["y"][10:], npartitions=2)),
            DataError,
            "different divisions",
        ),
    ],
)
def test_incompatible_collections_are_rejected(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        of_collection(*given())
