"""Goodness of fit as a statistic: deviance, Pearson's χ², and sums for a test of overdispersion."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from mercer._gpu import to_numpy
from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.families import Poisson
from mercer.families.response import Response
from mercer.matrices import Matrix


@stored(point=reals())
@dataclass(frozen=True, eq=False)
class Goodness:
    """Mergeable sums over rows with the coefficients at `point`."""

    response: Response
    point: Array
    #: Σ w d(y, μ)
    deviance: float = 0.0
    #: Σ w (y − μ)²/V(μ)
    pearson: float = 0.0
    #: Σ w ((y − μ)² − y) and Σ w μ², which measure the overdispersion of counts; 0 for other families
    excess: float = 0.0
    squares: float = 0.0
    #: Σ w, and the number of rows with w > 0
    weight: float = 0.0
    rows: int = 0

    def empty(self) -> Self:
        return type(self)(self.response, self.point)

    def update(self, design: Matrix, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        eta = to_numpy(design.matvec(self.point))
        if offset is not None:
            eta += offset
        loss, first, second = self.response.slopes(y, eta, weight)
        # (y − μ)²/V, where the variance may underflow for a small mean
        squared = first * np.divide(first, second, out=np.zeros(len(y)), where=second > 0)
        excess, squares = self._spread(y, eta, weight) if isinstance(self.response.family, Poisson) else (0.0, 0.0)
        more = type(self)(
            self.response,
            self.point,
            2 * loss,
            float(squared.sum()),
            excess,
            squares,
            float(len(y) if weight is None else weight.sum()),
            len(y) if weight is None else int(np.count_nonzero(weight)),
        )
        return self.merge(more)

    def _spread(self, y: Array, eta: Array, weight: Array | None) -> tuple[float, float]:
        mu = self.response.mean(eta)
        w = np.ones(len(y)) if weight is None else weight
        return float(w @ (np.square(y - mu) - y)), float(w @ np.square(mu))

    def merge(self, other: Self) -> Self:
        sums = {field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)[2:]}
        return replace(self, **sums)
