"""Quadratic problems in a box: the duals of support vector machines, and what is known of a point of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._stored import stored
from mercer._typing import Array
from mercer.solvers.certificate import Certificate
from mercer.solvers.machines._working_set import is_free


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
        Whether there is a b, and so the constraint Σβ = 0.
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
    """A feasible β, the intercept that goes with it, f at the rows, and the steps it took; w where rows have features.

    w is Ψᵀβ but for rounding, which it has less of.
    """

    beta: Array
    intercept: float
    scores: Array
    steps: int = 0
    weights: Array | None = None


@stored()
@dataclass(frozen=True)
class Margins(Certificate):
    """How far the rows are from their optimality conditions, and the values of both problems."""

    primal: float = np.nan
    dual: float = np.nan

    @property
    def gap(self) -> float:
        """Primal minus dual: by so much at most is the objective too large."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a round."""

    iterations: int
    violation: float
    gap: float
    seconds: float


#: relative error of sums of coefficients
ROUNDING = 1e-12


def feasible(beta: Array, problem: BoxProblem) -> Array:
    """Coefficients of an earlier fit put into the bounds of this one; with an intercept their sum is brought to 0.

    What is at a bound but for rounding is put there: else it would seem free to move.
    """
    beta = np.clip(beta, problem.lower, problem.upper)
    for bound in (problem.lower, problem.upper):
        near = np.isfinite(bound) & (np.abs(beta - bound) <= ROUNDING * np.abs(bound))
        beta = np.where(near, bound, beta)
    return _proportioned(beta) if problem.intercept else np.asarray(beta)


def settled(beta: Array, start: Array, problem: BoxProblem) -> Array:
    """Coefficients at a bound, or at 0, where they are next to it by no more than sums of coefficients are rounded.

    For those that began at an earlier fit, whose sum was 0 but for rounding: the remainder would seem free to move, and
    decide about the intercept alone where all others are at bounds.
    """
    reach = len(beta) * np.finfo(float).eps * float(np.abs([beta, start]).max(initial=0.0))
    for place in (problem.lower, problem.upper, np.zeros(len(beta))):
        beta = np.where(np.abs(beta - place) <= reach, place, beta)
    return beta


def balanced(beta: Array, lower: Array, upper: Array) -> Array:
    """Coefficients in their bounds with their sum brought to 0, by those off the bounds if these have the room.

    So what is at a bound, or at 0, stays there.
    """
    excess = float(beta.sum())
    bound = np.where(beta > 0, 0.0, lower) if excess > 0 else np.where(beta < 0, 0.0, upper)
    room = np.where(is_free(beta, lower, upper), np.abs(beta - bound), 0.0)
    total = float(room.sum())
    if abs(excess) < total:
        return np.asarray(beta - excess * (room / total))
    return _proportioned(beta)


def _proportioned(beta: Array) -> Array:
    above, below = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
    if above > (1 + ROUNDING) * below:
        beta = np.where(beta > 0, beta * (below / above), beta)
    elif below > (1 + ROUNDING) * above:
        beta = np.where(beta < 0, beta * (above / below), beta)
    return np.asarray(beta)
