"""Newton's method with few Hessians: it starts at the fit to a sample, and corrects an old Hessian by gradients.

A pass over the data for the gradient costs a fraction of one for the Hessian. The algorithm:

1. Fit a sample of the rows, and begin at its minimiser with its Hessian H, scaled to all rows.
2. Step s = −H⁻¹g with the last computed H, corrected by the changes of the gradient since then (Nocedal's two-loop
   recursion, started from the factorised Hessian).
3. Halve s until the objective falls by a portion of what the slope predicts (Armijo's condition).
4. Compute H anew where a step no longer shortens the gradient as it should.
5. Stop where λ = √(gᵀH⁻¹g) / √φ is at most the tolerance (`NewtonDescent.has_converged`).
6. With a link that is not canonical, H is the expected Hessian. If its steps lead too far, they are replaced by steps
   with an upper bound of the Hessian, then with the observed one (`NewtonDescent._step_by_observed_hessian`).

λ is the distance to the minimiser in standard errors; the objective is about φλ²/2 above its minimum.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import LENGTH_TOLERANCE, Certificate, Solution, gradient_certificate
from mercer.optim.curvature import EPSILON, Curvature
from mercer.optim.descent import MAX_STEP_HALVINGS, Callback, Descent, descend, halve_step, rounding_above
from mercer.optim.krylov import newton_direction
from mercer.optim.problem import Problem, RowSlopes, Slope, evaluate
from mercer.report.wording import format_count
from mercer.stats.quadratic import GRADIENT, HESSIAN

#: default limit for the number of Newton steps
MAX_NEWTON_ITERATIONS = 100
#: share of the rows in a sample
SAMPLE_SHARE = 1 / 16
#: tolerance for a sample, in its own standard errors
SAMPLE_TOLERANCE = 1e-2
#: rows below which a gradient costs as much as a Hessian
ALWAYS_HESSIAN = 5_000
#: columns up to which reading rows of a source takes longer than their Hessian
STREAMED_HESSIAN = 300
#: a step that leaves more than this share of the gradient was made with an outdated Hessian
POOR_STEP = 0.2
#: pairs of steps and changes of the gradient that correct an old Hessian
HESSIAN_MEMORY = 8
#: halvings of a step before it is divided by 16, since gradients of e²⁰⁰ make steps 2³⁰⁰ times too long
SINGLE_HALVINGS = 10
#: a step has to lower the objective by this portion of what its slope promises (Armijo)
ARMIJO_SHARE = 1e-4
#: halvings of a step by the expected Hessian after which it is replaced by one that bounds the Hessian from above
FEW_HALVINGS = 6
#: a step by that bound is doubled if the objective falls by this portion of its linear prediction: a quadratic falls by
#: 0.5, an exponential by more
NEARLY_LINEAR_FALL = 0.6
#: doublings of such a step
MOST_DOUBLINGS = 12
#: after a fall of the objective below this portion, corrections from earlier points are dropped
LARGE_FALL = 0.9
#: relative error of a step, and of the length of a gradient, by products with the Hessian
LENGTH_ERROR = 0.1
#: products with the observed Hessian for such a step
MAX_OBSERVED_PRODUCTS = 100


class NewtonSampling(NamedTuple):
    """Options for the sample of the rows whose minimiser is the start."""

    #: smallest number of rows
    smallest: int = 10_000
    #: smallest number of rows per column
    per_column: int = 100
    #: rows from which on the fit to the sample begins at the fit to a smaller sample
    nested: int = 250_000
    #: maximum number of Newton steps for the sample
    most_steps: int = MAX_NEWTON_ITERATIONS


#: the default sample
SAMPLING = NewtonSampling()


def solve(
    problem: Problem,
    start: Array | None = None,
    *,
    tolerance: float = LENGTH_TOLERANCE,
    most_steps: int = MAX_NEWTON_ITERATIONS,
    callback: Callback | None = None,
    sampling: NewtonSampling = SAMPLING,
) -> Solution:
    """Minimise a smooth problem.

    Parameters
    ----------
    problem : Problem
        Its penalty must have no absolute values.
    start : array, optional
        Initial coefficients; the minimiser of a sample of the rows by default.
    tolerance : float
        Upper bound for λ, in standard errors.
    most_steps : int
        Maximum number of steps; beyond it the certificate does not hold.
    callback : callable, optional
        Called with a `Step` at the start and after each iteration.
    sampling : NewtonSampling
        Options for the sample that gives the start.

    Returns
    -------
    solution : Solution
        `coef` has the working coefficients.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # overflow leads to a certificate of NaN
        return descend(NewtonDescent(problem, start, tolerance, sampling), max_iter=most_steps, callback=callback)


