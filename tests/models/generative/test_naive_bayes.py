"""Naive Bayes on mixed columns: the product of its parts, whatever holds the data and however it comes in."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import logsumexp
from sklearn.model_selection import GridSearchCV

from mercer import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, Schema
from mercer._errors import (
    ColumnMismatchError,
    ColumnTypeError,
    DataError,
    DegenerateDataError,
    FitInterrupted,
    MercerWarning,
    MergeError,
    NonFiniteError,
    NotConvergedWarning,
    SupportError,
    UnseenCategoryError,
    UnseenRowsError,
)
from mercer.families import (
    Bernoulli,
    Dirichlet,
    Gamma,
    Gaussian,
    Histogram,
    MultivariateGaussian,
    NegativeBinomial,
    Poisson,
)
from mercer.solvers.gaps.em import em_gaussian

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def visits(n: int = 300, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """Columns of every type, with every third value of some of them missing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    gone = rng.random(n) < 0.3
    age = np.where(gone, np.nan, rng.normal(50 + 5 * y, 9.0))
    town = np.array(["Ulm", "Bonn", "Köln", "Jena"], dtype=object)[(rng.integers(4, size=n) * (y + 1)) % 4]
    columns = {
        "age": age,
        "calls": rng.poisson(2 + y),
        "town": [None if lost else name for lost, name in zip(rng.random(n) < 0.2, town, strict=True)],
        "smokes": rng.random(n) < 0.2 + 0.2 * y,
        "dose": rng.gamma(2.0 + y),
    }
    return columns, np.array(["a", "b", "c"])[y]


