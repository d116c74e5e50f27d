"""What each row tells of its linear predictors: loss, slopes and curvatures.

A row has one linear predictor, or one for each class: `eta` has shape (rows, predictors) here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from mercer._typing import Array
from mercer.families import Family
from mercer.families.response import Response

#: from two predictors to the second derivative of the loss of each row by them
Curvatures = Callable[[int, int], Array]


@dataclass(frozen=True)
class OneMean:
    """A response whose mean depends on one predictor, through a link."""

    response: Response

    predictors: ClassVar[int] = 1

    @property
    def family(self) -> Family:
        return self.response.family

    @property
    def known_dispersion(self) -> float | None:
        return self.family.known_dispersion

    @property
    def canonical(self) -> bool:
        """Whether the observed curvature is the expected one."""
        return self.response.link == self.family.response_link

    def slopes(self, y: Array, eta: Array) -> Array:
        """∂loss/∂η, of shape (rows, predictors)."""
        return self.response.slopes(y, eta[:, 0]).first[:, None]

    def curvatures(self, y: Array, eta: Array, *, observed: bool = False) -> Curvatures:
        """∂²loss/∂η² of each row: as observed, or what is expected of it."""
        if observed and not self.canonical:
            second = self.response.curvature(y, eta[:, 0])
        else:
            second = self.response.slopes(y, eta[:, 0]).second
        return lambda a, b: second

    def losses(self, y: Array, eta: Array) -> Array:
        """Half the unit deviance of each row."""
        return self.response.losses(y, eta[:, 0])

    def pearson(self, y: Array, eta: Array) -> Array:
        """(y − μ)²/V(μ) of each row; a fit at the edge of the support has neither distance nor variance."""
        mean = self.response.mean(eta[:, 0])
        away = np.square(y - mean)
        return np.asarray(np.divide(away, self.family.unit_variance(mean), out=np.zeros(len(y)), where=away > 0))


@dataclass(frozen=True)
class Classes:
    """One of K classes, of probabilities softmax(η): the response is the code of the class."""

    predictors: int

    known_dispersion: ClassVar[float] = 1.0
    canonical: ClassVar[bool] = True

    def slopes(self, y: Array, eta: Array) -> Array:
        """p − indicators of the class."""
        slopes = softmax(eta, axis=1)
        slopes[np.arange(len(y)), y.astype(np.intp)] -= 1.0
        return np.asarray(slopes)

    def curvatures(self, y: Array, eta: Array, *, observed: bool = False) -> Curvatures:
        """p_a (1[a = b] − p_b), with 1 − p_a as the sum of the others, which keeps its digits."""
        p = softmax(eta, axis=1)
        return lambda a, b: np.asarray(p[:, a] * (np.delete(p, a, axis=1).sum(axis=1) if a == b else -p[:, b]))

    def losses(self, y: Array, eta: Array) -> Array:
        return np.asarray(-log_softmax(eta, axis=1)[np.arange(len(y)), y.astype(np.intp)])

    def pearson(self, y: Array, eta: Array) -> Array:
        """Σ over classes of (indicator − p)²/p = 1/p − 1."""
        return np.expm1(self.losses(y, eta))


Rows = OneMean | Classes
