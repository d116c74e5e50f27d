"""Mean and covariance of complete rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mercer._errors import UnseenRowsError
from mercer._threads import MIN_COLUMNS_FOR_THREADS
from mercer.stats import ScatterMoments, tiles


def draw(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), rng.integers(0, k, n).astype(np.int32)


def assert_moments_of(moments: ScatterMoments, x: np.ndarray, groups: np.ndarray, rtol: float = 1e-10) -> None:
    for c in range(moments.groups):
        rows = x[groups == c]
        assert moments.rows[c] == len(rows)
        np.testing.assert_allclose(moments.mean[c], rows.mean(axis=0), rtol=rtol, atol=rtol)
        np.testing.assert_allclose(moments.covariance[c], np.cov(rows.T, ddof=0).reshape(x.shape[1], -1), rtol, rtol)


@pytest.mark.parametrize(("n", "d", "k"), [(5000, 3, 2), (3000, 1, 1), (4000, 2, 300), (30, 200, 2)])
def test_agrees_with_numpy_over_many_tiles_and_groups(n: int, d: int, k: int) -> None:
    x, groups = draw(n, d, k)
    assert_moments_of(ScatterMoments.zero(k, d).update(x, groups), x, groups)


def test_tiles_are_bounded() -> None:
    for groups, columns in [(1, 1), (2, 50), (10, 784), (10_000, 5), (10_000, 5000)]:
        rows = tiles.tile_rows(groups, columns)
        assert rows >= tiles.MIN_ROWS_PER_GROUP
        assert 8 * rows * columns <= max(tiles.MAX_GROUPED_TILE_BYTES, 8 * tiles.MIN_ROWS_PER_GROUP * columns)


def test_digits_are_kept_far_from_zero() -> None:
    x, groups = draw(2000, 3, 2)
    far = x + 1e8  # which rounds every x; subtracting 1e8 again is exact
    moments = ScatterMoments.zero(2, 3).update(far, groups)
    for c in range(2):
        np.testing.assert_allclose(moments.covariance[c], np.cov((far - 1e8)[groups == c].T, ddof=0), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_extreme_scales(scale: float) -> None:
    x, groups = draw(100, 2, 1)
    plain, scaled = (ScatterMoments.zero(1, 2).update(factor * x, groups) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled.covariance / scale / scale, plain.covariance, rtol=1e-10)


def test_a_constant_column_has_no_covariance_at_all() -> None:
    x, groups = draw(500, 3, 2)
    x[:, 1] = 1e8 + 0.1
    half = ScatterMoments.zero(2, 3).update(x[:250], groups[:250])
    both = half.update(x[250:], groups[250:])
    for moments in (half, both, both.subtract(half)):
        assert not moments.scatter[:, 1].any()
        assert not moments.scatter[:, :, 1].any()


def test_scatter_is_symmetric_to_the_last_bit() -> None:
    x, groups = draw(999, 7, 3)
    zero = ScatterMoments.zero(3, 7)
    a, b = zero.update(x[:500], groups[:500]), zero.update(x[500:], groups[500:])
    for moments in (a, a.merge(b), a.merge(b).subtract(a)):
        np.testing.assert_array_equal(moments.scatter, moments.scatter.swapaxes(1, 2))


def test_weights_are_equivalent_to_repetitions() -> None:
    x, groups = draw(300, 3, 2)
    times = np.random.default_rng(1).integers(0, 4, 300)
    weighted = ScatterMoments.zero(2, 3).update(x, groups, times.astype(float))
    repeated = ScatterMoments.zero(2, 3).update(np.repeat(x, times, axis=0), np.repeat(groups, times))
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-10)
    np.testing.assert_array_equal(weighted.rows, np.bincount(groups[times > 0]))


def test_any_container_gives_the_same_scatter(contained: Callable[[np.ndarray], Any]) -> None:
    rng = np.random.default_rng(1)
    x, groups = rng.integers(0, 5, size=(50, 4)).astype(float), rng.integers(0, 2, 50).astype(np.int32)
    assert_moments_of(ScatterMoments.zero(2, 4).update(contained(x), groups), x, groups)


def test_within_is_the_scatter_about_group_means() -> None:
    x, groups = draw(200, 3, 2)
    moments = ScatterMoments.zero(2, 3).update(x, groups)
    centred = x - moments.mean[groups]
    np.testing.assert_allclose(moments.within(), centred.T @ centred, rtol=1e-10)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_incomplete_rows_are_reported(value: float) -> None:
    x, groups = draw(5000, 3, 2)
    x[4321, 1] = value
    moments = ScatterMoments.zero(2, 3).update(x, groups)
    assert not moments.finite
    assert not moments.merge(moments).finite


def test_zero_rows_and_zero_columns() -> None:
    nothing = ScatterMoments.zero(2, 3).update(np.empty((0, 3)), np.empty(0, dtype=np.int32))
    assert not nothing.rows.any()
    without_columns = ScatterMoments.zero(2, 0).update(np.empty((4, 0)), np.array([0, 1, 1, 1], dtype=np.int32))
    np.testing.assert_array_equal(without_columns.rows, [1, 3])
    assert without_columns.finite


def test_rows_that_vary_more_than_the_total_cannot_be_forgotten() -> None:
    x, groups = draw(20, 2, 1)
    moments = ScatterMoments.zero(1, 2).update(x, groups)
    with pytest.raises(UnseenRowsError, match="vary more"):
        moments.remove(100 * x[:5], groups[:5])


def test_lost_digits_are_counted() -> None:
    x, groups = draw(50, 2, 1)
    x[:2] *= 1e5
    moments = ScatterMoments.zero(1, 2).update(x, groups)
    assert moments.cancellation(moments.remove(x[:2], groups[:2])) > 1e6


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("size", [None, 7])
def test_blas_and_loops_compute_the_same_sums(weighted: bool, size: int | None) -> None:
    x, groups = draw(60, 4, 3)
    weight = np.random.default_rng(0).random(60) if weighted else None
    loops, loop_squares = tiles.squares_by_loops(x, groups, weight, 3)
    blas, blas_squares = tiles.squares_by_blas(x, groups, weight, 3, size=size)
    np.testing.assert_allclose(blas_squares, loop_squares, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(blas.first, loops.first, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(blas.weight, loops.weight, rtol=1e-13)
    x[5, 2] = np.inf
    assert not np.isfinite(tiles.squares_by_blas(x, groups, weight, 3, size=size)[0].first).all()


def test_moments_of_many_columns_agree_with_numpy() -> None:
    x, groups = draw(1200, MIN_COLUMNS_FOR_THREADS, 2)
    assert_moments_of(ScatterMoments.zero(2, x.shape[1]).update(x, groups), x, groups)
    x[5, 2] = np.inf
    assert not ScatterMoments.zero(2, x.shape[1]).update(x, groups).finite


def test_moments_of_tensors_agree_with_arrays() -> None:
    torch = pytest.importorskip("torch")
    x, groups = draw(50, 3, 2)
    weight = np.random.default_rng(0).random(50)
    expected = ScatterMoments.zero(2, 3).update(x, groups, weight)
    found = ScatterMoments.zero(2, 3).update(*map(torch.as_tensor, (x, groups, weight)))
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.scatter, expected.scatter, rtol=1e-12, atol=1e-13)