def frame(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    columns, y = visits(n, seed)
    return pd.DataFrame(columns), y


def halves(table: pd.DataFrame, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    first = np.arange(len(y)) % 2 == 0
    return table[first], y[first], table[~first], y[~first]


def same(a: NaiveBayes, b: NaiveBayes, table: Any, rtol: float = 1e-9) -> None:
    np.testing.assert_array_equal(a.classes_, b.classes_)
    np.testing.assert_allclose(a.predict_joint_log_proba(table), b.predict_joint_log_proba(table), rtol=rtol)
    assert a.parameters_.keys() == b.parameters_.keys()
    for name, parameters in a.parameters_.items():
        for ours, theirs in zip(parameters, b.parameters_[name], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=rtol, err_msg=str(name))


# The density is the product of its parts.


def test_the_joint_density_is_what_scipy_says():
    table, y = frame()
    model = NaiveBayes({"calls": Poisson(), "dose": "gamma", "smokes": Bernoulli()}, smoothing=0.5).fit(table, y)
    joint = model.predict_joint_log_proba(table)
    for c, label in enumerate("abc"):
        mine = table[y == label]
        expected = np.full(len(y), np.log(np.mean(y == label)))
        spread = model.var_smoothing * table.age.var(ddof=0)
        age = stats.norm(mine.age.mean(), np.sqrt(mine.age.var(ddof=0) + spread)).logpdf(table.age)
        expected += np.where(table.age.isna(), 0.0, age)
        rate = (mine.calls.sum() + 0.5 * table.calls.mean()) / (len(mine) + 0.5)
        expected += stats.poisson(rate).logpmf(table.calls)
        shape, _, scale = stats.gamma.fit(mine.dose, floc=0)
        expected += stats.gamma(shape, scale=scale).logpdf(table.dose)
        expected += stats.bernoulli((mine.smokes.sum() + 0.5) / (len(mine) + 1)).logpmf(table.smokes)
        share = {
            town: (np.sum(mine.town == town) + 0.5) / (mine.town.notna().sum() + 2) for town in table.town.dropna()
        }
        expected += [0.0 if pd.isna(town) else np.log(share[town]) for town in table.town]
        np.testing.assert_allclose(joint[:, c], expected, rtol=1e-7)
    np.testing.assert_allclose(model.log_density(table), logsumexp(joint, axis=1), rtol=1e-12)


def test_numbers_alone_are_gaussian_naive_bayes(rng):
    y = rng.integers(3, size=200)
    X = rng.normal(size=(200, 4)) + y[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    ours, drop_in = NaiveBayes(var_smoothing=0).fit(X, y), GaussianNB(var_smoothing=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), drop_in.predict_joint_log_proba(X), rtol=1e-12)


def test_units_of_one_column_do_not_change_another(rng):
    y = rng.integers(2, size=100)
    X = rng.normal(size=(100, 2)) + y[:, None]
    alone = NaiveBayes().fit(X, y).parameters_["x1"].variance
    np.testing.assert_allclose(NaiveBayes().fit(X * [1e9, 1], y).parameters_["x1"].variance, alone, rtol=1e-12)


def test_categories_alone_are_categorical_naive_bayes(rng):
    y = rng.integers(2, size=200)
    codes = rng.integers(4, size=(200, 3))
    ours = NaiveBayes("categorical", smoothing=0.3).fit(codes, y)
    drop_in = CategoricalNB(alpha=0.3).fit(codes, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(codes), drop_in.predict_joint_log_proba(codes), rtol=1e-12)


def test_two_valued_columns_are_bernoulli_naive_bayes(rng):
    y = rng.integers(2, size=200)
    X = rng.integers(2, size=(200, 3))
    expected = BernoulliNB().fit(X, y).predict_joint_log_proba(X)
    for families in ("bernoulli", "categorical"):
        found = NaiveBayes(families).fit(X, y).predict_joint_log_proba(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.coo_array, np.asarray])
def test_counts_are_multinomial_naive_bayes(rng, container):
    y = rng.integers(2, size=100)
    X = container(rng.poisson(1.0, size=(100, 6)))
    model = NaiveBayes("auto" if sp.issparse(X) else "multinomial").fit(X, y)
    expected = MultinomialNB().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(model.log_density(X), expected.log_density(X), rtol=1e-12)


def test_the_document_table_of_the_lecture():
    """Lecture 3: Chinese Beijing Chinese, Chinese Chinese Shanghai, Chinese Macao; Tokyo Japan Chinese."""
    words = sp.csr_matrix([[2, 1, 0, 0, 0, 0], [2, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1, 0, 0, 0, 1, 1]])
    model = NaiveBayes().fit(words, ["c", "c", "c", "j"])
    document = sp.csr_matrix([[3, 0, 0, 0, 1, 1]])
    of_these_words = np.exp(model.predict_joint_log_proba(document)[0]) / 20  # 5! / 3! orders of them
    np.testing.assert_allclose(of_these_words, [0.000301, 0.000135], atol=5e-7)
    np.testing.assert_allclose(model.predict_proba(document)[0, 0], 0.690, atol=5e-4)


def test_columns_described_together(rng):
    y = rng.integers(2, size=400)
    X = rng.multivariate_normal([0, 0], [[2, 1], [1, 3]], size=400) + np.outer(y, [1, -1])
    table = pd.DataFrame({"x": X[:, 0], "other": rng.normal(size=400), "y": X[:, 1]})
    model = NaiveBayes({("x", "y"): MultivariateGaussian()}, var_smoothing=0.0).fit(table, y)
    joint = model.predict_joint_log_proba(table)
    for c in (0, 1):
        mine = table[y == c]
        expected = np.log(np.mean(y == c)) + stats.norm(mine.other.mean(), mine.other.std(ddof=0)).logpdf(table.other)
        pair = stats.multivariate_normal(mine[["x", "y"]].mean(), np.cov(mine[["x", "y"]].T, ddof=0))
        np.testing.assert_allclose(joint[:, c], expected + pair.logpdf(table[["x", "y"]]), rtol=1e-10)
    assert set(model.parameters_) == {"other", ("x", "y")}


def test_shares_of_a_whole(rng):
    y = np.repeat([0, 1], 500)
    X = np.concatenate([rng.dirichlet([1, 2, 3], 500), rng.dirichlet([6, 2, 1], 500)])
    model = NaiveBayes(Dirichlet()).fit(X, y)
    np.testing.assert_allclose(model.parameters_["x0", "x1", "x2"].alpha, [[1, 2, 3], [6, 2, 1]], rtol=0.2)
    expected = [stats.dirichlet(a).logpdf(X.T) + np.log(0.5) for a in model.parameters_["x0", "x1", "x2"].alpha]
    np.testing.assert_allclose(model.predict_joint_log_proba(X), np.transpose(expected), rtol=1e-9)
    assert model.certificate_.kind == "gradient norm"
    assert model.certificate_.holds


def test_a_histogram_is_a_density(rng):
    y = rng.integers(2, size=500)
    x = rng.normal(size=500) + y
    edges = [-6.0, -1.0, 0.0, 0.5, 1.0, 2.0, 6.0]
    model = NaiveBayes({0: Histogram(bins=edges)}, smoothing=0.0).fit(x[:, None], y)
    for c in (0, 1):
        density, _ = np.histogram(x[y == c], edges, density=True)
        expected = np.log(density[np.digitize(x, edges) - 1] * np.mean(y == c))
        np.testing.assert_allclose(model.predict_joint_log_proba(x[:, None])[:, c], expected, rtol=1e-12)


def test_the_certificate_is_that_of_the_part_that_was_iterated(rng):
    counts = rng.negative_binomial(3, 0.4, size=200)
    table = pd.DataFrame({"first": rng.normal(size=200), "counts": counts})
    model = NaiveBayes({"counts": NegativeBinomial()}).fit(table, np.arange(200) % 2)
    assert model.certificate_.kind == "bracketed root"
    assert "iterations" in model.plan_.path


def test_a_histogram_keeps_the_edges_of_its_first_data(rng):
    x, y = rng.normal(size=(200, 1)), rng.integers(2, size=200)
    model = NaiveBayes({"x0": Histogram(bins=4)}).fit(x, y)
    edges = model.parts_[0].family.edges
    np.testing.assert_allclose(edges, np.linspace(x.min(), x.max(), 5))
    model.partial_fit(10 * x, y)
    np.testing.assert_array_equal(model.parts_[0].family.edges, edges)


def test_an_offset_of_1e8_costs_no_digits(rng):
    y = rng.integers(2, size=500)
    X = rng.normal(size=(500, 2)) + y[:, None]
    near, far = NaiveBayes().fit(X, y), NaiveBayes().fit(X + 1e8, y)
    np.testing.assert_allclose(far.predict_log_proba(X + 1e8), near.predict_log_proba(X), atol=1e-6)
    exact = NaiveBayes().fit((X + 1e8) - 1e8, y).parameters_["x0"].variance
    np.testing.assert_allclose(far.parameters_["x0"].variance, exact, rtol=1e-10)


# Missing values are integrated out.


def test_a_missing_value_is_a_column_left_out_for_that_row():
    table, y = frame()
    families = {"calls": Poisson(), "dose": Gamma(), ("age",): Gaussian()}
    model = NaiveBayes(families).fit(table, y)
    joint = model.predict_joint_log_proba(table)
    for column in table.columns:
        holes = table.astype({"calls": float, "smokes": object})
        holes[column] = None if holes[column].dtype == object or column == "town" else np.nan
        rest = table.drop(columns=column)
        kept = {key: family for key, family in families.items() if key not in (column, (column,))}
        alone = NaiveBayes(kept).fit(rest, y).predict_joint_log_proba(rest)
        np.testing.assert_allclose(model.predict_joint_log_proba(holes), alone, rtol=1e-9, err_msg=column)
    everything = pd.DataFrame({name: [np.nan] for name in ("age", "calls", "town", "smokes", "dose")})
    np.testing.assert_allclose(model.predict_proba(everything)[0], model.class_prior_)
    assert joint.shape == (300, 3)


def test_missing_entries_of_a_vector_have_the_marginal_density(rng):
    X = rng.multivariate_normal([1, 2, 3], [[2, 1, 0], [1, 3, 1], [0, 1, 2]], size=300)
    y = rng.integers(2, size=300)
    model = NaiveBayes(MultivariateGaussian(), var_smoothing=0.0).fit(X, y)
    holes = X.copy()
    holes[:, 1] = np.nan
    joint = model.predict_joint_log_proba(holes)
    mean, covariance = model.parameters_["x0", "x1", "x2"]
    for c in (0, 1):
        pair = stats.multivariate_normal(mean[c][[0, 2]], covariance[c][np.ix_([0, 2], [0, 2])])
        np.testing.assert_allclose(joint[:, c] - np.log(model.class_prior_[c]), pair.logpdf(X[:, [0, 2]]), rtol=1e-9)


def test_a_vector_with_holes_is_fitted_by_em(rng):
    X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=4000)
    X[rng.random(4000) < 0.4, 1] = np.nan
    model = NaiveBayes(MultivariateGaussian()).fit(X, np.zeros(4000))
    np.testing.assert_allclose(model.parameters_["x0", "x1"].covariance[0], [[1, 0.9], [0.9, 1]], atol=0.08)
    assert model.certificate_.holds
    assert model.certificate_.kind != "closed form"
    assert "iterations" in model.plan_.path


