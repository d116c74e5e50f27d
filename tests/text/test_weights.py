"""Weights of counts by hand, and totals that can be merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from mercer._errors import MergeError
from mercer.text import _weights as weights
from mercer.text._weights import Totals

COUNTS = arrays(np.int64, st.tuples(st.integers(1, 5), st.just(3)), elements=st.integers(0, 3))


@given(COUNTS, COUNTS, st.data())
def test_totals_add_up(left: np.ndarray, right: np.ndarray, data: st.DataObject) -> None:
    labels = np.array(["ham", "spam"])
    codes = [np.array(data.draw(st.lists(st.integers(0, 1), min_size=len(X), max_size=len(X)))) for X in (left, right)]
    parts = [Totals.of(sparse.csr_array(X), labels, of) for X, of in zip((left, right), codes, strict=True)]
    both, whole = parts[0].merge(parts[1]), np.vstack([left, right])
    assert both.n_documents == len(whole)
    assert both.length == whole.sum()
    assert both.average_length == whole.sum() / len(whole)
    np.testing.assert_array_equal(both.document_counts, (whole > 0).sum(axis=0))
    assert both.by_class is not None
    for code, label in enumerate(labels.tolist()):
        np.testing.assert_array_equal(both.by_class[label], whole[np.concatenate(codes) == code].sum(axis=0))


def test_a_class_absent_from_one_part() -> None:
    one = Totals(1, np.array([1]), 1.0, {"a": np.array([1.0])})
    other = Totals(1, np.array([1]), 2.0, {"b": np.array([2.0])})
    assert {label: counts.tolist() for label, counts in (one.merge(other).by_class or {}).items()} == {
        "a": [1.0],
        "b": [2.0],
    }


def test_totals_of_other_columns_are_rejected() -> None:
    with pytest.raises(MergeError, match="2 columns into those of 1"):
        Totals(1, np.array([1]), 1.0).merge(Totals(1, np.array([1, 1]), 1.0))


def test_idf_by_hand() -> None:
    totals = Totals(4, np.array([4, 1, 0]), 10.0)
    np.testing.assert_allclose(weights.sklearn_idf(totals, smooth=True), [1, 1 + np.log(5 / 2), 1 + np.log(5)])
    np.testing.assert_allclose(weights.lecture_idf(totals, add_one=False), [0, np.log(4), np.log(4)])
    np.testing.assert_allclose(weights.lecture_idf(totals, add_one=True), [np.log(4 / 5), np.log(2), np.log(4)])
    expected = np.log(1 + np.array([0.5 / 4.5, 3.5 / 1.5, 4.5 / 0.5]))
    np.testing.assert_allclose(weights.bm25_idf(totals), expected)
    assert weights.sklearn_idf(totals, smooth=True, dtype=np.float32).dtype == np.float32


def test_log_count_ratios_change_sign_with_the_classes() -> None:
    first, second = np.array([3, 0, 5]), np.array([0, 1, 5])
    np.testing.assert_allclose(weights.log_count_ratio(first, second), -weights.log_count_ratio(second, first))
    np.testing.assert_array_equal(weights.log_count_ratio(first, first), 0)


def test_parts_of_a_document_sum_to_one() -> None:
    X = sparse.csr_array(np.array([[1.0, 3.0], [0.0, 0.0], [0.0, 2.0]]))
    weights.apply_relative_frequency(X)
    np.testing.assert_array_equal(X.toarray(), [[0.25, 0.75], [0, 0], [0, 1]])


def test_extreme_saturations() -> None:
    """Without k₁ a term counts once, however often it is there; with a huge one, as often as it is there."""
    counts = np.array([[1.0, 4.0], [0.0, 9.0]])
    X = sparse.csr_array(counts)
    weights.apply_saturation(X, 7.0, k1=0.0, b=0.75)
    np.testing.assert_array_equal(X.toarray(), counts > 0)
    X = sparse.csr_array(counts)
    weights.apply_saturation(X, 7.0, k1=1e12, b=0.0)
    np.testing.assert_allclose(X.toarray(), counts, rtol=1e-10)
