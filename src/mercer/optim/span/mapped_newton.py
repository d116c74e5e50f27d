"""Newton's method for many rows on the features of a map, ψ(x) = Bᵀ t(x), that are never stored.

1. Start at the fit of a sample of the rows, with λ decreasing to its value (Marteau-Ferey, Bach and Rudi 2019).
2. Find a Newton step by conjugate gradients, preconditioned by the curvature of a sample. A product Zᵀ W Z v is one
   pass over the rows, by tiles of float32 if these are precise enough.
3. Halve the step until the objective does not rise.
4. Stop if the gradient, measured by the Hessian in standard errors as in `newton`, is short enough. The last gradient
   is computed in float64, or in float32 if float64 on a sample shows that rounding is a small part of the tolerance:
   that part is added to the length.

For least squares every step corrects the rounding errors of the previous one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.matrices.mapped import KeptTiles, MappedMatrix
from mercer.matrices.mapped_tensors import MappedTensors
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, gradient_certificate
from mercer.optim.descent import OBJECTIVE_ROUNDING, Callback, Descent, descend, halve_step
from mercer.optim.krylov import NewtonDirection, newton_direction
from mercer.optim.newton import MAX_NEWTON_ITERATIONS
from mercer.optim.span.losses import RowLosses
from mercer.optim.span.mapped_curvature import (
    Inverse,
    SampledInverse,
    curvature_sample,
    sample_numbers,
    sample_weights,
    sampled_preconditioner,
)
from mercer.optim.span.newton import SUM_OBJECTIVE_ROUNDING
from mercer.report.wording import format_count


@dataclass(frozen=True, eq=False)
class MappedProblem:
    """Minimise Σ weight · loss(y, ψ(x)ᵀw + b + offset) + Σ λ/2 ‖w‖² over w and b, with one λ for each output."""

    design: MappedMatrix | MappedTensors
    losses: RowLosses
    strengths: Array  # (outputs,)
    #: lower bound for the noise: smaller residuals are rounding
    least_noise: float = 0.0

    def pull(self, w: Array) -> Array:
        """Return the gradient of the penalty: λ w, and 0 for the intercepts."""
        return np.asarray(self.strengths * self.design.metric(w))

    def slopes(self, rows: slice, eta: Any) -> Any:
        """Return the slopes of the losses of some rows at their values: an array, or a tensor on their device."""
        return self.losses.part(rows).slopes(eta)[0]

    def sample_rows(self, rows: Array) -> MappedProblem:
        """Return the problem of some rows, with their share of the penalty."""
        share = len(rows) / self.design.n_rows
        return replace(
            self, design=self.design.take(rows), losses=self.losses.part(rows), strengths=share * self.strengths
        )


# Rounding errors of gradients by tiles of float32

#: one in this many rows is sampled for an estimate of the rounding error
ROUNDING_SAMPLE = 32
#: safety factor for the estimate
ROUNDING_MARGIN = 1.5


def estimate_rounding(
    problem: MappedProblem, inverse: Inverse | None, w: Array, *, one_in: int = ROUNDING_SAMPLE
) -> float:
    """Estimate the length of the rounding error of a gradient by tiles of float32, measured by the Hessian.

    n/m times the error of m random rows has the error of all rows as its mean, so that its mean square is at least the
    square of that. The estimate requires `is_even`. It is infinite if there is none.

    Parameters
    ----------
    problem : MappedProblem
        The problem of all rows.
    inverse : Inverse
        Approximate inverse of the Hessian.
    w : array of shape (columns, outputs)
        The point of the gradient.
    one_in : int
        One in this many rows is sampled.
    """
    design, n = problem.design, problem.design.n_rows
    if not (isinstance(design, MappedMatrix) and isinstance(design.tiles, KeptTiles)):
        return np.inf
    if design.rough == np.float64 or inverse is None or n < one_in:
        return np.inf
    some = np.sort(np.random.default_rng(1).choice(n, n // one_in, replace=False))
    few = replace(problem, design=replace(design, tiles=design.tiles.source)).sample_rows(some)
    if few.design.rough == np.float64:  # few rows are not stored in float32
        return np.inf
    _, rough = few.design.swept(w, few.slopes, exactly=False)
    _, exact = few.design.swept(w, few.slopes)
    error = (rough - exact) * (n / len(some))
    return ROUNDING_MARGIN * float(np.sqrt(np.vdot(error, inverse.matvec(error))))


def is_even(problem: MappedProblem, eta: Array, *, one_in: int = ROUNDING_SAMPLE) -> bool:
    """Return whether rounding errors at η are spread so evenly over the rows that a sample estimates them.

    The error of row i is about u (h‖t‖² ‖c‖ + |slope| ‖t‖), with its weight or curvature h: no row may have so much of
    it that a sample of one in `one_in` rows, without this one, would give another estimate.
    """
    design = problem.design
    if not (isinstance(design, MappedMatrix) and isinstance(design.tiles, KeptTiles)):
        return False
    first, bend = problem.losses.slopes(eta)
    sizes, h = np.sqrt(design.tiles.squares), bend.typical
    with np.errstate(over="ignore", invalid="ignore"):
        shares = (np.abs(first).sum(axis=1) * sizes, h * sizes, h * sizes**2)
        return all(0 < one_in**2 * share.max(initial=0.0) <= share.sum() < np.inf for share in shares)


# The descent

#: largest relative error of a step
LOOSEST_STEP = 0.3
#: relative rounding error of an objective by tiles of float32
SINGLE_OBJECTIVE_ROUNDING = 1e-7
#: tolerance for the fit of a sample, in standard errors
MAPPED_SAMPLE_TOLERANCE = 0.1
#: steps for the fit of a sample
MAPPED_SAMPLE_STEPS = 10
#: rows per column of the sample that gives the start
START_ROWS = 10
#: factor by which λ falls from one step to the next
STRENGTH_FALL = 100.0
#: number of such falls
MAX_STRENGTH_FALLS = 3
#: conjugate gradient steps after which a Newton step is used as it is
MAX_MAPPED_PRODUCTS = 100
#: conjugate gradient steps above which the preconditioner of an earlier point is replaced
STALE_INVERSE_STEPS = 15
#: a step near the optimum that leaves more than this share of the gradient is dominated by rounding of float32
SPOILT_GRADIENT = 0.5
#: length of the gradient, in standard errors, that counts as near: Newton's method needs one or two more steps
NEAR_LENGTH = 0.1
#: portion of the tolerance that rounding of float32 may take
ROUNDED_SHARE = 0.6
#: length of a gradient, in standard errors, that is accepted if rounding of float64 prevents a shorter one
NEGLIGIBLE_LENGTH = 1e-4


class MappedPoint(NamedTuple):
    """Coefficients, the values of the rows, the objective and its gradient."""

    w: Array
    eta: Array
    value: float
    gradient: Array
    #: length of the rounding error of a gradient by tiles of float32, measured by the Hessian
    rounded: float = 0.0
    #: whether values and objective are computed by tiles of float32
    single: bool = False


class MappedFit(NamedTuple):
    """Coefficients of the columns for each output, and the values of the rows, without offset."""

    w: Array
    values: Array


def solve(
    problem: MappedProblem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
    start_rows: int = START_ROWS,
    sample: Array | None = None,
) -> Solution:
    """Minimise a problem.

    Parameters
    ----------
    problem : MappedProblem
        Its strengths must be above 0.
    start : array of shape (columns, outputs), optional
        Initial coefficients; the fit of a sample by default.
    tolerance : float
        Upper bound for the length of the gradient, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    start_rows : int
        Rows per column of the sample that gives the start.
    sample : integer array, optional
        The rows whose curvature preconditions the steps; `curvature_sample` by default.

    Returns
    -------
    solution : Solution
        `coef` is a `MappedFit`.
    """
    descent = MappedNewtonDescent(problem, tolerance, start, start_rows=start_rows, sample=sample)
    return descend(descent, max_iter=most_steps, callback=callback)


class MappedNewtonDescent(Descent):
    """Newton steps from a start, in float32 or float64.

    One in `one_in` rows is sampled for an estimate of the rounding error of float32.
    """

    point: MappedPoint

    def __init__(
        self,
        problem: MappedProblem,
        tolerance: float,
        start: Array | None = None,
        *,
        start_rows: int = START_ROWS,
        sample: Array | None = None,
        one_in: int = ROUNDING_SAMPLE,
    ) -> None:
        design = problem.design
        self._problem, self.tolerance, self._given = problem, tolerance, start
        self._start_rows, self._one_in = start_rows, one_in
        self._sample = curvature_sample(design.n_rows, design.n_columns) if sample is None else sample
        self._inverse: Inverse | None = None
        #: whether gradients, and products with the Hessian, are computed by tiles of float64
        self._exact_gradient = self._exact_product = design.rough == np.float64
        self._last_gain, self._stuck, self._unit = LOOSEST_STEP, False, 0.0
        #: whether gradients by float32 are dominated by rounding
        self._spent = False
        #: whether the present step was found by products of float64
        self._exact_step = False
        self.distance = np.inf
        #: whether the first point has been evaluated
        self._has_begun = False
        self.point = MappedPoint(self._level(), np.zeros((design.n_rows, problem.losses.outputs)), np.inf, np.zeros(0))

    def _level(self) -> Array:
        w = np.zeros((self._problem.design.n_columns, self._problem.losses.outputs))
        if self._problem.design.intercept:
            w[-1] = self._problem.losses.start()
        return w

    @property
    def coef(self) -> MappedFit:
        return MappedFit(self.point.w, self.point.eta)

    def begin(self) -> None:
        """Evaluate the first point, the given start or the fit of a sample, and find the first step."""
        if not self._has_begun:
            self.evaluate_start()
        self._step = self._find_step()
        # for least squares the step predicts the next gradient, so that float32 would add nothing
        self._exact_gradient = self._exact_gradient or (self._problem.losses.quadratic and not self.is_short)

    def evaluate_start(self) -> None:
        """Evaluate the given start, or the fit of a sample."""
        w, problem = self._start() if self._given is None else self._given, self._problem
        design, swept = problem.design.swept_and_kept(w, problem.slopes)
        self._problem = replace(problem, design=design)
        self.point = self._point_of(w, swept, single=design.rough == np.float32)
        if not np.isfinite(self.point.value):
            self.point = self._exactly_here()
        self._has_begun = True

    def _start(self) -> Array:
        problem, n = self._problem, self._problem.design.n_rows
        if problem.losses.quadratic:
            return self._level() if len(self._sample) == n else self._start_of_sample()
        few = sample_numbers(n, self._start_rows * problem.design.n_columns)
        return self._level() if len(few) == n else _fit_with_falling_strength(problem.sample_rows(few))

    def _start_of_sample(self) -> Array:
        """Return the least squares fit of the rows that the preconditioner is made of."""
        problem, w, sample = self._problem, self._level(), self._sample
        if not isinstance(problem.design, MappedMatrix):
            return w
        _, bend = problem.losses.slopes(self.point.eta)
        few, h = problem.sample_rows(sample), sample_weights(sample, bend.typical)
        total = float(bend.typical[sample].sum())
        design, (_, gradient) = few.design.swept_and_kept(w, few.slopes)
        assert isinstance(design, MappedMatrix)
        self._inverse = SampledInverse(design.gram(h), design.n_features, problem.strengths)
        return w - self._inverse.matvec(gradient * (float(h.sum()) / total)) if total > 0 else w

    def penalise(self, strengths: Array) -> None:
        """Continue with other strengths."""
        before, self._problem = self._problem, replace(self._problem, strengths=strengths)
        gradient = self.point.gradient + self._problem.pull(self.point.w) - before.pull(self.point.w)
        self.point = self.point._replace(value=self._evaluate(self.point.w, self.point.eta), gradient=gradient)
        self._inverse = None if self._inverse is None else self._inverse.with_penalties(strengths)
        self._last_gain = LOOSEST_STEP

    def _point(self, w: Array) -> MappedPoint:
        problem = self._problem
        if self._exact_gradient and (rounded := self._rounded(w)) <= ROUNDED_SHARE * self.tolerance * self._unit:
            swept = problem.design.swept(w, problem.slopes, exactly=False)
            point = self._point_of(w, swept, rounded, single=True)
            if is_even(problem, point.eta, one_in=self._one_in):
                return point
        swept = problem.design.swept(w, problem.slopes, exactly=self._exact_gradient)
        return self._point_of(w, swept, single=not self._exact_gradient)

    def _rounded(self, w: Array) -> float:
        """Return the length of the rounding error of a gradient by float32; infinite if float64 is to be used."""
        wanted = not self._exact_product and is_even(self._problem, self.point.eta, one_in=self._one_in)
        return estimate_rounding(self._problem, self._inverse, w, one_in=self._one_in) if wanted else np.inf

    def _point_of(self, w: Array, swept: tuple[Array, Array], rounded: float = 0.0, *, single: bool) -> MappedPoint:
        eta, gradient = swept
        return MappedPoint(w, eta, self._evaluate(w, eta), gradient + self._problem.pull(w), rounded, single)

    def _evaluate(self, w: Array, eta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._problem.losses.value(eta) + 0.5 * float(np.vdot(self._problem.pull(w), w))

    @property
    def is_short(self) -> bool:
        """True if the gradient is short enough."""
        return self.distance <= self.tolerance

    def has_converged(self) -> bool:
        """Return whether the gradient is short enough, confirmed by float64 if it was computed in float32."""
        return self.is_short and self._exact_gradient

    def advance(self) -> bool:
        before = self.distance
        if self.is_short or self._spent or not self._search_along(self._step.value):
            return False
        self._step = self._find_step()
        self._judge(before)
        return True

    def refine(self) -> bool:
        """Replace float32 by float64, first in gradients, then in products; return False if both are done."""
        if not self._exact_gradient:
            self.point, self._spent = self._exactly_here(), False
        elif self._exact_step:
            self._stuck = True
            return False
        else:
            self._exact_product = True
        self._step = self._find_step()
        self._judge(np.inf)
        return True

    def finish(self) -> None:
        if self.is_short and not self._exact_gradient:
            self.point = self._exactly_here()
            self._find_step()

    def _exactly_here(self) -> MappedPoint:
        self._exact_gradient = True
        point = self._point(self.point.w)
        if not np.isfinite(point.value):  # float32 missed that a mean is outside the range of the link
            point = self._point(self._level())
        return point

    def _judge(self, before: float) -> None:
        """Decide by the decrease of the gradient whether float32 is still precise enough."""
        if 0 < before < np.inf:
            self._last_gain = self.distance / before
            self._exact_product = self._exact_product or (self._last_gain > SPOILT_GRADIENT and self._exact_gradient)
            self._spent = self._last_gain > SPOILT_GRADIENT and self.distance < NEAR_LENGTH and not self._exact_gradient

    def _find_step(self) -> NewtonDirection:
        """Return the Newton step at the present point, and measure the length of the gradient."""
        problem, gradient = self._problem, self.point.gradient
        _, bend = problem.losses.slopes(self.point.eta)
        fresh = self._inverse is None
        if self._inverse is None:
            self._inverse = sampled_preconditioner(problem.design, self._sample, bend, problem.strengths)
        self._unit = unit = max(problem.losses.unit(self.point.value), problem.least_noise)

        def product(V: Array, _: Array) -> Array:
            return problem.design.curved(bend, V, exactly=self._exact_product) + problem.pull(V)

        self._exact_step = self._exact_product
        step = newton_direction(
            product,
            self._inverse.matvec,
            -gradient,
            tolerance=lambda length: self._enough(length / unit),
            most_steps=MAX_MAPPED_PRODUCTS,
        )
        if step.steps > STALE_INVERSE_STEPS and not fresh:
            self._inverse = None
        length = (float(np.sqrt(abs(float(np.vdot(gradient, step.value))) + step.left)) + self.point.rounded) / unit
        self.distance = length if np.isfinite(length) and np.isfinite(self.point.value) else np.inf
        return step

    def _enough(self, length: float) -> float:
        """Return the relative error allowed in a step: that which the next step would have anyway."""
        wanted = LOOSEST_STEP * self.tolerance / length if length > 0 else LOOSEST_STEP
        curved = 0.0 if self._problem.losses.quadratic else min(0.1, self._last_gain**2)
        return float(np.clip(max(wanted, curved), self._problem.design.digits, LOOSEST_STEP))

    def _search_along(self, step: Array) -> bool:
        """Take the step or, if the objective rises, a portion of it; return False if it always rises."""
        here, squared = self.point, abs(float(np.vdot(self.point.gradient, step)))
        whole = self._point(here.w + step)
        # a step that lowers the objective by less than rounding must not be rejected because of rounding
        rounded = SINGLE_OBJECTIVE_ROUNDING if here.single or whole.single else SUM_OBJECTIVE_ROUNDING
        slack = (rounded if squared < rounded * abs(here.value) else OBJECTIVE_ROUNDING) * abs(here.value)

        def try_portion(share: float) -> MappedPoint:
            if share == 1:
                return whole
            w, eta = here.w + share * step, here.eta + share * (whole.eta - here.eta)
            return whole._replace(w=w, eta=eta, value=self._evaluate(w, eta))

        found = halve_step(try_portion, here.value + slack)
        if found is None:
            return False
        self.point = whole if found.length == 1 else self._point(found.point.w)
        self.step_length = found.length
        return True

    def certificate(self) -> Certificate:
        how = f"√(gᵀH⁻¹g), after {format_count(self.n_iter, 'Newton step')}"
        if self.point.rounded > 0:
            rounded = self.point.rounded / self._unit
            how += f"; {rounded:.2g} of it is an estimate of what float32 does to g, "
            how += f"by float64 on one in {self._one_in} rows"
        tolerance = self.tolerance
        if self._stuck and tolerance < self.distance <= NEGLIGIBLE_LENGTH:
            tolerance = NEGLIGIBLE_LENGTH
            how += f"; the tolerance is {self.tolerance:.2g}, but rounding of float64 prevents a smaller value"
        return gradient_certificate(
            self.distance,
            tolerance,
            how,
            is_convex=self._problem.losses.is_convex,
            target="the optimum of the approximate problem",
        )


def _fit_with_falling_strength(problem: MappedProblem) -> Array:
    """Return the coefficients of a sample, approached by decreasing penalties."""
    few = MappedNewtonDescent(problem, MAPPED_SAMPLE_TOLERANCE)
    few.evaluate_start()
    for factor in _falling_factors(problem, few.point.eta):
        few.penalise(factor * problem.strengths)
        descend(few, max_iter=1).require_completion()
    few.penalise(problem.strengths)
    return np.asarray(descend(few, max_iter=MAPPED_SAMPLE_STEPS).require_completion().coef.w)


def _falling_factors(problem: MappedProblem, eta: Array) -> Array:
    """Return the factors of λ, beginning where it outweighs the typical curvature."""
    _, bend = problem.losses.slopes(eta)
    top = float(bend.typical.sum()) / max(1, problem.design.n_features)
    falls = np.ceil(np.log(max(top / float(problem.strengths.min()), 1.0)) / np.log(STRENGTH_FALL))
    return np.asarray(STRENGTH_FALL ** np.arange(min(falls, MAX_STRENGTH_FALLS), 0, -1))
