"""Sufficient statistics of the columns as features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from mercer import BernoulliNB, CategoricalNB, GaussianNB, LogisticRegression, NaiveBayes, linear_form
from mercer.families import MultivariateGaussian
from mercer.preprocessing.statistics import StatisticFeatures

X, Y = load_iris(return_X_y=True)


def test_a_normal_column_has_itself_and_its_square_in_units_of_its_deviation() -> None:
    features = StatisticFeatures(GaussianNB()).fit_transform(X, Y)
    centred = (X - GaussianNB().fit(X, Y).theta_.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(features[:, 0::2], centred, atol=1e-12)
    np.testing.assert_allclose(features[:, 1::2], centred**2, atol=1e-12)


@pytest.mark.parametrize(
    "model", [GaussianNB(), NaiveBayes(), BernoulliNB(binarize=3), NaiveBayes("poisson")], ids=repr
)
def test_naive_bayes_is_linear_in_the_features(model: Any) -> None:
    rows = np.round(X)
    maker = StatisticFeatures(model).fit(rows, Y)
    form = linear_form(clone(model).fit(rows, Y))
    np.testing.assert_allclose(maker.transform(rows) * maker.scale_, form.feature_map(rows), atol=1e-12)
    assert maker.get_feature_names_out().tolist() == list(form.names)


def test_units_do_not_matter() -> None:
    unit = np.array([1e-6, 1.0, 1e3, 1e8])
    plain, scaled = (StatisticFeatures(GaussianNB(var_smoothing=0)).fit_transform(rows, Y) for rows in (X, X * unit))
    np.testing.assert_allclose(plain, scaled, rtol=1e-9, atol=1e-9)


def of_family(family: str, unit: float = 1.0) -> Any:
    """Return three columns that depend on Y."""
    rng = np.random.default_rng(0)
    mean = 2.0 + np.outer(Y, [1.0, 0.5, 0.0])
    draws = {
        "poisson": lambda: rng.poisson(mean).astype(float),
        "gamma": lambda: unit * rng.gamma(4.0, mean / 4),
        "exponential": lambda: unit * rng.exponential(mean),
        "inverse_gaussian": lambda: unit * rng.wald(mean, 5.0),
        "lognormal": lambda: np.exp(rng.normal(mean)),
        "beta": lambda: rng.beta(mean, 3.0),
    }
    return draws[family]()


@pytest.mark.parametrize("family", ["poisson", "gamma", "exponential", "inverse_gaussian", "lognormal", "beta"])
def test_statistics_of_any_family_are_in_units_of_their_deviation(family: str) -> None:
    """… in the units of the family: the scales of the rows are close to 1."""
    features = StatisticFeatures(NaiveBayes(family)).fit_transform(of_family(family), Y)
    np.testing.assert_allclose(features.std(axis=0), 1.0, atol=0.3)


@pytest.mark.parametrize("family", ["gamma", "exponential", "inverse_gaussian"])
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_units_do_not_matter_to_the_penalised_half(family: str, unit: float) -> None:
    """Without a scale a coefficient of 1e9 is what a penalty takes away."""
    plain, scaled = (of_family(family, each) for each in (1.0, unit))
    ours, theirs = (
        make_pipeline(StatisticFeatures(NaiveBayes(family)), LogisticRegression()).fit(rows, Y).predict_proba(rows)
        for rows in (plain, scaled)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_units_of_jointly_normal_columns_do_not_matter() -> None:
    both = {(0, 1, 2, 3): MultivariateGaussian()}
    unit = np.array([1e-6, 1.0, 1e3, 1e6])
    plain, scaled = (
        StatisticFeatures(NaiveBayes(both, var_smoothing=0)).fit_transform(rows, Y) for rows in (X, X * unit)
    )
    np.testing.assert_allclose(plain, scaled, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(plain[:, :4].std(axis=0), 1.0)


@pytest.mark.parametrize("family", ["poisson", "gamma", "histogram"])
def test_gaps_in_columns_that_were_complete_in_the_fit_are_replaced_by_the_mean(family: str) -> None:
    rows = of_family("gamma" if family == "histogram" else family)
    maker = StatisticFeatures(NaiveBayes(family)).fit(rows, Y)
    gappy = rows.copy()
    gappy[3, 1] = np.nan
    whole, found = maker.transform(rows), maker.transform(gappy)
    of_column = slice(whole.shape[1] // 3, 2 * whole.shape[1] // 3)
    np.testing.assert_allclose(found[3, of_column], whole[:, of_column].mean(axis=0), rtol=1e-6)
    found[3, of_column] = whole[3, of_column]
    np.testing.assert_array_equal(found, whole)


@pytest.mark.parametrize("family", ["poisson", "gamma", "lognormal"])
def test_a_column_that_is_never_observed_has_no_effect(family: str) -> None:
    rows = of_family(family)
    empty = np.column_stack([rows[:, :1], np.full(150, np.nan), rows[:, 1:]])
    plain, found = (StatisticFeatures(NaiveBayes(family)).fit_transform(each, Y) for each in (rows, empty))
    np.testing.assert_allclose(found, plain)


def test_columns_far_from_zero_keep_their_digits() -> None:
    near, far = (StatisticFeatures(GaussianNB()).fit_transform(rows, Y) for rows in (X, X + 1e8))
    np.testing.assert_allclose(near, far, atol=1e-6)


def test_only_gaps_of_the_fit_have_an_indicator() -> None:
    rows = X.copy()
    rows[0, 1] = np.nan
    features = StatisticFeatures(GaussianNB()).fit(rows, Y).transform(rows)
    assert features.shape == (150, 9)
    assert features[0, 2:4].tolist() == [0, 0]
    assert features[:, -1].tolist() == [1] + [0] * 149
    whole = StatisticFeatures(GaussianNB()).fit(X, Y).transform(rows)
    assert whole[0, 2:4].tolist() == [0, 0]


def test_mixed_tables_and_unseen_levels() -> None:
    frame = pd.DataFrame({"number": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "blue", "red", None]})
    maker = StatisticFeatures(NaiveBayes()).fit(frame, [0, 0, 1, 1])
    other = pd.DataFrame({"number": [2.0, np.nan], "colour": ["green", None]})
    names = maker.get_feature_names_out().tolist()
    features = maker.transform(other)
    assert features.shape == (2, len(names))
    assert features[0, names.index("colour is new")] == 1
    assert not features[1].any()


def test_codes_and_sparse_rows() -> None:
    codes = np.array([[0, 1], [1, 2], [0, 0], [1, 1]])
    assert StatisticFeatures(CategoricalNB()).fit(codes, [0, 0, 1, 1]).transform(codes).shape == (4, 5)
    sparse = StatisticFeatures(BernoulliNB()).fit(sp.csr_matrix(codes), [0, 0, 1, 1]).transform(sp.csr_matrix(codes))
    assert sp.issparse(sparse)
    assert sparse.toarray().tolist() == (codes > 0).astype(float).tolist()
    normal, y = StatisticFeatures(GaussianNB()), [0, 0, 1, 1]
    rows = sp.csr_matrix(codes, dtype=float)
    np.testing.assert_array_equal(normal.fit(rows, y).transform(rows), normal.fit(codes, y).transform(codes))


def test_follows_the_conventions_of_scikit_learn() -> None:
    maker = StatisticFeatures(GaussianNB())
    with pytest.raises(NotFittedError):
        maker.transform(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(maker, LogisticRegression()).fit(frame, Y)
    assert model[0].feature_names_in_.tolist() == list("abcd")
    assert model.set_params(statisticfeatures__model__var_smoothing=0.1)[0].model.var_smoothing == 0.1
    assert not hasattr(maker.model, "classes_")
    assert StatisticFeatures(GaussianNB()).set_output(transform="pandas").fit(frame, Y).transform(frame).shape == (
        150,
        8,
    )


def test_a_failed_fit_leaves_the_old_model() -> None:
    maker = StatisticFeatures(GaussianNB()).fit(X, Y)
    before = maker.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        maker.fit(np.full((3, 4), np.inf), [0, 1, 0])
    np.testing.assert_array_equal(maker.transform(X), before)


@pytest.mark.parametrize("model", [GaussianNB(), NaiveBayes(), CategoricalNB()], ids=repr)
def test_a_weight_of_one_has_no_effect(model: Any) -> None:
    rows = np.round(X)
    plain = StatisticFeatures(model).fit(rows, Y)
    weighted = StatisticFeatures(model).fit(rows, Y, sample_weight=np.ones(len(Y)))
    np.testing.assert_array_equal(weighted.scale_, plain.scale_)
    np.testing.assert_allclose(weighted.transform(rows), plain.transform(rows), rtol=1e-12)


def test_names_of_an_earlier_fit_are_forgotten() -> None:
    maker = StatisticFeatures(GaussianNB()).fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert maker.feature_names_in_.tolist() == list("abcd")
    assert not hasattr(maker.fit(X, Y), "feature_names_in_")