@dataclass(frozen=True, eq=False)
class NewtonSample:
    """Coefficients that fit a sample of the rows, and the curvature there, scaled to all rows."""

    w: Array
    curvature: Curvature


def sample_start(
    problem: Problem, tolerance: float = SAMPLE_TOLERANCE, sampling: NewtonSampling = SAMPLING
) -> NewtonSample | None:
    """Fit evenly spaced rows; return None if a sample saves no time, or if it has no minimum."""
    n = len(problem.observations)
    rows = max(sampling.smallest, sampling.per_column * problem.n_columns, int(SAMPLE_SHARE * n))
    some = problem.observations.some(rows, of=4)
    if some is None:
        return None
    share = len(some) / n
    tolerance = tolerance if share < 1 else LENGTH_TOLERANCE
    start = None if len(some) >= sampling.nested else problem.start()
    descent = NewtonDescent(problem.on(some), start, tolerance, sampling)
    descend(descent, max_iter=sampling.most_steps).require_completion()
    if not (descent.is_short and (descent.is_fresh or descent.refresh())):
        return None  # the sample has no minimum, perhaps being separable
    return NewtonSample(descent.w, descent.curvature.scaled_by(1 / share))


def is_hessian_cheap(problem: Problem) -> bool:
    """Return whether a Hessian costs no more than the pass over the rows that it takes."""
    if problem.observations.streamed:
        return problem.n_columns <= STREAMED_HESSIAN
    return len(problem.observations) < ALWAYS_HESSIAN


