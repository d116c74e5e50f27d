"""The laws of every statistic on small, difficult data: ties, constant columns, empty groups, only missing values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mercer import families as f
from mercer.data.coding import Coded
from mercer.families.bins import BinAxis
from mercer.stats import (
    BinCounts,
    ColumnMoments,
    ColumnSums,
    FourthMoments,
    GridCounts,
    LevelCounts,
    PatternMoments,
    ScatterMoments,
    Statistic,
    StoredRows,
    ValueCounts,
    VectorSums,
)
from mercer.testing import check_statistic

Make = Callable[[int, int], Statistic]
WHOLE = st.integers(-8, 8).map(float)
GAPPY = WHOLE | st.just(np.nan)
COUNTS = st.integers(0, 5).map(float)
ONES = st.sampled_from([0.0, 1.0, np.nan])


def as_column(x: np.ndarray) -> Coded:
    return Coded(np.nan_to_num(x[:, 0], nan=-1.0).astype(np.int32) % 4 - 1, np.array(["x", "b", "n"], dtype=object))


CASES: dict[str, tuple[Make, st.SearchStrategy[float], Callable[[np.ndarray], Any]]] = {
    "moments": (ColumnMoments.zero, GAPPY, np.asarray),
    "scatter": (ScatterMoments.zero, WHOLE, np.asarray),
    "patterns": (PatternMoments.zero, GAPPY, np.asarray),
    "fourth": (FourthMoments.zero, WHOLE, np.asarray),
    "sums": (lambda k, d: ColumnSums.zero(f.Poisson(), k, d), COUNTS | st.just(np.nan), np.asarray),
    "sparse sums": (lambda k, d: ColumnSums.zero(f.Poisson(), k, d), COUNTS | st.just(np.nan), sparse.csr_array),
    "sums of ones": (lambda k, d: ColumnSums.zero(f.Bernoulli(), k, d), ONES, np.asarray),
    "sparse sums of ones": (lambda k, d: ColumnSums.zero(f.Bernoulli(), k, d), ONES, sparse.csr_array),
    "vector sums": (lambda k, d: VectorSums.zero(f.Multinomial(), k, d), COUNTS, np.asarray),
    "sparse vector sums": (lambda k, d: VectorSums.zero(f.Multinomial(), k, d), COUNTS, sparse.csr_array),
    "levels": (lambda k, d: LevelCounts.zero(k), COUNTS, as_column),
    "values": (ValueCounts.zero, GAPPY, np.asarray),
    "rows": (StoredRows.zero, GAPPY, np.asarray),
    "grid": (lambda k, d: GridCounts.zero(k, (BinAxis.given([-8.0, 0.0, 1.5, 8.0]),) * d), GAPPY, np.asarray),
    "even grid": (lambda k, d: GridCounts.zero(k, (BinAxis.even(-8.0, 8.0, 5),) * d), GAPPY, np.asarray),
    "bins": (lambda k, d: BinCounts.zero(k, d, edges=np.array([-4.0, 0.0, 1.0, 5.0])), GAPPY, np.asarray),
}


@pytest.mark.parametrize("case", CASES)
@settings(max_examples=25)
@given(
    data=st.data(), shape=st.tuples(st.integers(1, 6), st.integers(1, 3)), groups=st.integers(1, 3), seed=st.integers(0)
)
def test_statistics_obey_the_laws(
    case: str, data: st.DataObject, shape: tuple[int, int], groups: int, seed: int
) -> None:
    make, elements, wrap = CASES[case]
    batches = iter([wrap(data.draw(arrays(float, shape, elements=elements))) for _ in range(3)])
    check_statistic(make(groups, shape[1]), lambda rng, n: next(batches), np.random.default_rng(seed), rows=shape[0])
