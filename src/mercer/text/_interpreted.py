"""Counting of terms in Python, for any documents and any analyzer whose terms are hashable.

The compiled scanner is tested against these functions. They are used where only Python can find the terms (a custom
tokenizer or pattern, or documents that are not strings) and for lists so short that compiled code saves no time.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils import murmurhash3_32

from mercer._errors import DataError, EmptyDataError
from mercer._stored import integers, sequence, stored, whole
from mercer._typing import Array
from mercer.text._csr import csr
from mercer.text._vocabulary import Vocabulary

Analyze = Callable[[Any], Iterable[Any]]


@stored(
    lambda own: all(isinstance(hash(term), int) for term in own.terms),
    terms=sequence("v"),
    document_counts=integers("v"),
    term_counts=integers("v"),
    n_documents=whole(0),
)
@dataclass(frozen=True, eq=False)
class OtherVocabulary:
    """A `Vocabulary` of terms that are not all strings, in ascending order."""

    terms: list[Any]
    document_counts: Array
    term_counts: Array
    n_documents: int

    def __len__(self) -> int:
        return len(self.terms)

    def merge(self, other: Any) -> OtherVocabulary | Vocabulary:
        """Return the vocabulary of these documents and those of another vocabulary."""
        totals: dict[Hashable, Array] = defaultdict(lambda: np.zeros(2, dtype=np.int64))
        for one in (self, other):
            for term, *counts in zip(one.names(), one.document_counts, one.term_counts, strict=True):
                totals[term] = totals[term] + counts
        both = np.array(list(totals.values()), dtype=np.int64).reshape(len(totals), 2)
        return vocabulary_of(list(totals), both[:, 0], both[:, 1], self.n_documents + other.n_documents)[0]

    def keep(self, chosen: Array) -> Self:
        """Return the vocabulary of some of the terms, given by a mask or by ascending positions."""
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        terms = [self.terms[position] for position in positions]
        return replace(
            self,
            terms=terms,
            document_counts=self.document_counts[positions],
            term_counts=self.term_counts[positions],
        )

    def names(self) -> Array:
        """Return the terms as an array of objects."""
        names = np.empty(len(self), dtype=object)
        names[:] = self.terms
        return names

    def as_dict(self) -> dict[Any, int]:
        """Return a dict from each term to its position."""
        return {term: position for position, term in enumerate(self.terms)}


AnyVocabulary = Vocabulary | OtherVocabulary


class InterpretedCounts(NamedTuple):
    """The counts of terms (columns) in documents (rows), and the vocabulary of the columns."""

    counts: sparse.csr_array
    vocabulary: AnyVocabulary

    def matrix(self, kept: Array, dtype: Any = np.int64) -> Any:
        """Return the counts of the terms that a mask keeps."""
        counts = self.counts if kept.all() else self.counts[:, np.flatnonzero(kept)]
        return counts.astype(dtype, copy=False)


def merge_vocabularies(one: AnyVocabulary, other: AnyVocabulary) -> AnyVocabulary:
    """Return the vocabulary of the documents of both."""
    if isinstance(one, Vocabulary):
        return one.merge(other) if isinstance(other, Vocabulary) else other.merge(one)
    return one.merge(other)


def vocabulary_of(
    terms: list[Any], document_counts: Array, term_counts: Array, n_documents: int
) -> tuple[AnyVocabulary, Array]:
    """Return the vocabulary of distinct terms in any order, and the position of each term in it."""
    order = np.array(sorted(range(len(terms)), key=terms.__getitem__), dtype=np.int64)
    places = np.empty(len(terms), dtype=np.int64)
    places[order] = np.arange(len(terms))
    ordered = [terms[position] for position in order]
    create = Vocabulary.of_strings if all(isinstance(term, str) for term in terms) else OtherVocabulary
    return create(ordered, document_counts[order], term_counts[order], n_documents), places


def learn(documents: Iterable[Any], analyze: Analyze) -> InterpretedCounts:
    """Count all terms of documents."""
    number: defaultdict[Any, int] = defaultdict()
    number.default_factory = number.__len__
    tally = _TermTally()
    for document in documents:
        counts = Counter(analyze(document))
        tally.add([number[term] for term in counts], counts.values())
    X = tally.matrix(len(number))
    document_counts = np.bincount(X.indices, minlength=len(number))
    term_counts = np.bincount(X.indices, X.data, minlength=len(number)).astype(np.int64)
    vocabulary, places = vocabulary_of(list(number), document_counts, term_counts, X.shape[0])
    X.indices = places.astype(X.indices.dtype)[X.indices]
    X.has_sorted_indices = False
    X.sort_indices()
    return InterpretedCounts(X, vocabulary)


def count_known(documents: Iterable[Any], analyze: Analyze, number: Mapping[Any, int]) -> sparse.csr_array:
    """Count the terms that have a number; other terms are ignored."""
    tally, find = _TermTally(), number.get
    for document in documents:
        counts: Counter[Any] = Counter(map(find, analyze(document)))
        counts.pop(None, None)
        columns = sorted(counts)
        tally.add(columns, [counts[column] for column in columns])
    return tally.matrix(len(number), in_order=True)


def count_hashes(
    documents: Iterable[Any], analyze: Analyze, n_features: int, *, signed: bool, dtype: Any
) -> sparse.csr_array:
    """Count terms in column |h| mod `n_features`, h the 32-bit MurmurHash3; `signed` counts by the sign of h."""
    hashes, ends = array("i"), array("q", [0])
    for document in documents:
        terms = analyze(document)
        if len(ends) == 1 and isinstance(terms, str):
            raise DataError(
                "Samples can not be a single string. The input must be an iterable over iterables of strings. Let the "
                "analyzer return a list of terms."
            )
        hashes.extend(map(_hash, terms))
        ends.append(len(hashes))
    if len(ends) == 1:
        raise EmptyDataError("Cannot vectorize empty sequence. Give at least one document.")
    # 64 bits, since |−2³¹| overflows 32 bits
    h = np.array(hashes, dtype=np.int64)
    values = np.where(h < 0, -1, 1) if signed else np.ones(len(h), dtype=np.int64)
    index = _index_type(len(h))
    parts: Any = (values.astype(dtype), (np.abs(h) % n_features).astype(index), np.array(ends, dtype=index))
    X = sparse.csr_array(parts, shape=(len(ends) - 1, n_features))
    X.sum_duplicates()
    return X


def _hash(term: Any) -> int:
    if isinstance(term, str):
        term = term.encode("utf-8")
    elif not isinstance(term, bytes):
        raise TypeError("feature names must be strings")
    return int(murmurhash3_32(term, seed=0))


class _TermTally:
    """The growing arrays of a CSR matrix, to which rows are appended."""

    def __init__(self) -> None:
        self.indices, self.data, self.ends = array("q"), array("q"), array("q", [0])

    def add(self, indices: Iterable[int], data: Iterable[int]) -> None:
        self.indices.extend(indices)
        self.data.extend(data)
        self.ends.append(len(self.indices))

    def matrix(self, n_columns: int, *, in_order: bool = False) -> sparse.csr_array:
        index = _index_type(len(self.indices))
        # "q" is C's long long, which NumPy distinguishes from int64 although the size is the same
        data: Any = np.array(self.data, np.int64)
        indices: Any = np.array(self.indices, index)
        ends: Any = np.array(self.ends, index)
        X: sparse.csr_array = csr(data, indices, ends, n_columns)
        X.has_canonical_format = in_order
        return X


def _index_type(n_entries: int) -> type:
    return np.int64 if n_entries > np.iinfo(np.int32).max else np.int32
