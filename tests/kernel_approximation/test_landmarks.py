"""The choice of landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernel_approximation.landmarks import (
    LANDMARK_RULES,
    choose_from_matrix,
    choose_landmarks,
    count_needed_landmarks,
)
from mercer.kernel_approximation.nystroem_map import NystroemMap, compute_trace_error
from mercer.kernels import RBF, FromFunction, Kernel, Linear, Spectrum
from mercer.kernels.gram import GivenMatrix
from tests.kernels._clusters import clusters

Array = np.ndarray
KERNEL = RBF(gamma=0.5)


def seeded(seed: int = 0) -> np.random.RandomState:
    return np.random.RandomState(seed)


def left(kernel: Kernel, X: Array, numbers: Array) -> float:
    return compute_trace_error(NystroemMap.of(kernel, X[numbers])(X), kernel.diag(X))


def test_uniform_landmarks_agree_with_scikit_learn() -> None:
    found = choose_landmarks(KERNEL, np.zeros((50, 1)), 10, "uniform", seeded(4))
    assert_array_equal(found.numbers, seeded(4).permutation(50)[:10])


@pytest.mark.parametrize("rule", LANDMARK_RULES)
@pytest.mark.parametrize("most", [1, 7, 600, 900])
def test_landmarks_are_distinct_and_at_most_as_many_as_requested(rule: str, most: int) -> None:
    X = clusters()
    found = choose_landmarks(KERNEL, X, most, rule, seeded())
    assert len(set(found.numbers.tolist())) == len(found.numbers) <= min(most, len(X))
    assert found.among == len(X)
    assert_array_equal(found.numbers, choose_landmarks(KERNEL, X, most, rule, seeded()).numbers)


@pytest.mark.parametrize("rule", ["kmeans++", "rpcholesky"])
def test_rules_leave_a_smaller_error_than_uniform_landmarks_on_clustered_data(rule: str) -> None:
    X = clusters()
    chosen, uniform = (
        [left(KERNEL, X, choose_landmarks(KERNEL, X, 31, name, seeded(seed)).numbers) for seed in range(5)]
        for name in (rule, "uniform")
    )
    assert max(chosen) < 0.5 * min(uniform)


def test_pivots_report_their_remaining_error() -> None:
    X = clusters()
    found = choose_landmarks(KERNEL, X, 40, "rpcholesky", seeded())
    assert found.error is not None
    assert_allclose(found.error, left(KERNEL, X, found.numbers), rtol=1e-8)


def test_pivots_stop_at_a_tolerance() -> None:
    X = clusters()
    found = choose_landmarks(KERNEL, X, 600, "rpcholesky", seeded(), tol=1e-3)
    assert found.error is not None
    assert found.error <= 1e-3
    assert len(found.numbers) < 300


def test_kmeans_landmarks_are_drawn_as_if_one_by_one() -> None:
    """Arthur and Vassilvitskii's chances: the square of the distance from the first, which is drawn uniformly."""
    X = np.array([[0.0], [1.0], [3.0], [7.0]])
    exact = (X - X.T) ** 2
    exact /= 4 * exact.sum(axis=1, keepdims=True)
    draws, found = 4000, np.zeros((4, 4))
    for seed in range(draws):
        first, second = choose_landmarks(Linear(), X, 2, "kmeans++", seeded(seed)).numbers
        found[first, second] += 1 / draws
    assert np.abs(found - exact).max() < 5 * np.sqrt(exact.max() / draws)


@pytest.mark.parametrize("rule", ["kmeans++", "rpcholesky"])
def test_equal_rows_are_chosen_once(rule: str) -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 20, axis=0)
    numbers = choose_landmarks(KERNEL, X, 50, rule, seeded()).numbers
    assert len(numbers) == len(np.unique(X[numbers], axis=0)) == 6


@pytest.mark.parametrize("rule", ["kmeans++", "rpcholesky"])
def test_identical_rows_give_one_landmark(rule: str) -> None:
    assert len(choose_landmarks(KERNEL, np.ones((9, 2)), 5, rule, seeded()).numbers) == 1
    assert len(choose_landmarks(Linear(), np.zeros((9, 2)), 5, rule, seeded()).numbers) == 1


@pytest.mark.parametrize("rule", LANDMARK_RULES)
def test_candidates_are_a_sample_of_many_rows(rule: str) -> None:
    X, limits = clusters(), {"max_factor_entries": 2000.0, "max_distances": 2000.0}
    found = choose_landmarks(KERNEL, X, 10, rule, seeded(), **limits)
    assert found.among == (600 if rule == "uniform" else 200)
    assert len(set(found.numbers.tolist())) == 10
    assert found.numbers.max() > 200  # positions among all rows, not among the candidates
    assert choose_landmarks(KERNEL, X, 80, rule, seeded(), **limits).among >= 320  # four for each landmark


@pytest.mark.parametrize("rule", LANDMARK_RULES)
@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (RBF(gamma=0.1), sp.csr_array(np.random.default_rng(0).poisson(0.4, size=(30, 8)).astype(float))),
        (Spectrum(length=2), ["".join(word) for word in np.random.default_rng(0).choice(list("abc"), (30, 9))]),
        (FromFunction(lambda x, z: float(min(len(x), len(z)))), ["a" * n for n in range(1, 31)]),
    ],
    ids=["sparse", "texts", "function"],
)
def test_rows_of_any_kind_are_accepted(rule: str, kernel: Kernel, rows: Any) -> None:
    numbers = choose_landmarks(kernel, rows, 5, rule, seeded()).numbers
    assert len(set(numbers.tolist())) == len(numbers) == 5


@pytest.mark.parametrize("rule", LANDMARK_RULES)
def test_a_given_matrix_has_the_landmarks_of_its_kernel(rule: str) -> None:
    X = clusters(200)
    by_matrix = choose_from_matrix(GivenMatrix(KERNEL(X)), 20, rule, seeded())
    assert_array_equal(by_matrix.numbers, choose_landmarks(KERNEL, X, 20, rule, seeded()).numbers)


def test_the_smallest_sufficient_number_is_found() -> None:
    X = clusters()
    K = KERNEL(X[:200])
    size = count_needed_landmarks(K, KERNEL(X[:200], X), KERNEL.diag(X), 0.05)
    assert 1 < size < 200
    assert left(KERNEL, X, np.arange(size)) <= 0.05 < left(KERNEL, X, np.arange(size - 1))


def test_all_landmarks_are_needed_if_none_suffice() -> None:
    X = clusters()
    assert count_needed_landmarks(KERNEL(X[:5]), KERNEL(X[:5], X), KERNEL.diag(X), 1e-9) == 5


def test_a_tolerance_is_reached_despite_equal_landmarks() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 20, axis=0)
    numbers = np.arange(120)[::-1]
    assert count_needed_landmarks(KERNEL(X[numbers]), KERNEL(X[numbers], X), KERNEL.diag(X), 1e-6) == 101
    assert count_needed_landmarks(np.zeros((3, 3)), np.zeros((3, 4)), np.zeros(4), 1e-6) == 3