def test_ctrl_c_keeps_the_best_parameters_so_far(rng, monkeypatch):
    def stopped_early(moments, **options):
        with pytest.warns(NotConvergedWarning):
            solution = em_gaussian(moments, most_steps=1, **options)
        raise FitInterrupted("stopped", solution)

    X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=200)
    X[rng.random(200) < 0.4, 1] = np.nan
    monkeypatch.setattr("mercer.models.generative.parts.gaussian_vector.em_gaussian", stopped_early)
    model = NaiveBayes(MultivariateGaussian())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.arange(200) % 2)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_batch_of_nothing_but_none_is_missing():
    table, y = frame()
    model = NaiveBayes().fit(table, y)
    row = table.head(1).assign(age=[None], calls=[None])
    assert row.age.dtype == object
    expected = model.predict_proba(table.head(1).assign(age=np.nan, calls=np.nan))
    np.testing.assert_array_equal(model.predict_proba(row), expected)


def test_a_column_unobserved_in_a_class_looks_there_as_in_all_classes():
    X = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, np.nan], [5.0, np.nan]])
    model = NaiveBayes().fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.parameters_["x1"].mean, [6.0, 6.0])
    np.testing.assert_allclose(model.parameters_["x1"].variance, [1.0, 1.0])
    for families in ("exponential", "poisson", Gaussian(variance=4.0)):
        mean, *_ = NaiveBayes({1: families}, smoothing=0.0).fit(X, [0, 0, 1, 1]).parameters_["x1"]
        assert mean[0] == mean[1]


