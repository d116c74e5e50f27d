"""Features of text as expressions: counts of terms, or TF-IDF, as vectorizers make them.

`lower` composes them with the other steps of a pipeline; `sql`, `onnx` and `python` print the expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._errors import ExportError
from mercer.base import declared_traits
from mercer.export.expression import ColumnValue, Expression, Term, TextTerms
from mercer.text import TfidfVectorizer
from mercer.text.vectorizer import TOKEN_PATTERN

#: the column that a vectorizer reads without `TableFeatures`
DOCUMENTS = ColumnValue("text", "text")


def documents(vectorizer: Any, inputs: Sequence[Expression]) -> list[Expression]:
    """Return the features of documents that are not a column of a table."""
    return term_features(vectorizer, inputs[0])


def term_features(vectorizer: Any, column: Expression) -> list[Expression]:
    """Return the feature of each term."""
    name = type(vectorizer).__name__
    own = declared_traits(type(vectorizer))
    if own is None or own.export is None:
        raise ExportError(
            f"{name} cannot be exported; CountVectorizer and TfidfVectorizer can be. Fit with one of them."
        )
    _check_options(vectorizer, name)
    assert isinstance(column, ColumnValue)
    names = vectorizer.get_feature_names_out().tolist()
    weighs = isinstance(vectorizer, TfidfVectorizer)
    stop_words = vectorizer.get_stop_words() or frozenset()
    terms = TextTerms(
        column,
        tuple(names),
        np.asarray(vectorizer.idf_, dtype=float) if weighs and vectorizer.use_idf else np.ones(len(names)),
        lowercase=bool(vectorizer.lowercase),
        pattern=vectorizer.token_pattern,
        grams=tuple(vectorizer.ngram_range),
        stop_words=stop_words if tuple(vectorizer.ngram_range) != (1, 1) or stop_words & set(names) else frozenset(),
        binary=bool(vectorizer.binary),
        sublinear=bool(weighs and vectorizer.sublinear_tf),
        norm=vectorizer.norm if weighs else None,
    )
    return [Term(terms, j) for j in range(len(names))]


def _check_options(vectorizer: Any, name: str) -> None:
    """Raise an error for options that need Python functions or files."""
    usual = {"input": "content", "analyzer": "word", "weighting": "sklearn"}
    options = ("input", "analyzer", "weighting", "strip_accents", "preprocessor", "tokenizer")
    changed = [option for option in options if getattr(vectorizer, option, usual.get(option)) != usual.get(option)]
    changed += [] if vectorizer.dtype in (np.float64, np.int64) else ["dtype"]
    if changed:
        raise ExportError(
            f"{name} with {changed[0]}={getattr(vectorizer, changed[0])!r} cannot be exported. Leave this option as it "
            "is by default, and fit again."
        )
    if vectorizer.token_pattern is None:
        raise ExportError(f"{name} without a token_pattern cannot be exported. Fit with {TOKEN_PATTERN!r}.")
