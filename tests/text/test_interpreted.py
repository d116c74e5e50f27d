"""Terms counted in Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from mercer.text import _interpreted as interpreted
from mercer.text._interpreted import OtherVocabulary, merge_vocabularies, vocabulary_of
from mercer.text._vocabulary import Vocabulary

TERMS = st.lists(st.lists(st.sampled_from(["b", "a", "ab", "ß", "\ud800", "\U0010ffff"]), max_size=6), max_size=5)


@given(TERMS)
def test_learning_counts_terms(documents: list[list[str]]) -> None:
    counts, vocabulary = interpreted.learn(documents, list)
    names = vocabulary.names().tolist()
    assert names == sorted({term for terms in documents for term in terms})
    expected = [[Counter(terms)[name] for name in names] for terms in documents]
    np.testing.assert_array_equal(counts.toarray(), np.array(expected).reshape(len(documents), len(names)))
    np.testing.assert_array_equal(vocabulary.term_counts, counts.toarray().sum(axis=0))
    np.testing.assert_array_equal(vocabulary.document_counts, (counts.toarray() > 0).sum(axis=0))
    assert vocabulary.n_documents == len(documents)
    known = interpreted.count_known(documents, list, vocabulary.as_dict())
    np.testing.assert_array_equal(known.toarray(), counts.toarray())


@given(TERMS, TERMS)
def test_merged_vocabularies_agree_with_all_documents(left: list[list[str]], right: list[list[str]]) -> None:
    for strange in (False, True):
        analyze: Any = (lambda terms: [(term,) for term in terms]) if strange else list
        whole = interpreted.learn(left + right, analyze).vocabulary
        both = merge_vocabularies(
            interpreted.learn(left, analyze).vocabulary, interpreted.learn(right, analyze).vocabulary
        )
        assert both.as_dict() == whole.as_dict()
        assert both.n_documents == whole.n_documents
        np.testing.assert_array_equal(both.document_counts, whole.document_counts)
        np.testing.assert_array_equal(both.term_counts, whole.term_counts)


def test_terms_that_are_not_strings() -> None:
    vocabulary, places = vocabulary_of([3, 1, 2], np.array([1, 2, 3]), np.array([4, 5, 6]), 7)
    assert isinstance(vocabulary, OtherVocabulary)
    assert places.tolist() == [2, 0, 1]
    assert vocabulary.as_dict() == {1: 0, 2: 1, 3: 2}
    kept = vocabulary.keep(np.array([True, False, True]))
    assert (kept.terms, kept.document_counts.tolist(), kept.term_counts.tolist()) == ([1, 3], [2, 1], [5, 4])
    assert vocabulary.names().tolist() == [1, 2, 3]
    assert isinstance(vocabulary_of(["b", "a"], np.ones(2), np.ones(2), 1)[0], Vocabulary)


def test_the_smallest_hash_has_a_column() -> None:
    """|−2³¹| is not a 32-bit number."""
    term = "akqlrggi"
    assert murmurhash3_32(term, seed=0) == -(2**31)
    X = interpreted.count_hashes([[term]], list, 1000, signed=True, dtype=np.float64)
    assert X.indices.tolist() == [2**31 % 1000]
    assert X.data.tolist() == [-1.0]
