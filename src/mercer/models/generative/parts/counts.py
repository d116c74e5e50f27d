"""Rows of counts: words of a text, in a sparse matrix or in some columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._stored import part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.data.table import Table
from mercer.families import Parameters
from mercer.families.pseudo_counts import add_alpha
from mercer.models.base import first_where
from mercer.models.generative._count_draws import draw_counts, drawn_lengths
from mercer.models.generative._discrete_scores import LogProduct, log_coefficient
from mercer.models.generative.parts._base import Conditional, Smoothing
from mercer.models.generative.parts.vector import VectorPart
from mercer.models.generative.probabilities import even_where_unknown, log
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.stats import VectorSums


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class CountsPart(VectorPart):
    """A multinomial over all of the columns."""

    #: whether the counts come in a sparse matrix
    sparse: bool = False

    def read(self, table: Table) -> Any:
        if table.library != "scipy":
            return table.numbers(self.columns)
        matrix = table.matrix()
        return matrix if len(self.columns) == matrix.shape[1] else matrix[:, list(self.columns)]

    def missing(self, block: Any) -> Array:
        """Of a sparse matrix, which has no missing values, none."""
        return np.isnan(block) if isinstance(block, np.ndarray) else np.zeros((0, 0), dtype=bool)

    def refuse_outside(self, block: Any, first_row: int) -> None:
        if not sp.issparse(block):
            super().refuse_outside(block, first_row)
            return
        bad = first_where(block, lambda values: ~(values >= 0) | np.isinf(values))
        if bad is not None:
            row, column, value = bad
            raise self.refusal(first_row + row, column, value)

    def fit(self, statistic: VectorSums, smoothing: Smoothing) -> CountsConditional:
        prior = add_alpha(self.family, smoothing.counts, levels=len(self.columns))
        fitted = self.family.fit(statistic, prior)
        p = even_where_unknown(fitted.probabilities, len(self.columns))
        return CountsConditional(self, fitted._replace(probabilities=p), statistic, LogProduct.of(log(p)))


@stored(part=part_of(CountsPart, d="d"), parameters=part_of(), product=part_of(LogProduct, d="d", k="k"))
@dataclass(frozen=True)
class CountsConditional(Conditional):
    """Probabilities of shape (classes, columns)."""

    words: VectorSums
    product: LogProduct

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        scores = self.product(block) + log_coefficient(block)[:, None]
        if isinstance(block, np.ndarray):
            scores[self.part.family.missing(block)] = 0.0
        return scores

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Any:
        lengths = drawn_lengths(length, self.words, codes, rng)
        sparse = isinstance(self.part, CountsPart) and self.part.sparse
        return draw_counts(self.parameters.probabilities, codes, lengths, rng, sparse=sparse)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        weights = log(self.parameters.probabilities)
        return LinearPiece.of_columns(self.part.names, weights, np.zeros(len(weights)))
