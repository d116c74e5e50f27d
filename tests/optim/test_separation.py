"""Separation: the proofs of both results are checked from the data alone."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer import GLM
from mercer._errors import NonFiniteError, SeparationWarning, TooManyColumnsError
from mercer.matrices import DenseMatrix, Observations, SparseMatrix, SplitMatrix
from mercer.optim import separation
from mercer.optim.separation import Separation
from tests.known import endometrial


def observed(X: Any, y: Any, *, intercept: bool = True, weight: Any = None) -> Observations:
    return Observations(DenseMatrix.of(np.asarray(X, dtype=float), intercept=intercept), np.asarray(y), weight)


def with_ones(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


def assert_proven(found: Separation, rows: Any, still: Any = None) -> None:
    """Check a proof; `rows` are the a_i, and the predictors of `still` must not change."""
    assert found.certificate.holds
    slack = rows @ found.direction
    size = np.abs(rows) @ np.abs(found.direction) + 1e-300
    assert (slack >= -1e-9 * size).all()
    assert_array_equal(found.separated, slack > 1e-9 * size)
    left = ~found.separated
    assert (found.multipliers[left] > 0).all()
    assert (found.multipliers[~left] == 0).all()
    balance, total = found.multipliers @ rows, found.multipliers @ np.abs(rows)
    if still is None:
        assert (np.abs(balance) <= 1e-7 * (1 + total)).all()
    else:
        assert_allclose(still @ found.direction, 0.0, atol=1e-8 * np.abs(found.direction).max(initial=1.0))
        # rows that may not move can take up any remainder
        taken_up = np.linalg.lstsq(still.T, balance, rcond=None)[0] @ still
        assert (np.abs(balance - taken_up) <= 1e-7 * (1 + total)).all()


small_tables = st.integers(2, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=n, max_size=n),
        st.lists(st.integers(0, 2), min_size=n, max_size=n),
    )
)


@settings(max_examples=60)
@given(small_tables, st.booleans())
def test_every_result_for_two_classes_is_proven(table: Any, intercept: bool) -> None:
    X, y = np.array(table[0], dtype=float), (np.array(table[1]) > 0).astype(float)
    found = separation.bernoulli(observed(X, y, intercept=intercept))
    rows = (2 * y - 1)[:, None] * (with_ones(X) if intercept else X)
    assert_proven(found, rows)
    assert found.kind == ("complete" if found.separated.all() else "quasi" if found.separated.any() else "none")


@settings(max_examples=60)
@given(small_tables)
def test_every_result_for_counts_is_proven(table: Any) -> None:
    X, y = np.array(table[0], dtype=float), np.array(table[1])
    found = separation.poisson(observed(X, y))
    zero = y == 0
    rows = -with_ones(X) * zero[:, None]
    assert found.separated[~zero].sum() == 0
    inner = Separation(found.kind, found.direction, found.separated[zero], found.multipliers[zero], found.certificate)
    assert_proven(inner, rows[zero], with_ones(X)[~zero] if (~zero).any() else None)


@settings(max_examples=60)
@given(small_tables)
def test_every_result_for_three_classes_is_proven(table: Any) -> None:
    X, y = with_ones(np.array(table[0], dtype=float)), np.array(table[1])
    found = separation.categorical(observed(X[:, :-1], y), 3)
    eta = X @ found.direction
    slack = eta[np.arange(len(y)), y][:, None] - eta
    assert found.certificate.holds
    assert (slack >= -1e-8 * np.abs(found.direction).max(initial=1.0)).all()
    assert_allclose(found.direction.sum(axis=1), 0.0, atol=1e-9 * np.abs(found.direction).max(initial=1.0))
    others = y[:, None] != np.arange(3)
    separated = slack > 1e-8 * np.abs(found.direction).max(initial=1.0)
    assert_array_equal(found.separated, (separated | ~others).all(axis=1))
    assert (found.multipliers[others & ~separated] > 0).all()
    each = -found.multipliers.copy()
    each[np.arange(len(y)), y] += found.multipliers.sum(axis=1)
    assert_allclose(X.T @ each, 0.0, atol=1e-7 * (1 + found.multipliers.sum()))


def test_two_classes_under_a_softmax_are_the_bernoulli_case() -> None:
    found = separation.categorical(observed(endometrial.X, endometrial.y.astype(int)), 2)
    two = separation.bernoulli(observed(endometrial.X, endometrial.y))
    assert (found.kind, two.kind) == ("quasi", "quasi")
    assert_array_equal(np.sign(found.direction[:, 1]), np.sign(two.direction))


def test_the_endometrial_cancer_study_has_one_infinite_coefficient() -> None:
    """Heinze and Schemper 2002: neovasculization (NV) separates quasi-completely."""
    found = separation.bernoulli(observed(endometrial.X, endometrial.y))
    assert found.kind == "quasi"
    assert_array_equal(found.limits, [np.inf, np.nan, np.nan, np.nan])
    assert_array_equal(found.separated, endometrial.X[:, 0] == 1)


def test_boolean_functions_of_lecture_2() -> None:
    X = np.array(list(itertools.product([0, 1], repeat=4)))
    x1, x2, x3, x4 = X.T.astype(bool)
    separable = [x1 & x3 & x4, x1 & ~x3 & x4, x1.astype(int) + x2 + x4 >= 2, (x1 & x3) | (x3 & x4)]
    assert {separation.bernoulli(observed(X, y.astype(float))).kind for y in separable} == {"complete"}
    assert separation.bernoulli(observed(X, (x1 ^ x2).astype(float))).kind == "none"
    assert separation.bernoulli(observed(X, ((x1 & x2) | (x3 & x4)).astype(float))).kind == "quasi"


def test_xor_balances_with_equal_weights() -> None:
    """The classes have the same midpoint."""
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    found = separation.bernoulli(observed(X, [0.0, 1.0, 1.0, 0.0]))
    assert_array_equal(found.multipliers, 1.0)


def test_rows_with_tiny_gains_are_not_separated() -> None:
    """Next to a separated value of 2³¹, 0 and ±1 are the same point, although their gains add up."""
    x = np.array([0.0, 0.0, 0.0, -1.0, 1.0, -(2.0**31), -(2.0**31), 0.0])
    found = separation.bernoulli(observed(x[:, None], (x != 0).astype(float)))
    assert found.kind == "quasi"
    assert found.separated[x < -1].all()
    assert found.certificate.holds


def test_a_share_between_0_and_1_may_not_move() -> None:
    X, y = np.array([[0.0], [1.0], [1.0], [2.0]]), np.array([0.0, 0.5, 1.0, 1.0])
    assert separation.bernoulli(observed(X, y)).kind == "quasi"
    # the row with a share holds the plane at x = 1, where a whole row of class 0 would lie on the wrong side
    assert separation.bernoulli(observed(X[[1, 3, 0]], np.array([0.5, 1.0, 1.0]))).kind == "none"


def test_a_row_of_weight_zero_does_not_count() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0])
    assert separation.bernoulli(observed(X, y)).kind == "none"
    assert separation.bernoulli(observed(X, y, weight=np.array([1.0, 0.0, 1.0, 1.0]))).kind == "complete"


@pytest.mark.parametrize("place", [0.0, 3.5])
@pytest.mark.parametrize("ask", [separation.bernoulli, lambda these: separation.categorical(these, 2)])
def test_a_column_that_only_rows_of_weight_zero_have_is_finite(ask: Any, place: float) -> None:
    X = np.column_stack([np.append(np.arange(8.0), [place, place]), np.append(np.zeros(8), [1.0, 2.0])])
    y, weight = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0, 1.0]), np.append(np.ones(8), [0.0, 0.0])
    found = ask(Observations(DenseMatrix.of(X), y, weight))
    assert found.kind == "complete"
    limits = found.limits if found.limits.ndim == 1 else found.limits[:, 1]
    assert_array_equal(limits, [np.inf, np.nan, -np.inf])


def test_dependent_columns_have_infinite_coefficients_only_where_necessary() -> None:
    """The sum of two columns adds no direction, and c does not take part in any."""
    rng = np.random.default_rng(0)
    a, c = rng.normal(size=(2, 40))
    y = (a > 0).astype(float)
    y[np.abs(c) > 1.0] = (c > 0)[np.abs(c) > 1.0]
    dummy = (np.arange(40) < 6).astype(float)
    y[dummy == 1] = 1.0
    found = separation.bernoulli(observed(np.column_stack([dummy, c, c]), y))
    assert found.kind == "quasi"
    assert found.limits[0] == np.inf
    assert np.isnan(found.limits[1:3]).all()


def test_a_fixed_effect_without_events_is_separated_in_a_poisson_model() -> None:
    """Correia, Guimarães and Zylkin 2019: the group's mean converges to 0, and nothing else changes."""
    rng = np.random.default_rng(1)
    group = (np.arange(50) < 5).astype(float)
    y = rng.poisson(2.0, 50) * (group == 0)
    found = separation.poisson(observed(np.column_stack([rng.normal(size=50), group]), y))
    assert_array_equal(found.limits, [np.nan, -np.inf, np.nan])
    assert_array_equal(found.separated, group == 1)
    assert separation.poisson(observed(np.column_stack([rng.normal(size=50), group]), y + 1)).kind == "none"


