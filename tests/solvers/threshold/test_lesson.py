"""Rows to learn from, and the sizes that rates depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mercer.designs import DenseDesign
from mercer.solvers.threshold import lesson as module
from mercer.solvers.threshold.rates import largest_rate, rate_of, safe_rate
from mercer.solvers.threshold.rules import RULES
from tests.solvers.threshold._lessons import lesson_of, overlapping, targets


def test_two_classes_have_one_unit_and_three_have_three() -> None:
    X, codes = overlapping()
    assert (lesson_of(X, codes).units, lesson_of(X, codes).first) == (1, 1)
    assert_array_equal(targets(lesson_of(X, codes))[:, 0], codes)
    X, codes = overlapping(classes=3)
    assert (lesson_of(X, codes).units, lesson_of(X, codes).first) == (3, 0)
    assert_array_equal(targets(lesson_of(X, codes)), np.eye(3)[codes])


@pytest.mark.parametrize("few_columns", [module.FEW_COLUMNS, 0])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_sizes(monkeypatch: Any, storage: Any, intercept: bool, few_columns: int) -> None:
    monkeypatch.setattr(module, "FEW_COLUMNS", few_columns)
    X, codes = overlapping()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    lesson = lesson_of(storage(X), codes, weight=weight, intercept=intercept)
    x = np.column_stack([X, np.ones(len(X))]) if intercept else X
    assert_allclose(lesson.largest_row, (weight * np.square(x).sum(axis=1)).max())
    largest = np.linalg.eigvalsh(x.T @ (weight[:, None] * x))[-1]
    assert_allclose(lesson.largest_eigenvalue, largest, rtol=1e-9 if few_columns else 0.05)
    mean = np.average(X, axis=0, weights=weight) if intercept else np.zeros(3)
    assert_allclose(lesson.spread.mean, mean, atol=1e-14)
    assert_allclose(lesson.spread.size, np.sqrt(np.average(np.square(X - mean), axis=0, weights=weight)))


def test_the_spread_of_a_constant_is_zero() -> None:
    X, codes = overlapping()
    spread = lesson_of(np.column_stack([X, np.full(len(X), 0.1)]), codes).spread
    assert spread.size[-1] == 0
    assert (spread.size[:-1] > 0).all()


@pytest.mark.parametrize("incremental", [True, False])
def test_safe_rates_are_half_of_the_largest(incremental: bool) -> None:
    lesson = lesson_of(*overlapping())
    size = lesson.largest_row if incremental else lesson.largest_eigenvalue
    assert_allclose(largest_rate(lesson, RULES["lms"], incremental=incremental), 2 / size)
    assert_allclose(safe_rate(lesson, RULES["lms"], incremental=incremental), 1 / size)
    assert_allclose(safe_rate(lesson, RULES["logistic"], incremental=incremental), 4 / size)
    assert safe_rate(lesson, RULES["perceptron"], incremental=incremental) == 1.0


def test_only_an_unnamed_rate_falls_by_itself_and_only_where_it_has_to() -> None:
    lesson, options = lesson_of(*overlapping()), {"start": None, "decay": None}
    assert rate_of(lesson, RULES["lms"], incremental=True, **options).decay > 0
    assert rate_of(lesson, RULES["lms"], incremental=False, **options).decay == 0
    assert rate_of(lesson, RULES["perceptron"], incremental=True, **options).decay == 0
    assert rate_of(lesson, RULES["lms"], incremental=True, start=0.1, decay=None) == (0.1, 0.0)
    assert rate_of(lesson, RULES["lms"], incremental=True, start=0.1, decay=2.0).after(3.0) == pytest.approx(0.1 / 7)


def test_rows_without_weight_have_no_size() -> None:
    design = DenseDesign.of(np.ones((4, 2)), intercept=False)
    assert module._by_powers(design, np.zeros(4)) == 0.0
