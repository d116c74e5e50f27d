"""Softmax problems: one of several classes given a linear predictor for each, and their smooth solvers.

In the symmetric form every class has coefficients, and adding the same to all of them changes nothing. The minimiser
under an L2 penalty, and the shortest one without, has coefficients whose mean over the classes is the prior mean. The
search is therefore restricted to W = mean + V Bᵀ, where the columns of B are orthonormal and sum to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from mercer._typing import Array
from mercer.families.penalties import Strengths
from mercer.families.response import SoftmaxResponse
from mercer.matrices import Observations
from mercer.optim import _newton_cg as newton_cg
from mercer.optim import lbfgs
from mercer.optim.certificate import Solution
from mercer.optim.descent import Callback, map_coefficients
from mercer.optim.problem import Product, Slope, reduce_cached, sampled_product, standard_error
from mercer.optim.scaling import (
    MAX_FACTORISED_COLUMNS,
    DiagonalScaling,
    RepeatedScaling,
    Scaling,
    WhiteningScaling,
    WoodburyScaling,
    extrapolate_hessian,
    fit_to_sample,
    sample_size,
    sampled_hessian,
    typical_rows,
)
from mercer.stats.quadratic import GRADIENT, HESSIAN, SoftmaxExpansion

#: rows that are added to each class, so that a class without rows has a positive share
PSEUDO_ROWS = 0.5


@dataclass(frozen=True, eq=False)
class SoftmaxProblem:
    """Minimise Σ weight · loss(y, X W + offset) + ½ Σ l2 (W − mean)² over W, with a column for each column of η.

    The penalty is the same for each class. Points are vectors of all free coefficients V: `matrix` returns W.
    """

    observations: Observations  # y are codes
    response: SoftmaxResponse
    strengths: Strengths

    def on(self, some: Observations) -> Self:
        """Return the same problem for some of the rows, with their share of the penalty and the same B."""
        strengths = self.strengths.times(len(some) / len(self.observations))
        part = replace(self, observations=some, strengths=strengths)
        part.__dict__["shares"] = self.shares  # B depends on them
        return part

    @cached_property
    def shares(self) -> Array:
        """Return the share of each class in the weight, above 0."""
        counts = self.observations.class_weights(self.response.levels)
        counts = counts + PSEUDO_ROWS * counts.sum() / len(self.observations)
        return np.asarray(counts / counts.sum())

    @cached_property
    def _eigen_axes(self) -> tuple[Array, Array]:
        """Return B, the eigenvectors of the covariance diag(π) − ππᵀ of the classes, and the variances along them."""
        shares = self.shares
        if (reference := self.response.reference) is not None:
            others = np.delete(shares, reference)
            return np.eye(len(others)), others * (1 - others)
        values, vectors = np.linalg.eigh(np.diag(shares) - np.outer(shares, shares))
        # exactly orthogonal to (1, …, 1), the eigenvector of the smallest eigenvalue
        axes = vectors[:, 1:] - vectors[:, 1:].mean(axis=0)
        return np.linalg.qr(axes)[0], values[1:]

    @property
    def axes(self) -> Array:
        """Return B."""
        return self._eigen_axes[0]

    @property
    def n_columns(self) -> int:
        return int(self.observations.design.n_columns * self.axes.shape[1])

    def matrix(self, v: Array) -> Array:
        """Return the coefficients W of a point: a column for each column of η."""
        return np.asarray(self.strengths.mean[:, None] + v.reshape(-1, self.axes.shape[1]) @ self.axes.T)

    def vector(self, W: Array) -> Array:
        """Return the point whose matrix is W, or the closest one with the same probabilities."""
        return np.asarray((W - self.strengths.mean[:, None]) @ self.axes).ravel()

    def start(self) -> Array:
        """Return the prior means, with the intercepts that give the shares of the classes."""
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
        """Return the unit in which lengths of gradients are standard errors; smaller if rows weigh less than 1."""
        weight = self.observations.mean_weight
        return standard_error(1.0, -2 * float(self.shares @ np.log(self.shares)), weight) if weight > 0 else 1.0

    def at(self, v: Array, order: int = HESSIAN) -> Slope:
        """Evaluate the objective at a point, and depending on `order` its gradient and Hessian."""
        sums = self.sums(self.matrix(v), order)
        away = self.matrix(v) - self.strengths.mean[:, None]
        pull = self.strengths.l2[:, None] * away
        value = sums.loss + 0.5 * float(np.vdot(pull, away))
        if order < GRADIENT:
            return Slope(value, np.zeros(0), np.zeros((0, 0)))
        gradient = ((sums.gradient + pull) @ self.axes).ravel()
        return Slope(value, gradient, self._hessian(sums.hessian) if order == HESSIAN else sums.hessian)

    def sums(self, W: Array, order: int = HESSIAN) -> SoftmaxExpansion:
        """Return the sums of the losses at a matrix of coefficients."""
        return reduce_cached(SoftmaxExpansion.at(self.response, W, order), self.observations)

    def _hessian(self, of_columns: Array) -> Array:
        """Return the Hessian by points, (B ⊗ I)ᵀ H (B ⊗ I) and the penalty, from blocks for the columns of η."""
        p, k, q = len(self.strengths.l2), *self.axes.shape
        halfway = np.tensordot(self.axes, of_columns.reshape(k, p, k, p), (0, 0))
        turned = np.tensordot(halfway, self.axes, (2, 0))  # axis of the first, column, column, axis of the second
        hessian = turned.transpose(1, 0, 2, 3).reshape(p * q, p * q)
        # B has orthonormal columns, so that the penalty of W is that of V
        hessian[np.diag_indices(p * q)] += np.repeat(self.strengths.l2, q)
        return np.asarray(hessian)

    def hessian_product(self, v: Array) -> Product:
        """Return u ↦ H u at `v` without forming H; for a source, estimated from its rows in memory."""
        if self.observations.streamed:
            return sampled_product(self, v)
        design, _, weight, offset = self.observations.batch(slice(None))
        eta, axes = design.matvec(self.matrix(v)), self.axes
        every = self.response.probabilities(eta if offset is None else eta + offset)
        p = every[:, [k for k in range(self.response.levels) if k != self.response.reference]]
        weighted = p if weight is None else weight[:, None] * p

        def times(u: Array) -> Array:
            V = u.reshape(-1, axes.shape[1])
            moved = design.matvec(np.ascontiguousarray(V @ axes.T))
            bent = weighted * (moved - (p * moved).sum(axis=1, keepdims=True))
            return np.asarray(design.rmatvec(bent) @ axes + self.strengths.l2[:, None] * V).ravel()

        return times

    def gradient_of_rows(self, v: Array, X: Array, y: Array, weight: Array | None, offset: Array | None) -> Array:
        """Return the gradient for a few rows, given as a matrix, with their share of the penalty."""
        W = self.matrix(v)
        eta = X @ W
        _, slopes = self.response.slopes(y, eta if offset is None else eta + offset, weight)
        pull = self.strengths.l2[:, None] * (W - self.strengths.mean[:, None])
        return np.asarray((X.T @ slopes + len(X) / len(self.observations) * pull) @ self.axes).ravel()

    def scaling(self, *, max_factorised: int = MAX_FACTORISED_COLUMNS) -> Scaling:
        """Return the scaling by the Hessian if no column had an effect, (variances along B) ⊗ Xᵀdiag(weight)X.

        XᵀX is factorised for up to `max_factorised` columns; for more, only its diagonal is used.
        """
        variances = self._eigen_axes[1]
        typical = float(np.exp(np.log(variances).mean()))
        of_each, squares = self.class_scaling(typical, max_factorised=max_factorised)
        pull = self.strengths.l2.mean()
        with np.errstate(invalid="ignore", divide="ignore"):
            factors = np.sqrt((typical * squares + pull) / (variances * squares + pull))
        return RepeatedScaling(of_each, np.where(np.isfinite(factors), factors, 1.0))

    def class_scaling(self, variance: float, *, max_factorised: int = MAX_FACTORISED_COLUMNS) -> tuple[Scaling, float]:
        """Return the scaling for a class of that variance, and the mean square of the columns."""
        p, n = self.observations.design.n_columns, len(self.observations)
        if p > max_factorised:
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
                return few, float(design.squares(h).mean())
            gram = design.gram(h)
        if not np.isfinite(gram).all():  # the gradients are not finite either, so that there is no descent
            return WhiteningScaling.of(np.eye(p)), 1.0
        gram = gram if some is None else extrapolate_hessian(gram, n / len(some))
        return WhiteningScaling.of(variance * gram + np.diag(self.strengths.l2)), float(gram.trace() / p)


def solve_as_matrix(
    problem: SoftmaxProblem,
    start: Array | None,
    solve_for_point: Callable[..., Solution],
    *,
    callback: Callback | None = None,
    **options: Any,
) -> Solution:
    """Return the solution of a solver for points, with matrices of coefficients for the start, steps and solution."""
    begin = None if start is None else problem.vector(start)
    solution = solve_for_point(problem, begin, callback=map_coefficients(callback, problem.matrix), **options)
    return replace(solution, coef=problem.matrix(solution.coef))


def solve_by_newton_cg(problem: SoftmaxProblem, start: Array | None, **options: Any) -> Solution:
    """Minimise by Newton's method, with steps by conjugate gradients."""
    begin = problem.start() if start is None else start
    return newton_cg.solve_from(problem, begin, problem.scaling(), **options)


def solve_by_lbfgs(
    problem: SoftmaxProblem, start: Array | None, *, max_factorised: int = MAX_FACTORISED_COLUMNS, **options: Any
) -> Solution:
    """Minimise by L-BFGS; for a source, start at the fit to its rows in memory, scaled by their curvature.

    Hessians of up to `max_factorised` coefficients are factorised.
    """
    if not problem.observations.streamed:
        scaling = problem.scaling(max_factorised=max_factorised)
        return lbfgs.solve_from(problem, problem.start() if start is None else start, scaling, **options)
    if start is None:
        start = fit_to_sample(problem, partial(solve_by_lbfgs, start=None))
    if start is None:
        start = problem.start()
    if problem.n_columns <= max_factorised:
        scaling = WhiteningScaling.of(sampled_hessian(problem, start))
    else:
        scaling = problem.scaling(max_factorised=max_factorised)
    return lbfgs.solve_from(problem, start, scaling, **options)