def test_a_column_never_observed_says_nothing():
    table, y = frame()
    for families in ("auto", {"nothing": "poisson"}, {"nothing": "gamma"}, {"nothing": "negative_binomial"}):
        model = NaiveBayes(families).fit(table.assign(nothing=np.nan), y)
        expected = NaiveBayes().fit(table, y).predict_joint_log_proba(table)
        np.testing.assert_allclose(model.predict_joint_log_proba(table.assign(nothing=3.0)), expected)
        assert model.sample(5)[0]["nothing"].isna().all()


def test_missing_values_may_be_refused():
    table, y = frame()
    with pytest.raises(NonFiniteError, match="Column 'age' has a missing value in row"):
        NaiveBayes(missing="error").fit(table, y)
    with pytest.raises(NonFiniteError, match="'town'"):
        NaiveBayes(missing="error").fit(table.drop(columns="age"), y)
    complete = table.dropna()
    model = NaiveBayes(missing="error").fit(complete, y[complete.index])
    with pytest.raises(NonFiniteError, match="missing="):
        model.predict(table)
    assert not model.__sklearn_tags__().input_tags.allow_nan


# Levels.


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_an_unseen_level_has_the_probability_of_one_more_level(alpha):
    X = np.array([["u"], ["u"], ["v"], ["w"]], dtype=object)
    model = NaiveBayes(smoothing=alpha).fit(X, [0, 0, 0, 1])
    joint = model.predict_joint_log_proba(np.array([["new"]], dtype=object))[0]
    np.testing.assert_allclose(np.exp(joint), [0.75 * alpha / (3 + 3 * alpha), 0.25 * alpha / (1 + 3 * alpha)])


def test_an_unseen_level_may_say_nothing_or_be_refused():
    X = np.array([["red"], ["green"], ["red"]], dtype=object)
    new = np.array([["reed"]], dtype=object)
    ignoring = NaiveBayes(unseen="ignore").fit(X, [0, 1, 1])
    np.testing.assert_allclose(ignoring.predict_proba(new)[0], ignoring.class_prior_)
    with pytest.raises(UnseenCategoryError, match=r"column 'x0' holds 'reed'.*mean 'red'.*unseen="):
        NaiveBayes(unseen="error").fit(X, [0, 1, 1]).predict(new)
    with pytest.raises(UnseenCategoryError, match=r"holds 'reed reed .*…', which") as refusal:
        NaiveBayes(unseen="error").fit(X, [0, 1, 1]).predict(np.array([["reed " * 300]], dtype=object))
    assert len(str(refusal.value)) < 400


