"""Probabilities from margins without refits: approximate leave-one-out scores, and the scale that fits them.

The margin of a support vector is too good, since the machine was fitted to it. Left out, its score would fall by α S²,
where S is its distance from the span of the free support vectors (Vapnik and Chapelle): exactly so if all others stay
free or bounded as they are.
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
from mercer.matrices import DenseMatrix, Observations
from mercer.optim import newton
from mercer.optim.certificate import Certificate, Solution
from mercer.optim.problem import Problem

#: added to the diagonal of the kernel matrix of free support vectors, relative to it, which equal rows make singular
SPAN_RIDGE = 1e-10
#: least scale, for scores without information: probabilities are nearly equal, in the order of the scores
SMALLEST_SCORE_SCALE = 1e-3
#: relative change of the scale at which the search for the maximum of its likelihood ends
SCALE_TOLERANCE = 1e-10
#: largest slope of the likelihood that is certified, in standard errors of the scale
CERTIFIED_STANDARD_ERRORS = 1e-6
#: Newton or bisection steps of the search
MAX_SCALE_STEPS = 200


@dataclass(frozen=True, eq=False)
class SupportSpan:
    """Span of the free support vectors of a machine: with an intercept, of combinations whose weights sum to 1."""

    factor: Any
    #: unit of the kernel, whose squares may overflow otherwise
    size: float
    #: S² of each free support vector from the span of the others
    squared_distances: Array
    #: A⁻¹1, where there is an intercept
    ones: Array | None

    @classmethod
    def of(cls, K: Array, *, intercept: bool) -> SupportSpan:
        """Factorise the kernel matrix of the free support vectors."""
        n, size = len(K), float(np.abs(K).max())
        size = size if size > np.finfo(float).tiny else 1.0  # vectors of length 0 give no unit
        K = K / size
        with blas_for(1):  # threads of BLAS spin and wait for each other where cores are busy
            factor = _factorize(K)
            inverse = np.diag(lapack.dpotri(factor[0], lower=1)[0]).copy()
            ones = cho_solve(factor, np.ones(n), check_finite=False)
        if not intercept:
            return cls(factor, size, size / inverse, None)
        remaining = inverse - ones**2 / ones.sum()
        # a single free vector is spanned by no others, whose weights would have to sum to 1
        own = np.divide(1.0, remaining, out=np.diag(K).copy(), where=remaining > SPAN_RIDGE * inverse)
        return cls(factor, size, size * own, ones)

    def squared_distances_of(self, diagonal: Array, K: Array) -> Array:
        """Return S² of other rows, from k(x, x), and k(x, z) for each free support vector z."""
        K = K / self.size
        with blas_for(1):
            solved = cho_solve(self.factor, K.T, check_finite=False)
        squares = diagonal / self.size - np.einsum("ij,ji->i", K, solved)
        if self.ones is not None:
            squares = squares + (1.0 - K @ self.ones) ** 2 / self.ones.sum()
        return np.asarray(self.size * np.maximum(squares, 0.0))


def _factorize(K: Array) -> Any:
    """Return Cholesky's factor of K, of entries up to 1, plus a ridge that grows until the sum is positive definite."""
    ridge = SPAN_RIDGE
    while True:
        try:
            return cho_factor(K + ridge * np.eye(len(K)), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            if ridge > len(K):  # the ridge outweighs all of a row, so K is not finite
                raise
            ridge *= 100.0


def fit_scale(scores: Array, codes: Array, weight: Array | None = None, *, rows: float | None = None) -> Solution:
    """Find the τ of the greatest likelihood for p(class | row) = softmax(τ · scores), τ > 0; 1/τ is called the
    temperature.

    Each of n rows is taken to have its class with probability (n + 1)/(n + 2) only, by Laplace's rule: this imagines
    one mistake among all rows, without which scores that make none would have an infinite τ.

    Parameters
    ----------
    scores : array of shape (n, k)
        A score for each class.
    codes : integer array of shape (n,)
        Classes of the rows.
    weight : array of shape (n,), optional
        Weights of the rows.
    rows : float, optional
        Number of rows in Laplace's rule; n by default, or the sum of weights that are counts.

    Returns
    -------
    solution : Solution
        `coef` is τ; the certificate has the slope of the likelihood there, in standard errors of τ.

    Examples
    --------
    >>> scores = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    >>> round(float(fit_scale(scores, np.array([0, 0, 1, 1])).coef), 3)
    0.347
    """
    n, k = scores.shape
    weight = np.ones(n) if weight is None else weight / weight.mean()
    size = float(np.abs(scores).mean())
    if size == 0 or n == 0:
        return Solution(SMALLEST_SCORE_SCALE, _certify_at_bound("the scores are all 0"))
    scores = scores / size
    n_rows = n if rows is None else rows
    target = np.full((n, k), 1.0 / ((n_rows + 2) * (k - 1)))
    target[np.arange(n), codes] = (n_rows + 1) / (n_rows + 2)
    wanted = float(weight @ (target * scores).sum(axis=1))
    tau = _find_scale(scores, weight, wanted)
    return Solution(tau / size, _certify(scores, weight, wanted, tau))


def _certify(scores: Array, weight: Array, wanted: float, tau: float) -> Certificate:
    if tau == SMALLEST_SCORE_SCALE:
        return _certify_at_bound("the likelihood falls from the smallest scale on")
    mean, variance = _compute_moments(scores, weight, tau)
    slope = abs(wanted - mean) / np.sqrt(variance) if variance > 0 else abs(wanted - mean)
    return Certificate(
        "gradient norm", float(slope), CERTIFIED_STANDARD_ERRORS, "the slope of a concave likelihood vanishes"
    )


def _certify_at_bound(sentence: str) -> Certificate:
    return Certificate("KKT", 0.0, CERTIFIED_STANDARD_ERRORS, sentence)


def _find_scale(scores: Array, weight: Array, wanted: float) -> float:
    """Find the τ with Σ w E[score] = wanted by Newton's method between bounds."""
    low, high, tau = 0.0, np.inf, 1.0
    if _compute_moments(scores, weight, 0.0)[0] >= wanted:
        return SMALLEST_SCORE_SCALE
    for _ in range(MAX_SCALE_STEPS):
        mean, variance = _compute_moments(scores, weight, tau)
        low, high = (tau, high) if mean < wanted else (low, tau)
        step = tau + (wanted - mean) / variance if variance > 0 else np.inf
        if not low < step < high:
            step = 2.0 * tau if np.isinf(high) else 0.5 * (low + high)
        is_found = abs(step - tau) <= SCALE_TOLERANCE * tau
        tau = step
        if is_found:
            break
    return max(tau, SMALLEST_SCORE_SCALE)


def fit_sigmoid(scores: Array, targets: Array, weight: Array | None = None) -> Solution:
    """Find the a and b of the greatest likelihood for p = 1/(1 + exp(−(a · score + b))), Platt's sigmoid.

    Parameters
    ----------
    scores : array of shape (n,)
        Scores of the rows.
    targets : array of shape (n,)
        Probability assumed for each row, between 0 and 1 exclusively, so that a and b are finite.
    weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    solution : Solution
        `coef` is the pair a, b.
    """
    if np.ptp(scores) == 0:  # only the level can be fitted
        level = float(np.average(targets, weights=weight))
        return Solution((0.0, float(logit(level))), Certificate.closed_form("equal scores have one probability"))
    design = DenseMatrix.of(np.ascontiguousarray(scores, dtype=np.float64)[:, None])
    none = np.zeros(design.n_columns)
    problem = Problem(
        Observations(design, targets, weight), Response(Bernoulli(), LOGIT), Strengths(none, none.copy(), none.copy())
    )
    solution = newton.solve(problem).require_completion()
    coef, intercept = design.coordinates.to_user(solution.coef)
    return Solution((float(coef[0]), float(intercept)), solution.certificate, solution.history)


def _compute_moments(scores: Array, weight: Array, tau: float) -> tuple[float, float]:
    """Return Σ w E[score] and Σ w Var[score] under softmax(τ · scores)."""
    log = tau * scores
    p = np.exp(log - log.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    mean = (p * scores).sum(axis=1)
    variance = (p * (scores - mean[:, None]) ** 2).sum(axis=1)
    return float(weight @ mean), float(weight @ variance)
