"""Weights of terms: by hand, by definition, and batch after batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer as Theirs

from mercer import MultinomialNB, TfidfTransformer
from mercer._errors import DataError, MergeError, WeightingError
from tests.text._same import assert_same_matrix

# Four documents: "a a a c", "a a", "a b b", "a c c c".
COUNTS = np.array([[3, 0, 1], [2, 0, 0], [1, 2, 0], [1, 0, 3]])
WEIGHTINGS = ["sklearn", "lecture", "lecture-smooth", "bm25"]
LABELS = np.array(["spam", "ham", "ham", "spam"])


def test_idf_by_hand() -> None:
    """log((1 + 4)/(1 + df)) + 1 with df = 4, 1, 2; without smoothing log(4/df) + 1."""
    assert TfidfTransformer().fit(COUNTS).idf_ == pytest.approx([1, 1 + np.log(5 / 2), 1 + np.log(5 / 3)], rel=1e-15)
    plain = TfidfTransformer(smooth_idf=False).fit(COUNTS)
    assert plain.idf_ == pytest.approx([1, 1 + np.log(4), 1 + np.log(2)], rel=1e-15)


def test_the_lectures_tf_idf() -> None:
    """The part of the terms of a document times log N/df: 3/4 · 0 and 1/4 · log 2 in the first document."""
    lecture = TfidfTransformer(weighting="lecture").fit(COUNTS)
    assert lecture.idf_ == pytest.approx([0, np.log(4), np.log(2)])
    expected = [
        [0, 0, np.log(2) / 4],
        [0, 0, 0],
        [0, 2 / 3 * np.log(4), 0],
        [0, 0, 3 / 4 * np.log(2)],
    ]
    np.testing.assert_allclose(lecture.transform(COUNTS).toarray(), expected)
    smooth = TfidfTransformer(weighting="lecture-smooth").fit(COUNTS)
    assert smooth.idf_ == pytest.approx([np.log(4 / 5), np.log(2), np.log(4 / 3)])


def test_the_lectures_tf_alone() -> None:
    parts = TfidfTransformer(weighting="lecture", use_idf=False).fit_transform(COUNTS).toarray()
    np.testing.assert_allclose(parts, COUNTS / COUNTS.sum(axis=1, keepdims=True))


def test_bm25_by_its_formula() -> None:
    k1, b = 1.7, 0.4
    model = TfidfTransformer(weighting="bm25", k1=k1, b=b).fit(COUNTS)
    df, lengths = (COUNTS > 0).sum(axis=0), COUNTS.sum(axis=1, keepdims=True)
    assert model.average_length_ == lengths.mean()
    idf = np.log(1 + (4 - df + 0.5) / (df + 0.5))
    expected = idf * COUNTS * (k1 + 1) / (COUNTS + k1 * (1 - b + b * lengths / lengths.mean()))
    np.testing.assert_allclose(model.transform(COUNTS).toarray(), expected, rtol=1e-14)


def test_bm25_saturates_and_forgives_length() -> None:
    counts = TfidfTransformer(weighting="bm25", b=0.0, use_idf=False).fit(COUNTS).transform([[1000, 0, 0]]).toarray()
    assert counts[0, 0] == pytest.approx(2.2, rel=2e-3)
    binary = TfidfTransformer(weighting="bm25", k1=0.0, use_idf=False).fit_transform(COUNTS).toarray()
    np.testing.assert_array_equal(binary, COUNTS > 0)


def test_log_count_ratios_by_hand() -> None:
    """p = 1 + (4, 0, 4) of spam, q = 1 + (3, 2, 0) of ham."""
    ratio = TfidfTransformer(weighting="log-count-ratio").fit(COUNTS, LABELS)
    assert ratio.classes_.tolist() == ["ham", "spam"]
    expected = np.log(np.array([5, 1, 5]) / 11) - np.log(np.array([4, 3, 1]) / 8)
    np.testing.assert_allclose(ratio.log_count_ratio_, expected, rtol=1e-14)
    np.testing.assert_allclose(ratio.transform(COUNTS).toarray(), COUNTS * expected, rtol=1e-14)


def test_log_count_ratios_are_the_weights_of_naive_bayes() -> None:
    ratio = TfidfTransformer(weighting="log-count-ratio").fit(COUNTS, LABELS)
    bayes = MultinomialNB().fit(COUNTS, LABELS)
    np.testing.assert_allclose(ratio.log_count_ratio_, bayes.feature_log_prob_[1] - bayes.feature_log_prob_[0])


@pytest.mark.parametrize("weighting", [*WEIGHTINGS, "log-count-ratio"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_batches_and_merges_agree_with_one_pass(weighting: str, dtype: type) -> None:
    X = sparse.csr_array(COUNTS.astype(dtype))
    one = TfidfTransformer(weighting=weighting).fit(X, LABELS)
    batches = TfidfTransformer(weighting=weighting).partial_fit(X[:2], LABELS[:2]).partial_fit(X[2:], LABELS[2:])
    halves = [TfidfTransformer(weighting=weighting).fit(X[half], LABELS[half]) for half in (slice(0, 2), slice(2, 4))]
    merged = halves[0].merge(halves[1])
    for other in (batches, merged):
        assert_same_matrix(other.transform(X), one.transform(X))
    assert one.transform(X).dtype == dtype


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_counts_are_not_modified(weighting: str) -> None:
    X = sparse.csr_matrix(COUNTS.astype(float))
    before = X.copy()
    TfidfTransformer(weighting=weighting).fit(X).transform(X)
    assert_same_matrix(X, before)
    X.data.flags.writeable = False
    TfidfTransformer(weighting=weighting).fit(X).transform(X)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csc_array, sparse.csr_matrix, sparse.coo_array])
def test_any_matrix_of_counts_is_accepted(form: object) -> None:
    X = form(COUNTS)  # type: ignore[operator]
    assert_same_matrix(TfidfTransformer().fit_transform(X), Theirs().fit_transform(X), digits=1e-15)


def test_a_given_term_that_no_document_has() -> None:
    X = np.array([[1, 0], [2, 0]])
    assert TfidfTransformer(weighting="lecture").fit(X).idf_ == pytest.approx([0, np.log(2)])


def test_documents_without_terms_stay_empty() -> None:
    X = np.array([[0, 0], [2, 1]])
    for weighting in WEIGHTINGS:
        assert TfidfTransformer(weighting=weighting).fit_transform(X)[[0]].nnz == 0
    assert TfidfTransformer(weighting="bm25").fit_transform(np.zeros((2, 2))).nnz == 0


def test_a_second_fit_forgets_the_weights_of_the_first() -> None:
    model = TfidfTransformer().fit(COUNTS)
    assert not hasattr(model.set_params(use_idf=False).fit(COUNTS), "idf_")
    assert not hasattr(model.set_params(weighting="log-count-ratio").fit(COUNTS, LABELS), "idf_")


def test_rejections_of_log_count_ratios() -> None:
    ratio = TfidfTransformer(weighting="log-count-ratio")
    with pytest.raises(WeightingError, match=r"y is None.* give y to fit"):
        ratio.fit(COUNTS)
    with pytest.raises(WeightingError, match=r"there are 3: .* one class against the rest"):
        ratio.fit(COUNTS, [0, 1, 2, 2])
    with pytest.raises(WeightingError, match="give documents of a second class"):
        ratio.fit(COUNTS, [0, 0, 0, 0])
    with pytest.raises(DataError, match="inconsistent numbers of samples"):
        ratio.fit(COUNTS, [0, 1])
    ratio.partial_fit(COUNTS[:2], [0, 0])
    with pytest.raises(WeightingError, match="there are 1: "):
        ratio.transform(COUNTS)
    with pytest.raises(WeightingError, match="there are 3: "):
        ratio.partial_fit(COUNTS[:2], [1, 2])
    ratio.partial_fit(COUNTS[:2], [1, 1]).transform(COUNTS)


def test_rejections_of_merges_and_numbers() -> None:
    model = TfidfTransformer().fit(COUNTS)
    with pytest.raises(MergeError, match="same weighting"):
        model.merge(TfidfTransformer(weighting="bm25").fit(COUNTS))
    with pytest.raises(MergeError, match="2 columns"):
        model.merge(TfidfTransformer().fit(COUNTS[:, :2]))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.array([[1.0, np.nan]]))
    with pytest.raises(ValueError, match="weighting"):
        TfidfTransformer(weighting="okapi").fit(COUNTS)


def test_huge_counts_are_weighed_without_a_warning() -> None:
    counts = np.full((3, 2), np.finfo(float).max)
    np.testing.assert_array_equal(TfidfTransformer().fit_transform(counts).toarray(), 0.0)


def test_documents_whose_length_overflows_are_rejected_by_bm25() -> None:
    largest = np.finfo(float).max
    for counts in ([[1.0, 2.0], [largest, largest]], [[largest, 0.0], [0.0, largest]]):
        with pytest.raises(DataError, match="add up to more than a float can hold"):
            TfidfTransformer(weighting="bm25").fit(counts)


def test_counts_of_half_precision_are_weighed() -> None:
    counts = np.array([[1, 0, 2], [0, 3, 1]])
    assert_same_matrix(TfidfTransformer().fit_transform(counts.astype(np.float16)), Theirs().fit_transform(counts))