def test_levels_that_the_type_declares_count():
    seen = pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"])
    model = NaiveBayes().fit(pd.DataFrame({"x": seen}), [0, 0, 1])
    np.testing.assert_allclose(model.parameters_["x"].probabilities, [[2 / 5, 2 / 5, 1 / 5], [2 / 4, 1 / 4, 1 / 4]])


def test_shards_with_different_levels_merge_to_one_fit():
    table, y = frame()
    first = (table.town != "Ulm").to_numpy()
    a, b = NaiveBayes().fit(table[first], y[first]), NaiveBayes().fit(table[~first], y[~first])
    assert a.tables()["town"]["a"].keys() != b.tables()["town"]["a"].keys()
    same(a.merge(b), NaiveBayes().fit(table, y), table)


def test_forgetting_drops_levels_and_classes_exactly():
    table, y = frame()
    gone = ((table.town == "Ulm") | (y == "b")).to_numpy()
    model = NaiveBayes().fit(table, y).forget(table[gone], y[gone])
    same(model, NaiveBayes().fit(table[~gone], y[~gone]), table[~gone])
    assert "Ulm" not in model.tables()["town"]["a"]
    with pytest.raises(UnseenRowsError, match="'Ulm'"):
        model.forget(table[table.town == "Ulm"].head(1), ["a"])


def test_new_classes_and_levels_may_appear_later():
    table, y = frame()
    model = NaiveBayes()
    for rows in (y == "b", y == "c", y == "a"):
        model.partial_fit(table[rows], y[rows])
    same(model, NaiveBayes().fit(table, y), table)


def test_one_class_is_legal():
    table, _ = frame()
    model = NaiveBayes().fit(table, np.zeros(len(table)))
    np.testing.assert_array_equal(model.predict_proba(table), 1.0)


# However rows come in.

EVERY_KIND = {
    "calls": NegativeBinomial(),
    "dose": Gamma(),
    ("age", "height"): MultivariateGaussian(),
    "score": Histogram(bins=[0.0, 1.0, 2.0, 4.0]),
    "hits": "poisson",
}


def every_kind() -> tuple[pd.DataFrame, np.ndarray]:
    table, y = frame()
    rng = np.random.default_rng(1)
    return table.assign(height=rng.normal(size=300), score=rng.random(300) * 4, hits=rng.poisson(3, size=300)), y


def test_batches_shards_and_forgotten_rows():
    table, y = every_kind()
    X1, y1, X2, y2 = halves(table, y)
    whole = NaiveBayes(EVERY_KIND).fit(table, y)
    same(NaiveBayes(EVERY_KIND).partial_fit(X1, y1).partial_fit(X2, y2), whole, table, rtol=1e-6)
    same(NaiveBayes(EVERY_KIND).fit(X1, y1).merge(NaiveBayes(EVERY_KIND).fit(X2, y2)), whole, table, rtol=1e-6)
    same(whole.forget(X2, y2), NaiveBayes(EVERY_KIND).fit(X1, y1), X1, rtol=1e-6)


def test_a_weight_is_a_repetition_and_no_weight_is_no_row(rng):
    table, y = every_kind()
    times = rng.integers(3, size=len(y))
    weighted = NaiveBayes(EVERY_KIND).fit(table, y, sample_weight=times)
    rows = np.repeat(np.arange(len(y)), times)
    same(weighted, NaiveBayes(EVERY_KIND).fit(table.iloc[rows], y[rows]), table, rtol=1e-6)


# Which family describes which column.


def test_families_go_by_type_alone():
    table, y = frame(20)
    model = NaiveBayes().fit(table, y)
    family_of = {name: part.family.name for part in model.parts_ for name in part.names}
    assert family_of == {
        "age": "gaussian",
        "calls": "gaussian",
        "dose": "gaussian",
        "smokes": "categorical",
        "town": "categorical",
    }


def test_a_schema_tells_codes_and_counts_from_numbers():
    table, y = frame()
    table["code"] = table.calls % 3
    schema = Schema.infer(table.assign(target=y))
    model = NaiveBayes(schema).fit(table, y)
    family_of = {name: part.family.name for part in model.parts_ for name in part.names}
    assert family_of["code"] == family_of["smokes"] == "categorical"
    assert family_of["age"] == family_of["dose"] == "gaussian"
    # a shard that lacks a level still knows it from the schema
    shard = (table.town != "Ulm").to_numpy()
    assert "Ulm" in NaiveBayes(schema).fit(table[shard], y[shard]).tables()["town"]["a"]


