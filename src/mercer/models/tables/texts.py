"""Text as counts or weights of its words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer._errors import VocabularyError
from mercer._stored import part_of, stored
from mercer._typing import Array
from mercer.data.table import Table
from mercer.designs.encoded import NumberPart, Part, SparsePart
from mercer.models.tables._reading import texts_of
from mercer.models.tables.numbers import Gaps
from mercer.models.tables.treatment import NUMBERS, WORDS, Slot, Treatment, Unseen
from mercer.models.text.vectorizer import TextVectorizer


@stored(vectorizer=part_of())
@dataclass(frozen=True)
class Text(Treatment):
    """What a vectoriser makes of the documents; a missing one has no words."""

    column: str
    vectorizer: Any
    gaps: Gaps

    @classmethod
    def of(cls, table: Table, position: int, vectorizer: Any, y: Any, missing: str) -> tuple[Self, list[Part]]:
        """What was learnt, and the features of the same rows, which a vectoriser finds on the way."""
        documents, gaps = texts_of(table, position)
        column, fitted = table.names[position], clone(vectorizer)
        with naming(column):
            words = fitted.fit_transform(_readable(documents, fitted), y)
        text = cls(column, fitted, Gaps.of(column, gaps, missing))
        return text, text._side_by_side(words, gaps)

    def described(self) -> str:
        return f"{type(self.vectorizer).__name__}{self.gaps.described()}"

    def slots(self) -> list[Slot]:
        words = [f"{self.column}[{word}]" for word in self.vectorizer.get_feature_names_out()]
        beside = [Slot(NUMBERS, self.gaps.names(self.column))] if self.gaps.told else []
        return [*beside, Slot(WORDS, words)]

    def parts(self, table: Table, position: int, unseen: Unseen) -> list[Part]:
        documents, gaps = texts_of(table, position)
        self.gaps.refuse(self.column, gaps)
        return self._side_by_side(self.vectorizer.transform(_readable(documents, self.vectorizer)), gaps)

    def _side_by_side(self, words: Any, gaps: Array) -> list[Part]:
        beside: list[Part] = [NumberPart(gaps[:, None].astype(np.float64))] if self.gaps.told else []
        return [*beside, SparsePart(words)]


@contextmanager
def naming(column: str) -> Iterator[None]:
    """An error about a vocabulary names the column."""
    try:
        yield
    except VocabularyError as empty:
        raise VocabularyError(
            f"Column {column!r} as text: {empty} Leave it out with `exclude`, or say what it is with `kinds`."
        ) from None


def _readable(documents: Any, vectorizer: Any) -> Any:
    """Python strings for vectorisers other than ours, which read columns of pyarrow."""
    return documents if isinstance(vectorizer, TextVectorizer) else np.asarray(documents, dtype=object)
