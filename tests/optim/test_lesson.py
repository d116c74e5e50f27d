"""Labelled rows, and the sizes on which rates depend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.matrices import DenseMatrix
from mercer.optim.learning_rules import largest_eigenvalue
from tests.linear_model._lessons import lesson_of, overlapping, targets


def test_two_classes_have_one_unit_and_three_have_three() -> None:
    X, codes = overlapping()
    assert (lesson_of(X, codes).units, lesson_of(X, codes).first) == (1, 1)
    assert_array_equal(targets(lesson_of(X, codes))[:, 0], codes)
    X, codes = overlapping(classes=3)
    assert (lesson_of(X, codes).units, lesson_of(X, codes).first) == (3, 0)
    assert_array_equal(targets(lesson_of(X, codes)), np.eye(3)[codes])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_sizes_of_columns(storage: Any, intercept: bool) -> None:
    X, codes = overlapping()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    lesson = lesson_of(storage(X), codes, weight=weight, intercept=intercept)
    x = np.column_stack([X, np.ones(len(X))]) if intercept else X
    assert_allclose(lesson.largest_row, (weight * np.square(x).sum(axis=1)).max())
    largest = np.linalg.eigvalsh(x.T @ (weight[:, None] * x))[-1]
    assert_allclose(lesson.largest_eigenvalue, largest, rtol=1e-9)
    assert_allclose(largest_eigenvalue(lesson.observations.design, weight, max_gram=0), largest, rtol=0.05)
    mean = np.average(X, axis=0, weights=weight) if intercept else np.zeros(3)
    assert_allclose(lesson.spread.mean, mean, atol=1e-14)
    assert_allclose(lesson.spread.size, np.sqrt(np.average(np.square(X - mean), axis=0, weights=weight)))


def test_the_spread_of_a_constant_is_zero() -> None:
    X, codes = overlapping()
    spread = lesson_of(np.column_stack([X, np.full(len(X), 0.1)]), codes).spread
    assert spread.size[-1] == 0
    assert (spread.size[:-1] > 0).all()


def test_rows_without_weight_have_no_size() -> None:
    design = DenseMatrix.of(np.ones((4, 2)), intercept=False)
    assert largest_eigenvalue(design, np.zeros(4), max_gram=0) == 0.0