def test_the_order_in_which_families_are_named_does_not_matter():
    table, y = frame()
    X1, y1, X2, y2 = halves(table, y)
    families = {"calls": Poisson(), "dose": Gamma(), "age": Histogram(bins=[0.0, 40.0, 60.0, 120.0])}
    model = NaiveBayes(families).fit(X1, y1)
    model.merge(NaiveBayes(dict(reversed(families.items()))).fit(X2, y2))
    same(model, NaiveBayes(families).fit(table, y), table)


# Whatever holds the data.


@pytest.mark.parametrize("library", FRAMES)
def test_every_frame_gives_the_same_model(library):
    columns, y = visits()
    plain, _ = frame()
    holes = {**columns, "age": [None if np.isnan(age) else age for age in columns["age"]]}
    table = FRAMES[library](holes)
    families = {"calls": Poisson(), "dose": Gamma()}
    model = NaiveBayes(families).fit(table, y)
    expected = NaiveBayes(families).fit(plain, y)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(table), expected.predict_joint_log_proba(plain), rtol=1e-12
    )
    np.testing.assert_array_equal(model.feature_names_in_, list(columns))


@pytest.mark.parametrize("library", FRAMES)
def test_samples_come_in_the_container_of_the_fit(library):
    columns, y = visits()
    table = FRAMES[library](columns)
    model = NaiveBayes({"calls": Poisson()}).fit(table, y)
    X, labels = model.sample(2000, random_state=0)
    assert type(X) is type(table)
    assert list(X.columns if library != "pyarrow" else X.column_names) == list(columns)
    again = NaiveBayes({"calls": Poisson()}).fit(X, labels)
    np.testing.assert_allclose(again.parameters_["calls"].rate, model.parameters_["calls"].rate, rtol=0.1)
    np.testing.assert_allclose(
        again.parameters_["town"].probabilities, model.parameters_["town"].probabilities, atol=0.06
    )
    assert set(again.predict(table)) <= set("abc")


def test_samples_of_arrays_are_arrays_and_of_sparse_matrices_sparse(rng):
    y = rng.integers(2, size=50)
    X, _ = NaiveBayes().fit(rng.normal(size=(50, 2)), y).sample(7)
    assert isinstance(X, np.ndarray)
    words = sp.csr_matrix(rng.poisson(1.0, size=(50, 5)))
    X, _ = NaiveBayes().fit(words, y).sample(7, length=9)
    assert sp.issparse(X)
    np.testing.assert_array_equal(np.asarray(X.sum(axis=1)).ravel(), 9)
    X, _ = NaiveBayes({0: "gaussian"}).fit(words, y).sample(7, length=4)
    np.testing.assert_array_equal(np.asarray(X[:, 1:].sum(axis=1)).ravel(), 4)


def test_float32_is_enough(rng):
    y = rng.integers(2, size=100)
    X = (rng.normal(size=(100, 3)) + y[:, None]).astype(np.float32)
    single, double = NaiveBayes().fit(X, y), NaiveBayes().fit(X.astype(float), y)
    np.testing.assert_allclose(single.predict_log_proba(X), double.predict_log_proba(X.astype(float)), rtol=1e-9)


def test_it_is_found_by_search_and_survives_pickling():
    table, y = frame()
    search = GridSearchCV(NaiveBayes({"calls": Poisson()}), {"smoothing": [0.1, 1.0], "families": ["auto"]}, cv=3)
    search.fit(table, y)
    model = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(model.predict(table), search.predict(table))


def test_tables_name_classes_and_levels():
    table, y = frame()
    model = NaiveBayes({"calls": Poisson()}).fit(table, y)
    tables = model.tables()
    assert sum(tables["town"]["b"].values()) == pytest.approx(1.0)
    assert tables["calls"]["c"] == {"rate": pytest.approx(model.parameters_["calls"].rate[2])}


# Bad input.


def test_a_family_for_an_absent_column_is_refused():
    table, y = frame()
    with pytest.raises(ColumnMismatchError, match=r"'call'.*mean 'calls'"):
        NaiveBayes({"call": Poisson()}).fit(table, y)
    with pytest.raises(ColumnMismatchError, match="column 5"):
        NaiveBayes({5: Poisson()}).fit(table, y)


