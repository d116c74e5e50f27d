"""A fitted model with its data, as inference needs it: linear predictors, and the loss of each row.

A row has one linear predictor (`MeanRows`), or one for each class (`ClassRows`): `eta` has shape (rows, predictors).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, cast

import numpy as np
from scipy.special import log_softmax, softmax

from mercer._threads import ordered_stream
from mercer._typing import Array
from mercer.families import Family, NegativeBinomial
from mercer.families.penalties import Strengths
from mercer.families.response import Response
from mercer.linear_model.glm_figures import saturated_log_likelihood
from mercer.linear_model.glm_solve import LARGEST_R, estimate_theta
from mercer.matrices import Matrix, Observations
from mercer.optim import firth
from mercer.optim.problem import Problem, Slope
from mercer.stats.quadratic import GRADIENT, HESSIAN, LOSS

#: function of two predictors: the second derivative of the loss of each row by them
Curvatures = Callable[[int, int], Array]


@dataclass(frozen=True)
class MeanRows:
    """Response whose mean depends on one predictor, through a link."""

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
        """True if the observed curvature equals the expected one."""
        return self.response.link == self.family.response_link

    def slopes(self, y: Array, eta: Array) -> Array:
        """Return ∂loss/∂η, of shape (rows, predictors)."""
        return self.response.slopes(y, eta[:, 0]).first[:, None]

    def curvatures(self, y: Array, eta: Array, *, observed: bool = False) -> Curvatures:
        """Return ∂²loss/∂η² of each row: as observed, or its expectation."""
        if observed and not self.canonical:
            second = self.response.curvature(y, eta[:, 0])
        else:
            second = self.response.slopes(y, eta[:, 0]).second
        return lambda a, b: second

    def losses(self, y: Array, eta: Array) -> Array:
        """Return half the unit deviance of each row."""
        return self.response.losses(y, eta[:, 0])

    def pearson(self, y: Array, eta: Array) -> Array:
        """Return (y − μ)²/V(μ) of each row; 0 for y = μ, where V(μ) may be 0 too."""
        mean = self.response.mean(eta[:, 0])
        squares = np.square(y - mean)
        return np.asarray(np.divide(squares, self.family.unit_variance(mean), out=np.zeros(len(y)), where=squares > 0))


@dataclass(frozen=True)
class ClassRows:
    """Response that is one of K classes, with probabilities softmax(η); y has the codes of the classes."""

    predictors: int

    known_dispersion: ClassVar[float] = 1.0
    canonical: ClassVar[bool] = True

    def slopes(self, y: Array, eta: Array) -> Array:
        """Return p − indicator of the class."""
        slopes = softmax(eta, axis=1)
        slopes[np.arange(len(y)), y.astype(np.intp)] -= 1.0
        return np.asarray(slopes)

    def curvatures(self, y: Array, eta: Array, *, observed: bool = False) -> Curvatures:
        """Return p_a (1[a = b] − p_b), with 1 − p_a as the sum of the other probabilities, which does not cancel."""
        p = softmax(eta, axis=1)
        return lambda a, b: np.asarray(p[:, a] * (np.delete(p, a, axis=1).sum(axis=1) if a == b else -p[:, b]))

    def losses(self, y: Array, eta: Array) -> Array:
        return np.asarray(-log_softmax(eta, axis=1)[np.arange(len(y)), y.astype(np.intp)])

    def pearson(self, y: Array, eta: Array) -> Array:
        """Return Σ over classes of (indicator − p)²/p = 1/p − 1."""
        return np.expm1(self.losses(y, eta))


FittedRows = MeanRows | ClassRows


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Coefficients, with the data and the model that they belong to.

    The parameters θ are the working coefficients of each predictor in turn. Some of their directions may not be free
    (the coefficients of classes sum to zero): θ = `free` γ. The user's coefficients are `to_user` θ.
    """

    observations: Observations
    rows: FittedRows
    theta: Array
    free: Array
    to_user: Array
    names: tuple[str, ...]
    #: normal priors of the parameters, as penalties
    strengths: Strengths
    #: name of the model
    title: str = ""
    #: whether a weight of 2 means two equal rows, or one row of half the variance
    frequency: bool = True
    #: whether the estimate is Firth's
    firth: bool = False
    #: number of parameters of the family that were estimated by maximum likelihood
    family_parameters: int = 0
    #: numbers of trials of the rows, if responses are shares of successes
    trials: Array | None = None

    @property
    def shown_predictors(self) -> int:
        """Number of linear predictors in the user's coefficients: all, or all but that of a reference class."""
        return len(self.to_user) // self.observations.design.n_columns

    @property
    def is_penalised(self) -> bool:
        return bool(self.strengths.l2.any())

    @cached_property
    def problem(self) -> Problem:
        """The problem that the coefficients solve, for one predictor."""
        return Problem(self.observations, cast(MeanRows, self.rows).response, self.strengths)

    @cached_property
    def objective(self) -> float:
        """The minimised objective."""
        return firth.evaluate_firth(self.problem, self.theta).value if self.firth else self.at(self.theta, LOSS).value

    @cached_property
    def best_of_all(self) -> float:
        """Log likelihood of means equal to y if parameters of the family were estimated, else 0.

        Objectives of fits with different parameters of the family are compared after subtracting it.
        """
        if not self.family_parameters:
            return 0.0
        kind, y = "frequency" if self.frequency else "precision", self.observations.y
        return saturated_log_likelihood(self.problem.response, y, self.observations.weight, 1.0, kind)

    def with_parameters(self, theta: Array) -> FittedModel:
        """Return the model at other coefficients, with the parameters of the family estimated anew, if they were."""
        moved = replace(self, theta=theta)
        if not self.family_parameters:
            return moved
        return moved.with_family(NegativeBinomial(r=1 / max(estimate_theta(self.problem, theta), 1 / LARGEST_R)))

    def with_family(self, family: Family) -> FittedModel:
        return replace(self, rows=MeanRows(Response(family, self.problem.response.link)))

    def at(self, theta: Array, order: int = HESSIAN) -> Slope:
        """Return the penalised losses at other parameters, with gradient and expected Hessian as `order` requires."""
        if isinstance(self.rows, MeanRows):
            return self.problem.at(theta, order)
        moved, pull = replace(self, theta=theta), self.strengths.l2 * (theta - self.strengths.mean)
        y, eta, weight = self.observations.y, moved.eta, self.weight
        value = float(weight @ self.rows.losses(y, eta)) + 0.5 * float(pull @ (theta - self.strengths.mean))
        slopes = weight[:, None] * self.rows.slopes(y, eta) if order >= GRADIENT else np.zeros((0, 0))
        gradient = self.observations.design.rmatvec(slopes).T.ravel() + pull if order >= GRADIENT else slopes
        hessian = moved.curvature() + np.diag(self.strengths.l2) if order == HESSIAN else np.zeros((0, 0))
        return Slope(value, gradient, hessian)

    def score_at(self, theta: Array) -> Array:
        """Return the gradient of the objective."""
        return firth.evaluate_firth(self.problem, theta).gradient if self.firth else self.at(theta, GRADIENT).gradient

    @cached_property
    def weight(self) -> Array:
        given = self.observations.weight
        return np.ones(len(self.observations)) if given is None else given

    @cached_property
    def n(self) -> float:
        """Number of observations: the sum of frequencies, or the number of rows of positive weight."""
        return float(self.own_weight.sum() if self.frequency else np.count_nonzero(self.weight))

    @cached_property
    def each(self) -> Array:
        """Weight of a row without a given weight: 1, or its number of trials."""
        return np.ones(len(self.observations)) if self.trials is None else self.trials

    @cached_property
    def own_weight(self) -> Array:
        """The given weights of the rows, without trials."""
        return np.divide(self.weight, self.each, out=np.zeros(len(self.weight)), where=self.each > 0)

    @property
    def coefficients(self) -> Array:
        return np.asarray(self.to_user @ self.theta)

    def predictors_at(self, theta: Array) -> Array:
        """Return η of every row, of shape (rows, predictors)."""
        w = theta.reshape(self.rows.predictors, -1).T
        eta = self.observations.design.matvec(w)
        return eta if self.observations.offset is None else eta + self.observations.offset[:, None]

    @cached_property
    def eta(self) -> Array:
        return self.predictors_at(self.theta)

    def information(self, *, observed: bool = False) -> Array:
        """Return the information of the free parameters, including that of the prior."""
        matrix = self.curvature(observed=observed) + np.diag(self.strengths.l2)
        return np.asarray(self.free.T @ matrix @ self.free)

    def curvature(self, *, observed: bool = False) -> Array:
        """Return Xᵀ diag(h) X of all parameters."""
        of_rows = self.rows.curvatures(self.observations.y, self.eta, observed=observed)
        return self._blocks(lambda a, b: self.weight * of_rows(a, b))

    @property
    def slopes(self) -> Array:
        """∂loss/∂η of each row, of shape (rows, predictors)."""
        return self.rows.slopes(self.observations.y, self.eta)

    def scores_squared(self, factor: Array, slopes: Array) -> Array:
        """Return Σ factor · s sᵀ of the free parameters, where s = slope ⊗ x of each row."""
        squares = self._blocks(lambda a, b: factor * slopes[:, a] * slopes[:, b])
        return np.asarray(self.free.T @ squares @ self.free)

    def _blocks(self, h: Callable[[int, int], Array]) -> Array:
        """Return Xᵀ diag(h) X for each pair of predictors, by one pass over the data for each, without copies."""
        k, design = self.rows.predictors, self.observations.design
        matrix = np.zeros((k, design.n_columns, k, design.n_columns))
        for a in range(k):
            for b in range(a + 1):
                matrix[a, :, b] = design.gram(h(a, b))
                matrix[b, :, a] = matrix[a, :, b].T
        return matrix.reshape(len(self.theta), -1)


def squared_lengths(design: Matrix, root: Array) -> Array:
    """Return |xᵀ root|² of every row, without a copy of the design."""

    def compute_block(block: slice) -> Array:
        return np.concatenate([np.square(tile.matvec(root)).sum(axis=1) for _, tile in design.rows(block).tiles()])

    return np.concatenate([np.zeros(0), *ordered_stream(compute_block, design.dense_blocks())])
