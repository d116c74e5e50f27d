"""Naive Bayes on mixed columns: the product of its parts, whatever holds the data and however it comes in."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats
from scipy.special import logsumexp
from sklearn.model_selection import GridSearchCV

from mercer import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes, Schema
from mercer._errors import NonFiniteError, NotConvergedWarning
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
from mercer.optim.em import em_gaussian
from tests.naive_bayes._visits import FRAMES, assert_same, frame, visits

# The density is the product of its parts.


def test_the_joint_density_agrees_with_scipy():
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


def test_numbers_give_gaussian_naive_bayes(rng):
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


def test_categories_give_categorical_naive_bayes(rng):
    y = rng.integers(2, size=200)
    codes = rng.integers(4, size=(200, 3))
    ours = NaiveBayes("categorical", smoothing=0.3).fit(codes, y)
    drop_in = CategoricalNB(alpha=0.3).fit(codes, y)
    np.testing.assert_allclose(ours.predict_joint_log_proba(codes), drop_in.predict_joint_log_proba(codes), rtol=1e-12)


def test_binary_columns_give_bernoulli_naive_bayes(rng):
    y = rng.integers(2, size=200)
    X = rng.integers(2, size=(200, 3))
    expected = BernoulliNB().fit(X, y).predict_joint_log_proba(X)
    for families in ("bernoulli", "categorical"):
        found = NaiveBayes(families).fit(X, y).predict_joint_log_proba(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.coo_array, np.asarray])
def test_counts_give_multinomial_naive_bayes(rng, container):
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


def test_columns_can_be_described_together(rng):
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


def test_shares_of_a_whole_have_a_dirichlet_family(rng):
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


def test_the_certificate_is_that_of_the_iterative_part(rng):
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


def test_an_offset_of_1e8_loses_no_digits(rng):
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


def test_a_vector_with_gaps_is_fitted_by_em(rng):
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
        return replace(solution, interrupted=True)

    X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], size=200)
    X[rng.random(200) < 0.4, 1] = np.nan
    monkeypatch.setattr("mercer.naive_bayes.parts.em_gaussian", stopped_early)
    model = NaiveBayes(MultivariateGaussian())
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, np.arange(200) % 2)
    assert not model.certificate_.holds
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_batch_of_none_values_is_missing():
    table, y = frame()
    model = NaiveBayes().fit(table, y)
    row = table.head(1).assign(age=[None], calls=[None])
    assert row.age.dtype == object
    expected = model.predict_proba(table.head(1).assign(age=np.nan, calls=np.nan))
    np.testing.assert_array_equal(model.predict_proba(row), expected)


def test_a_column_unobserved_in_a_class_uses_all_classes():
    X = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, np.nan], [5.0, np.nan]])
    model = NaiveBayes().fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(model.parameters_["x1"].mean, [6.0, 6.0])
    np.testing.assert_allclose(model.parameters_["x1"].variance, [1.0, 1.0])
    for families in ("exponential", "poisson", Gaussian(variance=4.0)):
        mean, *_ = NaiveBayes({1: families}, smoothing=0.0).fit(X, [0, 0, 1, 1]).parameters_["x1"]
        assert mean[0] == mean[1]


def test_a_column_that_is_never_observed_has_no_effect():
    table, y = frame()
    for families in ("auto", {"nothing": "poisson"}, {"nothing": "gamma"}, {"nothing": "negative_binomial"}):
        model = NaiveBayes(families).fit(table.assign(nothing=np.nan), y)
        expected = NaiveBayes().fit(table, y).predict_joint_log_proba(table)
        np.testing.assert_allclose(model.predict_joint_log_proba(table.assign(nothing=3.0)), expected)
        assert model.sample(5)[0]["nothing"].isna().all()


def test_missing_values_may_be_rejected():
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


# However rows come in.


def halves(table: pd.DataFrame, y: np.ndarray) -> tuple[Any, Any, Any, Any]:
    first = np.arange(len(y)) % 2 == 0
    return table[first], y[first], table[~first], y[~first]


def test_new_classes_and_levels_may_appear_later():
    table, y = frame()
    model = NaiveBayes()
    for rows in (y == "b", y == "c", y == "a"):
        model.partial_fit(table[rows], y[rows])
    assert_same(model, NaiveBayes().fit(table, y), table)


def test_one_class_is_accepted():
    table, _ = frame()
    model = NaiveBayes().fit(table, np.zeros(len(table)))
    np.testing.assert_array_equal(model.predict_proba(table), 1.0)


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


def test_batches_shards_and_forgotten_rows_agree_with_one_fit():
    table, y = every_kind()
    X1, y1, X2, y2 = halves(table, y)
    whole = NaiveBayes(EVERY_KIND).fit(table, y)
    assert_same(NaiveBayes(EVERY_KIND).partial_fit(X1, y1).partial_fit(X2, y2), whole, table, rtol=1e-6)
    assert_same(NaiveBayes(EVERY_KIND).fit(X1, y1).merge(NaiveBayes(EVERY_KIND).fit(X2, y2)), whole, table, rtol=1e-6)
    assert_same(whole.forget(X2, y2), NaiveBayes(EVERY_KIND).fit(X1, y1), X1, rtol=1e-6)


def test_weights_are_equivalent_to_repetitions_and_weight_zero_removes_a_row(rng):
    table, y = every_kind()
    times = rng.integers(3, size=len(y))
    weighted = NaiveBayes(EVERY_KIND).fit(table, y, sample_weight=times)
    rows = np.repeat(np.arange(len(y)), times)
    assert_same(weighted, NaiveBayes(EVERY_KIND).fit(table.iloc[rows], y[rows]), table, rtol=1e-6)


# Which family describes which column.


def family_names(model: NaiveBayes) -> dict[str, str]:
    """{column: the name of its family}."""
    return {name: part.family.name for part in model.parts_ for name in part.names}


def test_families_are_chosen_by_type_only():
    table, y = frame(20)
    assert family_names(NaiveBayes().fit(table, y)) == {
        "age": "gaussian",
        "calls": "gaussian",
        "dose": "gaussian",
        "smokes": "categorical",
        "town": "categorical",
    }


def test_a_schema_distinguishes_codes_and_counts_from_numbers():
    table, y = frame()
    table["code"] = table.calls % 3
    schema = Schema.infer(table.assign(target=y))
    found = family_names(NaiveBayes(schema).fit(table, y))
    assert found["code"] == found["smokes"] == "categorical"
    assert found["age"] == found["dose"] == "gaussian"
    # a shard that lacks a level still has it from the schema
    shard = (table.town != "Ulm").to_numpy()
    assert "Ulm" in NaiveBayes(schema).fit(table[shard], y[shard]).tables()["town"]["a"]


def test_the_order_in_which_families_are_named_does_not_matter():
    table, y = frame()
    X1, y1, X2, y2 = halves(table, y)
    families = {"calls": Poisson(), "dose": Gamma(), "age": Histogram(bins=[0.0, 40.0, 60.0, 120.0])}
    model = NaiveBayes(families).fit(X1, y1)
    model.merge(NaiveBayes(dict(reversed(families.items()))).fit(X2, y2))
    assert_same(model, NaiveBayes(families).fit(table, y), table)


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
def test_samples_have_the_container_of_the_fit(library):
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


def test_float32_is_accepted(rng):
    y = rng.integers(2, size=100)
    X = (rng.normal(size=(100, 3)) + y[:, None]).astype(np.float32)
    single, double = NaiveBayes().fit(X, y), NaiveBayes().fit(X.astype(float), y)
    np.testing.assert_allclose(single.predict_log_proba(X), double.predict_log_proba(X.astype(float)), rtol=1e-9)


def test_models_can_be_searched_over_and_pickled():
    table, y = frame()
    search = GridSearchCV(NaiveBayes({"calls": Poisson()}), {"smoothing": [0.1, 1.0], "families": ["auto"]}, cv=3)
    search.fit(table, y)
    model = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(model.predict(table), search.predict(table))


def test_tables_of_parameters_name_classes_and_levels():
    table, y = frame()
    model = NaiveBayes({"calls": Poisson()}).fit(table, y)
    tables = model.tables()
    assert sum(tables["town"]["b"].values()) == pytest.approx(1.0)
    assert tables["calls"]["c"] == {"rate": pytest.approx(model.parameters_["calls"].rate[2])}


def test_priors_may_be_given_by_class():
    table, y = frame()
    given = NaiveBayes(priors={"c": 0.5, "a": 0.2, "b": 0.3}).fit(table, y)
    np.testing.assert_array_equal(given.class_prior_, [0.2, 0.3, 0.5])