@pytest.mark.parametrize("library", FRAMES)
def test_renamed_and_absent_columns_are_refused(library):
    columns, y = visits()
    model = NaiveBayes().fit(FRAMES[library](columns), y)
    renamed = {("year" if name == "age" else name): values for name, values in columns.items()}
    with pytest.raises(ColumnMismatchError, match=r"feature names should match(.|\n)*year(.|\n)*age"):
        model.predict(FRAMES[library](renamed))
    with pytest.raises(ColumnMismatchError, match="age"):
        model.predict(FRAMES[library]({name: values for name, values in columns.items() if name != "age"}))


@pytest.mark.parametrize(
    ("family", "value", "error", "remedy"),
    [
        ("poisson", -3.0, SupportError, "counts 0, 1, 2"),
        ("poisson", 2.5, SupportError, "another family"),
        ("gamma", 0.0, SupportError, "numbers above 0"),
        ("lognormal", -1.0, SupportError, "numbers above 0"),
        ("bernoulli", 2.0, SupportError, "0 and 1"),
        ("negative_binomial", -1.0, SupportError, "counts"),
        ("beta", 1.0, SupportError, "above 0 and below 1"),
        ("gaussian", np.inf, NonFiniteError, "NaN if it is unknown"),
        ("histogram", np.inf, NonFiniteError, "NaN if it is unknown"),
        ("exponential", -np.inf, NonFiniteError, "NaN if it is unknown"),
    ],
)
def test_a_value_outside_the_support_is_named(rng, family, value, error, remedy):
    good = (
        rng.random(20) if family == "beta" else rng.integers(2, size=20) if family == "bernoulli" else 1 + np.arange(20)
    )
    table = pd.DataFrame({"fine": rng.normal(size=20), "odd": good.astype(float)})
    bad = table.copy()
    bad.loc[13, "odd"] = value
    y = np.arange(20) % 2
    with pytest.raises(error, match=rf"'odd' is {value} in row 13.*{remedy}"):
        NaiveBayes({"odd": family}).fit(bad, y)
    model = NaiveBayes({"odd": family}).fit(table, y)
    with pytest.raises(error, match=r"'odd' is .* in row 13"):
        model.predict(bad)


def test_counts_are_not_negative():
    words = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, -1.0]]))
    with pytest.raises(SupportError, match=r"'x1' is -1.0 in row 1"):
        NaiveBayes().fit(words, [0, 1])
    with pytest.raises(SupportError, match="row 1"):
        NaiveBayes("multinomial").fit(words.toarray(), [0, 1])
    with pytest.raises(NonFiniteError, match="x1"):
        NaiveBayes("multinomial").fit(np.array([[1.0, np.nan], [0.0, 1.0]]), [0, 1])


def test_text_where_numbers_are_needed_is_named():
    table, y = frame()
    with pytest.raises(ColumnTypeError, match=r"'town' holds text.*Categorical"):
        NaiveBayes({"town": Poisson()}).fit(table, y)
    model = NaiveBayes().fit(table, y)
    with pytest.raises(ColumnTypeError, match="'age'"):
        model.predict(table.assign(age="old"))


def test_a_constant_column_has_no_gamma():
    X = np.column_stack([np.arange(1.0, 9.0), np.full(8, 2.0)])
    with pytest.raises(DegenerateDataError, match="column 'x1'"):
        NaiveBayes("gamma").fit(X, np.arange(8) % 2)
    # constant within one class only: it borrows the spread of all classes, as little as var_smoothing says
    X[:, 1] = [1, 2, 1, 2, 1, 2, 1, 3]
    model = NaiveBayes("gamma").fit(X, np.arange(8) % 2)
    assert np.isfinite(model.predict_proba(X)).all()
    with pytest.raises(DegenerateDataError, match="'x1'"):
        NaiveBayes("gamma", var_smoothing=0.0).fit(X, np.arange(8) % 2)
    with pytest.raises(DegenerateDataError, match=r"'x1' is constant in one class.*var_smoothing"):
        NaiveBayes(var_smoothing=0.0).fit(X, np.arange(8) % 2)


