"""Coefficients put into bounds, and their sum brought to 0."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mercer.optim.span.kernel_rows import KernelRows
from mercer.svm._box_problem import BoxProblem, balance_coefficients, make_feasible

Array = np.ndarray


def problem(lower: Array, upper: Array, *, intercept: bool = True) -> BoxProblem:
    n = len(lower)
    return BoxProblem(
        KernelRows.of_matrix(np.eye(n)), np.where(np.arange(n) % 2, 1.0, -1.0), lower, upper, 0.0, intercept
    )


@given(
    arrays(float, 6, elements=st.floats(-5, 5)),
    arrays(float, 6, elements=st.floats(-3, 0)),
    arrays(float, 6, elements=st.floats(0, 3)),
    st.booleans(),
)
def test_a_start_is_inside_the_bounds_and_sums_to_zero(
    beta: Array, lower: Array, upper: Array, intercept: bool
) -> None:
    start = make_feasible(beta, problem(lower, upper, intercept=intercept))
    assert np.all((lower <= start) & (start <= upper))
    if intercept:
        assert abs(start.sum()) < 1e-12
    else:
        np.testing.assert_allclose(start, np.clip(beta, lower, upper), rtol=1e-11, atol=0)


def test_a_feasible_start_is_unchanged() -> None:
    beta = np.array([1.0, -1.0, 0.5, -0.5])
    start = make_feasible(beta, problem(np.full(4, -1.0), np.full(4, 1.0)))
    np.testing.assert_array_equal(start, beta)


def test_coefficients_within_rounding_of_a_bound_are_put_on_it() -> None:
    beta = np.array([0.1, 0.1, -0.2]) * (0.7 / 0.1)
    start = make_feasible(beta, problem(np.full(3, -1.4), np.full(3, 0.7)))
    assert start.tolist() == [0.7, 0.7, -1.4]


@given(
    arrays(float, 6, elements=st.floats(-5, 5)),
    arrays(float, 6, elements=st.floats(-3, 0)),
    arrays(float, 6, elements=st.floats(0, 3)),
)
def test_balanced_coefficients_sum_to_zero_in_their_bounds(beta: Array, lower: Array, upper: Array) -> None:
    found = balance_coefficients(np.clip(beta, lower, upper), lower, upper)
    assert np.all((lower <= found) & (found <= upper))
    assert abs(found.sum()) < 1e-11


def test_free_coefficients_are_balanced_and_those_at_a_bound_stay() -> None:
    beta, lower, upper = np.array([1.0, 0.0, 0.5, -1.0, -0.4]), np.full(5, -1.0), np.full(5, 1.0)
    found = balance_coefficients(beta, lower, upper)
    assert found[[0, 1, 3]].tolist() == [1.0, 0.0, -1.0]
    assert abs(found.sum()) < 1e-15
    assert found[2] < 0.5
    assert found[4] < -0.4
