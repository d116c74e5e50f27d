"""Quadratic problems in a box, the duals of support vector machines, and what characterises a point of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.optim.certificate import Certificate

#: relative error of sums of coefficients
COEFFICIENT_SUM_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Minimise ½ βᵀKβ − targetᵀβ + ε Σ|βᵢ| in a box that has 0 in it.

    Parameters
    ----------
    rows : KernelRows, PairRows or FeatureRows
        K, or Ψ with K = ΨΨᵀ.
    target : ndarray of shape (n,)
        Classes as ±1, or numbers.
    lower, upper : ndarray of shape (n,)
        Bounds of β.
    epsilon : float, default=0
        Half the width of the tube in which residuals are free.
    intercept : bool, default=True
        Whether there is an intercept b, and so the constraint Σβ = 0.
    """

    rows: Any
    target: Array
    lower: Array
    upper: Array
    epsilon: float = 0.0
    intercept: bool = True

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A feasible β, its intercept, f at the rows, and the number of steps; where rows have features, also w.

    w is Ψᵀβ with less rounding.
    """

    beta: Array
    intercept: float
    scores: Array
    steps: int = 0
    weights: Array | None = None


#: share of the objective above which the sentence begins with the gap, and the certificate claims no global optimum;
#: the default tolerance of 0.001 leaves gaps of about that share
GLOBAL_GAP_SHARE = 1e-2


@stored()
@dataclass(frozen=True)
class Margins(Certificate):
    """Violation of the optimality conditions, with the values of the primal and the dual problem."""

    primal: float = np.nan
    dual: float = np.nan

    @property
    def gap(self) -> float:
        """Return primal minus dual: an upper bound of the error of the objective."""
        return self.primal - self.dual

    @property
    def has_small_gap(self) -> bool:
        """True if the gap is a negligible share of the objective; False if either is not finite."""
        return bool(self.gap <= GLOBAL_GAP_SHARE * abs(self.primal)) and isfinite(self.primal)

    @property
    def is_global(self) -> bool:
        """True if the certificate holds and its gap bounds the distance from the minimum, too.

        A small violation may leave a large gap, if prices or kernel values are large.
        """
        return super().is_global and (self.kind != "KKT" or self.has_small_gap)


@dataclass(frozen=True)
class BoxProgress:
    """State of a fit after a round."""

    iterations: int
    violation: float
    gap: float
    seconds: float


def make_feasible(beta: Array, problem: BoxProblem) -> Array:
    """Put coefficients of an earlier fit into the bounds of this one; with an intercept, bring their sum to 0.

    A coefficient that is at a bound but for rounding is put on it, since it would otherwise count as free.
    """
    beta = np.clip(beta, problem.lower, problem.upper)
    for bound in (problem.lower, problem.upper):
        is_near = np.isfinite(bound) & (np.abs(beta - bound) <= COEFFICIENT_SUM_ROUNDING * np.abs(bound))
        beta = np.where(is_near, bound, beta)
    return _scale_to_zero_sum(beta) if problem.intercept else np.asarray(beta)


def snap_to_bounds(beta: Array, start: Array, problem: BoxProblem) -> Array:
    """Put coefficients on a bound, or on 0, where they differ from it by no more than the rounding of their sums.

    This is for fits that began at an earlier one, whose coefficients had a sum of 0 only up to rounding: the remainder
    would count as free, and would determine the intercept alone where all other coefficients are at bounds.
    """
    reach = len(beta) * np.finfo(float).eps * float(np.abs([beta, start]).max(initial=0.0))
    for bound in (problem.lower, problem.upper, np.zeros(len(beta))):
        beta = np.where(np.abs(beta - bound) <= reach, bound, beta)
    return beta


def balance_coefficients(beta: Array, lower: Array, upper: Array) -> Array:
    """Bring the sum of coefficients to 0 within their bounds, by those off the bounds if these can move far enough.

    Coefficients at a bound, or at 0, stay there in that case.
    """
    excess = float(beta.sum())
    bound = np.where(beta > 0, 0.0, lower) if excess > 0 else np.where(beta < 0, 0.0, upper)
    distance = np.where(is_free(beta, lower, upper), np.abs(beta - bound), 0.0)
    total = float(distance.sum())
    if abs(excess) < total:
        return np.asarray(beta - excess * (distance / total))
    return _scale_to_zero_sum(beta)


def _scale_to_zero_sum(beta: Array) -> Array:
    """Shrink all positive or all negative coefficients until their sum is 0."""
    above, below = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
    if above > (1 + COEFFICIENT_SUM_ROUNDING) * below:
        beta = np.where(beta > 0, beta * (below / above), beta)
    elif below > (1 + COEFFICIENT_SUM_ROUNDING) * above:
        beta = np.where(beta < 0, beta * (above / below), beta)
    return np.asarray(beta)


@dataclass(frozen=True)
class BoxScores:
    """Minus the slope of the objective as each coordinate rises, and the slope as it falls; −∞ at that bound."""

    up: Array
    down: Array
    intercept: bool

    @cached_property
    def highest(self) -> float:
        return float(self.up.max(initial=-np.inf))

    @cached_property
    def lowest(self) -> float:
        return float(-self.down.max(initial=-np.inf))

    @cached_property
    def violation(self) -> float:
        """Return the violation of the conditions: m(β) − M(β) of libsvm, or the largest slope that can be followed."""
        if self.intercept:
            return max(self.highest - self.lowest, 0.0)
        return max(self.highest, -self.lowest, 0.0)

    def level(self, free: Array) -> float:
        """Return the mean b at which `free` rows lie on the margin, or the middle of the feasible interval."""
        if free.any():
            return float(self.up[free].mean())
        sides = [side for side in (self.highest, self.lowest) if np.isfinite(side)]
        return float(np.mean(sides)) if sides else 0.0


def is_free(beta: Array, lower: Array, upper: Array) -> Array:
    """Return which coefficients are off their bounds, and off the kink at 0."""
    return np.asarray((beta != 0) & (beta > lower) & (beta < upper))
