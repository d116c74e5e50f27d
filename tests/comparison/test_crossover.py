"""Crossovers of two curves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.comparison.learning_curves import find_crossover

SIZES = np.array([10, 100, 1000])


def column(*values: float) -> np.ndarray:
    return np.array(values)[:, None]


@pytest.mark.parametrize(
    ("first", "second", "size", "words"),
    [
        ((0.2, 0.2, 0.2), (0.3, 0.2, 0.1), 100.0, "100"),
        ((0.2, 0.2, 0.2), (0.3, 0.1, 0.1), 10 * math.sqrt(10), "32"),
        ((0.2, 0.2, 0.2), (0.1, 0.1, 0.1), 10.0, "before 10"),
        ((0.2, 0.2, 0.2), (0.1, 0.1, 0.3), math.inf, "none up to 1,000"),
        ((0.2, 0.2, 0.2), (0.2, 0.2, 0.2), math.inf, "none up to 1,000"),
        # ahead, behind, ahead again: the last time counts
        ((0.2, 0.2, 0.2), (0.1, 0.3, 0.1), 100 * math.sqrt(10), "316"),
        ((0.2, math.nan, 0.2), (0.3, 0.1, 0.1), 100.0, "100"),
    ],
)
def test_known_crossings_are_found(
    first: tuple[float, ...], second: tuple[float, ...], size: float, words: str
) -> None:
    found = find_crossover(SIZES, column(*first), column(*second))
    assert found.size == pytest.approx(size)
    assert str(found) == words
    assert found.found == (10 < size < math.inf)


def test_sizes_at_which_a_model_failed_are_not_among_those_compared() -> None:
    """A model that is ahead wherever both were fitted does not cross the other at those sizes."""
    ahead = find_crossover(SIZES, column(math.nan, 0.4, 0.4), column(0.5, 0.3, 0.1))
    assert str(ahead) == "before 100"
    assert not ahead.found
    assert str(find_crossover(SIZES, column(0.2, 0.2, math.nan), column(0.3, 0.3, 0.1))) == "none up to 100"
    assert find_crossover(SIZES, column(*[math.nan] * 3), column(0.3, 0.3, 0.1)).size == math.inf


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        ((0.2, 0.2, 0.2), (0.1, math.inf, 0.1), 1000.0),  # behind at 100, by more than any other difference
        ((0.2, 0.2, 0.2), (0.3, 0.1, math.inf), math.inf),
        ((math.inf, 0.2, 0.2), (0.3, 0.3, 0.1), 100 * math.sqrt(10)),
        ((math.inf, 0.2, 0.2), (math.inf, 0.1, 0.1), 100.0),  # at 10 no rows support it
    ],
)
def test_an_infinite_loss_counts_as_a_loss(first: tuple[float, ...], second: tuple[float, ...], size: float) -> None:
    assert find_crossover(SIZES, column(*first), column(*second)).size == pytest.approx(size)


def test_repeats_that_agree_give_an_interval_of_width_zero() -> None:
    first, second = np.full((3, 2), 0.2), np.repeat(column(0.3, 0.1, 0.1), 2, axis=1)
    assert str(find_crossover(SIZES, first, second)) == "32 (32 to 32)"


def test_intervals_reach_as_far_as_the_repeats_disagree() -> None:
    first = np.full((3, 4), 0.2)
    second = np.array([[0.3, 0.3, 0.3, 0.3], [0.1, 0.25, 0.1, 0.25], [0.1, 0.1, 0.1, 0.25]])
    found = find_crossover(SIZES, first, second)
    assert found.low < found.size < found.high


def test_a_pair_that_never_crosses_in_some_repeats_has_no_upper_end() -> None:
    first, second = np.full((3, 2), 0.2), np.array([[0.3, 0.3], [0.3, 0.3], [0.0, 0.3]])
    found = find_crossover(SIZES, first, second)
    assert found.high == math.inf
    assert str(found).endswith("none up to 1,000)")


def test_differences_that_cancel_are_a_tie_in_spite_of_rounding() -> None:
    """One wins by as much as it loses: neither is ahead at the end."""
    first = np.array([[0.2, 0.2, 0.2], [0.2, 0.2, 0.2], [1 - 0.7, 1 - 0.9, 1 - 0.8]])
    second = np.array([[0.3, 0.3, 0.3], [0.1, 0.1, 0.1], [1 - 0.8, 1 - 0.8, 1 - 0.8]])
    assert (first - second)[2].sum() > 0  # by 1e-17 or so
    assert find_crossover(SIZES, first, second).size == math.inf


# half of the smallest number above 0 is 0, in whatever unit
@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=3, max_size=3), st.floats(0.1, 10))
def test_units_of_the_loss_do_not_matter(ahead: list[float], unit: float) -> None:
    zero = np.zeros((3, 1))
    plain, scaled = (find_crossover(SIZES, scale * column(*ahead), zero) for scale in (1.0, unit))
    assert plain.size == pytest.approx(scaled.size) or plain.size == scaled.size
