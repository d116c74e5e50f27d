"""Properties of the four discrete models: pseudo-counts, priors, and scikit-learn's numbers on data of every kind."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.naive_bayes as reference

import mercer
from mercer._errors import PriorError

NAMES = ("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB")
COUNTING = ("ComplementNB", "MultinomialNB")


def pair(name: str, **options: Any) -> tuple[Any, Any]:
    return getattr(mercer, name)(**options), getattr(reference, name)(**options)


def assert_same(ours: Any, theirs: Any, X: Any) -> None:
    for name in ("class_count_", "class_log_prior_", "feature_count_", "feature_all_", "n_categories_"):
        if hasattr(theirs, name):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, err_msg=name)
    for name in ("feature_log_prob_", "category_count_"):
        mine, yours = getattr(ours, name, []), getattr(theirs, name, [])
        assert len(mine) == len(yours)
        for a, b in zip(mine, yours, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=name)
    for name in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.fixture
def counts(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=200)
    return rng.poisson(0.5 + rng.random((3, 30))[y]), np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": 0.01},
        {"alpha": 7},
        {"fit_prior": False},
        {"class_prior": [0.2, 0.3, 0.5]},
        {"class_prior": (1, 2, 3)},
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_results_agree_with_scikit_learn(counts, rng, name, options, weighted):
    X, y = counts
    weight = rng.random(len(y)) if weighted else None
    ours, theirs = (model.fit(X, y, sample_weight=weight) for model in pair(name, **options))
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array])
@pytest.mark.parametrize("name", ["BernoulliNB", *COUNTING])
def test_sparse_matrices_give_the_same_results(counts, name, container):
    X, y = counts
    ours, theirs = pair(name)
    assert_same(ours.fit(container(X), y), theirs.fit(X, y), container(X))


@pytest.mark.parametrize("name", COUNTING)
def test_a_pseudo_count_for_each_column(counts, rng, name):
    X, y = counts
    alpha = rng.random(X.shape[1])
    assert_same(*(model.fit(X, y) for model in pair(name, alpha=alpha)), X)
    with pytest.raises(ValueError, match=r"^When alpha is an array, it should contains `n_features`\. Got 2 elements"):
        getattr(mercer, name)(alpha=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"^All values in alpha must be greater than 0\."):
        getattr(mercer, name)(alpha=-alpha).fit(X, y)


def test_a_pseudo_count_for_each_column_of_bernoulli(counts):
    """scikit-learn accepts the parameter and fails on it; here each column is that of a model with its own number."""
    X, y = counts
    alpha = np.linspace(0.1, 2, X.shape[1])
    model = mercer.BernoulliNB(alpha=alpha).fit(X, y)
    for j in (0, 7, 29):
        alone = reference.BernoulliNB(alpha=alpha[j]).fit(X, y)
        np.testing.assert_allclose(model.feature_log_prob_[:, j], alone.feature_log_prob_[:, j], rtol=1e-12)


@pytest.mark.parametrize("name", COUNTING)
def test_fractional_counts(counts, rng, name):
    X, y = counts
    X = X * rng.random(X.shape)
    assert_same(*(model.fit(X, y) for model in pair(name)), X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int32, np.uint8, np.float16, np.float32, object])
@pytest.mark.parametrize("name", NAMES)
def test_every_type_of_number(counts, name, dtype):
    X, y = counts
    X = np.minimum(X, 1).astype(dtype)
    ours, theirs = pair(name)
    assert_same(ours.fit(X, y), theirs.fit(X.astype(float), y), X)


@pytest.mark.parametrize("name", NAMES)
def test_many_columns_and_rows_in_many_blocks(rng, name):
    X = rng.integers(3, size=(30_000, 60))
    y = rng.integers(2, size=len(X))
    ours, theirs = (model.fit(X, y) for model in pair(name))
    assert ours.plan_.blocks > 1
    assert_same(ours, theirs, X)


@pytest.mark.parametrize("name", NAMES)
def test_fewer_priors_than_classes_are_rejected_and_leave_the_model(name):
    model = getattr(mercer, name)(class_prior=[0.5, 0.5]).fit([[0], [0], [1]], [0, 0, 1])
    np.testing.assert_allclose(np.exp(model.class_log_prior_), [0.5, 0.5])
    with pytest.raises(PriorError, match=r"^Number of priors must match number of classes\."):
        model.fit([[0], [1], [2]], [0, 1, 2])
    np.testing.assert_array_equal(model.classes_, [0, 1])
    with pytest.raises(PriorError, match="non-negative"):
        getattr(mercer, name)(class_prior=[-0.5, 1.5]).fit([[0], [1]], [0, 1])
    for priors in ([0, 0], [np.inf, 1]):
        with pytest.raises(PriorError, match="finite and not all 0"):
            getattr(mercer, name)(class_prior=priors).fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_a_class_of_prior_zero_is_never_predicted_and_gives_no_warning(name):
    model = getattr(mercer, name)(class_prior=[0.0, 1.0]).fit([[0], [0], [1]], [0, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proba = model.predict_proba([[0], [1]])
    if name != "ComplementNB":  # which leaves priors out
        np.testing.assert_array_equal(proba, [[0, 1], [0, 1]])


@pytest.mark.parametrize("fit_prior", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_an_announced_class_without_rows_has_no_nan(name, alpha, fit_prior):
    model = getattr(mercer, name)(alpha=alpha, fit_prior=fit_prior)
    model.partial_fit([[0, 1], [1, 0]], ["a", "b"], classes=["a", "b", "c"])
    for table in model.feature_log_prob_:
        assert not np.isnan(table).any()
    assert np.isfinite(model.predict_proba([[0, 1], [1, 1], [0, 0]])).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_tiny_alpha_is_raised_with_the_warning_of_scikit_learn(name):
    model = getattr(mercer, name)(alpha=0.0, force_alpha=False)
    with pytest.warns(UserWarning, match=r"^alpha too small will result in numeric errors, setting alpha = 1\.0e-10"):
        model.fit([[0, 1], [1, 0]], [0, 1])
    assert all(np.isfinite(table).all() for table in model.feature_log_prob_)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sparse", [False, True])
def test_without_pseudo_counts_there_are_zeros_but_no_nan(name, sparse):
    """0·log 0 = 0: absent words do not count."""
    if sparse and name == "CategoricalNB":
        pytest.skip("categories are not sparse")
    X = np.array([[3, 0, 1], [1, 0, 0], [0, 2, 1], [0, 1, 1]])
    rows = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 0]])
    kind = sp.csr_matrix if sparse else np.asarray
    model = getattr(mercer, name)(alpha=0.0).fit(kind(X), [0, 0, 1, 1])
    tiny = getattr(mercer, name)(alpha=1e-12).fit(kind(X), [0, 0, 1, 1])
    proba = model.predict_proba(kind(rows))
    assert not np.isnan(model.predict_joint_log_proba(kind(rows))).any()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    possible = np.isfinite(model.predict_joint_log_proba(kind(rows))).all(axis=1)
    np.testing.assert_allclose(proba[possible], tiny.predict_proba(kind(rows))[possible], atol=1e-10)
    np.testing.assert_array_equal(model.predict(kind(rows)), model.classes_[proba.argmax(axis=1)])
