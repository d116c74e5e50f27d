"""Parts of a model: their columns, densities, samples and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

from mercer._errors import ColumnMismatchError, DataError, NonFiniteError, SingularCovarianceError, SupportError
from mercer.data import Schema, Table
from mercer.families import (
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    Gaussian,
    Histogram,
    LogNormal,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    Poisson,
)
from mercer.naive_bayes._choose_parts import choose_parts
from mercer.naive_bayes.parts import (
    CategoryPart,
    CountsPart,
    GaussianVectorPart,
    NumbersPart,
    PartConditional,
    Smoothing,
    VectorPart,
)

MAXIMUM_LIKELIHOOD = Smoothing(counts=0.0, variance=0.0)
PLAIN = Smoothing(counts=1.0, variance=1e-9)


def fitted(part: Any, table: Table, groups: np.ndarray, smoothing: Smoothing = MAXIMUM_LIKELIHOOD) -> PartConditional:
    statistic = part.zero(int(groups.max()) + 1, table).update(part.read(table), groups.astype(np.int32))
    return part.fit(statistic, smoothing)


def table_of(**columns: Any) -> Table:
    return Table.of(pd.DataFrame(columns))


def described(table: Table, families: Any) -> list[tuple[type, tuple[str, ...], str]]:
    return [(type(part), part.names, part.family.name) for part in choose_parts(table, families, unseen="smooth")]


MIXED = table_of(a=[1.5, 2.5], b=[1, 2], c=["u", "v"], d=[True, False], e=[0.5, 0.25])


# Which columns go together.


def test_columns_of_one_family_are_one_block_and_categories_stand_alone():
    assert described(MIXED, "auto") == [
        (NumbersPart, ("a", "b", "e"), "gaussian"),
        (CategoryPart, ("c",), "categorical"),
        (CategoryPart, ("d",), "categorical"),
    ]


def test_families_are_given_by_name_position_or_object():
    expected = [
        (NumbersPart, ("a",), "gamma"),
        (NumbersPart, ("b",), "poisson"),
        (CategoryPart, ("c",), "categorical"),
        (CategoryPart, ("d",), "categorical"),
        (NumbersPart, ("e",), "gaussian"),
    ]
    assert described(MIXED, {"a": "gamma", "b": "poisson"}) == expected
    assert described(MIXED, {1: Poisson(), 0: Gamma()}) == expected
    assert described(MIXED, {"b": Poisson(), np.int64(0): Gamma()}) == expected
    assert described(MIXED, {-4: Poisson(), "a": Gamma()}) == expected


def test_a_tuple_of_columns_is_a_vector_or_columns_of_one_family():
    assert described(MIXED, {("e", "a"): MultivariateGaussian()})[0] == (
        GaussianVectorPart,
        ("e", "a"),
        "multivariate_gaussian",
    )
    assert described(MIXED, {("a", "b"): "poisson"})[0] == (NumbersPart, ("a", "b"), "poisson")
    assert described(MIXED, {("a", "e"): "dirichlet"})[0] == (VectorPart, ("a", "e"), "dirichlet")


def test_two_vectors_of_one_family_stay_separate():
    table = table_of(a=[1.0], b=[1.0], c=[1.0], d=[1.0])
    pairs = {("a", "c"): "multivariate_gaussian", ("b", "d"): "multivariate_gaussian"}
    assert [names for _, names, _ in described(table, pairs)] == [("a", "c"), ("b", "d")]


def test_one_family_describes_all_columns():
    numbers = table_of(a=[1.0, 2.0], b=[3.0, 4.0])
    assert described(numbers, "exponential") == [(NumbersPart, ("a", "b"), "exponential")]
    assert described(numbers, Multinomial()) == [(CountsPart, ("a", "b"), "multinomial")]


def test_histograms_with_their_own_edges_stand_alone():
    numbers = table_of(a=[1.0, 2.0], b=[3.0, 9.0])
    a, b = choose_parts(numbers, Histogram(bins=2), unseen="smooth")
    np.testing.assert_array_equal(a.family.edges, [1.0, 1.5, 2.0])
    np.testing.assert_array_equal(b.family.edges, [3.0, 6.0, 9.0])
    assert len(choose_parts(numbers, Histogram(bins=[0, 5, 9]), unseen="smooth")) == 1


def test_sparse_columns_are_one_row_of_counts_by_default():
    table = Table.of(sp.csr_matrix(np.eye(4)))
    assert described(table, "auto") == [(CountsPart, ("x0", "x1", "x2", "x3"), "multinomial")]
    assert described(table, {1: "gaussian"}) == [
        (CountsPart, ("x0", "x2", "x3"), "multinomial"),
        (NumbersPart, ("x1",), "gaussian"),
    ]


def test_a_schema_may_have_more_columns_but_not_fewer():
    schema = Schema.infer(pd.DataFrame({"a": [1.5, 2.5], "b": [1, 2], "target": ["x", "y"]}))
    assert [names for _, names, _ in described(table_of(b=[1, 2], a=[1.5, 0.5]), schema)]
    with pytest.raises(ColumnMismatchError, match="'c'"):
        described(table_of(a=[1.5], c=[2.0]), schema)


def test_invalid_choices_are_named():
    with pytest.raises(DataError, match="'a' twice"):
        described(MIXED, {"a": "gamma", ("b", "a"): "poisson"})
    with pytest.raises(ValueError, match="no family is called 'normal'"):
        described(MIXED, {"a": "normal"})
    with pytest.raises(ColumnMismatchError, match=r"column 9.*there are 5"):
        described(MIXED, {9: "gamma"})
    with pytest.raises(ColumnMismatchError, match="no column"):
        described(MIXED, {(): "gamma"})


# What they say.

SCALAR = [
    (Gaussian(), stats.norm(2, 3), lambda p, c: stats.norm(p.mean[c], np.sqrt(p.variance[c]))),
    (Gaussian(variance=4.0), stats.norm(2, 3), lambda p, c: stats.norm(p.mean[c], 2)),
    (LogNormal(), stats.lognorm(0.5), lambda p, c: stats.lognorm(np.sqrt(p.variance[c]), scale=np.exp(p.mean[c]))),
    (Exponential(), stats.expon(scale=2), lambda p, c: stats.expon(scale=1 / p.rate[c])),
    (Gamma(), stats.gamma(3), lambda p, c: stats.gamma(p.shape[c], scale=1 / p.rate[c])),
    (Beta(), stats.beta(2, 3), lambda p, c: stats.beta(p.a[c], p.b[c])),
    (Poisson(), stats.poisson(3), lambda p, c: stats.poisson(p.rate[c])),
    (Binomial(trials=7), stats.binom(7, 0.4), lambda p, c: stats.binom(7, p.probability[c])),
    (NegativeBinomial(), stats.nbinom(2, 0.3), lambda p, c: stats.nbinom(p.r[c], p.r[c] / (p.r[c] + p.mean[c]))),
    (NegativeBinomial(r=2.0), stats.nbinom(2, 0.3), lambda p, c: stats.nbinom(2, 2 / (2 + p.mean[c]))),
]


@pytest.mark.parametrize(("family", "source", "frozen"), SCALAR, ids=lambda value: getattr(value, "name", ""))
def test_numbers_are_scored_by_their_family(rng, family, source, frozen):
    x = source.rvs(size=(300, 2), random_state=rng).astype(float)
    groups = rng.integers(3, size=300)
    table = Table.of(x)
    part = NumbersPart((0, 1), ("x0", "x1"), family)
    conditional = fitted(part, table, groups)
    parameters = conditional.by_column()
    holes = np.where(rng.random(x.shape) < 0.3, np.nan, x)
    scores = conditional.score(holes)
    for c in range(3):
        log_p = [getattr(frozen(parameters[name], c), "logpmf" if family.discrete else "logpdf") for name in part.names]
        expected = sum(np.where(np.isnan(holes[:, j]), 0.0, log_p[j](x[:, j])) for j in range(2))
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-8)
    assert conditional.certificate.holds


@pytest.mark.parametrize(("family", "source", "frozen"), SCALAR, ids=lambda value: getattr(value, "name", ""))
def test_a_fit_to_samples_recovers_the_parameters(rng, family, source, frozen):
    x = source.rvs(size=(400, 1), random_state=rng).astype(float)
    part = NumbersPart((0,), ("x0",), family)
    conditional = fitted(part, Table.of(x), np.arange(400) % 2)
    codes = np.repeat([1, 0], 20_000)
    again = fitted(part, Table.of(conditional.sample(codes, rng).astype(float)), codes)
    for ours, drawn in zip(conditional.parameters, again.parameters, strict=True):
        np.testing.assert_allclose(drawn, ours, rtol=0.15, atol=0.05)


def test_pseudo_counts_keep_every_outcome_possible():
    zeros = Table.of(np.zeros((4, 1)))
    groups = np.array([0, 0, 1, 1])
    for family, expected in ((Binomial(trials=2), 1 / 6), (Binomial(trials=1), 1 / 4)):
        conditional = fitted(NumbersPart((0,), ("x0",), family), zeros, groups, PLAIN)
        np.testing.assert_allclose(conditional.parameters.probability, expected)
    counts = Table.of(np.array([[0.0], [0.0], [4.0], [8.0]]))
    conditional = fitted(NumbersPart((0,), ("x0",), Poisson()), counts, groups, PLAIN)
    # one more row that looks like all classes together, whose mean is 3
    np.testing.assert_allclose(conditional.parameters.rate, [[1.0], [5.0]])


@pytest.mark.parametrize("family", [Poisson(), NegativeBinomial()], ids=str)
@pytest.mark.parametrize("counts", [[1, 2, 2, 3], [0, 0, 1, 9]], ids=["varying less than a Poisson", "more"])
def test_pseudo_counts_follow_all_classes_together(family, counts):
    table = Table.of(np.array([*counts, np.nan])[:, None])
    conditional = fitted(NumbersPart((0,), ("x0",), family), table, np.array([0, 0, 0, 0, 1]), PLAIN)
    mean = conditional.parameters[0]
    np.testing.assert_allclose(mean, np.mean(counts), rtol=1e-9)


def test_vectors_are_scored_by_their_family(rng):
    shares = rng.dirichlet([2, 3, 4], size=200)
    groups = rng.integers(2, size=200)
    part = VectorPart((0, 1, 2), ("a", "b", "c"), Dirichlet())
    conditional = fitted(part, Table.of(shares), groups)
    alpha = conditional.by_column()["a", "b", "c"].alpha
    expected = np.transpose([stats.dirichlet(row).logpdf(shares.T) for row in alpha])
    np.testing.assert_allclose(conditional.score(shares), expected, rtol=1e-9)
    np.testing.assert_array_equal(conditional.score(np.full((1, 3), np.nan)), 0.0)


def test_counts_are_scored_with_their_coefficient(rng):
    counts = rng.poisson(2.0, size=(50, 4))
    groups = rng.integers(2, size=50)
    part = CountsPart((0, 1, 2, 3), ("a", "b", "c", "d"), Multinomial())
    conditional = fitted(part, Table.of(counts), groups, PLAIN)
    expected = [stats.multinomial.logpmf(counts, counts.sum(axis=1), p) for p in conditional.parameters.probabilities]
    np.testing.assert_allclose(conditional.score(counts.astype(float)), np.transpose(expected), rtol=1e-9)
    np.testing.assert_allclose(conditional.score(sp.csr_matrix(counts)), np.transpose(expected), rtol=1e-9)


def test_lengths_are_sampled_from_those_of_the_class(rng):
    counts = np.array([[1, 1], [2, 1], [5, 5], [4, 6]])
    part = CountsPart((0, 1), ("a", "b"), Multinomial())
    conditional = fitted(part, Table.of(counts), np.array([0, 0, 1, 1]), PLAIN)
    lengths = conditional.sample(np.repeat([0, 1], 50), rng).sum(axis=1)
    assert set(lengths[:50]) == {2, 3}
    assert set(lengths[50:]) == {10}


def test_categorical_levels_may_be_declared_by_their_number():
    part = CategoryPart((0,), ("x",), Categorical(levels=4))
    conditional = fitted(part, table_of(x=[0, 1, 1]), np.zeros(3, dtype=int), PLAIN)
    np.testing.assert_allclose(conditional.parameters.probabilities, [[2 / 7, 3 / 7, 1 / 7, 1 / 7]])


def test_levels_of_any_type_and_of_several_at_once():
    part = CategoryPart((0,), ("x",), Categorical())
    table = Table.of(np.array([["one"], [1], [2.5], ["one"], [None]], dtype=object))
    conditional = fitted(part, table, np.zeros(5, dtype=int))
    np.testing.assert_allclose(np.exp(conditional.score(part.read(table)))[:, 0], [0.5, 0.25, 0.25, 0.5, 1.0])


# Vectors with gaps.


def test_a_class_without_observations_of_a_column_uses_all_classes(rng):
    """Class 1 never shows the second column: in it, x1 given x0 is as in all classes together."""
    x = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=600)
    groups = np.repeat([0, 1], 300)
    x[groups == 1] += [2.0, 0.0]
    x[groups == 1, 1] = np.nan
    part = GaussianVectorPart((0, 1), ("a", "b"), MultivariateGaussian())
    mean, covariance = fitted(part, Table.of(x), groups).parameters
    slope = covariance[:, 0, 1] / covariance[:, 0, 0]
    np.testing.assert_allclose(slope[1], slope[0], rtol=1e-6)  # all that is known of it comes from class 0
    np.testing.assert_allclose(mean[1, 1] - mean[0, 1], slope[0] * (mean[1, 0] - mean[0, 0]), rtol=1e-5)
    np.testing.assert_allclose(mean[1, 0], x[300:, 0].mean())


def test_a_column_of_a_vector_that_is_never_observed_has_no_effect(rng):
    x = rng.normal(size=(100, 3))
    groups = np.arange(100) % 2
    holes = x.copy()
    holes[:, 1] = np.nan
    part = GaussianVectorPart((0, 1, 2), ("a", "b", "c"), MultivariateGaussian())
    pair = GaussianVectorPart((0, 2), ("a", "c"), MultivariateGaussian())
    conditional = fitted(part, Table.of(holes), groups)
    expected = fitted(pair, Table.of(x), groups).score(x[:, [0, 2]])
    np.testing.assert_allclose(conditional.score(x), expected, rtol=1e-9)
    assert np.isnan(conditional.sample(np.zeros(3, dtype=int), rng)[:, 1]).all()


def test_collinear_columns_are_named_unless_smoothed(rng):
    x = rng.normal(size=(50, 1)) @ np.ones((1, 2))
    part = GaussianVectorPart((0, 1), ("a", "b"), MultivariateGaussian())
    with pytest.raises(SingularCovarianceError, match=r"'a', 'b'.*var_smoothing"):
        fitted(part, Table.of(x), np.zeros(50, dtype=int))
    assert np.isfinite(fitted(part, Table.of(x), np.zeros(50, dtype=int), PLAIN).score(x)).all()


# What they reject.


def test_rows_are_counted_over_all_blocks():
    part = NumbersPart((0, 1), ("a", "b"), Poisson())
    with pytest.raises(SupportError, match=r"'b' is -1.0 in row 1002.*counts"):
        part.check_support(np.array([[1.0, 2.0], [np.nan, 0.0], [3.0, -1.0]]), first_row=1000)
    with pytest.raises(NonFiniteError, match=r"'a' has a missing value in row 1001"):
        part.check_no_missing(np.array([[1.0, 2.0], [np.nan, 0.0]]), first_row=1000)


def test_invalid_and_incomplete_shares_are_rejected():
    part = VectorPart((0, 1), ("a", "b"), Dirichlet())
    with pytest.raises(SupportError, match=r"'a', 'b' is \[0.5 0.6\] in row 7.*sum to 1"):
        part.check_support(np.array([[0.5, 0.6]]), first_row=7)
    with pytest.raises(NonFiniteError, match=r"'b' is missing in row 0 while others"):
        part.check_support(np.array([[0.5, np.nan]]), first_row=0)
    part.check_support(np.array([[np.nan, np.nan], [0.5, 0.5]]), first_row=0)
