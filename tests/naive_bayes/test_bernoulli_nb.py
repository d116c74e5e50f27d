"""BernoulliNB: thresholds, missing values, and the evidence of absent columns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import bernoulli
from sklearn.naive_bayes import BernoulliNB as Reference

from mercer._errors import MergeError, NonFiniteError, SupportError
from mercer.naive_bayes import BernoulliNB


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(2, size=200)
    return rng.normal(size=(200, 6)) + y[:, None] * [1, 0, -1, 0.5, 0, 2], y


@pytest.mark.parametrize("threshold", [0.0, 0.7, 1.5])
def test_values_above_the_threshold_are_present(data, threshold):
    X, y = data
    ours, theirs = BernoulliNB(binarize=threshold).fit(X, y), Reference(binarize=threshold).fit(X, y)
    np.testing.assert_array_equal(ours.feature_count_, theirs.feature_count_)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-11)


@pytest.mark.parametrize("threshold", [0.0, 1.5])
def test_a_sparse_matrix_agrees_with_a_dense_one(data, threshold):
    X, y = data
    X = np.where(np.abs(X) > 1, X, 0.0)
    dense, sparse = BernoulliNB(binarize=threshold).fit(X, y), BernoulliNB(binarize=threshold).fit(sp.csc_array(X), y)
    np.testing.assert_array_equal(sparse.feature_count_, dense.feature_count_)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_matrix(X)), dense.predict_proba(X), rtol=1e-12)


def test_entries_stored_twice_are_added_before_comparison_with_the_threshold():
    X = sp.csr_matrix(([0.6, 0.6, 0.6], [0, 0, 0], [0, 2, 3]), shape=(2, 1))
    assert X.nnz == 3
    model = BernoulliNB(binarize=1.0).fit(X, [0, 1])
    np.testing.assert_array_equal(model.feature_count_, [[1], [0]])
    assert X.nnz == 3


def test_data_of_zeros_and_ones_need_no_threshold(data):
    X, y = data[0] > 0, data[1]
    np.testing.assert_allclose(
        BernoulliNB(binarize=None).fit(X, y).predict_log_proba(X),
        Reference(binarize=None).fit(X, y).predict_log_proba(X),
    )


def test_shares_between_zero_and_one_are_used_as_probabilities(rng):
    X, y = rng.random((50, 4)), rng.integers(2, size=50)
    ours, theirs = BernoulliNB(binarize=None).fit(X, y), Reference(binarize=None).fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-11)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_without_a_threshold_other_values_are_rejected_by_name(kind):
    with pytest.raises(SupportError, match=r"column 'x1' is 3 in row 0.*binarize=0"):
        BernoulliNB(binarize=None).fit(kind([[0, 3], [1, 0]]), [0, 1])


def test_probabilities_near_one_keep_the_digits_of_their_complement():
    """1 − p is fitted to the absences, not computed from p."""
    X, y = np.ones((1000, 1)), np.arange(1000) % 2
    model = BernoulliNB(alpha=1e-10, class_prior=[0.5, 0.5]).fit(X, y)
    np.testing.assert_allclose(model.predict_joint_log_proba([[0]]), np.log(0.5 * 1e-10 / (500 + 2e-10)), rtol=1e-14)


@pytest.mark.parametrize("sparse", [False, True])
def test_missing_values_are_integrated_out(data, rng, sparse):
    X, y = data
    X = np.where(rng.random(X.shape) < 0.3, 0.0, X)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    kind = sp.csr_matrix if sparse else np.asarray
    model = BernoulliNB(alpha=0.5).fit(kind(holes), y)
    observed = ~np.isnan(holes)
    for c in (0, 1):
        mine = y == c
        p = ((holes[mine] > 0).sum(axis=0) + 0.5) / (observed[mine].sum(axis=0) + 1)
        np.testing.assert_allclose(model.feature_log_prob_[c], np.log(p), rtol=1e-12)
    p = np.exp(model.feature_log_prob_)
    terms = np.where(observed[:, None, :], bernoulli.logpmf((holes > 0)[:, None, :], p), 0.0).sum(axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(kind(holes)), terms + model.class_log_prior_, rtol=1e-11)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_that_a_class_always_has_makes_its_absence_impossible(sparse):
    kind = sp.csr_matrix if sparse else np.asarray
    model = BernoulliNB(alpha=0.0).fit(kind([[1, 1], [1, 0], [0, 1], [0, 0]]), [0, 0, 1, 1])
    rows = kind(np.array([[1.0, 1.0], [0.0, 1.0], [np.nan, 1.0]]))
    np.testing.assert_array_equal(model.predict_proba(rows), [[1, 0], [0, 1], [0.5, 0.5]])
    np.testing.assert_array_equal(np.isneginf(model.predict_joint_log_proba(rows)), [[0, 1], [1, 0], [0, 0]])


def test_infinity_is_rejected_even_with_a_threshold(data):
    X, y = data
    spoilt = X.copy()
    spoilt[3, 1] = np.inf
    for call in (lambda: BernoulliNB().fit(spoilt, y), lambda: BernoulliNB().fit(X, y).predict(spoilt)):
        with pytest.raises(NonFiniteError, match=r"^Input X contains infinity.*'x1' is inf in row 3"):
            call()


@pytest.mark.parametrize("threshold", [None, 0.0, 2.5])
def test_a_fit_to_samples_with_the_threshold_recovers_the_model(data, threshold):
    X, y = (data[0] > 0) * 3.0 if threshold else data[0] > 0, data[1]
    model = BernoulliNB(binarize=threshold).fit(X, y)
    drawn, classes = model.sample(20_000, random_state=0)
    again = BernoulliNB(binarize=threshold).fit(drawn, classes)
    np.testing.assert_allclose(np.exp(again.feature_log_prob_), np.exp(model.feature_log_prob_), atol=0.02)


@pytest.fixture
def binary_rows_with_gaps(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns that are always there, where they are not missing, and weights that add up differently without holes."""
    X = np.where(rng.random((60, 8)) < 0.3, np.nan, 1.0)
    return X, np.arange(60) % 2, rng.random(60)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_column_that_is_always_present_is_certain_for_any_weights(binary_rows_with_gaps, kind):
    X, y, weight = binary_rows_with_gaps
    model = BernoulliNB(alpha=0.0).fit(kind(X), y, weight)
    assert (np.exp(model.feature_log_prob_) <= 1).all()
    assert np.isneginf(model.predict_joint_log_proba(np.zeros((1, 8)))).all()
    assert (model.sample(5, random_state=0)[0] == 1).sum() == 40


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_rows_with_columns_that_are_always_present_can_be_forgotten(binary_rows_with_gaps, kind):
    X, y, weight = binary_rows_with_gaps
    for gone in range(1, 40):
        left = BernoulliNB().fit(kind(X), y, weight).forget(kind(X[:gone]), y[:gone], weight[:gone])
        alone = BernoulliNB().fit(kind(X[gone:]), y[gone:], weight[gone:])
        np.testing.assert_allclose(left.feature_log_prob_, alone.feature_log_prob_, rtol=1e-9)


def test_without_a_threshold_entries_stored_twice_are_rejected_together():
    X = sp.csr_matrix(([0.6, 0.6, 0.6], [0, 0, 0], [0, 1, 3]), shape=(2, 1))
    with pytest.raises(SupportError, match=r"column 'x0' is 1\.2 in row 1"):
        BernoulliNB(binarize=None).fit(X, [0, 1])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_single_precision_is_compared_in_single_precision(kind):
    """0.1 as a float32 is above 0.1 as a float64, and not above itself."""
    X = np.array([[0.1], [0.2]], dtype=np.float32)
    ours, theirs = (model(binarize=0.1).fit(kind(X), [0, 1]) for model in (BernoulliNB, Reference))
    np.testing.assert_array_equal(ours.feature_count_, theirs.feature_count_)


def test_models_with_different_thresholds_are_not_merged(data):
    with pytest.raises(MergeError, match=r"thresholds: binarize=0\.0 and 1\.5"):
        BernoulliNB().fit(*data).merge(BernoulliNB(binarize=1.5).fit(*data))


def test_zero_rows_can_be_sampled(data):
    assert BernoulliNB().fit(sp.csr_matrix(data[0]), data[1]).sample(0)[0].shape == (0, 6)
