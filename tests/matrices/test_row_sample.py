"""Samples of rows: they merge in any order to the same rows, and all rows are as likely."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.matrices import streamed
from mercer.matrices.streamed import RowSample


def drawn(values: np.ndarray, keys: np.ndarray, most: int) -> RowSample:
    return RowSample.draw(most, keys, lambda rows: (values[rows],))


def test_parts_merge_to_the_sample_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    keys, values = rng.random(1000), np.arange(1000)
    whole = set(drawn(values, keys, 50).columns()[0].tolist())
    parts = [drawn(values[cut], keys[cut], 50) for cut in np.array_split(np.arange(1000), 23)]
    for order in (parts, parts[::-1], [parts[j] for j in rng.permutation(23)]):
        merged = order[0]
        for part in order[1:]:
            merged = merged.merge(part)
            assert len(merged) <= 100
        assert set(merged.columns()[0].tolist()) == whole == set(np.argsort(keys)[:50].tolist())


def test_few_rows_are_all_kept() -> None:
    sample = drawn(np.arange(5), np.linspace(0, 1, 5), 10).merge(drawn(np.arange(5, 8), np.linspace(0, 1, 3), 10))
    np.testing.assert_array_equal(sample.columns()[0], np.arange(8))


def test_many_small_parts_are_joined() -> None:
    sample = drawn(np.zeros(1), np.zeros(1), 1000)
    for j in range(1, 300):
        sample = sample.merge(drawn(np.full(1, j), np.zeros(1), 1000))
        assert len(sample.blocks) <= streamed.MAX_SAMPLE_BLOCKS
    np.testing.assert_array_equal(sample.columns()[0], np.arange(300))


def test_sparse_rows_stay_sparse() -> None:
    X = sparse.random_array((40, 6), density=0.3, format="csr", rng=np.random.default_rng(0))
    keys = np.random.default_rng(1).random(40)
    parts = [RowSample.draw(10, keys[cut], lambda rows, cut=cut: (X[cut][rows],)) for cut in (slice(25), slice(25, 40))]
    (rows,) = parts[0].merge(parts[1]).columns()
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), X.toarray()[np.sort(np.argsort(keys)[:10])])
