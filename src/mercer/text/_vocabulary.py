"""Vocabularies: the terms of a set of documents with their counts; merging two gives that of both sets together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._stored import integers, part_of, stored
from mercer._typing import Array
from mercer.data.texts import SURROGATES, Texts


@stored(terms=part_of(Texts, n="v"), document_counts=integers("v"), term_counts=integers("v"))
@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Terms in the order of their code points, which is the order of Python's strings.

    Examples
    --------
    >>> one = Vocabulary.of_strings(["cat", "sat"], [2, 1], [3, 1], n_documents=2)
    >>> both = one.merge(Vocabulary.of_strings(["mat", "sat"], [1, 1], [1, 2], n_documents=1))
    >>> both.as_dict(), both.document_counts.tolist(), both.term_counts.tolist(), both.n_documents
    ({'cat': 0, 'mat': 1, 'sat': 2}, [2, 1, 2], [3, 1, 3], 3)
    """

    terms: Texts
    #: number of documents that contain each term
    document_counts: Array
    #: number of occurrences of each term in all documents
    term_counts: Array
    n_documents: int

    @classmethod
    def of_strings(cls, terms: list[str], document_counts: Any, term_counts: Any, n_documents: int) -> Self:
        """Create a vocabulary from distinct strings in any order."""
        packed = Texts.packed(term.encode("utf-8", SURROGATES) for term in terms)
        return cls.from_unordered(packed, document_counts, term_counts, n_documents)

    @classmethod
    def from_unordered(cls, terms: Texts, document_counts: Any, term_counts: Any, n_documents: int) -> Self:
        """Create a vocabulary from distinct terms in any order."""
        order = terms.order()
        documents, occurrences = (
            np.asarray(counts, dtype=np.int64)[order] for counts in (document_counts, term_counts)
        )
        return cls(terms.take(order), documents, occurrences, n_documents)

    @classmethod
    def empty(cls) -> Self:
        """Return the vocabulary of no documents."""
        none = np.zeros(0, dtype=np.int64)
        return cls(Texts.packed([]), none, none, 0)

    def __len__(self) -> int:
        return len(self.terms)

    def merge(self, other: Self) -> Self:
        """Return the vocabulary of these documents and those of another vocabulary."""
        terms, codes = self.terms.distinct_with(other.terms)
        document_counts, term_counts = (
            _sum_by_code(codes, np.concatenate([mine, theirs]), len(terms))
            for mine, theirs in (
                (self.document_counts, other.document_counts),
                (self.term_counts, other.term_counts),
            )
        )
        n_documents = self.n_documents + other.n_documents
        return type(self).from_unordered(terms, document_counts, term_counts, n_documents)

    def keep(self, chosen: Array) -> Self:
        """Return the vocabulary of some of the terms, given by a mask or by ascending positions."""
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return replace(
            self,
            terms=self.terms.take(positions),
            document_counts=self.document_counts[positions],
            term_counts=self.term_counts[positions],
        )

    def names(self) -> Array:
        """Return the terms as an array of Python strings."""
        names = np.empty(len(self), dtype=object)
        names[:] = self.terms.strings()
        return names

    def as_dict(self) -> dict[str, int]:
        """Return a dict from each term to its position."""
        return {term: position for position, term in enumerate(self.terms.strings())}


def _sum_by_code(codes: Array, counts: Array, n_codes: int) -> Array:
    total = np.zeros(n_codes, dtype=np.int64)
    np.add.at(total, codes, counts)
    return total
