"""Columns of numbers, independent given the class, that one scalar family describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import DegenerateDataError, NoLinearFormError
from mercer._stored import flags, part_of, reals, sequence, stored, whole
from mercer._typing import Array
from mercer.data.coding import code_floats
from mercer.families import Family, Gaussian, GaussianParameters, Parameters
from mercer.models._finite import refuse_too_wide
from mercer.models.generative.gaussian_scores import GaussianScores
from mercer.models.generative.parts._base import Conditional, Part, Smoothing, sample_by_class
from mercer.models.generative.parts._fitting import filled, fit_classes, without_fit
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.stats import ColumnMoments


@stored(columns=sequence("d", whole(0)), names=sequence("d"))
@dataclass(frozen=True)
class NumbersPart(Part):
    """Any scalar family but the categorical, whose levels are no numbers."""

    def fit(self, statistic: Any, smoothing: Smoothing) -> NumbersConditional:
        rows = statistic.rows.sum(axis=tuple(axis for axis in range(statistic.rows.ndim) if axis != 1))
        if isinstance(statistic, ColumnMoments):
            return self._fit_moments(statistic, smoothing, rows)
        try:
            parameters, certificate = fit_classes(self.family, statistic, smoothing)
        except DegenerateDataError as error:
            name = self.names[without_fit(self.family, statistic)]
            raise DegenerateDataError(f"column {name!r}: {error}") from None
        return NumbersConditional(self, parameters, rows > 0, rows, certificate=certificate)

    def _fit_moments(self, moments: ColumnMoments, smoothing: Smoothing, rows: Array) -> NumbersConditional:
        together = moments.pooled()
        parameters = filled(self.family.fit(moments), self.family.fit(together), where=moments.rows == 0)
        spread = together.variance[0]
        refuse_too_wide(spread, self.names)
        if getattr(self.family, "variance", None) is None:
            parameters = parameters._replace(variance=parameters.variance + smoothing.variance * spread)
        constant = (parameters.variance == 0).any(axis=0)
        if (flat := np.flatnonzero(constant & (spread > 0))).size:
            raise DegenerateDataError(
                f"column {self.names[flat[0]]!r} is constant in one class, so that its variance there is 0 and its "
                f"density has no value; pass a var_smoothing above {smoothing.variance}."
            )
        conditional = NumbersConditional(self, parameters, (rows > 0) & ~constant, rows)
        return GaussianConditional.of(conditional) if isinstance(self.family, Gaussian) else conditional


@stored(part=part_of(NumbersPart, d="d"), parameters=part_of(), informative=flags("d"), rows=reals("d"))
@dataclass(frozen=True)
class NumbersConditional(Conditional):
    """Parameters of shape (classes, columns)."""

    #: columns that were observed, and not the same in all the data: others say nothing
    informative: Array
    #: how many rows each column was observed in
    rows: Array

    def _column(self, j: int) -> Parameters:
        return type(self.parameters)(*(field[:, j] for field in self.parameters))

    def by_column(self) -> dict[Any, Parameters]:
        return {name: self._column(j) for j, name in enumerate(self.part.names)}

    def score(self, block: Any) -> Array:
        total = np.zeros((len(block), len(self.parameters[0])))
        for j in np.flatnonzero(self.informative).tolist():
            total += _log_density(self.part.family, block[:, j], self._column(j))
        return total

    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Array:
        seen = self.rows > 0
        parameters = type(self.parameters)(*(field[:, seen] for field in self.parameters))
        draws = sample_by_class(self.part.family, parameters, codes, rng)
        if seen.all():
            return draws
        rows = np.full((len(codes), len(seen)), np.nan)
        rows[:, seen] = draws
        return rows

    def linear_piece(self, n_rows: int) -> LinearPiece:
        family = self.part.family
        if not family.exponential:
            raise NoLinearFormError(
                f"column {self.part.names[0]!r} is described by {family!r}, whose T(x) would depend on the class; "
                "give the parameter that makes it an exponential family."
            )
        return LinearPiece.of_family(
            family, self.part.names, self.parameters, informative=self.informative, gaps=self.rows < n_rows
        )


def _log_density(family: Family, x: Array, parameters: Parameters) -> Array:
    """log p(x|y) of a column: (rows, classes). Counts repeat, so that of them each value is asked for only once."""
    if not family.discrete:
        return family.log_density(x[:, None], parameters)
    codes, values = code_floats(x)
    of_values = family.log_density(values[:, None].astype(float), parameters)
    of_missing = np.zeros((1, of_values.shape[1]))
    return np.asarray(np.concatenate([of_values, of_missing])[codes])  # code −1, the last entry, is a missing value


@stored(
    part=part_of(NumbersPart, d="d"),
    informative=flags("d"),
    rows=reals("d"),
    scores=part_of(GaussianScores, d="d", k="k"),
)
@dataclass(frozen=True)
class GaussianConditional(NumbersConditional):
    """Normal columns, scored by a compiled loop."""

    scores: GaussianScores

    @classmethod
    def of(cls, columns: NumbersConditional) -> GaussianConditional:
        parameters = GaussianParameters(*columns.parameters)
        scores = GaussianScores.of(parameters, columns.informative)
        return cls(columns.part, parameters, columns.informative, columns.rows, scores)

    def score(self, block: Any) -> Array:
        return self.scores(block)

    def linear_piece(self, n_rows: int) -> LinearPiece:
        return LinearPiece.of_gaussian(self.part.names, self.scores, gaps=self.rows < n_rows)
