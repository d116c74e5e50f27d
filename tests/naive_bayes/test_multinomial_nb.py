"""MultinomialNB: densities with their coefficient, samples with their lengths, and counts that are rejected."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import multinomial
from sklearn.naive_bayes import MultinomialNB as Reference

from mercer._errors import NonFiniteError, SupportError
from mercer.naive_bayes import MultinomialNB
from mercer.naive_bayes._discrete import slice_rows

KINDS = [np.asarray, sp.csr_matrix]


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    y = rng.integers(3, size=150)
    return rng.poisson(3 * rng.random((3, 8))[y]), y


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_density_includes_the_multinomial_coefficient(data, kind):
    X, y = data
    model = MultinomialNB().fit(kind(X), y)
    p = np.exp(model.feature_log_prob_)
    terms = np.column_stack([multinomial.logpmf(X, X.sum(axis=1), row / row.sum()) for row in p])
    expected = logsumexp(terms + model.class_log_prior_, axis=1)
    np.testing.assert_allclose(model.log_density(kind(X)), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_density_of_two_words_sums_to_one(data, kind):
    """Over all rows of a given length, as only the true log p(x) does."""
    X, y = data
    model = MultinomialNB().fit(X[:, :2], y)
    rows = np.column_stack([np.arange(6), 5 - np.arange(6)])
    np.testing.assert_allclose(np.exp(model.log_density(kind(rows))).sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_absent_from_a_class_has_probability_exactly_zero(kind):
    model = MultinomialNB(alpha=0.0).fit(kind([[2, 1, 0], [0, 1, 2]]), ["a", "b"])
    np.testing.assert_array_equal(np.exp(model.feature_log_prob_)[[0, 1], [2, 0]], [0, 0])
    rows = kind([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])
    np.testing.assert_allclose(model.predict_proba(rows), [[1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5]], rtol=1e-14)
    np.testing.assert_array_equal(np.isneginf(model.log_density(rows)), [False, False, False, True])


def test_a_row_impossible_in_every_class_keeps_the_prior():
    model = MultinomialNB(alpha=0.0).fit([[1, 0, 0], [0, 1, 0], [0, 3, 0]], [0, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[1, 1, 0]]), [[1 / 3, 2 / 3]], rtol=1e-14)
    assert model.predict([[1, 1, 0]]) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_negative_count_is_rejected_by_name_with_the_message_of_scikit_learn(kind):
    X = kind([[1.0, 2.0], [0.0, -3.0]])
    message = r"^Negative values in data passed to MultinomialNB \(input X\)\. Column 'x1' is -3.0 in row 1"
    with pytest.raises(SupportError, match=message):
        MultinomialNB().fit(X, [0, 1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_missing_and_infinite_counts_are_rejected_by_name(kind, value, message):
    X = np.ones((4, 3))
    model = MultinomialNB().fit(X, [0, 0, 1, 1])
    X[2, 1] = value
    for call in (lambda: MultinomialNB().fit(kind(X), [0, 0, 1, 1]), lambda: model.predict_proba(kind(X))):
        with pytest.raises(NonFiniteError, match=rf"^Input X contains {message}.*'x1'.*row 2"):
            call()


def test_a_row_without_observed_values_is_rejected_too():
    with pytest.raises(NonFiniteError, match=r"'x0' has a missing value in row 1.*NaiveBayes"):
        MultinomialNB().fit([[1.0, 2.0], [np.nan, np.nan]], [0, 1])


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_lengths_of_the_rows_of_their_class(kind, rng):
    X = np.vstack([rng.multinomial(3, [0.2, 0.8], size=50), rng.multinomial(rng.choice([5, 9], 50), [0.6, 0.4])])
    y = np.repeat(["short", "long"], 50)
    drawn, classes = MultinomialNB().fit(kind(X), y).sample(400, random_state=1)
    lengths = np.asarray(drawn.sum(axis=1)).ravel()
    assert set(lengths[classes == "short"]) == {3}
    assert set(lengths[classes == "long"]) == {5, 9}
    assert sp.issparse(drawn) == (kind is sp.csr_matrix)


@pytest.mark.parametrize("kind", KINDS)
def test_samples_can_be_given_a_length(data, kind):
    model = MultinomialNB().fit(kind(data[0]), data[1])
    for length in (7, np.arange(20)):
        drawn, _ = model.sample(20, random_state=1, length=length)
        np.testing.assert_array_equal(np.asarray(drawn.sum(axis=1)).ravel(), np.broadcast_to(length, 20))
    for length, message in ((2.5, "whole"), ("ten", "whole"), ([1, 2], r"shape \(2,\).*each of 3 rows")):
        with pytest.raises(SupportError, match=message):
            model.sample(3, length=length)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_to_samples_recovers_the_model(data, kind):
    model = MultinomialNB().fit(kind(data[0]), data[1])
    again = MultinomialNB().fit(*model.sample(20_000, random_state=3))
    np.testing.assert_allclose(np.exp(again.feature_log_prob_), np.exp(model.feature_log_prob_), atol=0.01)


def test_forgetting_words_without_pseudo_counts_takes_their_probability_to_zero(data, rng):
    X, y = data
    late = np.zeros_like(X)
    late[:, 0] = 3
    weight = rng.random(2 * len(y))
    model = MultinomialNB(alpha=0.0).fit(np.vstack([X * (np.arange(8) > 0), late]), np.tile(y, 2), weight)
    model.forget(late, y, weight[len(y) :])
    assert (model.feature_count_[:, 0] == 0).all()
    assert np.isneginf(model.feature_log_prob_[:, 0]).all()


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_a_large_sparse_matrix_is_read_in_blocks(rng, container):
    n, d, words = 40_000, 50, 120
    indptr = np.arange(n + 1) * words
    X = container((rng.random(n * words), rng.integers(d, size=n * words), indptr), shape=(n, d))
    y = rng.integers(2, size=n)
    ours, theirs = MultinomialNB().fit(X, y), Reference().fit(X, y)
    assert ours.plan_.blocks > 1
    assert np.shares_memory(slice_rows(X, slice(1000, 9000)).data, X.data)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_with_a_negative_count_is_impossible(data, kind):
    rows = np.array([[1, 2, 0, 0, 0, 0, 0, 4], [1, -2, 0, 0, 0, 0, 0, 4]])
    np.testing.assert_array_equal(np.isneginf(MultinomialNB().fit(*data).log_density(kind(rows))), [False, True])


def test_a_count_stored_in_two_parts_is_one_count(data):
    twice = sp.csr_matrix(([1, 2, 4], [3, 3, 0], [0, 3]), shape=(1, 8))
    model = MultinomialNB().fit(*data)
    np.testing.assert_allclose(model.log_density(twice), model.log_density(twice.toarray()), rtol=1e-12)
    np.testing.assert_allclose(model.predict_proba(twice), model.predict_proba(twice.toarray()), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, bool, np.float32])
def test_sparse_counts_of_any_type(data, dtype):
    X, y = np.minimum(data[0], 1).astype(dtype), data[1]
    ours, theirs = (model().fit(sp.csr_matrix(X), y) for model in (MultinomialNB, Reference))
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-12)
    np.testing.assert_allclose(
        ours.predict_log_proba(sp.csr_matrix(X)), theirs.predict_log_proba(sp.csr_matrix(X)), rtol=1e-10
    )


def test_counts_whose_sum_overflows_are_rejected():
    words = np.array([[1.7e308, 0.0], [1.7e308, 0.0], [1.0, 1.7e308], [2.0, 3.0]])
    with pytest.raises(NonFiniteError, match="sums of the data are too large for float64"):
        MultinomialNB().fit(words, [0, 1, 0, 1])
