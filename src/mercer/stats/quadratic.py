"""Loss, gradient and expected Hessian of one Newton step, as statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._stored import reals, stored
from mercer._typing import Array
from mercer.families.response import Response, SoftmaxResponse
from mercer.matrices import Matrix, newton_terms
from mercer.stats.base import silence_infinities

#: orders of an expansion: the loss only
LOSS = newton_terms.LOSS
#: the loss and its gradient
GRADIENT = newton_terms.GRADIENT
#: the loss, its gradient and its Hessian
HESSIAN = newton_terms.HESSIAN


@dataclass(frozen=True, eq=False)
class LossExpansion:
    """Mergeable sums at `point`: Σ weight · loss, its gradient and its expected Hessian (empty beyond `order`)."""

    response: Any
    point: Array
    order: int
    loss: float
    gradient: Array
    hessian: Array

    @classmethod
    def at(cls, response: Any, point: Array, order: int = HESSIAN) -> Self:
        """Return the sums of no rows. The gradient has the shape of the point, the Hessian a row per entry."""
        gradient = np.zeros(point.shape if order >= GRADIENT else (0,) * point.ndim)
        size = point.size if order == HESSIAN else 0
        return cls(response, point, order, 0.0, gradient, np.zeros((size, size)))

    def empty(self) -> Self:
        return self.at(self.response, self.point, self.order)

    @silence_infinities
    def update(self, design: Matrix, y: Array, weight: Array | None = None, offset: Array | None = None) -> Self:
        """Add rows."""
        loss, gradient, hessian = design.newton_terms(self.response, self.point, y, weight, offset, order=self.order)
        if gradient is not None:
            np.add(self.gradient, gradient, out=gradient)
        if hessian is not None:
            np.add(self.hessian, hessian, out=hessian)  # in place: it may be large
        return replace(
            self,
            loss=self.loss + loss,
            gradient=self.gradient if gradient is None else gradient,
            hessian=self.hessian if hessian is None else hessian,
        )

    @silence_infinities
    def merge(self, other: Self) -> Self:
        return replace(
            self,
            loss=self.loss + other.loss,
            gradient=self.gradient + other.gradient,
            hessian=self.hessian + other.hessian,
        )


@stored(point=reals(), gradient=reals(), hessian=reals(), tag="QuadraticStatistic")
@dataclass(frozen=True, eq=False)
class QuadraticExpansion(LossExpansion):
    """Expansion of the loss of one linear predictor for each row, at the coefficients `point`.

    A value of the design that is not finite makes the gradient, and mostly the loss, not finite.

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> from mercer.families import IDENTITY, Gaussian
    >>> design = DenseMatrix.of(np.array([[1.0], [2.0]]), intercept=False)
    >>> point = design.coordinates.from_user(np.array([1.0]))
    >>> float(QuadraticExpansion.at(Response(Gaussian(), IDENTITY), point).update(design, np.array([1.0, 4.0])).loss)
    2.0
    """

    response: Response


@stored(point=reals(), gradient=reals(), hessian=reals())
@dataclass(frozen=True, eq=False)
class SoftmaxExpansion(LossExpansion):
    """Expansion of the loss of a linear predictor for each class, at the coefficients `point`, (p, columns of η).

    The Hessian refers to the entries of the point column by column: block (k, l) of p × p is
    Σ weight · p_k (δ_kl − p_l) x xᵀ.

    Examples
    --------
    >>> from mercer.matrices import DenseMatrix
    >>> design = DenseMatrix.of(np.array([[1.0], [2.0], [3.0]]))
    >>> sums = SoftmaxExpansion.at(SoftmaxResponse(3), np.zeros((2, 3))).update(design, np.array([0, 1, 2]))
    >>> round(float(sums.loss / np.log(3)), 12)
    3.0
    """

    response: SoftmaxResponse
