"""Vocabularies of a source: the terms of every chunk are counted, and counts add up."""

from __future__ import annotations

import functools
from typing import Any

from sklearn.base import clone

from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.features.text.interpreted import AnyVocabulary, merged
from mercer.features.text.weights import Totals
from mercer.models.text import _counting
from mercer.models.text._documents import documents_of
from mercer.models.text._selection import refuse_useless


def learn_vocabulary(vectorizer: Any, source: Source) -> AnyVocabulary:
    """All terms of all documents, refused like those of documents in memory."""
    seen = fold(functools.partial(_terms, clone(vectorizer)), source, merged)
    refuse_useless(seen, vectorizer.max_df, vectorizer.min_df)
    return seen


def _terms(vectorizer: Any, chunk: Chunk) -> AnyVocabulary:
    return _counting.learn(clone(vectorizer), documents_of(chunk.X)).vocabulary


def learn_totals(vectorizer: Any, source: Source) -> Totals:
    """Of the columns of a vectorizer whose vocabulary was given."""
    return fold(functools.partial(_totals, vectorizer), source, Totals.merge)


def _totals(vectorizer: Any, chunk: Chunk) -> Totals:
    return Totals.of(vectorizer._counted(documents_of(chunk.X)))
