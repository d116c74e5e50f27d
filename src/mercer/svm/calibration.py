"""Probabilities from margins without refits: approximate leave-one-out scores, and the one scale that fits them.

A row that takes part in a support vector machine has a margin that flatters it. Left out, its score would fall by
α S², where S is its distance from the span of the free support vectors (Vapnik and Chapelle): exactly so if the others
stay free or bounded as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack
from scipy.special import logit

from mercer._threads import blas_for
from mercer._typing import Array
from mercer.families import LOGIT, Bernoulli
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.matrices import DenseDesign, Observations
from mercer.optim import newton
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.problem import Problem

#: added to the diagonal of the kernel matrix of free support vectors, relative to it: equal rows span each other
RIDGE = 1e-10
#: the scale for scores that say nothing, or the wrong thing: probabilities are nearly equal, in the order of the scores
FLAT = 1e-3
#: relative change of the scale at which its likelihood has its maximum
ENOUGH = 1e-10
#: the slope of the likelihood there at most, in standard errors of the scale
STANDARD_ERRORS = 1e-6
MOST_STEPS = 200


@dataclass(frozen=True, eq=False)
class SupportSpan:
    """What the free support vectors of a machine span: with an intercept only combinations whose weights sum to 1."""

    factor: Any
    #: the unit of the kernel: its squares need not be numbers, those of what is left are
    size: float
    #: S² of each free support vector from the span of the others
    squared_distances: Array
    #: A⁻¹1, where there is an intercept
    ones: Array | None

    @classmethod
    def of(cls, K: Array, *, intercept: bool) -> SupportSpan:
        """From the kernel matrix of the free support vectors."""
        n, size = len(K), float(np.abs(K).max())
        size = size if size > np.finfo(float).tiny else 1.0  # vectors of no length are no unit for others
        K = K / size
        with blas_for(1):  # threads of BLAS spin, and wait for each other where cores are busy
            factor = _factor(K)
            inverse = np.diag(lapack.dpotri(factor[0], lower=1)[0]).copy()
            ones = cho_solve(factor, np.ones(n), check_finite=False)
        if not intercept:
            return cls(factor, size, size / inverse, None)
        left = inverse - ones**2 / ones.sum()
        # a single free vector is the only one whose weights sum to 1 without it: nothing spans it
        own = np.divide(1.0, left, out=np.diag(K).copy(), where=left > RIDGE * inverse)
        return cls(factor, size, size * own, ones)

    def squared_distances_of(self, diagonal: Array, K: Array) -> Array:
        """S² of other rows: k(x, x), and k(x, z) for each free support vector z."""
        K = K / self.size
        with blas_for(1):
            solved = cho_solve(self.factor, K.T, check_finite=False)
        squares = diagonal / self.size - np.einsum("ij,ji->i", K, solved)
        if self.ones is not None:
            squares = squares + (1.0 - K @ self.ones) ** 2 / self.ones.sum()
        return np.asarray(self.size * np.maximum(squares, 0.0))


def _factor(K: Array) -> Any:
    """Cholesky's factor of K, of entries up to 1, and a ridge: larger where K is not positive definite after all."""
    ridge = RIDGE
    while True:
        try:
            return cho_factor(K + ridge * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            if ridge > len(K):  # which outweighs all others of a row: K is none of numbers
                raise
            ridge *= 100.0


def scale_of(scores: Array, codes: Array, weight: Array | None = None) -> float:
    """The τ of the greatest likelihood for p(class | row) = softmax(τ · scores), τ > 0; see `scale`.

    Examples
    --------
    >>> round(scale_of(np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([0, 0, 1, 1])), 3)
    0.347
    """
    return float(scale(scores, codes, weight).value)


def scale(scores: Array, codes: Array, weight: Array | None = None, *, rows: float | None = None) -> Solution:
    """The τ of the greatest likelihood for p(class | row) = softmax(τ · scores), τ > 0: 1/τ is called the temperature.

    Of n rows each is taken to have the right class with (n + 1)/(n + 2) only, by Laplace's rule: one mistake is
    imagined among them all, without which scores that make none would have an infinite τ.

    Parameters
    ----------
    scores : array of shape (n, k)
        A score for each class.
    codes : integer array of shape (n,)
        The class of each row.
    weight : array of shape (n,), optional
        Of each row.
    rows : float, optional
        For how many rows these stand in Laplace's rule: n, or the sum of weights that are counts.

    Returns
    -------
    solution : Solution
        `value` is τ; the certificate has the slope of the likelihood there, in standard errors of τ.
    """
    n, k = scores.shape
    weight = np.ones(n) if weight is None else weight / weight.mean()
    size = float(np.abs(scores).mean())
    if size == 0 or n == 0:
        return Solution(FLAT, _settled("the scores say nothing"), ())
    scores = scores / size
    counted = n if rows is None else rows
    target = np.full((n, k), 1.0 / ((counted + 2) * (k - 1)))
    target[np.arange(n), codes] = (counted + 1) / (counted + 2)
    wanted = float(weight @ (target * scores).sum(axis=1))
    tau, trace = _root(scores, weight, wanted)
    return Solution(tau / size, _certified(scores, weight, wanted, tau), tuple(each / size for each in trace))


def _certified(scores: Array, weight: Array, wanted: float, tau: float) -> Certificate:
    if tau == FLAT:
        return _settled("the likelihood falls from the smallest scale on")
    mean, variance = _moments(scores, weight, tau)
    slope = abs(wanted - mean) / np.sqrt(variance) if variance > 0 else abs(wanted - mean)
    return Certificate("gradient norm", float(slope), STANDARD_ERRORS, "the slope of a concave likelihood vanishes")


def _settled(sentence: str) -> Certificate:
    return Certificate("KKT", 0.0, STANDARD_ERRORS, sentence)


def _root(scores: Array, weight: Array, wanted: float) -> tuple[float, list[float]]:
    """Where Σ w E[score] = wanted, by Newton's method between bounds, and the way there; the sum rises with τ."""
    low, high, tau, trace = 0.0, np.inf, 1.0, [1.0]
    if _moments(scores, weight, 0.0)[0] >= wanted:
        return FLAT, trace
    for _ in range(MOST_STEPS):
        mean, variance = _moments(scores, weight, tau)
        low, high = (tau, high) if mean < wanted else (low, tau)
        step = tau + (wanted - mean) / variance if variance > 0 else np.inf
        if not low < step < high:
            step = 2.0 * tau if np.isinf(high) else 0.5 * (low + high)
        trace.append(step)
        if abs(step - tau) <= ENOUGH * tau:
            break
        tau = step
    return max(trace[-1], FLAT), trace


def sigmoid(scores: Array, targets: Array, weight: Array | None = None) -> Solution:
    """Platt's sigmoid: the a and b of the greatest likelihood for p = 1/(1 + exp(−(a · score + b))).

    Parameters
    ----------
    scores : array of shape (n,)
        One for each row.
    targets : array of shape (n,)
        The probability that each row is taken to have: between 0 and 1, so that a and b are finite.
    weight : array of shape (n,), optional
        Of each row.

    Returns
    -------
    solution : Solution
        `value` has a and b.
    """
    if np.ptp(scores) == 0:  # nothing but a level to fit
        level = float(np.average(targets, weights=weight))
        return Solution((0.0, float(logit(level))), Certificate.closed_form("equal scores have one probability"), ())
    design = DenseDesign.of(np.ascontiguousarray(scores, dtype=np.float64)[:, None])
    none = np.zeros(design.n_columns)
    problem = Problem(
        Observations(design, targets, weight), Response(Bernoulli(), LOGIT), Strengths(none, none.copy(), none.copy())
    )
    solution = newton.solve(problem)
    coef, intercept = design.coordinates.to_user(solution.value)
    return Solution((float(coef[0]), float(intercept)), solution.certificate, solution.trace)


def _moments(scores: Array, weight: Array, tau: float) -> tuple[float, float]:
    """Σ w E[score] and Σ w Var[score] under softmax(τ · scores)."""
    log = tau * scores
    p = np.exp(log - log.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = (p * scores).sum(axis=1)
    variance = (p * (scores - mean[:, None]) ** 2).sum(axis=1)
    return float(weight @ mean), float(weight @ variance)