def test_all_counts_zero_is_complete_separation() -> None:
    found = separation.poisson(observed(np.arange(4.0)[:, None], np.zeros(4)))
    assert found.kind == "complete"
    assert found.limits[-1] == -np.inf


@pytest.mark.parametrize("labels", ["noisy", "separable"])
def test_rows_outside_the_sample_are_added_where_they_matter(labels: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 5))
    u = X @ np.arange(1.0, 6.0)
    y = (u + (0.1 * rng.normal(size=len(u)) if labels == "noisy" else 0.0) > 0).astype(float)
    found = separation.bernoulli(observed(X, y))
    assert found.kind == ("none" if labels == "noisy" else "complete")
    assert_proven(found, (2 * y - 1)[:, None] * with_ones(X))


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_units_and_zeros_of_columns_do_not_matter(shift: float, scale: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    apart, mixed = (X[:, 0] > 0.2).astype(float), (X[:, 0] + rng.normal(size=60) > 0).astype(float)
    moved = scale * (X + shift)
    assert separation.bernoulli(observed(moved, apart)).kind == "complete"
    found = separation.bernoulli(observed(moved, mixed))
    assert found.kind == "none"
    assert found.certificate.holds


def test_sparse_rows_are_the_same_rows() -> None:
    rng = np.random.default_rng(4)
    X = rng.integers(0, 2, size=(80, 6)) * rng.integers(0, 2, size=(80, 6)).astype(float)
    y = ((X[:, 0] + X[:, 1] > 0) | (rng.random(80) < 0.2)).astype(float)
    design = SplitMatrix.of(sparse=SparseMatrix.of(sparse.csr_array(X)), intercept=True)
    thin, full = separation.bernoulli(Observations(design, y)), separation.bernoulli(observed(X, y))
    assert thin.kind == full.kind == "quasi"
    assert_array_equal(thin.separated, full.separated)
    assert_proven(thin, (2 * y - 1)[:, None] * with_ones(X))


def test_too_many_columns_are_not_searched_if_some_predictors_must_not_change() -> None:
    with pytest.raises(TooManyColumnsError, match="too long to find among 2 columns"):
        separation.poisson(observed([[0.0], [1.0], [2.0]], [0.0, 0.0, 3.0]), max_columns=1)


def test_rows_that_do_not_fit_into_memory_are_not_copied() -> None:
    with pytest.raises(TooManyColumnsError, match="use a penalty"):
        separation.bernoulli(observed([[0.0], [1.0], [2.0]], [0.0, 0.0, 1.0]), max_numbers=3)


def test_a_programme_that_cannot_be_solved_proves_nothing() -> None:
    rng = np.random.default_rng(0)
    gain, rows = rng.normal(size=10), rng.normal(size=(20, 10))
    assert separation.maximise(gain, rows)[0].any()
    direction, multipliers = separation.maximise(gain, rows, time_limit=0.0)
    assert_array_equal(direction, np.zeros(10))
    assert_array_equal(multipliers, np.zeros(20))


def test_rows_whose_sums_overflow_are_rejected() -> None:
    X = sparse.csr_array(np.full((2, 3), np.finfo(float).max) * [[1.0], [-1.0]])
    with pytest.raises(NonFiniteError, match="divide the columns"):
        separation.bernoulli(Observations(SparseMatrix.of(X), np.array([0.0, 1.0])))


@pytest.mark.parametrize("kind", ["bernoulli", "poisson", "categorical"])
def test_rows_far_fewer_than_columns_are_separated_without_a_programme(kind: str) -> None:
    """20 rows of 1,900 columns took half a minute."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1900))
    if kind == "categorical":
        found = separation.categorical(observed(X, rng.integers(3, size=20)), 3)
        assert (found.kind, found.certificate.holds) == ("complete", True)
        return
    y = rng.integers(2, size=20).astype(float)
    found = getattr(separation, kind)(observed(X, y))
    slack = with_ones(X) @ found.direction
    size = 1e-9 * (np.abs(with_ones(X)) @ np.abs(found.direction))
    assert found.certificate.holds
    assert (slack[y == 0] < -size[y == 0]).all()
    assert (
        (slack[y == 1] > size[y == 1]).all() if kind == "bernoulli" else (np.abs(slack[y == 1]) <= size[y == 1]).all()
    )


@pytest.mark.filterwarnings("ignore::mercer.errors.CollinearWarning")
def test_a_whole_fit_of_far_fewer_rows_than_columns_takes_no_cube_of_the_columns() -> None:
    """It took 43 s of processor time, for eigenvectors of 1,900 × 1,900 products."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 1900)), rng.integers(2, size=20).astype(float)
    begin = time.process_time()
    with pytest.warns(SeparationWarning):
        model = GLM("bernoulli").fit(X, y)
    assert time.process_time() - begin < 20
    assert ((X @ model.coef_ + model.intercept_ > 0) == (y == 1)).all()
    # the coefficients are in the span of the centred rows: no others are smaller
    centred = X - X.mean(axis=0)
    outside = model.coef_ - np.linalg.pinv(centred) @ (centred @ model.coef_)
    assert np.linalg.norm(outside) <= 1e-9 * np.linalg.norm(model.coef_)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n", [5, 40])
def test_a_direction_is_shortened_to_the_shortest(n: int, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 12))
    design = DenseMatrix.of(X, intercept=intercept)
    rows = np.arange(n) != 2
    invariant = separation.InvariantDirections.of(design, rows)
    direction = rng.normal(size=(12 + intercept, 2))
    shorter = invariant.shorten(direction, intercept=intercept)
    A = design.take(np.flatnonzero(rows)).dense()
    assert_allclose(A @ shorter, A @ direction, atol=1e-9)
    assert_allclose(A @ invariant.basis(), 0.0, atol=1e-9)
    N = separation.orthogonal_complement(invariant.span)
    scaled, columns = direction * invariant.size[:, None], slice(0, 12)
    share = np.linalg.lstsq(N[columns], scaled[columns], rcond=None)[0]
    assert_allclose(shorter * invariant.size[:, None], scaled - N @ share, rtol=1e-8, atol=1e-9)
    assert invariant.rank == N.shape[1] == 12 + intercept - 3 - intercept
