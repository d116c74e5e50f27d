"""Axes: ticks are round numbers inside the limits, few enough to read, and places follow the values."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.report import Axis
from mercer.report.page.numbers import write_number, write_tick
from mercer.report.page.scales import make_scale

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=20), st.integers(2, 8))
def test_linear_ticks_are_inside_and_of_a_reasonable_number(values: list[float], most: int) -> None:
    scale = make_scale(Axis("x"), np.array(values), 0.0, 400.0)
    ticks = scale.ticks(most)
    assert 1 <= len(ticks) <= 2 * most + 1
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick.value <= scale.high + slack for tick in ticks)
    assert all(a.value < b.value for a, b in pairwise(ticks))


@given(st.lists(st.floats(1e-280, 1e280), min_size=1, max_size=20))
def test_logarithmic_axes_contain_all_positive_values(values: list[float]) -> None:
    scale = make_scale(Axis("x", "log"), np.array([*values, 0.0, -1.0]), 0.0, 400.0)
    places = scale.place_all([*values, 0.0, -1.0])
    assert all(-1 <= place <= 401 for place in places[:-2])
    assert all(map(math.isnan, places[-2:]))
    assert 1 <= len(scale.ticks(6)) <= 16


@given(st.lists(finite, min_size=2, max_size=20))
def test_positions_have_the_order_of_the_values(values: list[float]) -> None:
    scale = make_scale(Axis("x"), np.array(values), 10.0, 90.0)
    places = scale.place_all(sorted(values))
    assert places == sorted(places)
    assert all(9.99 <= place <= 90.01 for place in places)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-3, 3, ["−3", "−2", "−1", "0", "1", "2", "3"]),
        (0, 12_000, ["0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]),
        (1880, 2020, ["1900", "1925", "1950", "1975", "2000"]),
    ],
)
def test_known_ticks_are_reproduced(low: float, high: float, labels: list[str]) -> None:
    scale = make_scale(Axis("x", low=low, high=high), np.zeros(0), 0, 1)
    assert [tick.label for tick in scale.ticks(6)] == labels


def test_sizes_of_samples_have_ticks_at_1_2_5_and_powers_over_a_long_range() -> None:
    short = make_scale(Axis("n", "log", low=10, high=600), np.zeros(0), 0, 1)
    assert [tick.label for tick in short.ticks(6)] == ["10", "20", "50", "100", "200", "500"]
    long = make_scale(Axis("n", "log", low=1e-8, high=1e8), np.zeros(0), 0, 1)
    assert [tick.label for tick in long.ticks(6)][:2] == ["10⁻⁸", "10⁻⁵"]
    assert 20.0 in short.minor_ticks()


def test_names_are_at_whole_numbers() -> None:
    scale = make_scale(Axis("x", "category", ("a", "b")), np.zeros(0), 0.0, 100.0)
    assert scale.place_all([0, 1]) == [25.0, 75.0]
    assert [tick.label for tick in scale.ticks(1)] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "form", "words"),
    [
        (0.12345, ".3g", "0.123"), (-0.5, ".2f", "−0.50"), (12345.6, ".3g", "12,346"), (1.5e-7, ".3g", "1.5 × 10⁻⁷"),
        (math.nan, ".3g", "–"), (-math.inf, ".1f", "−∞"), (3.0, "d", "3"), (0.25, ".0%", "25%"),
        (297.2, "#.3g", "297"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_people_read_them(value: float, form: str, words: str) -> None:
    assert write_number(value, form) == words


@given(st.sampled_from([1.0, 2.0, 2.5, 5.0]), st.integers(-3, 5), st.integers(-9, 9))
def test_labels_of_ticks_agree_with_their_positions(nice: float, power: int, place: int) -> None:
    step = nice * 10.0**power
    label = write_tick(place * step, step)
    assert float(label.replace(",", "").replace("−", "-")) == pytest.approx(place * step, rel=1e-9)
