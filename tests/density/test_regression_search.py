"""Widths by leaving rows out are at least as good as any that an exhaustive search finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer._errors import BandwidthError, FitInterrupted
from mercer.density import Bandwidth, smoothing_kernel_from
from mercer.density._mixed import MixedRows
from mercer.density._regression import LocalFit, LocalLines, LocalMeans, compute_left_out_error
from mercer.density.regression_widths import WidthChoice, WidthSearch
from tests._ctrl_c import interrupt

Array = np.ndarray


def draw(n: int = 60, d: int = 2, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, (np.sin(2 * X[:, :1]) + 0.3 * rng.normal(size=(n, 1)))


def search(
    X: Array,
    Y: Array,
    kind: type[LocalFit] = LocalMeans,
    kernel: str = "gaussian",
    codes: Array | None = None,
    *,
    is_interrupted: bool = False,
    **options: Any,
) -> tuple[WidthChoice, Callable[..., float]]:
    """Return the choice, and the error of any widths, with those of categories after them."""
    rows, weight, K = MixedRows(X, codes), np.ones(len(X)), smoothing_kernel_from(kernel)
    levels = None if codes is None else codes.max(axis=0) + 1

    def make(index: Array, bandwidth: Bandwidth | None, mismatch: Array | None) -> LocalFit:
        return kind(K, bandwidth, rows.take(index), Y[index], weight[index], mismatch=mismatch, levels=levels)

    def loss(fit: LocalFit, index: Array) -> float:
        return compute_left_out_error(fit, np.ones(1), "nearest", index)

    def error(bandwidth: object, mismatch: object = None) -> float:
        given = None if mismatch is None else np.asarray(mismatch)
        return loss(make(np.arange(len(X)), Bandwidth(bandwidth), given), np.arange(len(X)))

    names = [f"x{j}" for j in range(X.shape[1])]
    choice, interrupted = WidthSearch(make, loss, K, rows, weight, levels, None, None, names, **options).choose()
    assert interrupted == is_interrupted
    return choice, error


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
@pytest.mark.parametrize(("kernel", "dent"), [("gaussian", 1e-6), ("epanechnikov", 0.05)])
def test_one_width_is_optimal(kind: type[LocalFit], kernel: str, dent: float) -> None:
    """Up to dents for a kernel of compact support, which come and go with single points at the end of its reach."""
    choice, error = search(*draw(d=1), kind, kernel)
    assert choice.error <= min(error(h) for h in np.geomspace(0.01, 100, 200)) * (1 + dent)
    assert_allclose(choice.error, error(choice.bandwidth.value))


@pytest.mark.parametrize("kind", [LocalMeans, LocalLines])
def test_two_widths_are_better_than_all_on_a_grid(kind: type[LocalFit]) -> None:
    choice, error = search(*draw(), kind)
    grid = np.geomspace(0.05, 100, 18)
    assert choice.error <= min(error([a, b]) for a in grid for b in grid)


def test_an_irrelevant_column_is_smoothed_out() -> None:
    choice, _ = search(*draw(n=150))
    assert choice.bandwidth.value[1] > 4 > 10 * choice.bandwidth.value[0]


def test_an_irrelevant_category_is_smoothed_out_and_a_decisive_one_is_not() -> None:
    rng = np.random.default_rng(0)
    X, codes = rng.uniform(-2, 2, size=(150, 1)), rng.integers(0, 3, size=(150, 2))
    Y = np.sin(X) + 2.0 * codes[:, 1:] + 0.1 * rng.normal(size=(150, 1))
    choice, error = search(X, Y, codes=codes)
    assert choice.mismatch[0] > 0.4
    assert choice.mismatch[1] < 0.02
    assert choice.error <= error(choice.bandwidth.value, [0.5, 0.01])


def test_the_curve_is_the_error_along_the_common_width() -> None:
    choice, error = search(*draw(d=1))
    curve = choice.criterion
    reference = choice.bandwidth.value / curve.chosen
    for width, value in list(zip(curve.widths, curve.values, strict=True))[::7]:
        assert_allclose(value, error(width * reference), rtol=1e-9)
    assert curve.best == choice.error <= curve.values.min()


def test_many_rows_are_searched_on_a_sample() -> None:
    X, Y = draw(n=400)
    whole, error = search(X, Y)
    part, _ = search(X, Y, searched_rows=200)
    assert (whole.searched_rows, part.searched_rows) == (400, 200)
    assert_allclose(part.error, error(part.bandwidth.value))  # of all rows
    assert part.error < 1.1 * whole.error


def test_some_of_very_many_rows_are_left_out() -> None:
    X, Y = draw(n=400)
    whole, _ = search(X, Y, searched_rows=100)
    part, error = search(X, Y, searched_rows=100, most_pairs=400 * 300)
    assert (whole.left_out_rows, part.left_out_rows, part.searched_rows) == (400, 300, 100)
    assert error(part.bandwidth.value) < 1.05 * error(whole.bandwidth.value)


@pytest.mark.parametrize("tries", [1, 20, 75, 10_000])
def test_an_interrupted_search_gives_the_best_so_far(tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among all rows, or, of many, some."""
    X, Y = draw(n=400, d=1)
    computed: list[tuple[int, float]] = []
    error_of = compute_left_out_error

    def computing(fit: LocalFit, *given: object) -> float:
        if len(computed) == tries:
            raise KeyboardInterrupt
        computed.append((fit.count, error_of(fit, *given)))
        return computed[-1][1]

    monkeypatch.setitem(globals(), "compute_left_out_error", computing)
    if tries == 10_000:
        assert search(X, Y, searched_rows=200)[0].evaluations == len(computed) < 100
        return
    choice, _ = search(X, Y, searched_rows=200, is_interrupted=True)
    last, _ = computed[-1]
    assert last == (200 if tries < 75 else 400)
    assert (choice.evaluations, choice.left_out_rows) == (tries, 400)
    assert choice.error == min(error for rows, error in computed if rows == last)
    assert 0 < choice.bandwidth.value < 10


def test_a_search_interrupted_before_the_first_error_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "compute_left_out_error", interrupt)
    with pytest.raises(KeyboardInterrupt) as stop:
        search(*draw())
    assert not isinstance(stop.value, FitInterrupted)


def test_a_choice_prints_and_draws_its_error() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    choice, _ = search(*draw(d=1))
    assert "leave-one-out squared error" in str(choice)
    ax = choice.plot()
    assert ax.get_ylabel() == "leave-one-out squared error"
    pyplot.close(ax.figure)


def test_of_equal_errors_the_widest_bandwidth_is_taken() -> None:
    X, _ = draw(d=1)
    choice, _ = search(X, np.full((60, 1), 3.0))
    assert choice.error == 0
    assert choice.bandwidth.value > 50


def test_many_columns_share_one_width() -> None:
    X, Y = draw(d=12)
    choice, _ = search(X * np.geomspace(1, 1e6, 12), Y)
    deviations = (X * np.geomspace(1, 1e6, 12)).std(axis=0)
    assert_allclose(choice.bandwidth.value / deviations, choice.bandwidth.value[0] / deviations[0])


def test_a_constant_column_is_named() -> None:
    X, Y = draw()
    X[:, 1] = 7.0
    with pytest.raises(BandwidthError, match=r"'x1' is constant"):
        search(X, Y)


def test_a_single_row_cannot_be_left_out() -> None:
    X, Y = draw(n=1)
    with pytest.raises(BandwidthError, match="Give it as a number"):
        search(X, Y)
