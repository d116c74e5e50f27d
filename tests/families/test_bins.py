"""Edges of bins: NumPy's rules, Knuth's maximum, widths, and axes that grow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from mercer import families as f
from mercer._errors import BinsError, DataError, TooLargeError
from mercer.families.bins import (
    NUMBER_RULES,
    WIDTH_RULES,
    BinAxis,
    BinSample,
    Lattice,
    Width,
    axis_from,
    bins_in_words,
    bins_per_column,
    number_of_bins,
)

RNG = np.random.default_rng(0)
SAMPLES = {
    "normal": RNG.normal(size=1000),
    "skewed": RNG.exponential(size=1500) ** 2,
    "two bumps": np.concatenate([RNG.normal(-3, 0.3, 400), RNG.normal(2, 1, 700)]),
    "few": RNG.normal(size=5),
    "two": np.array([1.0, 4.0]),
    "tied": RNG.integers(0, 5, 300).astype(float),
    "whole": RNG.poisson(7.0, 500),
    "no spread between quartiles": np.append(np.zeros(100), [1.0, 5.0]),
    "far from 0": 1e8 + RNG.normal(size=400),
    "large": 1e120 * RNG.normal(size=400),
    "small": 1e-120 * RNG.normal(size=400),
}
NUMPYS = {"auto": "auto", "freedman-diaconis": "fd", "scott": "scott", "sturges": "sturges", "doane": "doane"}


@pytest.mark.parametrize("x", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("rule", NUMPYS)
def test_rules_agree_with_numpy(rule: str, x: np.ndarray) -> None:
    np.testing.assert_allclose(axis_from(rule, BinSample(x)).edges, np.histogram_bin_edges(x, NUMPYS[rule]), rtol=1e-14)


@pytest.mark.parametrize("name", ["normal", "two bumps"])
def test_stones_rule_agrees_with_numpy(name: str) -> None:
    # NumPy goes by way of the width, which sometimes makes one bin more
    theirs = len(np.histogram_bin_edges(SAMPLES[name], "stone")) - 1
    assert 0 <= theirs - number_of_bins("stone", BinSample(SAMPLES[name])) <= 1


def log_posterior(x: np.ndarray, bins: int) -> float:
    """Knuth (2006), equation 31, with counts by NumPy."""
    counts, _ = np.histogram(x, bins)
    return float(
        len(x) * np.log(bins)
        + gammaln(bins / 2)
        - bins * gammaln(0.5)
        - gammaln(len(x) + bins / 2)
        + gammaln(counts + 0.5).sum()
    )


@pytest.mark.parametrize("name", ["normal", "skewed", "two bumps", "few", "far from 0", "large", "small"])
def test_knuths_rule_maximizes_his_posterior(name: str) -> None:
    x = SAMPLES[name]
    values = [log_posterior(x, bins) for bins in BinSample(x).numbers_tried()]
    assert number_of_bins("knuth", BinSample(x)) == 1 + int(np.argmax(values))


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=40))
@settings(max_examples=30)
def test_knuths_rule_gives_valid_bins_for_any_data(values: list[float]) -> None:
    x = np.array(values)
    if np.ptp(x) <= 1e-6:
        return
    best = max(log_posterior(x, bins) for bins in BinSample(x).numbers_tried())
    assert log_posterior(x, number_of_bins("knuth", BinSample(x))) >= best - 1e-9


@pytest.mark.parametrize("rule", [*WIDTH_RULES, *NUMBER_RULES])
def test_rules_do_not_depend_on_units_or_on_the_scale_of_weights(rule: str) -> None:
    x, weight = SAMPLES["two bumps"], RNG.uniform(0.5, 2, 1100)
    number = number_of_bins(rule, BinSample(x, weight))
    assert number_of_bins(rule, BinSample(x * 2.0**500, weight)) == number
    assert number_of_bins(rule, BinSample(x, weight * 2.0**-600)) == number


@pytest.mark.parametrize("rule", [*WIDTH_RULES, *NUMBER_RULES])
def test_equal_weights_and_rows_of_weight_zero_have_no_effect(rule: str) -> None:
    x = SAMPLES["skewed"]
    number = number_of_bins(rule, BinSample(x))
    assert number_of_bins(rule, BinSample(x, np.full(len(x), 3.0))) == number
    more = np.append(x, [-1e6, 1e6])
    assert number_of_bins(rule, BinSample(more, np.append(np.ones(len(x)), [0.0, 0.0]))) == number


def test_the_effective_number_of_rows_is_that_of_kish() -> None:
    assert BinSample(np.arange(3.0), np.array([1.0, 1.0, 0.0])).n == 2
    assert BinSample(np.arange(2.0), np.array([3.0, 1.0])).n == pytest.approx(16 / 10)


def test_on_a_grid_bins_are_wider() -> None:
    x = SAMPLES["normal"]
    scott = 3.4908 * x.std() * len(x) ** (-1 / 3)
    assert WIDTH_RULES["scott"](BinSample(x)) == pytest.approx(scott, rel=1e-4)
    # Scott (1992): 3.5 σ n^(−1/(2+d))
    assert WIDTH_RULES["scott"](BinSample(x, axes=2)) == pytest.approx(3.5 * x.std() * len(x) ** (-1 / 4), rel=0.01)
    assert WIDTH_RULES["freedman-diaconis"](BinSample(x, axes=3)) == pytest.approx(
        2 * np.subtract(*np.percentile(x, [75, 25])) * len(x) ** (-1 / 5)
    )


@pytest.mark.parametrize("value", [0.0, -7.0, 1e9, 1e150, 1e-150])
@pytest.mark.parametrize("bins", ["auto", "knuth", "scott", 1, 3])
def test_a_constant_column_has_bins_around_its_value(value: float, bins: str | int) -> None:
    axis = axis_from(bins, BinSample(np.full(4, value)))
    assert axis.bins == (bins if isinstance(bins, int) else 1)
    assert axis.edges[0] < value < axis.edges[-1]


def test_bins_are_no_finer_than_float64_resolves() -> None:
    x = 1e8 + 1e-7 * RNG.normal(size=10**4)
    axis = axis_from("scott", BinSample(x))
    assert 1 <= axis.bins < 100
    assert (axis.widths > 0).all()
    with pytest.raises(BinsError, match="distinct edges in float64"):
        axis_from(10**6, BinSample(x))


def test_bins_of_a_width_have_an_edge_at_the_origin_whatever_the_data() -> None:
    np.testing.assert_allclose(axis_from(Width(0.5), BinSample(np.array([1.2, 2.0]))).edges, [1, 1.5, 2, 2.5])
    np.testing.assert_allclose(axis_from(Width(2.0, origin=1.0), BinSample(np.array([-4.0]))).edges, [-5, -3])


def test_a_bin_of_a_width_holds_its_left_edge_only() -> None:
    axis = axis_from(Width(1.0), BinSample(np.array([0.0, 3.0])))
    assert axis.edges[-1] == 4
    np.testing.assert_array_equal(axis.codes(np.array([0.0, 0.5, 1.0, 3.0])), [0, 0, 1, 3])


AXES = {
    "even": BinAxis.even(-1.0, 2.0, 7),
    "grown": BinAxis.even(-1.0, 2.0, 7).covering(-9.0, 9.0),
    "far from 0": BinAxis.even(1e8, 1e8 + 1e-5, 11),
    "many": BinAxis.even(0.0, 1.0, 10**5),
    "uneven": BinAxis.given([0.0, 0.1, 5.0, 5.5]),
    "width": Width(0.1).axis(-3.0, 3.0),
    "tiny": BinAxis.even(-1e-150, 1e-150, 9),
}


@pytest.mark.parametrize("axis", AXES.values(), ids=AXES)
def test_every_value_lies_in_its_bin(axis: BinAxis) -> None:
    low, high = axis.edges[0], axis.edges[-1]
    around = np.concatenate([axis.edges, np.nextafter(axis.edges, high), np.nextafter(axis.edges, low)])
    x = np.concatenate([around, low + RNG.random(1000) * (high - low)])
    x = x[axis.holds(x)]
    codes = axis.codes(x)
    assert (axis.edges[codes] <= x).all()
    right = axis.edges[codes + 1]
    assert ((x < right) | ((x == right) & (x == axis.closed))).all()
    assert ((x != axis.closed) | (x == right)).all()


def test_an_axis_grows_by_whole_bins_and_keeps_values_where_they_were() -> None:
    axis = BinAxis.even(0.0, 1.0, 4)
    grown = axis.covering(-0.3, 1.6)
    np.testing.assert_allclose(grown.edges, np.arange(-0.5, 1.76, 0.25))
    assert set(axis.edges) <= set(grown.edges)
    x = np.array([0.0, 0.2, 0.25, 0.99, 1.0])  # 1.0 was held by the last bin
    np.testing.assert_array_equal(grown.codes(x), axis.codes(x) + 2)
    assert grown.covering(0.0, 1.0) is grown


def test_growing_does_not_depend_on_the_steps() -> None:
    axis = BinAxis.even(0.1, 1.2, 7)
    at_once, by_steps = axis.covering(-5.0, 8.0), axis.covering(-5.0, 0.5).covering(0.0, 2.0).covering(0.0, 8.0)
    np.testing.assert_array_equal(at_once.edges, by_steps.edges)
    joined = axis.covering(-5.0, 0.5).joined(axis.covering(0.0, 8.0))
    assert joined is not None
    np.testing.assert_array_equal(joined.edges, at_once.edges)


def test_an_outlier_that_would_need_millions_of_bins_is_rejected() -> None:
    with pytest.raises(TooLargeError, match=r"1e\+30.*far from all others"):
        BinAxis.even(0.0, 1.0, 10).covering(0.0, 1e30)
    with pytest.raises(TooLargeError):
        axis_from(10**9, BinSample(np.array([0.0, 1.0])))
    with pytest.raises(BinsError, match="distinct edges"):
        Width(1.0).axis(1e20, 1e20)


@pytest.mark.parametrize(
    ("bins", "message"),
    [
        ("scot", "Did you mean 'scott'"),
        (0, "at least one bin"),
        ([1.0, 0.0], "increase strictly"),
        ([0.0, np.inf], "finite"),
        ([[0.0, 1.0]], "increase strictly"),
        ("", "There are 'auto'"),
        (["a", "b"], "must be numbers"),
    ],
)
def test_invalid_bins_are_rejected(bins: object, message: str) -> None:
    with pytest.raises(BinsError, match=message):
        axis_from(bins, BinSample(np.arange(5.0)))


@pytest.mark.parametrize("width", [0.0, -1.0, np.inf, np.nan])
def test_widths_are_positive(width: float) -> None:
    with pytest.raises(BinsError, match="positive"):
        Width(width)


def test_bins_are_described_in_words() -> None:
    assert [bins_in_words(bins) for bins in ("fd", 3, Width(0.5), [0, 1])] == [
        "freedman-diaconis",
        "number given",
        "width 0.5",
        "edges given",
    ]


@pytest.mark.parametrize("bins", ["scott", "knuth", Width(0.25)])
def test_a_histogram_family_takes_rules_and_widths(bins: str | Width) -> None:
    x = SAMPLES["normal"]
    family = f.Histogram(bins)
    assert not family.resolved
    assert family == f.Histogram(bins)
    placed = family.with_edges_from(np.append(x, np.nan))
    np.testing.assert_array_equal(placed.edges, axis_from(bins, BinSample(x)).edges)
    with pytest.raises(ValueError, match="no edges yet"):
        _ = family.n_bins


def test_a_histogram_family_rejects_unknown_rules_at_once() -> None:
    with pytest.raises(BinsError, match="Did you mean 'sturges'"):
        f.Histogram("sturgess")


@pytest.mark.parametrize(
    ("bins", "columns", "expected"),
    [
        ("scott", 2, ["scott", "scott"]),
        (5, 2, [5, 5]),
        (Width(0.5), 1, [Width(0.5)]),
        ([0.0, 0.5, 2.0], 1, [[0.0, 0.5, 2.0]]),
        ([10, [0.0, 0.5, 2.0]], 2, [10, [0.0, 0.5, 2.0]]),
        ([10, 20], 2, [10, 20]),
        (["knuth"], 1, ["knuth"]),
    ],
)
def test_bins_are_given_for_all_columns_or_for_each(bins: object, columns: int, expected: list[object]) -> None:
    assert bins_per_column(bins, columns) == expected


@pytest.mark.parametrize(
    ("bins", "columns", "message"),
    [
        ({"a": 3}, 1, "is a mapping; give a sequence in the order of the columns"),
        (None, 2, "not a rule, a number, a Width or a sequence"),
        ([10, 20], 3, "2 entries for 3 column"),
        ([0.0, 0.5], 2, "one rule, number, Width or sequence of edges per column"),
    ],
)
def test_invalid_bins_of_columns_are_rejected(bins: object, columns: int, message: str) -> None:
    with pytest.raises(BinsError, match=message):
        bins_per_column(bins, columns)


def test_values_at_the_limit_of_float64_are_rejected() -> None:
    with pytest.raises(DataError, match="divide the column by a number"):
        axis_from("scott", BinSample(np.array([-1e308, 0.0, 1e308])))


@settings(max_examples=300)
@given(start=st.floats(-1e6, 1e6), step=st.floats(1e-6, 1e3), k=st.integers(-1000, 1000))
def test_a_value_lies_between_the_edge_below_it_and_the_next(start: float, step: float, k: int) -> None:
    """At edges too, where a quotient rounds to either side."""
    lattice = Lattice(start, step)
    for value in (lattice.edge(k), np.nextafter(lattice.edge(k), -np.inf)):
        below = lattice.below(value)
        assert lattice.edge(below) <= value < lattice.edge(below + 1)


@pytest.mark.parametrize(
    ("start", "step", "value", "number"), [(0.7, 0.7, 3.4999999999999996, 3), (0.7, 0.001, 0.6769999999999999, -23)]
)
def test_a_quotient_that_rounds_over_an_edge_is_corrected(start: float, step: float, value: float, number: int) -> None:
    assert Lattice(start, step).below(value) == number
