"""Squared hinge losses with a penalty of absolute values, as a problem for `mercer.optim.proximal_newton`.

The loss of a margin, (1 − yη)₊² for y = ±1, belongs to no distribution, but has a slope, a curvature and a conjugate,
which is all that proximal Newton needs of a response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mercer._typing import Array
from mercer.families.response import Slopes
from mercer.optim.problem import Problem


@dataclass(frozen=True)
class SquaredHinge:
    """The loss as a response; it is its own family, with a known dispersion."""

    known_dispersion: ClassVar[float] = 1.0
    is_convex: ClassVar[bool] = True

    @property
    def family(self) -> SquaredHinge:
        return self

    def lower(self) -> SquaredHinge:
        """Return the key of the loss in `proximal_newton.DIVERGENCES`."""
        return self

    def slopes(self, y: Array, eta: Array, weight: Array | None = None) -> Slopes:
        """Return loss, slope and curvature of rows."""
        short = np.maximum(1.0 - y * eta, 0.0)
        w = np.ones(len(y)) if weight is None else weight
        return Slopes(float(w @ np.square(short)), -2.0 * w * y * short, 2.0 * w * (short > 0))

    def loss(self, y: Array, eta: Array, weight: Array | None = None) -> float:
        return self.slopes(y, eta, weight).loss


@dataclass(frozen=True, eq=False)
class SquaredHingeProblem(Problem):
    """Minimise Σ weight (1 − yη)₊² + Σ l1 |w|; gaps are portions of the objective, gradients are not scaled."""

    def start(self) -> Array:
        return np.zeros(self.n_columns)

    def unit(self, value: float) -> float:
        return 1.0
