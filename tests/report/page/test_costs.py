"""Costs of decisions, against slow and plain computations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.report import CostTable
from mercer.report.page.costs import (
    PROBABILITY_UNITS,
    assess_costs,
    costs_html,
    describe_threshold,
    quantize_probabilities,
)
from mercer.report.page.limits import PageLimits

RNG = np.random.default_rng(0)


def case(n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return RNG.dirichlet(np.ones(k), n), RNG.integers(0, k, n), RNG.normal(size=(k, k))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_each_row_gets_the_decision_of_least_expected_cost(k: int) -> None:
    p, truth, costs = case(60, k)
    found = assess_costs(p, truth, costs)
    paid, expected = [], []
    for row, true in zip(p, truth, strict=True):
        each = [sum(row[j] * costs[j, d] for j in range(k)) for d in range(k)]
        expected.append(min(each))
        paid.append(costs[true, each.index(min(each))])
    assert found.cost == pytest.approx(np.mean(paid))
    assert found.error == pytest.approx(np.std(paid, ddof=1) / math.sqrt(60))
    assert found.expected == pytest.approx(np.mean(expected))
    assert found.confusion.sum() == 60
    assert (found.confusion.sum(axis=1) == np.bincount(truth, minlength=k)).all()


def test_with_equal_costs_the_most_probable_class_is_chosen() -> None:
    p, truth, _ = case(200, 4)
    found = assess_costs(p, truth, 1 - np.eye(4))
    assert found.cost == found.likeliest == pytest.approx(np.mean(p.argmax(axis=1) != truth))


@given(st.lists(st.floats(-10, 10), min_size=4, max_size=4))
def test_the_threshold_in_words_is_where_the_decision_changes(costs: list[float]) -> None:
    matrix = np.array(costs).reshape(2, 2)
    words = describe_threshold(("no", "yes"), matrix)
    if "above" not in words:
        return
    threshold = float(words.split()[-1].rstrip("."))
    for p in (threshold - 0.002, threshold + 0.002):
        if 0 < p < 1:
            no, yes = np.array([1 - p, p]) @ matrix
            assert (yes < no) == (p > threshold) or math.isclose(yes, no, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [([[0, 1], [9, 0]], "above 0.100"), ([[0, -1], [1, 0]], "mistakes are cheaper"), ([[0, 1], [-0.5, 0]], "never"),
     ([[0, -0.5], [1, 0]], "always")],
)  # fmt: skip
def test_known_thresholds_are_reproduced(matrix: list[list[float]], words: str) -> None:
    assert words in describe_threshold(("no", "yes"), np.array(matrix, dtype=float))


def test_rows_that_were_never_held_out_are_left_out_and_many_are_thinned() -> None:
    p, truth, _ = case(5000, 2)
    p[::2] = np.nan
    parts, kept = quantize_probabilities(CostTable(("a", "b"), {"m": (p, truth)}), PageLimits())["m"]
    assert len(parts) == len(kept) == 2000
    assert np.isin(kept, [0, 1]).all()
    assert abs(parts / PROBABILITY_UNITS).max() <= 1


def test_probabilities_keep_four_digits() -> None:
    p, truth, _ = case(50, 3)
    parts, _ = quantize_probabilities(CostTable("abc", {"m": (p, truth)}), PageLimits())["m"]
    np.testing.assert_allclose(parts / PROBABILITY_UNITS, p, atol=1e-5)


def test_without_rows_there_is_a_message() -> None:
    assert "no held-out probabilities" in costs_html(
        CostTable(("a", "b"), {"m": ([[np.nan, np.nan]], [0])}), PageLimits()
    )
