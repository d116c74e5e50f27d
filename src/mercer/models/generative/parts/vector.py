"""Columns that are described together, as the entries of one vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DegenerateDataError, NonFiniteError
from mercer._stored import part_of, sequence, stored, whole
from mercer._typing import Array
from mercer.families import Parameters
from mercer.models.generative.parts._base import Conditional, Part, Smoothing, sample_by_class
from mercer.models.generative.parts._fitting import fit_classes
from mercer.models.linear_forms.pieces import LinearPiece


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class VectorPart(Part):
    """A family of rows that is fitted from sums of T: a Dirichlet. A row is observed as a whole or not at all."""

    def refuse_outside(self, block: Any, first_row: int) -> None:
        missing = np.isnan(block)
        partly = np.argwhere(missing & ~missing.all(axis=1, keepdims=True))
        if len(partly):
            row, column = partly[0]
            raise NonFiniteError(
                f"Input X contains NaN. Column {self.names[column]!r} is missing in row {first_row + row} while others "
                f"that the {self.family.name} describes with it are not; make them all missing, or impute it."
            )
        super().refuse_outside(block, first_row)

    def fit(self, statistic: Any, smoothing: Smoothing) -> Conditional:
        try:
            parameters, certificate = fit_classes(self.family, statistic, smoothing)
        except DegenerateDataError as error:
            raise DegenerateDataError(f"columns {', '.join(map(repr, self.names))}: {error}") from None
        return VectorConditional(self, parameters, bool(statistic.rows.any()), certificate=certificate)


@stored(part=part_of(VectorPart, d="d"), parameters=part_of())
@dataclass(frozen=True)
class VectorConditional(Conditional):
    """Parameters of shape (classes, columns)."""

    #: whether any row was observed: if not, nothing is said
    informative: bool

    def by_column(self) -> dict[Any, Parameters]:
        return {self.part.names: self.parameters}

    def score(self, block: Any) -> Array:
        if not self.informative:
            return np.zeros((len(block), len(self.parameters[0])))
        return self.part.family.log_density(block[:, None, :], self.parameters)

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        if not self.informative:
            return np.full((len(codes), len(self.part.columns)), np.nan)
        return sample_by_class(self.part.family, self.parameters, codes, rng)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        return LinearPiece.of_rows(self.part.family, self.part.names, self.parameters)
