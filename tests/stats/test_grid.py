"""Counts in the cells of a grid."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import MergeError, SupportError, TooLargeError, UnequalEdgesError
from mercer.families.bins import BinAxis, Width
from mercer.stats import GridCounts

EDGES = ([0.0, 1.0, 2.0, 4.0], [-1.0, 0.0, 5.0])
AXES = tuple(BinAxis.given(edges) for edges in EDGES)


def counted(axes: tuple[BinAxis, ...], X: np.ndarray, weight: np.ndarray | None = None) -> GridCounts:
    return GridCounts.zero(1, axes).update(X, np.zeros(len(X), dtype=np.int32), weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_agrees_with_numpy(d: int, weighted: bool) -> None:
    rng = np.random.default_rng(d)
    X, weight = rng.integers(0, 9, (500, d)) / 2, rng.uniform(0, 2, 500) if weighted else None
    edges = [np.array([0.0, 1.0, 2.5, 4.0]), np.linspace(0, 4, 6), np.array([-1.0, 3.0, 7.0])][:d]
    counts = counted(tuple(map(BinAxis.given, edges)), X, weight)
    np.testing.assert_allclose(counts.counts[0], np.histogramdd(X, edges, weights=weight)[0], rtol=1e-12)
    np.testing.assert_array_equal(counts.rows[0], np.histogramdd(X, edges)[0])


def test_a_value_beyond_given_edges_is_rejected_and_a_row_with_a_gap_left_out() -> None:
    with pytest.raises(SupportError, match="-2 lies beyond the edges of axis 1, which go from -1 to 5"):
        counted(AXES, np.array([[1.0, 0.0], [1.0, -2.0]]))
    assert counted(AXES, np.array([[1.0, np.nan], [1.0, 0.0]])).rows.sum() == 1


def test_weights() -> None:
    counts = counted(AXES, np.array([[0.5, 0.5], [0.5, 0.6], [3.0, 1.0]]), np.array([2.0, 0.0, 0.5]))
    np.testing.assert_array_equal(counts.rows[0], [[0, 1], [0, 0], [0, 1]])
    np.testing.assert_array_equal(counts.counts[0], [[0, 2], [0, 0], [0, 0.5]])
    np.testing.assert_array_equal(counts.weight, [2.5])


def test_bins_of_a_width_merge_for_any_data() -> None:
    rng = np.random.default_rng(0)
    parts = [np.round(rng.normal(10 * k, 1, (50, 2)), 1) for k in range(3)]
    whole = np.concatenate(parts)

    def grid(X: np.ndarray) -> GridCounts:
        lowest, highest = X.min(axis=0), X.max(axis=0)
        return counted(tuple(Width(0.5).axis(*ends) for ends in zip(lowest, highest, strict=True)), X)

    merged = grid(parts[2]).merge(grid(parts[0])).merge(grid(parts[1]))
    expected = grid(whole)
    for mine, theirs in zip(merged.axes, expected.axes, strict=True):
        np.testing.assert_array_equal(mine.edges, theirs.edges)
    np.testing.assert_array_equal(merged.rows, expected.rows)


def test_other_edges_cannot_be_merged_and_the_axis_is_named() -> None:
    X = np.array([[1.0, 0.0]])
    other = (AXES[0], BinAxis.given([-1.0, 0.5, 5.0]))
    with pytest.raises(UnequalEdgesError, match=r"axis 1: 2 bins from -1 to 5 and 2 .*Width\(…\)"):
        counted(AXES, X).merge(counted(other, X))
    with pytest.raises(MergeError, match="grids"):
        counted(AXES, X).merge(counted(AXES[:1], X[:, :1]))


def test_a_given_axis_and_a_lattice_with_the_same_edges_merge() -> None:
    lattice = BinAxis.even(0.0, 2.0, 2).covering(-1.5, 0.0)
    given = BinAxis(lattice.edges.copy(), lattice.closed)
    X = np.array([[-1.5], [2.0], [0.3]])
    for one, other in ((lattice, given), (given, lattice)):
        merged = counted((one,), X).merge(counted((other,), X))
        np.testing.assert_array_equal(merged.rows[0], 2 * counted((lattice,), X).rows[0])


def test_a_grid_of_too_many_cells_is_rejected() -> None:
    axis = BinAxis.even(0.0, 1.0, 1000)
    with pytest.raises(TooLargeError, match="1000 × 1000 × 1000"):
        GridCounts.zero(1, (axis, axis, axis))


def test_grids_can_be_extended_before_an_update() -> None:
    axis = Width(1.0).axis(0.0, 2.0)
    grown = counted((axis,), np.array([[0.5], [1.5]])).covering(np.array([-1.5]), np.array([3.5]))
    assert (grown.axes[0].edges[0], grown.axes[0].edges[-1]) == (-2.0, 4.0)
    assert grown.counts.sum() == 2
    assert grown.update(np.array([[-1.5]]), np.zeros(1, dtype=np.int64)).counts.sum() == 3
