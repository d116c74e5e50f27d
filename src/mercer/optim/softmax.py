"""One of several classes given linear predictors: the problem, and which solver suits it.

In the symmetric form every class has coefficients, and adding the same to all of them changes nothing. The minimiser
under an L2 penalty, and the shortest one without, has coefficients whose mean over the classes is the prior mean. It
is therefore looked for among those only: W = mean + V Bᵀ, where the columns of B, orthonormal, sum to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from mercer._errors import FitInterrupted
from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.families.response import SoftmaxResponse
from mercer.matrices import Observations
from mercer.matrices.squares import column_squares
from mercer.optim import lbfgs, newton, row_space
from mercer.optim import scaling as sampled_scaling
from mercer.optim.certificate import Progress, Solution
from mercer.optim.problem import Product, Slope, sampled_product, standard_error, reduce_cached
from mercer.optim.scaling import WoodburyScaling, RepeatedScaling, Scaling, DiagonalScaling, WhiteningScaling, extrapolate_hessian, fit_to_sample, sample_size, sampled_hessian, typical_rows
from mercer.stats.quadratic import GRADIENT, HESSIAN, SoftmaxQuadratic

TOLERANCE = 1e-8
MOST_STEPS = 1000
#: coefficients up to which the Hessian of all classes is formed
MOST_NEWTON = 300
#: rows added to each class before its share is taken: a class without rows has a share too
PSEUDO_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """min over W of  Σ weight · loss(y, X W + offset) + ½ Σ l2 (W − mean)²: a column of W for each column of η.

    The penalty is the same for each class. Points are vectors of all free coefficients: `matrix` has the columns.
    """

    observations: Observations  # y are codes
    response: SoftmaxResponse
    strengths: Strengths

    def on(self, some: Observations) -> Self:
        """The same problem for some of the rows, with their share of the penalty; points mean the same."""
        strengths = self.strengths.times(len(some) / len(self.observations))
        part = replace(self, observations=some, strengths=strengths)
        part.__dict__["shares"] = self.shares  # B depends on them
        return part

    @cached_property
    def shares(self) -> Array:
        """Share of each class in the weight, none of them 0."""
        counts = self.observations.class_weights(self.response.levels)
        counts = counts + PSEUDO_ROWS * counts.sum() / len(self.observations)
        return np.asarray(counts / counts.sum())

    @cached_property
    def _turned(self) -> tuple[Array, Array]:
        """The axes of the classes' covariance diag(π) − ππᵀ, which B consists of, and the variances along them."""
        shares = self.shares
        if (reference := self.response.reference) is not None:
            others = np.delete(shares, reference)
            return np.eye(len(others)), others * (1 - others)
        values, vectors = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
        # exactly without a part along (1, …, 1), which the smallest eigenvalue belongs to
        axes = vectors[:, 1:] - vectors[:, 1:].mean(axis=0)
        return np.linalg.qr(axes)[0], values[1:]

    @property
    def axes(self) -> Array:
        """B."""
        return self._turned[0]

    @property
    def n_columns(self) -> int:
        return int(self.observations.design.n_columns * self.axes.shape[1])

    def matrix(self, v: Array) -> Array:
        """The coefficients: a column for each column of η."""
        return np.asarray(self.strengths.mean[:, None] + v.reshape(-1, self.axes.shape[1]) @ self.axes.T)

    def vector(self, W: Array) -> Array:
        """The point whose matrix is W, or else the closest that the same probabilities belong to."""
        return np.asarray((W - self.strengths.mean[:, None]) @ self.axes).ravel()

    def start(self) -> Array:
        """No column has an effect, and the intercepts are where the shares of the classes would have them."""
        W = np.repeat(self.strengths.mean[:, None], self.response.columns, axis=1)
        if self.observations.design.coordinates.intercept:
            level = np.log(self.shares)
            reference = self.response.reference
            W[-1] += level - level.mean() if reference is None else np.delete(level - level[reference], reference)
        return self.vector(W)

    @property
    def is_convex(self) -> bool:
        return self.response.is_convex

    def unit(self, value: float) -> float:
        """What makes lengths of gradients standard errors; less where rows weigh less than 1: see `Problem.unit`."""
        weight = self.observations.mean_weight
        return standard_error(1.0, -2 * float(self.shares @ np.log(self.shares)), weight) if weight > 0 else 1.0

    def at(self, v: Array, order: int = HESSIAN) -> Slope:
        """The objective at a point, and if `order` says so its gradient and Hessian."""
        sums = self.sums(self.matrix(v), order)
        away = self.matrix(v) - self.strengths.mean[:, None]
        pull = self.strengths.l2[:, None] * away
        value = sums.loss + 0.5 * float(np.vdot(pull, away))
        if order < GRADIENT:
            return Slope(value, np.zeros(0), np.zeros((0, 0)))
        gradient = ((sums.gradient + pull) @ self.axes).ravel()
        return Slope(value, gradient, self._hessian(sums.hessian) if order == HESSIAN else sums.hessian)

    def sums(self, W: Array, order: int = HESSIAN) -> SoftmaxQuadratic:
        """Of the losses at a matrix of coefficients."""
        return reduce_cached(SoftmaxQuadratic.at(self.response, W, order), self.observations)

    def _hessian(self, of_columns: Array) -> Array:
        """From blocks by columns of η to points: (B ⊗ I)ᵀ H (B ⊗ I), with the penalty, in the order of `matrix`."""
        p, k, q = len(self.strengths.l2), *self.axes.shape
        halfway = np.tensordot(self.axes, of_columns.reshape(k, p, k, p), (0, 0))
        turned = np.tensordot(halfway, self.axes, (2, 0))  # axis of the first, column, column, axis of the second
        hessian = turned.transpose(1, 0, 2, 3).reshape(p * q, p * q)
        # what W moves by is B times what V moves by, and B has orthonormal columns
        hessian[np.diag_indices(p * q)] += np.repeat(self.strengths.l2, q)
        return np.asarray(hessian)

    def hessian_product(self, v: Array) -> Product:
        """u ↦ H u for the Hessian at `v`, which is never formed; of a source, as the rows at hand tell it."""
        if self.observations.streamed:
            return sampled_product(self, v)
        design, _, weight, offset = self.observations.batch(slice(None))
        eta, axes = design.times(self.matrix(v)), self.axes
        every = self.response.probabilities(eta if offset is None else eta + offset)
        p = every[:, [k for k in range(self.response.levels) if k != self.response.reference]]
        weighted = p if weight is None else weight[:, None] * p

        def times(u: Array) -> Array:
            V = u.reshape(-1, axes.shape[1])
            moved = design.times(np.ascontiguousarray(V @ axes.T))
            bent = weighted * (moved - (p * moved).sum(axis=1, keepdims=True))
            return np.asarray(design.transposed_times(bent) @ axes + self.strengths.l2[:, None] * V).ravel()

        return times

    def gradient_of_rows(self, v: Array, X: Array, y: Array, weight: Array | None, offset: Array | None) -> Array:
        """Of few rows, given as a matrix, with their share of the penalty."""
        W = self.matrix(v)
        eta = X @ W
        _, slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        pull = self.strengths.l2[:, None] * (W - self.strengths.mean[:, None])
        return np.asarray((X.T @ slopes + len(X) / len(self.observations) * pull) @ self.axes).ravel()

    def scaling(self) -> Scaling:
        """As if no column had an effect: the Hessian is then (variances along B) ⊗ Xᵀdiag(weight)X."""
        variances = self._turned[1]
        typical = float(np.exp(np.log(variances).mean()))
        of_each, squares = self._of_each(typical)
        pull = self.strengths.l2.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            factors = np.sqrt((typical * squares + pull) / (variances * squares + pull))
        return RepeatedScaling(of_each, np.where(np.isfinite(factors), factors, 1.0))

    def _of_each(self, variance: float) -> tuple[Scaling, float]:
        """For a class of that variance, and the mean square of the columns."""
        p, n = self.observations.design.n_columns, len(self.observations)
        if p > sampled_scaling.MOST_WHITENED:
            (design, _, weight, _), factor = typical_rows(self.observations)
            h = factor * (np.ones(design.n_rows) if weight is None else weight)
            scaling = DiagonalScaling.of(design, variance * h, self.strengths.l2)
            return scaling, float(np.median(scaling.scale**-2) / variance)
        some = self.observations.some(sample_size(p), of=2)
        design, _, weight, _ = (self.observations if some is None else some).batch(slice(None))
        h = np.ones(design.n_rows) if weight is None else weight
        with np.errstate(over="ignore", invalid="ignore"):
            few = WoodburyScaling.of(design, variance * h, self.strengths.l2) if n < p else None
            if few is not None:
                return few, float(column_squares(design, h).mean())
            gram = design.gram(h)
        if not np.isfinite(gram).all():  # neither are the gradients of such rows, so that there is no way down to scale
            return WhiteningScaling.of(np.eye(p)), 1.0
        gram = gram if some is None else extrapolate_hessian(gram, n / len(some))
        return WhiteningScaling.of(variance * gram + np.diag(self.strengths.l2)), float(gram.trace() / p)


