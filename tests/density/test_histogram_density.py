"""The histogram as an estimator: NumPy's numbers, counting by parts, and what it rejects."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from mercer import HistogramDensity, engine
from mercer._errors import (
    BinsError,
    ColumnTypeError,
    DataError,
    EmptyDataError,
    MergeError,
    NonFiniteError,
    SupportError,
    TooLargeError,
    TooManyColumnsError,
    UnequalEdgesError,
    UnseenRowsError,
)
from mercer.families import Width
from tests.base._layouts import read_only

RULES = ["auto", "freedman-diaconis", "scott", "sturges", "doane", "stone", "knuth"]


class OfAnyColumns(HistogramDensity):
    _most_columns = 100


@pytest.mark.filterwarnings("ignore")
def test_it_passes_every_check_of_scikit_learn_except_for_its_column_limit() -> None:
    OfAnyColumns.__name__ = "HistogramDensity"
    results = check_estimator(OfAnyColumns(bins=1), on_fail="raise", on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.where(rng.random((600, 1)) < 0.4, rng.normal(-2, 0.5, (600, 3)), rng.normal(1, 1, (600, 3)))


@pytest.mark.parametrize("bins", [7, "scott", "knuth", Width(0.5), [-9.0, -1.0, 0.0, 0.5, 9.0]], ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_density_agrees_with_numpy_at_the_same_edges(X: np.ndarray, bins: Any, d: int, weighted: bool) -> None:
    bins = [bins] * d if isinstance(bins, list) else bins
    weight = np.random.default_rng(1).uniform(0, 2, len(X)) if weighted else None
    model = HistogramDensity(bins).fit(X[:, :d], sample_weight=weight)
    expected, _ = np.histogramdd(X[:, :d], model.edges_, density=True, weights=weight)
    np.testing.assert_allclose(model.density_, expected, rtol=1e-12)
    counts, _ = np.histogramdd(X[:, :d], model.edges_, weights=weight)
    np.testing.assert_allclose(model.counts_, counts, rtol=1e-12)
    with np.errstate(divide="ignore"):
        ends = zip(model.edges_, X[:, :d].T, strict=True)
        places = [np.clip(np.searchsorted(edges, x, "right") - 1, 0, len(edges) - 2) for edges, x in ends]
        np.testing.assert_allclose(model.log_density(X[:, :d]), np.log(expected)[tuple(places)], rtol=1e-12)


@pytest.mark.parametrize("rule", ["auto", "fd", "scott", "sturges", "doane"])
def test_edges_of_one_column_agree_with_numpy(X: np.ndarray, rule: str) -> None:
    np.testing.assert_allclose(
        HistogramDensity(rule).fit(X[:, :1]).edges_[0], np.histogram_bin_edges(X[:, 0], rule), rtol=1e-14
    )


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_covers_the_data_and_integrates_to_one(X: np.ndarray, rule: str) -> None:
    model = HistogramDensity(rule).fit(X[:, :2])
    volumes = np.multiply.outer(*(np.diff(edges) for edges in model.edges_))
    assert (model.density_ * volumes).sum() == pytest.approx(1, rel=1e-13)
    assert np.isfinite(model.score_samples(X[:, :2])).all()
    assert model.bins_rule_ == (rule, rule)


def test_each_column_may_have_its_own_bins(X: np.ndarray) -> None:
    model = HistogramDensity([5, "scott", Width(1.0)]).fit(X)
    assert model.counts_.shape[0] == 5
    assert model.bins_rule_ == ("number given", "scott", "width 1")
    assert HistogramDensity([4]).fit(X[:, :1]).counts_.shape == (4,)
    assert HistogramDensity((3, 4)).fit(X[:, :2]).counts_.shape == (3, 4)
    assert HistogramDensity(np.array([-9, 0, 9])).fit(X[:, :1]).counts_.shape == (2,)


def test_the_density_is_zero_beyond_the_edges_and_in_empty_cells() -> None:
    model = HistogramDensity([0.0, 1.0, 2.0, 3.0]).fit([[0.5], [2.5]])
    np.testing.assert_array_equal(
        model.log_density([[-1.0], [1.5], [3.0], [3.1]]), [-np.inf, -np.inf, np.log(0.5), -np.inf]
    )
    assert model.score([[0.5], [9.0]]) == -np.inf
    assert model.score([[0.5], [2.5]]) == pytest.approx(2 * np.log(0.5))


# Counting by parts.


@settings(max_examples=40)
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=30),
    st.lists(st.integers(-60, 60), min_size=1, max_size=30),
    st.sampled_from([3, "sturges", Width(2.5), Width(1.0, origin=0.5)]),
)
def test_partial_fits_agree_with_one_fit_and_forgetting_undoes_them(
    first: list[int], second: list[int], bins: Any
) -> None:
    A, B = (np.array(values, dtype=float)[:, None] for values in (first, second))
    alone = HistogramDensity(bins).fit(A)
    model = clone(alone).partial_fit(A).partial_fit(B)
    merged = clone(alone).fit(A)
    other = pickle.loads(pickle.dumps(merged)).partial_fit(B).forget(A)
    merged.merge(other)
    np.testing.assert_array_equal(merged.edges_[0], model.edges_[0])
    np.testing.assert_array_equal(merged.counts_, model.counts_)
    assert model.counts_.sum() == len(A) + len(B)
    model.forget(B)
    inside = np.isin(model.edges_[0][:-1], alone.edges_[0][:-1])
    np.testing.assert_array_equal(model.counts_[inside], alone.counts_)
    assert not model.counts_[~inside].any()
    if isinstance(bins, Width):
        np.testing.assert_array_equal(
            merged.counts_[merged.counts_ > 0],
            np.unique_counts(np.floor((np.vstack([A, B]) - bins.origin) / bins.width)).counts,
        )


def test_width_histograms_of_any_two_data_sets_merge(X: np.ndarray) -> None:
    one, other = HistogramDensity(Width(0.25)).fit(X[:100]), HistogramDensity(Width(0.25)).fit(X[100:])
    whole = HistogramDensity(Width(0.25)).fit(X)
    one.merge(other)
    for mine, theirs in zip(one.edges_, whole.edges_, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(one.counts_, whole.counts_)


def test_weights_are_forgotten_exactly(X: np.ndarray) -> None:
    weight = np.random.default_rng(0).uniform(0.1, 3, len(X))
    model = HistogramDensity(6).fit(X, sample_weight=weight)
    before = model.counts_.copy()
    more = np.clip(X[:50] + 0.3, X.min(axis=0), X.max(axis=0))
    model.partial_fit(more, sample_weight=weight[:50]).forget(more, sample_weight=weight[:50])
    np.testing.assert_allclose(model.counts_, before, rtol=1e-12)
    np.testing.assert_array_equal(model.counts_ > 0, before > 0)


def test_a_row_of_weight_two_counts_twice_and_one_of_weight_zero_not_at_all(X: np.ndarray) -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    extreme = np.vstack([X, [[1e9, 0, 0]]])
    weighted = HistogramDensity(5).fit(extreme, sample_weight=np.append(weight, 0))
    repeated = HistogramDensity(5).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.density_, repeated.density_)


def test_different_edges_cannot_be_merged(X: np.ndarray) -> None:
    model = HistogramDensity([3, 4]).fit(X[:, :2])
    before = model.counts_.copy()
    with pytest.raises(UnequalEdgesError, match=r"column 'x1'.*same edges as `bins`, or the same Width"):
        model.merge(HistogramDensity([3, 5]).fit(X[:, :2]))
    np.testing.assert_array_equal(model.counts_, before)
    frames = (pd.DataFrame(rows, columns=["age", "bmi"]) for rows in (X[:, :2], X[:, :2] * 2))
    one, other = (HistogramDensity().fit(frame) for frame in frames)
    with pytest.raises(UnequalEdgesError, match="differ on column 'age'"):
        one.merge(other)
    with pytest.raises(MergeError, match="different columns"):
        model.merge(HistogramDensity(3).fit(X))
    with pytest.raises(MergeError, match="of the same class"):
        model.merge(OfAnyColumns(3).fit(X))


def test_forgetting_rows_that_were_not_learnt_is_rejected() -> None:
    model = HistogramDensity([0.0, 1.0, 2.0]).fit([[0.5], [1.5]])
    with pytest.raises(UnseenRowsError, match=r"'x0' is 7 in row 1.*none can be forgotten"):
        model.forget([[0.5], [7.0]])
    with pytest.raises(UnseenRowsError, match="more rows"):
        model.forget([[0.5], [0.6]])
    with pytest.raises(EmptyDataError, match="Every row"):
        model.forget([[0.5], [1.5]])
    np.testing.assert_array_equal(model.counts_, [1, 1])


# What else a density can do.


def test_quantiles_distribution_function_and_samples_agree(X: np.ndarray) -> None:
    model = HistogramDensity().fit(X[:, :1])
    q = np.linspace(0.01, 0.99, 9)
    np.testing.assert_allclose(model.cdf(model.quantile(q)[:, None]), q)
    assert model.quantile(0.5).shape == ()
    np.testing.assert_array_equal(model.cdf([[-np.inf], [np.inf]]), [0, 1])
    drawn = model.sample(5000, random_state=0)
    np.testing.assert_array_equal(drawn, model.sample(5000, random_state=0))
    np.testing.assert_allclose(np.quantile(drawn, q), model.quantile(q), atol=0.15)
    assert HistogramDensity().fit(X).sample(0).shape == (0, 3)


def test_the_estimate_converges_to_the_true_density() -> None:
    """Scott: an error of the order n^(−2/3)."""
    rng, grid = np.random.default_rng(0), np.linspace(-3, 3, 301)
    truth = np.exp(-0.5 * grid**2) / np.sqrt(2 * np.pi)
    errors = [
        np.mean(
            (np.exp(HistogramDensity("scott").fit(rng.normal(size=(n, 1))).log_density(grid[:, None])) - truth) ** 2
        )
        for n in (10**3, 10**6)
    ]
    assert errors[1] < errors[0] * 1000 ** (-2 / 3) * 3


def test_width_can_be_chosen_by_cross_validation() -> None:
    x = np.random.default_rng(0).uniform(0, 100, (400, 1))
    edges = [np.linspace(0, 100, m + 1) for m in (1, 4, 300)]
    search = GridSearchCV(HistogramDensity(), {"bins": edges}, scoring=lambda m, X, y=None: max(m.score(X), -1e9))
    assert len(search.fit(x).best_params_["bins"]) == 2


def test_units_do_not_matter(X: np.ndarray) -> None:
    model = HistogramDensity().fit(X)
    for factor in (2.0**500, 2.0**-500):
        scaled = HistogramDensity().fit(X * factor)
        np.testing.assert_array_equal(scaled.counts_, model.counts_)
        np.testing.assert_allclose(
            scaled.log_density(X * factor), model.log_density(X) - 3 * np.log(factor), rtol=1e-12
        )


def test_a_large_mean_keeps_its_bins(X: np.ndarray) -> None:
    x = np.round(X[:, :1] * 1024) / 1024
    np.testing.assert_array_equal(HistogramDensity(20).fit(x + 2.0**27).counts_, HistogramDensity(20).fit(x).counts_)


@pytest.mark.parametrize("bins", [*RULES, 1, Width(0.5)], ids=str)
def test_one_row_and_a_constant_column(bins: Any) -> None:
    for rows in ([[3.0]], [[3.0]] * 5):
        model = HistogramDensity(bins).fit(rows)
        assert model.counts_.sum() == len(rows)
        assert np.isfinite(model.log_density([[3.0]])).all()
        assert model.edges_[0][0] <= 3 <= model.edges_[0][-1]


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_layouts_do_not_matter(X: np.ndarray, threads: int) -> None:
    many = np.tile(X, (200, 1))
    expected = HistogramDensity(9).fit(many)
    with engine(threads=threads):
        for same in (np.asfortranarray(many), read_only(many), many[::-1], pd.DataFrame(many), pl.DataFrame(many)):
            model = HistogramDensity(9).fit(same)
            np.testing.assert_array_equal(model.counts_, expected.counts_)
            np.testing.assert_array_equal(np.sort(model.score_samples(same)), np.sort(expected.score_samples(many)))


def test_float32_and_whole_numbers(X: np.ndarray) -> None:
    small = X.astype(np.float32)
    np.testing.assert_array_equal(
        HistogramDensity(9).fit(small).counts_, HistogramDensity(9).fit(small.astype(float)).counts_
    )
    assert HistogramDensity(9).fit(small).plan_.dtype == "float32"
    rolls = np.random.default_rng(0).integers(1, 7, (5000, 1))
    model = HistogramDensity().fit(rolls)
    assert model.counts_.shape == (5,)  # bins of width 1, the last one holds both its ends
    np.testing.assert_array_equal(model.edges_[0], np.histogram_bin_edges(rolls, "auto"))


def test_columns_of_frames_are_named(X: np.ndarray) -> None:
    model = HistogramDensity(4).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(NonFiniteError, match=r"Column 'b' has a missing value in row 1"):
        model.fit(pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]}))


# What it rejects.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "forget", "score_samples"])
def test_values_that_are_not_finite_are_named(X: np.ndarray, value: float, method: str) -> None:
    model = HistogramDensity(4).fit(X)
    before = model.counts_
    bad = X.copy()
    bad[7, 1] = value
    with pytest.raises(NonFiniteError, match=r"'x1'.*in row\s7"):
        getattr(model, method)(bad)
    assert model.counts_ is before


def test_a_gap_in_a_corner_is_named(X: np.ndarray) -> None:
    with pytest.raises(NonFiniteError, match="NaN"):
        HistogramDensity(4).fit(X).cdf([[np.nan, 0, 0]])
    with pytest.raises(NonFiniteError, match=r"NaN.*'x2'.*row 1"):  # infinite corners are none
        HistogramDensity(4).fit(X).cdf([[np.inf, 0, -np.inf], [np.inf, 0, np.nan]])


def test_dates_are_rejected(X: np.ndarray) -> None:
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9)})
    with pytest.raises(ColumnTypeError, match=r"'day' has the type datetime64.*days since"):
        HistogramDensity().fit(dates)
    model = HistogramDensity().fit(pd.DataFrame({"day": np.arange(9.0)}))
    with pytest.raises(ColumnTypeError, match="'day'"):
        model.score_samples(dates)


def test_more_than_three_columns_are_rejected() -> None:
    with pytest.raises(TooManyColumnsError, match=r"4 columns.*KernelDensity"):
        HistogramDensity().fit(np.zeros((5, 4)))


def test_rows_beyond_given_edges_are_rejected_by_row_and_column() -> None:
    model = HistogramDensity([0.0, 1.0, 2.0])
    with pytest.raises(SupportError, match=r"'x0' is 3 in row 2, beyond its edges, which go from 0 to 2"):
        model.fit([[0.5], [1.0], [3.0]])
    model.fit([[0.5], [2.0]])
    with pytest.raises(SupportError, match="row 0"):
        model.partial_fit([[-1.0]])
    model.partial_fit([[1.5], [9.0]], sample_weight=[1.0, 0.0])
    np.testing.assert_array_equal(model.counts_, [1, 2])


def test_a_far_row_does_not_fill_the_memory() -> None:
    model = HistogramDensity(10).fit([[0.0], [1.0]])
    with pytest.raises(TooLargeError, match="far from all others"):
        model.partial_fit([[1e18]])
    assert model.counts_.sum() == 2
    with pytest.raises(TooLargeError, match="2000 × 2000 × 2000"):
        HistogramDensity(2000).fit(np.random.default_rng(0).normal(size=(5, 3)))


@pytest.mark.parametrize(
    ("bins", "columns", "message"),
    [
        ("knut", 1, "Did you mean 'knuth'"),
        (0, 1, "at least one"),
        (2.5, 1, "not a rule, a number, a Width"),
        ([3, 4, 5], 2, "3 entries for 2 column"),
        ([0.0, 1.0], 2, "per column"),
        ([1.0, 0.0], 1, "increase"),
        (None, 1, "not a rule"),
        (True, 1, "not a rule"),
        ({"x0": 3, "x1": 4}, 2, r"is a mapping.*e\.g\. \[3, 4\]"),
    ],
)
def test_invalid_bins_are_rejected(bins: Any, columns: int, message: str) -> None:
    with pytest.raises(BinsError, match=message):
        HistogramDensity(bins).fit(np.random.default_rng(0).random((9, columns)))


def test_the_column_without_valid_bins_is_named() -> None:
    X = np.column_stack([np.arange(9.0), np.append(np.linspace(0, 1e-9, 8), 1e12)])
    with pytest.raises(TooLargeError, match=r"Column 'x1'.*far from all others"):
        HistogramDensity("freedman-diaconis").fit(X)
    assert HistogramDensity("auto").fit(X).counts_.sum() == 9
    with pytest.raises(DataError, match=r"Column 'x1'.*divide the column"):
        HistogramDensity().fit(X * [1, 1e295])


def test_a_failed_fit_leaves_the_old_model(X: np.ndarray) -> None:
    model = HistogramDensity(4).fit(X)
    before = vars(model).copy()
    with pytest.raises(DataError):
        model.set_params(bins="none").fit(X)
    assert model.counts_ is before["counts_"]
    assert model.bins_rule_ == before["bins_rule_"]


def test_invalid_quantile_requests_are_rejected(X: np.ndarray) -> None:
    model = HistogramDensity(4).fit(X)
    with pytest.raises(DataError, match="one column"):
        model.quantile(0.5)
    with pytest.raises(DataError, match=r"from 0 to 1; got 1\.5"):
        HistogramDensity().fit(X[:, :1]).quantile([0.5, 1.5])
    with pytest.raises(DataError, match="got 'median'"):
        HistogramDensity().fit(X[:, :1]).quantile("median")
    with pytest.raises(DataError, match="n_samples"):
        model.sample(-1)
    with pytest.raises(NotFittedError):
        HistogramDensity().log_density(X)
    with pytest.raises(ValueError, match="non-zero"):
        HistogramDensity().fit(X, sample_weight=np.zeros(len(X)))


def test_certificate_and_plan(X: np.ndarray) -> None:
    model = HistogramDensity().fit(X)
    assert model.certificate_.holds
    assert "maximum likelihood" in str(model.certificate_)
    assert model.plan_.exact


def test_plots_are_drawn(X: np.ndarray) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    model = HistogramDensity(6).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.raises(DataError, match=r"plot\(columns=\['a', 'b'\]\)"):
        model.plot()
    for unknown in (["d"], [3], [0, 0], [-1], []):
        with pytest.raises(DataError, match="one or two of its 3 columns"):
            model.plot(columns=unknown)
    assert model.plot(columns=[2]).get_xlabel() == "c"
    for columns in ([2, 0], ["c", "a"], ["c", 0]):
        ax = model.plot(columns=columns)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("c", "a")
    one = HistogramDensity(6).fit(X[:, :1])
    values, edges, _ = one.plot().patches[0].get_data()
    np.testing.assert_array_equal(values, one.density_)
    np.testing.assert_array_equal(edges, one.edges_[0])
    pyplot.close("all")


def test_the_order_of_rows_with_equal_values_and_different_weights_does_not_matter() -> None:
    """The quartiles that determine the widths of bins use the weights, in any order of rows."""
    x, weight = np.repeat(np.arange(6.0), [3, 1, 8, 4, 3, 1])[:, None], np.array([1, 1, 3, 3, 1] * 4)
    model = HistogramDensity("freedman-diaconis").fit(x, sample_weight=weight)
    turned = HistogramDensity("freedman-diaconis").fit(x[::-1], sample_weight=weight[::-1])
    np.testing.assert_allclose(model.edges_[0], turned.edges_[0], rtol=1e-12)