def test_models_of_different_families_do_not_merge():
    table, y = frame()
    model, other = NaiveBayes().fit(table, y), NaiveBayes({"calls": Poisson()}).fit(table, y)
    with pytest.raises(MergeError, match=r"column 'calls' differently: here by Gaussian.*there by Poisson"):
        model.merge(other)
    same(model, NaiveBayes().fit(table, y), table)
    one, two = (NaiveBayes({pair: MultivariateGaussian()}) for pair in (("age", "calls"), ("age", "dose")))
    with pytest.raises(MergeError, match=r"'calls'"):
        one.fit(table, y).merge(two.fit(table, y))


def test_histograms_merge_where_their_edges_are_given():
    table, y = frame()
    halves = [(table[rows], y[rows]) for rows in (slice(0, 150), slice(150, 300))]
    placed = [NaiveBayes({"dose": Histogram(bins=4)}).fit(*half) for half in halves]
    with pytest.raises(MergeError, match=r"'dose'.*Histogram.*Histogram.*edges as `bins`"):
        placed[0].merge(placed[1])
    given = [NaiveBayes({"dose": Histogram(bins=(0.0, 1.0, 4.0, 9.0))}).fit(*half) for half in halves]
    same(given[0].merge(given[1]), NaiveBayes({"dose": Histogram(bins=(0.0, 1.0, 4.0, 9.0))}).fit(table, y), table)


@pytest.mark.parametrize(("learnt", "now"), [(["1", "2"], [1, 2]), ([1, 2], ["1", "2"])])
def test_categories_that_changed_their_type_are_not_taken_for_unseen_ones(learnt, now):
    model = NaiveBayes("categorical").fit(pd.DataFrame({"ward": learnt}), ["a", "b"])
    with pytest.raises(ColumnTypeError, match=rf"'ward' held .* such as {learnt[0]!r} .* now {now[0]!r}"):
        model.predict(pd.DataFrame({"ward": now}))
    assert model.predict(pd.DataFrame({"ward": [np.nan]})).size == 1
    mixed = NaiveBayes().fit(pd.DataFrame({"ward": [learnt[0], now[0]]}, dtype=object), ["a", "b"])
    assert mixed.predict(pd.DataFrame({"ward": [learnt[0]]}))[0] == "a"
    assert mixed.predict(pd.DataFrame({"ward": [now[0]]}))[0] == "b"


def test_text_and_numbers_do_not_become_labels_of_one_model():
    table, y = frame()
    model = NaiveBayes().fit(table, np.arange(len(y)) % 2)
    with pytest.raises(DataError, match=r"y holds 'a'.*such as 0"):
        model.partial_fit(table, y)
    np.testing.assert_array_equal(model.classes_, [0, 1])


def test_priors_may_be_given_by_class():
    table, y = frame()
    given = NaiveBayes(priors={"c": 0.5, "a": 0.2, "b": 0.3}).fit(table, y)
    np.testing.assert_array_equal(given.class_prior_, [0.2, 0.3, 0.5])


def test_a_failed_fit_leaves_the_old_model():
    table, y = frame()
    model = NaiveBayes({"calls": Poisson()}).fit(table, y)
    before = model.predict_joint_log_proba(table)
    with pytest.raises(SupportError):
        model.fit(table.assign(calls=-1), y)
    with pytest.raises(ColumnMismatchError):
        model.set_params(families={"cals": Poisson()}).fit(table, y)
    np.testing.assert_array_equal(model.predict_joint_log_proba(table), before)


TEXTS = [f"the {kind} cat number {i} sat on my mat" for i in range(30) for kind in ("old", "new")]


def test_free_text_taken_for_a_category_is_named() -> None:
    frame = pd.DataFrame({"review": TEXTS, "city": ["Ulm", "Bonn"] * 30})
    with pytest.warns(MercerWarning, match=r"'review' holds free text, 60 different values .* TableFeatures") as told:
        NaiveBayes().fit(frame, [0, 1] * 30)
    assert len(told) == 1
    with pytest.warns(MercerWarning, match="'review'"):
        NaiveBayes({"city": "categorical"}).fit(frame, [0, 1] * 30)


@pytest.mark.filterwarnings("error")
def test_a_category_that_was_asked_for_or_declared_is_no_text() -> None:
    frame = pd.DataFrame({"review": TEXTS})
    NaiveBayes({"review": "categorical"}).fit(frame, [0, 1] * 30)
    NaiveBayes().fit(frame.astype("category"), [0, 1] * 30)
    NaiveBayes().fit(pd.DataFrame({"name": [text.split()[4] for text in TEXTS]}), [0, 1] * 30)