def solve(
    problem: SoftmaxProblem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a smooth problem: by Newton's method where coefficients or rows are few, else by L-BFGS.

    Parameters
    ----------
    problem : SoftmaxProblem
        Its penalty must have no absolute values.
    start : array, optional
        The point to begin at.
    tolerance : float
        How small the gradient has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the length of the gradient.

    Returns
    -------
    solution : Solution
        `value` is the matrix of working coefficients, a column for each column of η.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    options = {"tolerance": tolerance, "most_steps": most_steps, "progress": progress}
    return solve_as_matrix(problem, lambda: _solve(problem, start, **options))


def solve_as_matrix(problem: SoftmaxProblem, solve_for_point: Callable[[], Solution]) -> Solution:
    """A solution with the matrix of coefficients for a value, also where the user stops the search for it."""
    try:
        solution = solve_for_point()
    except FitInterrupted as stop:
        stop.solution = replace(stop.solution, value=problem.matrix(stop.solution.value))
        raise
    return replace(solution, value=problem.matrix(solution.value))


def suits_newton(problem: SoftmaxProblem) -> bool:
    """Whether Newton's method is to be used."""
    return problem.n_columns <= MOST_NEWTON


def _solve(problem: SoftmaxProblem, start: Array | None, **options: Any) -> Solution:
    if suits_newton(problem):
        return newton.solve(cast(Any, problem), start, **options)
    if row_space.suits(problem):
        return row_space.solve(problem, start, **options)
    return solve_by_lbfgs(problem, start, **options)


def solve_by_lbfgs(problem: SoftmaxProblem, start: Array | None, **options: Any) -> Solution:
    """Many coefficients; where rows are streamed, from a fit to those at hand and with their curvature."""
    if not problem.observations.streamed:
        return lbfgs.descend(problem, problem.start() if start is None else start, problem.scaling(), **options)
    if start is None:
        start = fit_to_sample(problem, _solve_sample)
    if start is None:
        start = problem.start()
    whitened = problem.n_columns <= sampled_scaling.MOST_WHITENED
    scaling = WhiteningScaling.of(sampled_hessian(problem, start)) if whitened else problem.scaling()
    return lbfgs.descend(problem, start, scaling, **options)


def _solve_sample(problem: SoftmaxProblem, *, tolerance: float) -> Solution:
    return _solve(problem, None, tolerance=tolerance)
