"""Tests of the terms of documents, which agree with scikit-learn's analyzers."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer as Theirs

from mercer.text.analysis import (
    CharNgrams,
    WordAnalyzer,
    WordCharNgrams,
    WordNgrams,
    strip_accents_ascii,
    strip_accents_unicode,
)


@given(st.lists(st.text("abc", max_size=2), max_size=6), st.integers(1, 3), st.integers(0, 2))
def test_ngrams_of_words(tokens: list[str], low: int, more: int) -> None:
    found = WordNgrams(low, low + more)(tokens)
    if (low, more) == (1, 0):
        assert found == tokens
        return
    windows = [" ".join(tokens[i : i + n]) for n in range(low, low + more + 1) for i in range(len(tokens) - n + 1)]
    assert found == windows


@given(st.text("ab \n", max_size=12), st.integers(1, 3), st.integers(0, 3))
def test_ngrams_of_characters_agree_with_scikit_learn(text: str, low: int, more: int) -> None:
    span = (low, low + more)
    for name, made in (("char", CharNgrams), ("char_wb", WordCharNgrams)):
        assert made(*span)(text) == Theirs(analyzer=name, ngram_range=span).build_analyzer()(text)


def test_a_word_shorter_than_its_ngrams_is_one_term() -> None:
    assert WordCharNgrams(4, 6)("a bcd") == [" a ", " bcd", "bcd ", " bcd "]


def test_accents() -> None:
    assert strip_accents_unicode("Ångström ﬁ ٣ é\u0301") == "Angstrom fi ٣ e"
    assert strip_accents_ascii("Ångström ﬁ ٣ ß") == "Angstrom fi  "


@given(st.text() | st.text("aB_9 .,-é", max_size=40), st.integers(1, 3), st.booleans())
def test_whole_words_agree_with_the_pattern(text: str, shortest: int, lowercase: bool) -> None:
    pattern = re.compile(r"(?u)\b" + r"\w" * shortest + r"+\b")
    assert WordAnalyzer(shortest, lowercase)(text) == pattern.findall(text.lower() if lowercase else text)
