"""A reduction is one update, whatever the blocks and threads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from mercer.data.blocks import RowBlocks
from mercer.engines import engine, reduce
from mercer.families import Gamma
from mercer.stats import (
    ColumnMoments,
    ColumnSums,
    FourthMoments,
    PatternMoments,
    ScatterMoments,
    Statistic,
    ValueCounts,
)

pytestmark = pytest.mark.usefixtures("four_cores")

ROWS, GROUPS, COLUMNS = 5000, 3, 4


def source(block_rows: int, *, missing: bool = False) -> RowBlocks:
    rng = np.random.default_rng(0)
    x = np.ceil(rng.gamma(2.0, size=(ROWS, COLUMNS)) * 10) / 10
    if missing:
        x[rng.random(x.shape) < 0.1] = np.nan
    groups = rng.integers(0, GROUPS, ROWS).astype(np.int32)
    return RowBlocks(lambda rows: x[rows], groups, rng.uniform(size=ROWS), block_rows)


STATISTICS: list[tuple[Statistic, bool]] = [
    (ColumnMoments.zero(GROUPS, COLUMNS), True),
    (ScatterMoments.zero(GROUPS, COLUMNS), False),
    (PatternMoments.zero(GROUPS, COLUMNS), True),
    (FourthMoments.zero(GROUPS, COLUMNS), False),
    (ColumnSums.zero(Gamma(), GROUPS, COLUMNS), True),
    (ValueCounts.zero(GROUPS, COLUMNS), True),
]


@pytest.mark.parametrize(("zero", "missing"), STATISTICS, ids=[type(zero).__name__ for zero, _ in STATISTICS])
def test_threads_do_not_change_the_result(zero: Statistic, missing: bool) -> None:
    results = []
    for threads in (1, 2, 4):
        with engine(threads=threads):
            results.append(pickle.dumps(reduce(zero, source(300, missing=missing))))
    assert results[0] == results[1] == results[2]


def test_blocks_change_results_by_rounding_only() -> None:
    zero = ScatterMoments.zero(GROUPS, COLUMNS)
    whole, pieces = (reduce(zero, source(rows)) for rows in (ROWS, 137))
    np.testing.assert_array_equal(pieces.rows, whole.rows)
    np.testing.assert_allclose(pieces.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(pieces.covariance, whole.covariance, rtol=1e-10, atol=1e-12)


def test_rows_are_added_to_earlier_ones() -> None:
    once = reduce(ColumnMoments.zero(GROUPS, COLUMNS), source(1000))
    twice = reduce(once, source(1000))
    np.testing.assert_array_equal(twice.rows, 2 * once.rows)
    np.testing.assert_allclose(twice.variance, once.variance)


def test_a_source_without_rows_has_no_effect() -> None:
    nothing = RowBlocks(lambda rows: np.empty((0, COLUMNS)), np.empty(0, dtype=np.int32), None, 10)
    before = reduce(ColumnMoments.zero(GROUPS, COLUMNS), source(1000))
    assert reduce(before, nothing) is before


def test_an_error_in_a_block_is_raised() -> None:
    def read(rows: slice) -> np.ndarray:
        raise OSError("the disk is gone")

    broken = RowBlocks(read, np.zeros(100, dtype=np.int32), None, 10)
    with pytest.raises(OSError, match="disk is gone"):
        reduce(ColumnMoments.zero(1, 1), broken)
