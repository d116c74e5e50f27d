"""Merging vocabularies is counting all documents at once."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.text._vocabulary import Vocabulary

DOCUMENTS = st.lists(st.lists(st.sampled_from(["a", "b", "ä", "z z", "\ud800", "🙂", ""]), max_size=5), max_size=4)


def counted(documents: list[list[str]]) -> Vocabulary:
    occurrences = Counter(term for document in documents for term in document)
    within = Counter(term for document in documents for term in set(document))
    terms = list(occurrences)
    return Vocabulary.of_strings(
        terms, [within[term] for term in terms], [occurrences[term] for term in terms], len(documents)
    )


def described(vocabulary: Vocabulary) -> tuple[list[str], list[int], list[int], int]:
    counts = vocabulary.document_counts.tolist(), vocabulary.term_counts.tolist()
    return vocabulary.names().tolist(), *counts, vocabulary.n_documents


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_merged_vocabularies_agree_with_one_pass(
    one: list[list[str]], two: list[list[str]], three: list[list[str]]
) -> None:
    whole = described(counted(one + two + three))
    assert described(counted(one).merge(counted(two)).merge(counted(three))) == whole
    assert described(counted(one).merge(counted(two).merge(counted(three)))) == whole
    assert described(Vocabulary.empty().merge(counted(one))) == described(counted(one))


@given(DOCUMENTS)
def test_terms_are_in_order(documents: list[list[str]]) -> None:
    vocabulary = counted(documents)
    names = vocabulary.names().tolist()
    assert names == sorted(set().union(*documents))
    assert vocabulary.as_dict() == {name: position for position, name in enumerate(names)}
    assert described(pickle.loads(pickle.dumps(vocabulary))) == described(vocabulary)


def test_some_terms_are_kept() -> None:
    vocabulary = counted([["a", "b"], ["b", "c", "c"]])
    kept = described(vocabulary.keep(np.array([False, True, True])))
    assert kept == (["b", "c"], [2, 1], [2, 2], 2) == described(vocabulary.keep(np.array([1, 2])))
