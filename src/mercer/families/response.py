"""Distributions of a response y given its linear predictor η: a family with a link, and one of K classes.

The loss of a row is half its unit deviance, ½ d(y, μ): the negative log likelihood for dispersion 1, minus that of a
model that fits every row perfectly. Its slope and expected curvature in η are

    ∂/∂η = −(y − μ)/V(μ) · dμ/dη        E ∂²/∂η² = (dμ/dη)² / V(μ)                      (lecture 3, "GLM")

An η without a mean in the family's range (below 0 for a Poisson with the identity link) has an infinite loss and zero
slope, so that a solver shortens its step. With the canonical link the observed curvature equals the expected one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from mercer._gpu import is_tensor, like, to_numpy
from mercer._gpu import losses as on_tensors
from mercer._stored import length, optional, stored, whole
from mercer._typing import Array
from mercer.families import loss_loops
from mercer.families import softmax_loops as loops
from mercer.families.base import Family
from mercer.families.links import Link, no_warnings
from mercer.families.losses import as_vector, as_weight


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
    """Distribution of y given η: a family and a link.

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
        """Factor from the link's mean to μ: the number of trials of a binomial, whose link acts on the share."""
        highest = self.family.row_loss.means[1]
        return highest if np.isfinite(highest) else 1.0

    @property
    def unbounded(self) -> bool:
        """Return whether every η has a mean in the family's range; else solvers may have to shorten steps."""
        low, high = self.family.row_loss.means
        reached = self.link.means
        return self.link.predictors == (-np.inf, np.inf) and low <= reached[0] and reached[1] * self.whole <= high

    @property
    def is_convex(self) -> bool:
        """Return whether the loss is known to be a convex function of η, for every response that the family allows.

        >>> from mercer.families import LOG, Gamma, InverseGaussian
        >>> Response(Gamma(), LOG).is_convex, Response(InverseGaussian(), LOG).is_convex
        (True, False)
        """
        return self.family.row_loss.is_convex(self.link)

    def mean(self, eta: Array) -> Array:
        """Mean μ at η."""
        if is_tensor(eta):
            means = on_tensors.mean(type(self.link).__name__, eta)
            means = like(self.link.inverse(to_numpy(eta)), eta) if means is None else means
            return self.whole * means  # type: ignore[no-any-return]
        return np.asarray(self.whole * self.link.inverse(eta))

    @no_warnings
    def limited_mean(self, eta: Array, around: Array) -> Array:
        """Mean at η; where η has none in the family's range, the limit on the way to η from the η in `around`.

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
        mean_around = self.mean(around)
        side = np.where((low < mean_around) & (mean_around < least), -1.0, 1.0)  # 1/μ exists for negative μ, too
        eta = side * eta
        inside = self.mean(np.clip(eta, first, last))
        return np.asarray(side * np.where(eta <= first, at_first, np.where(eta >= last, at_last, inside)))

    def predictor(self, mean: Array) -> Array:
        """Return the η of a mean."""
        return np.asarray(self.link.forward(mean / self.whole))

    def lower(self) -> Any:
        """NamedTuple of this loss for compiled loops, or None."""
        return self.family.row_loss.lower(self.link)

    def slopes(self, y: Array, eta: Array, weight: Array | None = None) -> Slopes:
        """Loss, slope and expected curvature of rows; for tensors, as tensors."""
        if is_tensor(eta):
            return self._slopes_of_tensors(y, eta, weight)
        if (loss := self.lower()) is not None:
            eta = as_vector(eta)
            first, second = np.empty(eta.shape), np.empty(eta.shape)
            total = loss_loops.slopes(loss, as_vector(y), eta, as_weight(weight), first, second)
            if np.isfinite(total):
                return Slopes(total, first, second)
        return self._slopes(y, eta, weight)

    def _slopes_of_tensors(self, y: Any, eta: Any, weight: Any) -> Slopes:
        """Slopes on the device if it implements the loss, else in main memory (one number per row)."""
        if on_tensors.known(loss := self.lower()):
            return Slopes(*on_tensors.slopes(loss, y, eta, weight))
        return in_memory(self.slopes, y, eta, weight)

    @no_warnings
    def _slopes(self, y: Array, eta: Array, weight: Array | None) -> Slopes:
        loss, first, second = self.family.row_loss.rows(y, eta, self.link)
        if weight is not None:
            loss, first, second = weight * loss, weight * first, weight * second
        if not np.isfinite(total := float(loss.sum())):
            loss, first, second = _finite_slopes(eta, weight, loss, first, second)
            total = float(loss.sum())
        return Slopes(total, first, second)

    def loss(self, y: Array, eta: Array, weight: Array | None = None) -> float:
        """Σ weight · loss, cheaper than the slopes."""
        if is_tensor(eta):
            return self._slopes_of_tensors(y, eta, weight).loss
        if (loss := self.lower()) is not None:
            total = float(loss_loops.total(loss, as_vector(y), as_vector(eta), as_weight(weight)))
            if np.isfinite(total):
                return total
        rows = self.losses(y, eta)
        return float(rows.sum() if weight is None else rows[weight != 0] @ weight[weight != 0])

    @no_warnings
    def losses(self, y: Array, eta: Array) -> Array:
        """Loss of each row."""
        return _finite_slopes(eta, None, self.family.row_loss.losses(y, eta, self.link))[0]

    @no_warnings
    def curvature(self, y: Array, eta: Array, weight: Array | None = None) -> Array:
        """Observed weight · ∂²loss/∂η², which may be negative; `slopes` has the expected one. A tensor for tensors."""
        if is_tensor(eta):
            weight = None if weight is None else to_numpy(weight)
            return like(self.curvature(to_numpy(y), to_numpy(eta), weight), eta)  # type: ignore[no-any-return]
        row_loss = self.family.row_loss
        loss, second = row_loss.losses(y, eta, self.link), row_loss.observed(y, eta, self.link)
        return _finite_slopes(eta, weight, loss, second if weight is None else weight * second)[1]


def in_memory(slopes: Callable[..., Slopes], y: Any, eta: Any, weight: Any) -> Slopes:
    """Compute the slopes of tensors by a function of arrays."""
    loss, first, second = slopes(to_numpy(y), to_numpy(eta), None if weight is None else to_numpy(weight))
    return Slopes(loss, like(first, eta), like(second, eta))


def _finite_slopes(eta: Array, weight: Array | None, loss: Array, *slopes: Array) -> tuple[Array, ...]:
    """Set the loss to ∞ where η has no mean, slopes to 0 where the loss is ∞, and both to 0 where the weight is 0."""
    loss = np.where(np.isnan(loss) & ~np.isnan(eta), np.inf, loss)
    if weight is not None:
        loss = np.where(weight == 0, 0.0, loss)
    zero = np.isinf(loss) if weight is None else np.isinf(loss) | (weight == 0)
    return loss, *(np.where(zero, 0.0, slope) for slope in slopes)


@stored(levels=length("k"), reference=optional(whole(0)))
@dataclass(frozen=True)
class SoftmaxResponse:
    """Distribution of one of K classes given K linear predictors: p_k ∝ exp η_k.

    Adding the same number to all η changes nothing. In the symmetric form the penalty determines it; with a reference
    class (lecture 2), whose η is 0, there are K − 1 predictors: without a penalty, differences of the symmetric ones.

    Parameters
    ----------
    levels : int
        Number K of classes.
    reference : int or None
        The class whose η is 0 and has no column; None for the symmetric form.

    Examples
    --------
    >>> SoftmaxResponse(3).probabilities(np.zeros((1, 3)))
    array([[0.33333333, 0.33333333, 0.33333333]])
    >>> SoftmaxResponse(3, reference=2).probabilities(np.log([[2.0, 1.0]]))
    array([[0.5 , 0.25, 0.25]])
    """

    levels: int
    reference: int | None = None

    @property
    def is_convex(self) -> bool:
        """Return True: the loss log Σ e^η − η_class is a convex function of η."""
        return True

    @property
    def columns(self) -> int:
        """Number of columns of η."""
        return self.levels - (self.reference is not None)

    def slopes(self, codes: Array, eta: Array, weight: Array | None = None) -> tuple[float, Array]:
        """Σ weight · loss, and weight · (p − indicator of the class) in the columns of η, which it overwrites.

        Parameters
        ----------
        codes : array of shape (n,)
        eta : array of shape (n, columns)
            Overwritten by the slopes if it is a C-ordered float array.
        weight : array of shape (n,) or None

        Returns
        -------
        loss : float
        slopes : array of shape (n, columns)
        """
        if is_tensor(eta):
            return on_tensors.softmax_slopes(codes, eta, weight, self.reference)
        eta = np.require(eta, np.float64, ["C", "W"])
        return loops.slopes(self.columns_of(codes), eta, as_weight(weight), self.reference is not None), eta

    def loss(self, codes: Array, eta: Array, weight: Array | None = None) -> float:
        """Σ weight · loss."""
        if is_tensor(eta):
            return on_tensors.softmax_slopes(codes, eta, weight, self.reference)[0]
        eta = np.require(eta, np.float64, ["C", "W"])
        return float(loops.total(self.columns_of(codes), eta, as_weight(weight), self.reference is not None))

    def probabilities(self, eta: Array) -> Array:
        """p of all K classes."""
        if is_tensor(eta):
            return on_tensors.all_columns(eta, self.reference).softmax(dim=1)  # type: ignore[no-any-return]
        return np.asarray(softmax(self._all_columns(eta), axis=1))

    def log_probabilities(self, eta: Array) -> Array:
        """log p of all K classes."""
        if is_tensor(eta):
            return on_tensors.all_columns(eta, self.reference).log_softmax(dim=1)  # type: ignore[no-any-return]
        return np.asarray(log_softmax(self._all_columns(eta), axis=1))

    def _all_columns(self, eta: Array) -> Array:
        eta = np.asarray(eta, dtype=float)
        return eta if self.reference is None else np.insert(eta, self.reference, 0.0, axis=1)

    def columns_of(self, codes: Array) -> Array:
        """Column of each class: −1 for the reference, one less for the classes after it."""
        codes = as_vector(codes, np.int64)
        if self.reference is None:
            return codes
        return np.where(codes == self.reference, -1, codes - (codes > self.reference))