class NewtonDescent(Descent):
    """Newton steps from a start."""

    point: Slope

    def __init__(
        self, problem: Problem, start: Array | None, tolerance: float, sampling: NewtonSampling = SAMPLING
    ) -> None:
        self._problem, self.tolerance = problem, tolerance
        self._reuses_hessian = not is_hessian_cheap(problem)
        self._bounding = self._is_measured = False
        #: whether the Hessian in use is the expected one, which may be wrong by a factor even near the optimum, so that
        #: corrections by earlier steps are kept with a new one
        self._is_expected = not getattr(problem, "exact_hessian", True)
        sample = sample_start(problem, sampling=sampling) if start is None else None
        self._model = CorrectedHessian(Curvature.of(np.eye(problem.n_columns)) if sample is None else sample.curvature)
        begin = problem.start() if start is None else np.array(start, dtype=float)
        w = begin if sample is None else sample.w
        # a direction without curvature in the sample needs the Hessian of all rows
        known = sample is not None and sample.curvature.definite
        self._arrive(w, self._slope(w, GRADIENT if known and self._reuses_hessian else HESSIAN))

    @property
    def coef(self) -> Array:
        return self.w

    def _slope(self, w: Array, order: int) -> Slope:
        """Evaluate the problem at `w`; the Hessian is an upper bound after steps by the expected one were too long."""
        if not (self._bounding and order == HESSIAN):
            return evaluate(self._problem, w, order)
        here = evaluate(self._problem, w, GRADIENT)
        rows = self._problem.row_slopes(w)
        return here._replace(hessian=rows.hessian(rows.bound))

    def _arrive(self, w: Array, here: Slope) -> None:
        """Make `w` the present point; its Hessian, if it has one, replaces older ones."""
        self.w, self.point, self._is_measured = w, here, False
        self.is_fresh = bool(here.hessian.size and np.isfinite(here.hessian).all())
        if self.is_fresh:
            self._model = CorrectedHessian(Curvature.of(here.hessian), self._model if self._is_expected else None)
        with np.errstate(over="ignore", invalid="ignore"):  # where there is next to no curvature
            self._step = self._model.step(here.gradient)
            squared = np.maximum(0.0, -here.gradient @ self._step)  # NaN stays NaN
        self.distance = float(np.sqrt(squared)) / self._problem.unit(here.value)

    @property
    def curvature(self) -> Curvature:
        """Return the Hessian in use: that of the present point if `is_fresh`."""
        return self._model.curvature

    @property
    def is_short(self) -> bool:
        """True if the gradient is short enough by the Hessian in use."""
        return self.distance <= self.tolerance

    def has_converged(self) -> bool:
        self._verify_length()
        return self.is_short

    def advance(self) -> bool:
        # a new Hessian at the same point counts as a step
        return self._make_step() or self.refresh() or self._step_by_observed_hessian()

    def finish(self) -> None:
        self._verify_length()

    def _verify_length(self) -> None:
        """Measure a short gradient again by the observed Hessian, if that in use is another one.

        Rows that fit badly may have almost no observed curvature, whatever the expected one is; and if curvatures are
        too far apart for float64, the inverse of the Hessian leaves out directions in which the gradient has a part.
        """
        if self.is_short and not self._is_measured and self._problem.is_convex:
            if self._is_expected:
                self._measure_by_observed_hessian()
            elif not self.curvature.definite and hasattr(self._problem, "row_slopes"):
                rounding = self._problem.row_slopes(self.w).gradient_rounding()
                missed = self.curvature.length_outside_range(self.point.gradient, rounding)
                self.distance = max(self.distance, missed / self._problem.unit(self.point.value))
            self._is_measured = True

    def _measure_by_observed_hessian(self) -> None:
        """Compute the step and the length of the gradient by the observed Hessian.

        It is formed if every step has a new Hessian anyway, or if conjugate gradients would not converge: they need a
        Hessian in use that is close to it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self._problem.row_slopes(self.w)
            is_close = self.curvature.definite and not rows.is_far_apart
            formed = None if self._reuses_hessian and is_close else rows.length(self.point.gradient)
            if formed is None:
                length, self._step = self._measure_by_products(rows)
            else:
                length, self._step = formed[0], -formed[1]
        self.distance = length / self._problem.unit(self.point.value)

    def _measure_by_products(self, rows: RowSlopes) -> tuple[float, Array]:
        """Return length and step by conjugate gradients, preconditioned by the Hessian in use."""
        step = newton_direction(
            lambda v, _: rows.product(v),
            self.curvature.solve,
            -self.point.gradient,
            tolerance=lambda length: LENGTH_ERROR,
            most_steps=MAX_OBSERVED_PRODUCTS,
        )
        if not step.steps and step.left > 0:  # no curvature along the gradient
            return step.left / float(np.sqrt(np.finfo(float).tiny)), self._step
        return float(np.sqrt(abs(self.point.gradient @ step.value) + step.left)), step.value

    def _step_by_observed_hessian(self) -> bool:
        """Take a step by a bound of the Hessian, or by the observed one, if the expected one does not lead down."""
        if not (self._is_expected and self._problem.is_convex):
            return False
        if not self._bounding and not self._problem.observations.streamed:
            self._bounding, self._reuses_hessian = True, False
            self._model = CorrectedHessian(self._model.curvature)  # corrections of the expected Hessian do not apply
            self._arrive(self.w, self._slope(self.w, HESSIAN))
            if self.is_fresh and self._make_step():
                return True
        self._measure_by_observed_hessian()
        return self._make_step()

    def _make_step(self) -> bool:
        """Take one step, halved until the objective falls enough; return False if it never does."""
        before, length = self.point, self.distance
        slope = max(0.0, -float(before.gradient @ self._step))
        replaceable = self._is_expected and self._problem.is_convex and not self._problem.observations.streamed
        most = FEW_HALVINGS if replaceable and not self._bounding and not self._is_measured else MAX_STEP_HALVINGS
        found = halve_step(
            lambda share: self._slope(
                self.w + share * self._step, GRADIENT if self._reuses_hessian or share < 1 else HESSIAN
            ),
            rounding_above(before.value),
            promised=ARMIJO_SHARE * slope,
            max_halvings=most,
            single_halvings=SINGLE_HALVINGS,
        )
        if found is None:
            return False
        there, self.step_length = found
        step, is_shortened = self.step_length * self._step, self.step_length < 1
        rounding = rounding_above(before.value) - before.value
        if self._bounding and not is_shortened and before.value - there.value > NEARLY_LINEAR_FALL * slope > rounding:
            step, there = self._prolong(step, there, slope)
        if self._bounding and there.value < LARGE_FALL * before.value:  # corrections from far away do not apply
            self._model = CorrectedHessian(self.curvature)
        else:
            self._model.remember(step, there.gradient - before.gradient)
        self._arrive(self.w + step, there)
        is_poor = is_shortened or self._bounding or self.distance > POOR_STEP * length
        if is_poor and not self.is_fresh and not self.is_short:
            self.refresh()
        return True

    def _prolong(self, step: Array, there: Slope, slope: float) -> tuple[Array, Slope]:
        """Double the step while the objective falls almost as its slope predicts."""
        for doublings in range(1, MOST_DOUBLINGS + 1):
            farther = evaluate(self._problem, self.w + 2 * step, GRADIENT)
            fallen = self.point.value - farther.value
            if not farther.value < there.value:
                break
            step, there = 2 * step, farther
            if not fallen > NEARLY_LINEAR_FALL * 2.0**doublings * slope and not there.value < 0.5 * self.point.value:
                break
        return step, there

    def refresh(self) -> bool:
        """Compute the Hessian of this point; return False if it is in use already."""
        if self.is_fresh:
            return False
        self._arrive(self.w, self._slope(self.w, HESSIAN))
        return True

    def certificate(self) -> Certificate:
        how, value = f"√(gᵀH⁻¹g), after {format_count(self.n_iter, 'Newton step')}", self.point.value
        with np.errstate(over="ignore", invalid="ignore"):
            # slopes have the rounding error of η and of the losses, the objective its own
            rounded = EPSILON * np.hypot(self.curvature.norm(self.w), np.sqrt(2 * abs(value)))
            fall = 0.5 * (self.distance * self._problem.unit(value) + rounded) ** 2 + EPSILON * abs(value)
        return gradient_certificate(
            self.distance, self.tolerance, how, is_convex=self._problem.is_convex, fall=float(fall)
        )


class CorrectedHessian:
    """A Hessian that was computed once, corrected by the steps since then (L-BFGS)."""

    def __init__(self, curvature: Curvature, before: CorrectedHessian | None = None) -> None:
        self.curvature = curvature
        self._memory: deque[tuple[Array, Array]] = deque(maxlen=HESSIAN_MEMORY) if before is None else before._memory

    def remember(self, step: Array, change: Array) -> None:
        """Remember a step and the change of the gradient, if the curvature along it is positive."""
        if step @ change > 0:
            self._memory.append((step, change))

    def step(self, gradient: Array) -> Array:
        """Return −H⁻¹ g by the two-loop recursion."""
        q, shares = np.array(gradient), []
        for step, change in reversed(self._memory):
            shares.append((step @ q) / (step @ change))
            q -= shares[-1] * change
        q = self.curvature.solve(q)
        for (step, change), share in zip(self._memory, reversed(shares), strict=True):
            q += (share - (change @ q) / (step @ change)) * step
        return -q
