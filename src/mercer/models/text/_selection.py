"""Which terms become columns: a vocabulary that was given, or those of all terms that are neither rare nor common."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from mercer._errors import DataError, VocabularyError
from mercer._typing import Array
from mercer.features.text.interpreted import AnyVocabulary


def numbered(vocabulary: Any) -> dict[Any, int]:
    """A vocabulary that was given, as terms with their columns."""
    if not isinstance(vocabulary, Mapping):
        terms = sorted(vocabulary) if isinstance(vocabulary, set) else list(vocabulary)
        columns = {term: column for column, term in enumerate(terms)}
        if len(columns) < len(terms):
            twice = next(term for column, term in enumerate(terms) if columns[term] != column)
            raise VocabularyError(f"Duplicate term in vocabulary: {twice!r}. Name each term once.")
    else:
        columns = dict(vocabulary)
        _refuse_other_columns(set(columns.values()), len(columns))
    if not columns:
        raise VocabularyError("empty vocabulary passed to fit. Give at least one term, or None to learn them.")
    return columns


def _refuse_other_columns(columns: set[Any], n: int) -> None:
    """Refuse numbers of columns that are not 0, 1, …, n − 1."""
    if len(columns) != n:
        raise VocabularyError("Vocabulary contains repeated indices. Give each term a column of its own.")
    for column in range(n):
        if column not in columns:
            raise VocabularyError(
                f"Vocabulary of size {n:d} doesn't contain index {column:d}. Number the columns from 0 to {n - 1}."
            )


def _limits(n_documents: int, max_df: Any, min_df: Any) -> tuple[Any, Any]:
    """The most and the fewest documents that may have a term; parts of all documents are floats."""
    most = max_df if isinstance(max_df, Integral) else max_df * n_documents
    fewest = min_df if isinstance(min_df, Integral) else min_df * n_documents
    return most, fewest


def refuse_useless(vocabulary: AnyVocabulary, max_df: Any, min_df: Any) -> None:
    """Refuse documents without terms, and limits that no number of documents can keep."""
    if not len(vocabulary):
        raise VocabularyError(
            "empty vocabulary; perhaps the documents only contain stop words, or words of one letter, which "
            "token_pattern passes over."
        )
    n_documents = vocabulary.n_documents
    most, fewest = _limits(n_documents, max_df, min_df)
    if most < fewest:
        raise DataError(
            f"max_df corresponds to < documents than min_df. There are {n_documents} documents: a term would have to "
            f"be in {fewest:g} or more and in {most:g} or fewer of them."
        )


def chosen(vocabulary: AnyVocabulary, max_df: Any, min_df: Any, max_features: int | None, counts: Array) -> Array:
    """A mask of the terms that are neither too common nor too rare, and of these the most frequent by `counts`.

    Where several are as frequent, NumPy's `argsort` decides as it does in scikit-learn, by the type of `counts` too.
    """
    most, fewest = _limits(vocabulary.n_documents, max_df, min_df)
    df = vocabulary.document_counts
    mask = np.asarray((df <= most) & (df >= fewest))
    if max_features is not None and mask.sum() > max_features:
        first = (-counts[mask]).argsort()[:max_features]
        left = np.flatnonzero(mask)[first]
        mask = np.zeros_like(mask)
        mask[left] = True
    return mask
