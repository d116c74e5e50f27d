"""The distribution of a response y given its linear predictor η: a family seen through a link.

The loss of a row is half its unit deviance, ½ d(y, μ): the negative log likelihood for dispersion 1, less that of a
model that fits every row perfectly. Its slope and expected curvature in η are

    ∂/∂η = −(y − μ)/V(μ) · dμ/dη        E ∂²/∂η² = (dμ/dη)² / V(μ)                      (lecture 3, "GLM")

An η without a mean in the family's range (below 0 for a Poisson with the identity link) has an infinite loss and no
slope, so that a solver steps back. The canonical link makes the curvature that is seen equal to the expected one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._gpu import is_tensor, like, to_numpy
from mercer._gpu import losses as on_tensors
from mercer._jit.families import losses
from mercer._stored import stored
from mercer._typing import Array
from mercer.families._link import Link, silent
from mercer.families.base import Family
from mercer.families.loops import as_vector, as_weight


class Slopes(NamedTuple):
    """Σ weight · loss, and for each row weight · ∂loss/∂η and weight · E ∂²loss/∂η².

    Examples
    --------
    >>> from mercer.families import IDENTITY, Gaussian, Response
    >>> slopes = Response(Gaussian(), IDENTITY).slopes(np.array([1.0, 2.0]), np.array([0.0, 0.0]))
    >>> float(slopes.loss), slopes.first, slopes.second
    (2.5, array([-1., -2.]), array([1., 1.]))
    """

    loss: float
    first: Array
    second: Array


@stored()
@dataclass(frozen=True)
class Response:
    """How y depends on η.

    Examples
    --------
    >>> from mercer.families import LOG, Poisson
    >>> Response(Poisson(), LOG).mean(np.array([0.0]))
    array([1.])
    """

    family: Family
    link: Link

    @property
    def whole(self) -> float:
        """What the link takes for 1: the number of trials of a binomial, as its link is one of the share."""
        highest = self.family.row_loss.means[1]
        return highest if np.isfinite(highest) else 1.0

    @property
    def unbounded(self) -> bool:
        """Whether every η has a mean in the family's range; else steps may have to be shortened."""
        low, high = self.family.row_loss.means
        reached = self.link.means
        return self.link.predictors == (-np.inf, np.inf) and low <= reached[0] and reached[1] * self.whole <= high

    @property
    def is_convex(self) -> bool:
        """Whether the loss is known to be a convex function of η, for every response that the family allows.

        >>> from mercer.families import LOG, Gamma, InverseGaussian
        >>> Response(Gamma(), LOG).is_convex, Response(InverseGaussian(), LOG).is_convex
        (True, False)
        """
        return self.family.row_loss.is_convex(self.link)

    def mean(self, eta: Array) -> Array:
        if is_tensor(eta):
            means = on_tensors.mean(type(self.link).__name__, eta)
            means = like(self.link.inverse(to_numpy(eta)), eta) if means is None else means
            return self.whole * means  # type: ignore[no-any-return]
        return np.asarray(self.whole * self.link.inverse(eta))

    @silent
    def limited_mean(self, eta: Array, around: Array) -> Array:
        """The mean; where η has none in the family's range, the last one on the way there from the η in `around`.

        >>> from mercer.families import INVERSE, LOG, Bernoulli, Gamma
        >>> Response(Gamma(), INVERSE).limited_mean(np.array([-1.0, 0.5]), np.array([0.5, 0.5]))
        array([inf,  2.])
        >>> Response(Bernoulli(), LOG).limited_mean(np.array([1.0]), np.array([-1.0]))
        array([1.])
        """
        low, high = self.family.row_loss.means
        least, most = (self.whole * end for end in self.link.means)
        edges = [max(low, least), min(high, most)]
        (first, at_first), (last, at_last) = sorted((float(self.predictor(np.array(mean))), mean) for mean in edges)
        here = self.mean(around)
        side = np.where((low < here) & (here < least), -1.0, 1.0)  # 1/μ exists for negative μ, too
        eta = side * eta
        inside = self.mean(np.clip(eta, first, last))
        return np.asarray(side * np.where(eta <= first, at_first, np.where(eta >= last, at_last, inside)))

    def predictor(self, mean: Array) -> Array:
        """The η of a mean."""
        return np.asarray(self.link.forward(mean / self.whole))

    def lower(self) -> Any:
        """The NamedTuple by which compiled loops know this loss, or None."""
        return self.family.row_loss.lower(self.link)

    def slopes(self, y: Array, eta: Array, weight: Array | None = None) -> Slopes:
        """Loss, slope and expected curvature of rows; of tensors, as tensors."""
        if is_tensor(eta):
            return self._slopes_of_tensors(y, eta, weight)
        if (loss := self.lower()) is not None:
            eta = as_vector(eta)
            first, second = np.empty(eta.shape), np.empty(eta.shape)
            total = losses.slopes(loss, as_vector(y), eta, as_weight(weight), first, second)
            if np.isfinite(total):
                return Slopes(total, first, second)
        return self._slopes(y, eta, weight)

    def _slopes_of_tensors(self, y: Any, eta: Any, weight: Any) -> Slopes:
        """Where they are if the loss is known there, else in main memory: it is one number per row."""
        if on_tensors.known(loss := self.lower()):
            return Slopes(*on_tensors.slopes(loss, y, eta, weight))
        return in_memory(self.slopes, y, eta, weight)

    @silent
    def _slopes(self, y: Array, eta: Array, weight: Array | None) -> Slopes:
        loss, first, second = self.family.row_loss.rows(y, eta, self.link)
        if weight is not None:
            loss, first, second = weight * loss, weight * first, weight * second
        if not np.isfinite(total := float(loss.sum())):
            loss, first, second = _settled(eta, weight, loss, first, second)
            total = float(loss.sum())
        return Slopes(total, first, second)

    def loss(self, y: Array, eta: Array, weight: Array | None = None) -> float:
        """Σ weight · loss, at less than the cost of the slopes."""
        if is_tensor(eta):
            return self._slopes_of_tensors(y, eta, weight).loss
        if (loss := self.lower()) is not None:
            total = float(losses.total(loss, as_vector(y), as_vector(eta), as_weight(weight)))
            if np.isfinite(total):
                return total
        rows = self.losses(y, eta)
        return float(rows.sum() if weight is None else rows[weight != 0] @ weight[weight != 0])

    @silent
    def losses(self, y: Array, eta: Array) -> Array:
        """Loss of each row."""
        return _settled(eta, None, self.family.row_loss.losses(y, eta, self.link))[0]

    @silent
    def curvature(self, y: Array, eta: Array, weight: Array | None = None) -> Array:
        """weight · ∂²loss/∂η² as observed; `slopes` has what is expected. It may be negative. Of tensors, a tensor."""
        if is_tensor(eta):
            weight = None if weight is None else to_numpy(weight)
            return like(self.curvature(to_numpy(y), to_numpy(eta), weight), eta)  # type: ignore[no-any-return]
        row_loss = self.family.row_loss
        loss, second = row_loss.losses(y, eta, self.link), row_loss.observed(y, eta, self.link)
        return _settled(eta, weight, loss, second if weight is None else weight * second)[1]


def in_memory(slopes: Callable[..., Slopes], y: Any, eta: Any, weight: Any) -> Slopes:
    """Slopes of tensors by a function of arrays."""
    loss, first, second = slopes(to_numpy(y), to_numpy(eta), None if weight is None else to_numpy(weight))
    return Slopes(loss, like(first, eta), like(second, eta))


def _settled(eta: Array, weight: Array | None, loss: Array, *slopes: Array) -> tuple[Array, ...]:
    """With a loss of ∞ where η has no mean and slopes of 0 where it is ∞; a row of weight 0 is no row."""
    loss = np.where(np.isnan(loss) & ~np.isnan(eta), np.inf, loss)
    if weight is not None:
        loss = np.where(weight == 0, 0.0, loss)
    lost = np.isinf(loss) if weight is None else np.isinf(loss) | (weight == 0)
    return loss, *(np.where(lost, 0.0, slope) for slope in slopes)
