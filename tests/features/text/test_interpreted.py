"""Documents to terms in Python, and what is counted of them."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer as Theirs

from mercer.features.text import interpreted
from mercer.features.text.interpreted import (
    CharNgrams,
    OtherVocabulary,
    WordCharNgrams,
    WordNgrams,
    merged,
    strip_accents_ascii,
    strip_accents_unicode,
    vocabulary_of,
)
from mercer.stats.vocabulary import Vocabulary

TERMS = st.lists(st.lists(st.sampled_from(["b", "a", "ab", "ß", "\ud800", "\U0010ffff"]), max_size=6), max_size=5)


@given(st.lists(st.text("abc", max_size=2), max_size=6), st.integers(1, 3), st.integers(0, 2))
def test_ngrams_of_words(tokens: list[str], low: int, more: int) -> None:
    found = WordNgrams(low, low + more)(tokens)
    if (low, more) == (1, 0):
        assert found == tokens
        return
    windows = [" ".join(tokens[i : i + n]) for n in range(low, low + more + 1) for i in range(len(tokens) - n + 1)]
    assert found == windows


@given(st.text("ab \n", max_size=12), st.integers(1, 3), st.integers(0, 3))
def test_ngrams_of_characters_are_those_of_scikit_learn(text: str, low: int, more: int) -> None:
    span = (low, low + more)
    for name, made in (("char", CharNgrams), ("char_wb", WordCharNgrams)):
        assert made(*span)(text) == Theirs(analyzer=name, ngram_range=span).build_analyzer()(text)


def test_a_word_shorter_than_its_ngrams_is_one_term() -> None:
    assert WordCharNgrams(4, 6)("a bcd") == [" a ", " bcd", "bcd ", " bcd "]


def test_accents() -> None:
    assert strip_accents_unicode("Ångström ﬁ ٣ é\u0301") == "Angstrom fi ٣ e"
    assert strip_accents_ascii("Ångström ﬁ ٣ ß") == "Angstrom fi  "


@given(TERMS)
def test_learning_is_counting(documents: list[list[str]]) -> None:
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
def test_merged_vocabularies_are_those_of_all_documents(left: list[list[str]], right: list[list[str]]) -> None:
    for strange in (False, True):
        analyze: Any = (lambda terms: [(term,) for term in terms]) if strange else list
        whole = interpreted.learn(left + right, analyze).vocabulary
        both = merged(interpreted.learn(left, analyze).vocabulary, interpreted.learn(right, analyze).vocabulary)
        assert both.as_dict() == whole.as_dict()
        assert both.n_documents == whole.n_documents
        np.testing.assert_array_equal(both.document_counts, whole.document_counts)
        np.testing.assert_array_equal(both.term_counts, whole.term_counts)


def test_terms_that_are_no_strings() -> None:
    vocabulary, places = vocabulary_of([3, 1, 2], np.array([1, 2, 3]), np.array([4, 5, 6]), 7)
    assert isinstance(vocabulary, OtherVocabulary)
    assert places.tolist() == [2, 0, 1]
    assert vocabulary.as_dict() == {1: 0, 2: 1, 3: 2}
    kept = vocabulary.keep(np.array([True, False, True]))
    assert (kept.terms, kept.document_counts.tolist(), kept.term_counts.tolist()) == ([1, 3], [2, 1], [5, 4])
    assert vocabulary.names().tolist() == [1, 2, 3]
    assert isinstance(vocabulary_of(["b", "a"], np.ones(2), np.ones(2), 1)[0], Vocabulary)


def test_the_smallest_hash_has_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """|−2³¹| is no 32-bit number."""
    monkeypatch.setattr(interpreted, "murmurhash3_32", lambda term, seed: -(2**31))
    X = interpreted.hashed([["a"]], list, 1000, signed=True, dtype=np.float64)
    assert X.indices.tolist() == [2**31 % 1000]
    assert X.data.tolist() == [-1.0]


@given(st.text() | st.text("aB_9 .,-é", max_size=40), st.integers(1, 3), st.booleans())
def test_whole_words_are_those_of_the_pattern(text: str, shortest: int, lowercase: bool) -> None:
    pattern = re.compile(r"(?u)\b" + r"\w" * shortest + r"+\b")
    assert interpreted.Words(shortest, lowercase)(text) == pattern.findall(text.lower() if lowercase else text)
