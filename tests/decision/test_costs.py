"""Cost matrices from arrays, mappings and frames, and the best action at each probability."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._errors import CostError
from mercer.decision._costs import Costs, find_dominated_actions, find_ranges, implied_threshold, make_cost_matrix

CLASSES = np.array(["ill", "well"])
MATRIX = [[0.0, 10.0], [1.0, 0.0]]


@pytest.mark.parametrize(
    "costs",
    [
        MATRIX,
        np.array(MATRIX),
        {"ill": {"ill": 0, "well": 10}, "well": {"ill": 1, "well": 0}},
        {"well": {"ill": 1}, "ill": {"well": 10}},
        pd.DataFrame(MATRIX, index=CLASSES, columns=CLASSES),
        pd.DataFrame(MATRIX, index=CLASSES, columns=CLASSES).loc[["well", "ill"], ["well", "ill"]],
        pl.DataFrame({"truth": ["well", "ill"], "ill": [1, 0], "well": [0, 10]}),
        pl.DataFrame({"well": [10, 0], "ill": [0, 1]}),
        pa.table({"truth": ["ill", "well"], "ill": [0, 1], "well": [10, 0]}),
    ],
    ids=["lists", "array", "mapping", "short mapping", "pandas", "reordered", "polars", "polars in order", "pyarrow"],
)
def test_costs_may_be_written_in_many_ways(costs):
    found = make_cost_matrix(costs, CLASSES)
    np.testing.assert_array_equal(found.values, MATRIX)
    np.testing.assert_array_equal(found.actions, CLASSES)


def test_actions_need_not_be_classes():
    found = make_cost_matrix([[5, 0, 9], [0, 3, 1]], CLASSES, ["wait", "treat", "test"])
    assert found.actions.tolist() == ["wait", "treat", "test"]
    named = make_cost_matrix({"ill": {"wait": 5, "treat": 0}, "well": {"wait": 0, "treat": 3}}, CLASSES)
    np.testing.assert_array_equal(named.values, [[5, 0], [0, 3]])
    extra = make_cost_matrix({"ill": {"well": 9, "ask": 1}, "well": {"ill": 1, "ask": 1}}, CLASSES)
    assert extra.actions.tolist() == ["ill", "well", "ask"]
    np.testing.assert_array_equal(extra.values, [[0, 9, 1], [1, 0, 1]])
    frame = make_cost_matrix(pd.DataFrame({"wait": [5, 0], "treat": [0, 3]}), CLASSES)
    np.testing.assert_array_equal(frame.values, [[5, 0], [0, 3]])
    numbers = make_cost_matrix(pd.DataFrame([[0, 1], [2, 0]], index=[1, 0], columns=[1, 0]), np.array([0, 1]))
    np.testing.assert_array_equal(numbers.values, [[0, 2], [1, 0]])
    assert numbers.actions.dtype.kind == "i"


@pytest.mark.parametrize("classes", [[0, 1, 2], [1, 2, 3], [2, 1, 0]])
def test_row_labels_of_a_cost_frame_are_not_taken_for_classes(classes):
    """The default index of a frame does not name classes."""
    values = 1.0 - np.eye(3) + np.arange(9.0).reshape(3, 3)
    classes = np.array(sorted(classes))
    found = make_cost_matrix(pd.DataFrame(values, columns=classes), classes)
    np.testing.assert_array_equal(found.values, values)
    with pytest.raises(CostError, match="names the class 9"):
        make_cost_matrix(pd.DataFrame(values, index=[1, 2, 9], columns=[1, 2, 3]), np.array([1, 2, 3]))


def test_actions_that_are_classes_are_not_renamed():
    """In another order, or with fewer actions, a wrong class still costs 1 and the right one 0."""
    np.testing.assert_array_equal(make_cost_matrix(None, CLASSES, ["well", "ill"]).values, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(make_cost_matrix(None, CLASSES, ["well"]).values, [[1], [0]])
    np.testing.assert_array_equal(make_cost_matrix(None, CLASSES, ["treat", "wait"]).values, [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("costs", "actions", "match"),
    [
        ([[0, 1]], None, r"shape \(1, 2\).*2 classes"),
        ([[0, 1, 1], [1, 0, 1]], None, "actions="),
        ([[0, 1, 1], [1, 0, 1]], ["a", "b"], "2 actions, but costs has 3"),
        ([[0, 1], [1, 0]], ["a", "a"], "the same name"),
        ([[0, np.nan], [1, 0]], None, "'well' for the class 'ill' is nan"),
        ([[0, np.inf], [1, 0]], None, "large one"),
        ([["a", 1], [1, 0]], None, "must be numbers"),
        ({"ill": {"well": 1}, "wel": {"ill": 1}}, None, "Did you mean 'well'"),
        ({"ill": {"well": "dear"}, "well": {"ill": 1}}, None, "'well' for the class 'ill' must be a number"),
        ({"ill": 5, "well": 1}, None, "class 'ill' must be a mapping"),
        ({"ill": {"well": 1}}, None, "'ill' where the class is 'well'"),
        (pd.DataFrame(MATRIX, index=["ill", "sick"], columns=CLASSES), None, "'sick'"),
        (pl.DataFrame({"truth": ["ill", "ill"], "a": [1, 2]}), None, "one for each of the classes"),
    ],
)
def test_costs_of_the_wrong_shape_are_named(costs, actions, match):
    with pytest.raises(CostError, match=match):
        make_cost_matrix(costs, CLASSES, actions)


PRICES = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=5)


@given(prices=PRICES, p=st.floats(0.001, 0.999))
def test_the_range_around_a_probability_has_its_cheapest_action(prices, p):
    values = np.array(prices, dtype=float).T
    costs = Costs(values, np.arange(values.shape[1]))
    found = find_ranges(costs)
    assert found[0].low == 0
    assert found[-1].high == 1
    assert all(a.high == b.low for a, b in pairwise(found))
    (cheapest,) = [each for each in found if each.low < p <= each.high]
    expected = (1 - p) * values[0] + p * values[1]
    assert expected[cheapest.action] <= expected.min() + 1e-9


@settings(max_examples=30)
@given(prices=PRICES)
def test_an_action_that_is_never_best_has_no_range(prices):
    values = np.array(prices, dtype=float).T
    costs = Costs(values, np.arange(values.shape[1]))
    distinct = len(set(prices)) == len(prices)
    if distinct and len(prices) > 1:
        assert set(find_dominated_actions(costs)) == set(range(len(prices))) - {
            each.action for each in find_ranges(costs)
        }


def test_thresholds_agree_with_elkan():
    """p* = (c₁₀ − c₀₀)/(c₁₀ − c₀₀ + c₀₁ − c₁₁), Elkan 2001."""
    assert implied_threshold(make_cost_matrix([[0, 1], [10, 0]], CLASSES)) == pytest.approx(1 / 11)
    assert implied_threshold(make_cost_matrix([[1, 3], [5, 2]], CLASSES)) == pytest.approx(2 / 5)
    assert implied_threshold(make_cost_matrix([[0, 1], [0, 1]], CLASSES)) == 1.0
    assert implied_threshold(make_cost_matrix([[1, 0], [1, 0]], CLASSES)) == 0.0
    with pytest.raises(CostError, match="exchanged"):
        implied_threshold(make_cost_matrix([[1, 0], [0, 1]], CLASSES))
