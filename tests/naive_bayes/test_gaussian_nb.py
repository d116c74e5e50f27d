"""GaussianNB: scikit-learn's numbers, and what it does where scikit-learn has no answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB as Reference

from mercer._errors import DataError, EmptyDataError, NonFiniteError, PrecisionWarning, PriorError, UnseenRowsError
from mercer.naive_bayes import GaussianNB

ATTRIBUTES = ("class_count_", "class_prior_", "theta_", "var_", "epsilon_")
PREDICTIONS = ("predict_joint_log_proba", "predict_log_proba", "predict_proba")


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 4)) * [1.0, 5.0, 0.2, 30.0] + y[:, None] * [1.0, -2.0, 0.0, 10.0]
    return X, y


def with_holes(X: np.ndarray, rng: np.random.Generator, share: float = 0.2) -> np.ndarray:
    return np.where(rng.random(X.shape) < share, np.nan, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", [{}, {"priors": [0.2, 0.3, 0.5]}, {"var_smoothing": 0.1}, {"var_smoothing": 0.0}])
def test_results_agree_with_scikit_learn(data, rng, options, weighted):
    X, y = data
    weight = rng.random(len(y)) if weighted else None
    ours, theirs = GaussianNB(**options).fit(X, y, weight), Reference(**options).fit(X, y, weight)
    for name in ATTRIBUTES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, err_msg=name)
    for name in PREDICTIONS:
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_many_blocks_agree_with_one(rng):
    X = rng.normal(size=(60_000, 30)) + 100
    y = rng.integers(2, size=len(X))
    ours, theirs = GaussianNB().fit(X, y), Reference().fit(X, y)
    assert ours.plan_.blocks == 1
    scattered = GaussianNB().fit(np.asfortranarray(X), y)
    assert scattered.plan_.blocks > 1
    for model in (ours, scattered):
        np.testing.assert_allclose(model.theta_, theirs.theta_, rtol=1e-12)
        np.testing.assert_allclose(model.var_, theirs.var_, rtol=1e-11)
        np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-10)


def test_variance_smoothing_uses_all_rows_learnt_so_far(data):
    """scikit-learn scales by the last batch alone; here a fit in pieces equals a fit."""
    X, y = data
    pieces = GaussianNB(var_smoothing=0.5).partial_fit(X[:7], y[:7], classes=[0, 1, 2]).partial_fit(X[7:], y[7:])
    np.testing.assert_allclose(pieces.epsilon_, Reference(var_smoothing=0.5).fit(X, y).epsilon_, rtol=1e-12)


def test_weights_enter_variance_smoothing_only_through_the_variances(data, rng):
    """As in scikit-learn, epsilon_ uses unweighted rows, also after batches, merging and forgetting."""
    X, y = data
    weight = rng.random(len(y))
    epsilon = Reference(var_smoothing=0.5).fit(X, y, weight).epsilon_
    pieces = GaussianNB(var_smoothing=0.5).partial_fit(X[:100], y[:100], [0, 1, 2], weight[:100])
    pieces.partial_fit(X[100:], y[100:], sample_weight=weight[100:])
    np.testing.assert_allclose(pieces.epsilon_, epsilon, rtol=1e-12)
    merged = GaussianNB(var_smoothing=0.5).fit(X[:100], y[:100], weight[:100])
    merged.merge(GaussianNB(var_smoothing=0.5).fit(X[100:], y[100:]))
    np.testing.assert_allclose(merged.epsilon_, epsilon, rtol=1e-12)
    merged.forget(X[100:], y[100:])
    np.testing.assert_allclose(merged.epsilon_, 0.5 * X[:100].var(axis=0).max(), rtol=1e-10)


def test_missing_values_are_left_out_of_the_moments(data, rng):
    X, y = data
    holes = with_holes(X, rng)
    model = GaussianNB(var_smoothing=0.0).fit(holes, y)
    for c in range(3):
        np.testing.assert_allclose(model.theta_[c], np.nanmean(holes[y == c], axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.var_[c], np.nanvar(holes[y == c], axis=0), rtol=1e-11)


def test_missing_values_are_integrated_out_of_the_density(data, rng):
    """A row with holes scores as under the model of its observed columns alone."""
    X, y = data
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    columns = [0, 2]
    fewer = GaussianNB(var_smoothing=0.0).fit(X[:, columns], y)
    holes = np.full_like(X, np.nan)
    holes[:, columns] = X[:, columns]
    np.testing.assert_allclose(
        model.predict_joint_log_proba(holes), fewer.predict_joint_log_proba(X[:, columns]), rtol=1e-12
    )


def test_a_row_without_observed_values_has_the_prior_as_posterior(data):
    model = GaussianNB().fit(*data)
    row = np.full((1, 4), np.nan)
    np.testing.assert_allclose(model.predict_proba(row)[0], model.class_prior_, rtol=1e-12)
    np.testing.assert_allclose(model.log_density(row), 0.0, atol=1e-12)


def test_a_column_missing_in_one_class_uses_the_moments_of_all_classes(data):
    X, y = data
    X = np.where((y == 1)[:, None] & (np.arange(4) == 2), np.nan, X)
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(model.theta_[1, 2], np.nanmean(X[:, 2]), rtol=1e-12)
    np.testing.assert_allclose(model.var_[1, 2], np.nanvar(X[:, 2]), rtol=1e-12)


@pytest.mark.parametrize("var_smoothing", [0.0, 1e-9])
def test_a_column_that_is_always_missing_has_no_effect(data, var_smoothing):
    X, y = data
    wider = np.column_stack([X, np.full(len(X), np.nan)])
    model, narrow = (
        GaussianNB(var_smoothing=var_smoothing).fit(wider, y),
        GaussianNB(var_smoothing=var_smoothing).fit(X, y),
    )
    row = np.column_stack([X[:5], np.full(5, 1e6)])
    np.testing.assert_allclose(model.predict_joint_log_proba(row), narrow.predict_joint_log_proba(X[:5]), rtol=1e-12)
    np.testing.assert_array_equal(np.isnan(model.sample(3, random_state=0)[0]), [[False] * 4 + [True]] * 3)


def test_a_constant_column_has_no_effect_without_smoothing(data):
    X, y = data
    model = GaussianNB(var_smoothing=0.0).fit(np.column_stack([X, np.full(len(X), 7.0)]), y)
    narrow = GaussianNB(var_smoothing=0.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.column_stack([X, X[:, 0]])), narrow.predict_proba(X), rtol=1e-12)


def test_a_column_constant_in_one_class_is_rejected_when_its_density_is_needed():
    X, y = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0], [4.0, 2.0]]), ["a", "a", "b", "b"]
    model = GaussianNB(var_smoothing=0.0).fit(X, y)
    with pytest.raises(DataError, match=r"column 'x1' is constant in class .*'a'.*var_smoothing"):
        model.predict(X)


def test_shared_variance_is_the_pooled_one_and_makes_the_log_odds_linear(data, rng):
    X, y = data
    model = GaussianNB(shared_variance=True, var_smoothing=0.0).fit(X, y)
    within = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3)) / len(X)
    np.testing.assert_allclose(model.var_, np.tile(within, (3, 1)), rtol=1e-12)
    a, b = rng.normal(size=(2, 10, 4))
    odds = [np.subtract(*model.predict_joint_log_proba(points).T[:2]) for points in (a, b, (a + b) / 2)]
    np.testing.assert_allclose(odds[2], (odds[0] + odds[1]) / 2, atol=1e-9)


def test_the_log_density_is_that_of_the_mixture(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    columns = norm.pdf(X[:, None, :], model.theta_, np.sqrt(model.var_)).prod(axis=2)
    np.testing.assert_allclose(model.log_density(X), np.log(columns @ model.class_prior_), rtol=1e-10)


def test_attributes_come_in_the_precision_of_the_data_and_scores_do_not(data):
    X, y = data
    single, double = GaussianNB().fit(X.astype(np.float32), y), GaussianNB().fit(X.astype(np.float32).astype(float), y)
    assert single.theta_.dtype == single.var_.dtype == single.class_prior_.dtype == np.float32
    np.testing.assert_allclose(single.predict_joint_log_proba(X), double.predict_joint_log_proba(X), rtol=1e-12)


def test_a_sparse_matrix_agrees_with_a_dense_one(data):
    X, y = data
    X = np.where(X > 1, X, 0.0)
    dense, sparse = GaussianNB().fit(X, y), GaussianNB().fit(sp.csc_matrix(X), y)
    np.testing.assert_allclose(sparse.var_, dense.var_, rtol=1e-12)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), rtol=1e-10)


def test_an_announced_class_without_rows_is_never_predicted(data):
    X, y = data
    model = GaussianNB().partial_fit(X, y, classes=[0, 1, 2, 9])
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 9])
    assert (model.predict_proba(X)[:, 3] == 0).all()
    assert np.isneginf(model.predict_joint_log_proba(X)[:, 3]).all()
    unsmoothed = GaussianNB(var_smoothing=0.0).partial_fit(X, y, classes=[0, 1, 2, 9])
    assert (unsmoothed.predict_proba(X)[:, 3] == 0).all()


def test_one_class_is_accepted(data):
    X, _ = data
    model = GaussianNB().fit(X, ["only"] * len(X))
    np.testing.assert_array_equal(model.predict_proba(X), 1.0)


def test_infinity_is_rejected_by_name_in_fit_and_in_predict(data):
    X, y = data
    spoilt = X.copy()
    spoilt[5, 2] = np.inf
    with pytest.raises(NonFiniteError, match=r"Input X contains infinity.*'x2' is inf in row 5"):
        GaussianNB().fit(spoilt, y)
    with pytest.raises(NonFiniteError, match=r"'x2' is -inf in row 5"):
        GaussianNB().fit(X, y).predict(-spoilt)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([0.5, 0.5], "Number of priors must match number of classes"),
        ([0.5, 0.4, 0.3], r"The sum of the priors should be 1.*1\.2"),
        ([1.5, -0.7, 0.2], "Priors must be non-negative.*1"),
    ],
)
def test_invalid_priors_are_rejected_with_the_message_of_scikit_learn(data, priors, message):
    with pytest.raises(PriorError, match=f"^{message}"):
        GaussianNB(priors=priors).fit(*data)


def test_forgetting_rows_that_were_not_learnt_is_rejected(data):
    X, y = data
    model = GaussianNB().fit(X, y)
    with pytest.raises(UnseenRowsError, match="never seen"):
        model.forget(X[:1], [5])
    with pytest.raises(UnseenRowsError, match="vary more"):
        model.forget(1e6 * X[:5], y[:5])
    with pytest.raises(UnseenRowsError, match="more rows"):
        model.forget(np.tile(X, (2, 1)), np.tile(y, 2))
    with pytest.raises(EmptyDataError, match="Every row"):
        model.forget(X, y)
    np.testing.assert_array_equal(model.theta_, GaussianNB().fit(X, y).theta_)


@pytest.mark.parametrize("scale", [1e5, 1e9])
def test_forgetting_dominant_rows_warns_about_lost_digits(data, scale):
    X, y = data
    huge = scale * X[:50]
    model = GaussianNB().fit(np.vstack([X, huge]), np.append(y, y[:50]))
    with pytest.warns(PrecisionWarning, match=r"only about \d digits"):
        model.forget(huge, y[:50])


def test_forgetting_a_class_drops_it_exactly(data):
    X, y = data
    model = GaussianNB().fit(X, y).forget(X[y == 1], y[y == 1])
    np.testing.assert_array_equal(model.classes_, [0, 2])
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(X[y != 1], y[y != 1]).theta_, rtol=1e-12)


def test_a_class_that_was_announced_stays_when_its_rows_are_forgotten(data):
    X, y = data
    model = GaussianNB().partial_fit(X, y, classes=[0, 1, 2]).forget(X[y == 1], y[y == 1])
    np.testing.assert_array_equal(model.class_count_, [(y == 0).sum(), 0, (y == 2).sum()])
    assert (model.predict_proba(X)[:, 1] == 0).all()


@pytest.mark.filterwarnings("error")
def test_a_spread_that_overflows_is_accepted_without_smoothing():
    model = GaussianNB(var_smoothing=0.0).fit(np.array([[1.79e308], [-1.79e308], [0.0], [1.0]]), [0, 1, 2, 2])
    assert model.epsilon_ == 0
    np.testing.assert_array_equal(model.var_[:, 0], [0.0, 0.0, 0.25])


@pytest.mark.parametrize("constant", [0.1, 7.7, 3.0])
def test_weighted_constant_rows_have_the_class_shares_as_posterior(constant: float) -> None:
    """scikit-learn's have those that the rounding of a weighted mean makes: see docs/decisions/0005."""
    rng = np.random.default_rng(0)
    y, weight = rng.integers(3, size=24), 10.0 ** rng.uniform(-6, 6, 24)
    model = GaussianNB().fit(np.full((24, 1), constant), y, sample_weight=weight)
    shares = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(model.predict_proba(np.full((2, 1), constant)), np.tile(shares, (2, 1)), atol=1e-12)
