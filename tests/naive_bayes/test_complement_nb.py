"""ComplementNB: scores of the other classes, and no likelihood."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import ComplementNB as Reference

from mercer._errors import NonFiniteError
from mercer.naive_bayes import ComplementNB

X = np.array([[2, 1, 0, 1], [1, 3, 0, 0], [0, 1, 2, 1], [1, 0, 4, 0], [1, 1, 1, 3]])
Y = np.array(["a", "a", "b", "b", "c"])


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_results_agree_with_scikit_learn(norm, kind):
    ours, theirs = ComplementNB(norm=norm).fit(kind(X), Y), Reference(norm=norm).fit(X, Y)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-13)
    np.testing.assert_array_equal(ours.feature_all_, theirs.feature_all_)
    np.testing.assert_allclose(ours.predict_joint_log_proba(kind(X)), theirs.predict_joint_log_proba(X), rtol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(kind(X)), theirs.predict_proba(X), rtol=1e-12)


def test_a_single_class_is_certain():
    model = ComplementNB().fit(X, ["only"] * 5)
    np.testing.assert_array_equal(model.predict_proba(X), 1.0)
    np.testing.assert_allclose(model.feature_log_prob_, Reference().fit(X, ["only"] * 5).feature_log_prob_, rtol=1e-14)


def test_one_column_has_all_the_weight():
    """log p of the only column is 0, and so is the sum by which it is divided."""
    model = ComplementNB(norm=True).fit([[1], [2], [0]], ["a", "b", "a"])
    np.testing.assert_array_equal(model.feature_log_prob_, 1.0)
    np.testing.assert_array_equal(model.predict_proba([[3]]), 0.5)


@pytest.mark.parametrize("name", ["sample", "log_density", "with_priors"])
def test_methods_that_need_a_likelihood_are_absent(name):
    assert not hasattr(ComplementNB().fit(X, Y), name)


def test_without_pseudo_counts_a_word_of_one_class_only_decides_for_it():
    model = ComplementNB(alpha=0.0).fit([[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1]], ["a", "b", "c"])
    rows = [[1, 5, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0]]
    np.testing.assert_allclose(model.predict_proba(rows), [[1, 0, 0], [1 / 3] * 3, [0.5, 0.5, 0]], rtol=1e-14)
    np.testing.assert_array_equal(model.predict(rows), ["a", "a", "a"])


@pytest.mark.parametrize("norm", [False, True])
def test_without_pseudo_counts_weights_are_the_limit_of_small_ones(norm):
    """The normalised weights tend to their limit like 1 / log alpha."""
    counts = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1]]
    model = ComplementNB(alpha=0.0, norm=norm).fit(counts, [0, 1, 2])
    small = ComplementNB(alpha=1e-300, norm=norm).fit(counts, [0, 1, 2])
    finite = np.isfinite(model.feature_log_prob_)
    assert finite.all() == norm
    np.testing.assert_allclose(
        model.feature_log_prob_[finite], small.feature_log_prob_[finite], atol=1e-2 if norm else 1e-12
    )


def test_a_word_absent_from_all_other_classes_has_count_zero_for_any_weights(rng):
    weight = rng.random(5) * 0.1
    model = ComplementNB(alpha=0.0).fit(X * [[1, 1, 1, 0]] * 4 + [[0, 0, 0, 1]], ["a", "a", "b", "b", "b"], weight)
    assert not np.isnan(model.feature_log_prob_).any()
    alone = ComplementNB(alpha=0.0).fit(np.diag([0.1, 0.2, 0.3]), [0, 1, 2], [0.1, 0.7, 0.3])
    np.testing.assert_array_equal(np.isposinf(alone.feature_log_prob_), np.eye(3, dtype=bool))


def test_missing_counts_are_rejected():
    with pytest.raises(NonFiniteError, match=r"^Input X contains NaN.*ComplementNB"):
        ComplementNB().fit(np.where(X == 4, np.nan, X), Y)


def test_counts_whose_sum_overflows_are_rejected():
    """Each class, and each column, has a sum; all of them together have none."""
    with pytest.raises(NonFiniteError, match="sums of the data are too large for float64"):
        ComplementNB().fit(np.full((2, 2), 0.4) * np.finfo(float).max, [0, 1])
