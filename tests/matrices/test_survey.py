"""The result of the first pass does not depend on the chunks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from mercer._errors import DataError, NonFiniteError
from mercer.data.table import Table
from mercer.matrices import Encoded
from mercer.matrices.encoded import CodePart, NumberPart
from mercer.matrices.streamed import SamplingPlan, Survey, SurveyLevels, SurveySample

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) + np.array([0.0, 1e8, 5.0])
Y = RNG.choice(["b", "a", "c"], 200)
W = RNG.integers(0, 3, 200).astype(float)
LABELS = SamplingPlan(1000, 1.0, labels=True)


def surveyed(X: Any, y: np.ndarray, weight: np.ndarray | None, drawing: SamplingPlan, size: int) -> Survey:
    cuts = [slice(first, first + size) for first in range(0, len(y), size)]
    parts = (
        Survey.of(SurveySample(X[cut], y[cut], None if weight is None else weight[cut], None), drawing) for cut in cuts
    )
    return functools.reduce(Survey.merge, parts)


@pytest.mark.parametrize("size", [7, 50, 200])
def test_sums_and_labels_are_collected(size: int) -> None:
    found = surveyed(X, Y, W, LABELS, size)
    assert (found.rows, found.heavy, found.weight) == (200, np.count_nonzero(W), W.sum())
    np.testing.assert_array_equal(found.labels, ["a", "b", "c"])
    np.testing.assert_array_equal(found.label_weights, [W[label == Y].sum() for label in "abc"])
    np.testing.assert_array_equal(found.lowest, X.min(axis=0))
    np.testing.assert_array_equal(found.highest, X.max(axis=0))
    rows, labels, weights = found.sample.columns()
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(weights, W)


def test_numbers_are_added_up() -> None:
    assert surveyed(X, W, W, SamplingPlan(10, 1.0, labels=False), 30).response == pytest.approx(W @ W)


def test_a_share_of_the_rows_is_sampled() -> None:
    sample = surveyed(X, Y, None, SamplingPlan(1000, 0.25, labels=True), 40).sample
    assert 25 < len(sample) < 75


def test_coordinates_include_columns_that_vary_only_in_the_last_rows() -> None:
    rare = np.zeros((200, 2))
    rare[-1, 0], rare[:, 1] = 1e6, 3.0
    found = surveyed(rare, Y, None, SamplingPlan(20, 0.1, labels=True), 20)
    made = found.coordinates(rare, rare[:20], intercept=True, shifted=True)
    np.testing.assert_array_equal(made.scale[0], 2.0**20)
    np.testing.assert_array_equal(made.shift, [0.0, 3.0])


def test_sparse_columns_are_scaled_where_they_are_very_large_or_small() -> None:
    counts = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3e9], [1e-9, 0.0]]))
    found = surveyed(counts, np.array(["a", "b", "a", "b"]), None, LABELS, 2)
    np.testing.assert_array_equal(found.coordinates(counts, counts, intercept=True, shifted=True).shift, 0.0)
    assert found.coordinates(counts, counts, intercept=True, shifted=True).scale[1] == 2.0**31
    plain = surveyed(counts[:2], np.array(["a", "b"]), None, LABELS, 1)
    np.testing.assert_array_equal(plain.coordinates(counts, counts, intercept=True, shifted=True).scale, 1.0)


def test_encoded_numbers_are_shifted_and_codes_are_not() -> None:
    rows = Encoded.of([CodePart(RNG.integers(0, 2, 200), 2), NumberPart(X)])
    found = surveyed(rows, Y, None, LABELS, 60)
    made = found.coordinates(rows, found.sample.columns()[0], intercept=True, shifted=True)
    np.testing.assert_array_equal(made.shift[:2], 0.0)
    assert made.shift[3] == pytest.approx(1e8, abs=1.0)


def test_levels_are_collected() -> None:
    both = SurveyLevels((), ("b", "a")).merge(SurveyLevels((), ("c", "a")))
    assert both.in_order() == ("a", "b", "c")
    assert SurveyLevels(("s", "m", "l"), ("l",)).merge(SurveyLevels(("s", "m", "l"), ("s",))).in_order() == ("s", "l")
    assert SurveyLevels((), ("b", 1)).in_order() == (1, "b")


def test_tables_are_split_into_parts() -> None:
    table = Table.of(pa.table({"n": X[:, 0], "city": Y}))
    found = Survey.of(SurveySample(table, W, None, None), SamplingPlan(1000, 1.0, labels=False))
    assert found.levels == (SurveyLevels((), ("a", "b", "c")),)
    numbers, cities, _ = found.sample.columns()
    np.testing.assert_array_equal(numbers[:, 0], X[:, 0])
    np.testing.assert_array_equal(cities, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_rejected(value: float) -> None:
    with pytest.raises(NonFiniteError, match="X holds values that are not finite"):
        Survey.of(SurveySample(np.array([[1.0], [value]]), Y[:2], None, None), LABELS)
    with pytest.raises(NonFiniteError, match="X holds values that are not finite"):
        Survey.of(SurveySample(sparse.csr_array([[1.0], [value]]), Y[:2], None, None), LABELS)


def test_labels_of_two_types_are_rejected() -> None:
    numbers, words = (
        Survey.of(SurveySample(X[:2], y, None, None), LABELS) for y in (np.array([0, 1]), np.array(["a", "b"]))
    )
    with pytest.raises(DataError, match="all strings or all numbers"):
        numbers.merge(words)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 199])
def test_a_number_that_is_not_finite_is_found_wherever_it_is(value: float, row: int) -> None:
    spoilt = X.copy()
    spoilt[row, 2] = value
    with pytest.raises(NonFiniteError, match="not finite"):
        surveyed(spoilt, Y, None, LABELS, 200)


def test_extremes_of_columns_are_collected() -> None:
    found = surveyed(np.asfortranarray(X.astype(np.float32)), Y, None, LABELS, 60)
    np.testing.assert_array_equal(found.lowest, X.astype(np.float32).min(axis=0))
    np.testing.assert_array_equal(found.highest, X.astype(np.float32).max(axis=0))
