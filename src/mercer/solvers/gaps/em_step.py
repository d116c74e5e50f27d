"""One step of EM for normal groups whose rows have gaps, and how far it is from the top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from mercer._errors import DegenerateDataError, SingularCovarianceError
from mercer._stored import stored
from mercer._typing import Array
from mercer.solvers.gaps._gaps import Cells, Point, Scale
from mercer.stats import PatternMoments, ScatterMoments
from mercer.stats.base import ratio

#: correlations with an eigenvalue below this are on their way to a singular matrix, where the likelihood is infinite
VANISHING = 1e-9
#: columns with a smaller part in the vanishing direction have none
NEGLIGIBLE = 1e-3


class Pull(NamedTuple):
    """Shrinkage of a covariance S: (1 − amount) S + amount · diag(target)."""

    amount: float
    target: Array

    def applied(self, covariance: Array) -> Array:
        result: Array = (1 - self.amount) * covariance
        np.einsum("ii->i", result)[...] += self.amount * self.target
        return result


#: how strongly, and to where, a covariance of so much weight is to be pulled
Shrinkage = Callable[[Array, float], Pull]


@stored()
class Words(NamedTuple):
    """What columns and groups are called in messages."""

    columns: Sequence[str]
    groups: Sequence[str]

    @classmethod
    def default(cls, moments: PatternMoments) -> Self:
        return cls([f"x{j}" for j in range(moments.columns)], [f"group {g}" for g in range(moments.groups)])

    def only(self, groups: Array) -> Self:
        return self._replace(groups=[self.groups[g] for g in groups])

    @property
    def owner(self) -> str:
        return self.groups[0] if len(self.groups) == 1 else "all classes together"


class Position(NamedTuple):
    """A point, how good it is, and where EM goes from it."""

    point: Point
    log_likelihood: float
    gradient: float
    next: Point
    spread: Array  # (groups, columns, columns): expected covariances about the next means
    pull: Pull
    log_determinant: float
    precision_diagonal: Array

    def objective(self, pull: Pull) -> float:
        """What a step under `pull` cannot lower: the likelihood, and that of imagined rows like the target."""
        imagined = -0.5 * (self.log_determinant + float(self.precision_diagonal @ pull.target))
        return (1 - pull.amount) * self.log_likelihood + pull.amount * imagined


@dataclass(frozen=True)
class Problem:
    """Groups with one covariance: what EM is run on."""

    cells: Cells
    scale: Scale
    weight: Array  # (groups,)
    rows: Array  # (groups,)
    share: Array  # (groups,)
    shrinkage: Shrinkage | None
    words: Words

    @classmethod
    def of(cls, moments: PatternMoments, share: Array | None, shrinkage: Shrinkage | None, words: Words) -> Self:
        cells, scale = Cells.of(moments)
        weight = cells.by_group(cells.weight)
        share = ratio(weight, weight.sum()) if share is None else ratio(share, share.sum())
        rows = sum((part.rows for mask, part in moments if mask.any()), np.zeros_like(moments.rows))
        problem = cls(cells, scale, weight, rows, share, shrinkage, words)
        problem._refuse_unidentified()
        return problem

    def _refuse_unidentified(self) -> None:
        unseen = np.argwhere(self.cells.column_weight() == 0)
        if len(unseen):
            group, column = unseen[0]
            raise DegenerateDataError(
                f"column {self.words.columns[column]!r} is missing in every row of {self.words.groups[group]}, so that "
                "its mean there is unknown; leave the column out, or choose a diagonal covariance."
            )
        d = len(self.scale.unit)
        if self.shrinkage is None and self.rows.sum() - len(self.rows) < d:
            raise SingularCovarianceError(
                f"the covariance of {self.words.owner} is singular: {self.rows.sum()} rows with gaps are too few for "
                f"{d} columns. Use shrinkage, e.g. shrinkage=0.1, or a shared or diagonal covariance."
            )

    def start(self) -> Point:
        """What was observed of each column, and no correlations."""
        variance = self.cells.variance()
        if self.shrinkage is None and (variance == 0).any():
            raise self._singular(variance == 0)
        covariance = np.diag(variance)
        return Point(self.cells.column_mean(), self._pull(covariance).applied(covariance))

    def _singular(self, columns: Array) -> SingularCovarianceError:
        listed = ", ".join(repr(self.words.columns[j]) for j in np.flatnonzero(columns)[:10])
        return SingularCovarianceError(
            f"the covariance of {self.words.owner} is singular: columns {listed} are collinear or constant in the rows "
            "that have all of them, so that the likelihood has no maximum. Leave columns out, or use shrinkage, e.g. "
            "shrinkage=0.1."
        )

    def checked_at(self, point: Point) -> Position:
        """`at`, unless the covariance is as good as singular: from there the likelihood only grows without bound."""
        if self.shrinkage is None:
            smallest, direction = least_spread(point.covariance)
            if smallest < VANISHING:
                raise self._singular(np.abs(direction) > NEGLIGIBLE)
        try:
            return self.at(point)
        except np.linalg.LinAlgError:  # shrinkage by hardly anything
            raise self._singular(np.ones(len(point.covariance), dtype=bool)) from None

    @cached_property
    def _varies(self) -> Array:
        """Columns that are not constant where they were observed: only of those can gaps be filled with variance."""
        return self.cells.variance() > 0

    def _pull(self, covariance: Array) -> Pull:
        if self.shrinkage is None:
            return Pull(0.0, np.zeros(len(covariance)))
        unit = self.scale.unit
        covariance = np.where(self._varies[:, None] & self._varies, covariance, 0.0)
        pull = self.shrinkage(covariance * unit[:, None] * unit, float(self.weight.sum()))
        return pull._replace(target=pull.target / np.square(unit))

    def at(self, point: Point) -> Position:
        """One E and one M step; `LinAlgError` where the covariance is not positive definite."""
        mean, covariance = point
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        slope = self.cells.slope(point)
        step = slope.by_mean @ covariance / self.weight[:, None]
        about = covariance + covariance @ (slope.by_covariance / self.weight[:, None, None]) @ covariance
        spread = about - step[:, :, None] * step[:, None, :]
        pull = self._pull(pooled := self._pooled(spread))
        uphill = root @ (pull.applied(self._pooled(about)) - covariance) @ root.T
        squared_norm = self.share @ np.square(step @ root.T).sum(axis=1) + 0.5 * np.square(uphill).sum()
        return Position(
            point,
            log_likelihood=float(self.share @ (slope.log_likelihood / self.weight)),
            gradient=float(np.sqrt(squared_norm)),
            next=Point(mean + step, pull.applied(pooled)),
            spread=spread,
            pull=pull,
            log_determinant=-2 * float(np.log(np.diagonal(root)).sum()),
            precision_diagonal=np.square(root).sum(axis=0),
        )

    def _pooled(self, matrices: Array) -> Array:
        pooled = np.tensordot(self.share, matrices, axes=1)
        return np.asarray((pooled + pooled.T) / 2)

    def completed(self, position: Position) -> ScatterMoments:
        """The moments to be expected had nothing been missing."""
        centre, unit = self.scale
        scatter = position.spread * (self.weight[:, None, None] * unit[:, None] * unit)
        pilot = np.tile(centre, (len(self.weight), 1))
        scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2
        return ScatterMoments(self.rows, self.weight, pilot, position.next.mean * unit, scatter)


def least_spread(covariance: Array) -> tuple[float, Array]:
    """The smallest eigenvalue of the correlations, and its direction."""
    deviation = np.sqrt(np.diagonal(covariance))
    eigenvalues, vectors = np.linalg.eigh(covariance / deviation[:, None] / deviation)
    return float(eigenvalues[0]), vectors[:, 0]
