"""Models of many rows on the features of a map, ψ(x) = Bᵀ t(x), that are never written out.

Newton's method for a `MappedProblem`, whose steps are found by conjugate gradients: a product Zᵀ W Z v is one pass over
the rows, by tiles of float32 where they will do. They are preconditioned by the curvature of a sample of the rows, of
which the start is fitted too, with λ decreasing (Marteau-Ferey, Bach and Rudi 2019). The gradient that ends a fit is of
float64, or of float32 where float64 on some of the rows says that rounding is a small part of the tolerance: that part
is counted. Of least squares every step corrects what rounding left of the one before.

The length of the gradient is measured by the Hessian, in standard errors, as in `newton`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.matrices.mapped import KeptTiles, MappedDesign
from mercer.matrices.mapped_tensors import MappedTensors
from mercer.optim.certificate import Progress, Solution, gradient_certificate, keep_on_interrupt
from mercer.optim.krylov import NewtonDirection, newton_direction
from mercer.optim.newton import MOST_HALVINGS, MOST_STEPS, ROUNDING, TOLERANCE, StallMonitor
from mercer.optim.span.losses import RowLosses
from mercer.optim.span.mapped_curvature import Inverse, SampledInverse, sampled_preconditioner, curvature_sample, sample_numbers, sample_weights
from mercer.report.wording import counted

# What is minimised on the features of a map, ψ(x) = Bᵀ t(x), that are never written out.
#
# min over w of  Σ weight · loss(y, ψ(x)ᵀw + b + offset) + Σ λ/2 ‖w‖²,   one λ for each output


@dataclass(frozen=True, eq=False)
class MappedProblem:
    """What is minimised: losses of rows seen through a map, and λ/2 times the squares of coefficients."""

    design: MappedDesign | MappedTensors
    losses: RowLosses
    strengths: Array  # (outputs,)
    #: no noise is smaller: what is left of responses that are fitted exactly is rounding
    least_noise: float = 0.0

    def pull(self, w: Array) -> Array:
        """The gradient of the penalty: λ w, and nothing for the intercepts."""
        return np.asarray(self.strengths * self.design.metric(w))

    def slopes(self, rows: slice, eta: Any) -> Any:
        """Of the losses of some rows, at their values: an array, or a tensor beside theirs."""
        return self.losses.part(rows).slopes(eta)[0]

    def sampled(self, rows: Array) -> MappedProblem:
        """Of some rows, with a penalty that weighs as much beside them as it does beside all."""
        share = len(rows) / self.design.n_rows
        return replace(
            self, design=self.design.take(rows), losses=self.losses.part(rows), strengths=share * self.strengths
        )


# What tiles of float32 do to the gradient of a problem on features, as float64 tells it of some of the rows.
#
# n/m times the error of m rows that are drawn at random is in the mean the error of all rows, so that the mean of its
# square is larger than the square of that. No row may have so much of it that a sample which misses the row would tell
# another story: an error of row i is about u (h‖t‖² ‖c‖ + |slope| ‖t‖), with its weight or curvature h.

#: one of so many rows is looked at, and what they say is multiplied by this, since all may say a little more
ROUNDING_SAMPLE, MARGIN = 32, 1.5


def estimate_rounding(problem: MappedProblem, inverse: Inverse | None, w: Array) -> float:
    """How long the error of a gradient by tiles of float32 is, as the Hessian measures it; infinite if nobody knows.

    Parameters
    ----------
    inverse : Inverse
        Of the Hessian, about.
    w : array of shape (columns, outputs)
        Where the gradient is.
    """
    design, n = problem.design, problem.design.n_rows
    if not (isinstance(design, MappedDesign) and isinstance(design.tiles, KeptTiles)):
        return np.inf
    if design.rough == np.float64 or inverse is None or n < ROUNDING_SAMPLE:
        return np.inf
    some = np.sort(np.random.default_rng(1).choice(n, n // ROUNDING_SAMPLE, replace=False))
    few = replace(problem, design=replace(design, tiles=design.tiles.made)).sampled(some)
    if few.design.rough == np.float64:  # so few that there is no float32 to look at
        return np.inf
    _, rough = few.design.swept(w, few.slopes, exactly=False)
    _, exact = few.design.swept(w, few.slopes)
    error = (rough - exact) * (n / len(some))
    return MARGIN * float(np.sqrt(np.vdot(error, inverse.times(error))))


def is_even(problem: MappedProblem, eta: Array) -> bool:
    """Whether some rows can tell what rounding does to all, where these have the values η."""
    design = problem.design
    if not (isinstance(design, MappedDesign) and isinstance(design.tiles, KeptTiles)):
        return False
    first, bend = problem.losses.slopes(eta)
    sizes, h = np.sqrt(design.tiles.squares), bend.typical
    with np.errstate(over="ignore", invalid="ignore"):
        return all(_is_spread_evenly(share) for share in (np.abs(first).sum(axis=1) * sizes, h * sizes, h * sizes**2))


def describe_rounding(length: float) -> str:
    """In a sentence, of so many standard errors."""
    return f"; {length:.2g} of it is an estimate of what float32 does to g, by float64 on one in {ROUNDING_SAMPLE} rows"


def _is_spread_evenly(share: Array) -> bool:
    return bool(0 < ROUNDING_SAMPLE**2 * share.max(initial=0.0) <= share.sum() < np.inf)


#: what may be left of a step, at most
LOOSE = 0.3
#: rounding of an objective whose values are sums of many terms, by tiles of float64 and of float32
COARSE, SINGLE = 1e-10, 1e-7
#: how closely a sample is fitted, and steps after which it is left at that
SAMPLE_TOLERANCE, SAMPLE_STEPS = 0.1, 10
#: rows for each column to whose fit a start is fitted
START_ROWS = 10
#: λ falls by this factor from one step to the next, and so often at most
FALL, MOST_FALLS = 100.0, 3
#: products after which a Newton step is taken as it is
MOST_PRODUCTS = 100
#: if a preconditioner of an earlier point needs more steps than this, it is made anew
POOR = 15
#: a step that leaves more than this of the gradient was spoilt by rounding of float32, when there are so few standard
#: errors to go that Newton's method takes them in a step or two
SPOILT, NEAR = 0.5, 0.1
#: portion of the tolerance that rounding of float32 may be
ROUNDED = 0.6
#: standard errors that are of no consequence, which rounding may leave
UNSEEN = 1e-4


class MappedPoint(NamedTuple):
    """Coefficients, the values of the rows there, and what is known of the objective."""

    w: Array
    eta: Array
    value: float
    gradient: Array
    #: how long, as the Hessian measures it, the error of the gradient is that comes from tiles of float32
    rounded: float = 0.0
    #: whether values and objective are by tiles of float32
    single: bool = False


class MappedFit(NamedTuple):
    """Coefficients of the columns for each output, and the values of the rows, without offset."""

    w: Array
    values: Array


def solve(
    problem: MappedProblem,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    progress: Progress | None = None,
) -> Solution:
    """Minimise a problem.

    Parameters
    ----------
    problem : MappedProblem
        Its strengths must be above 0.
    start : array of shape (columns, outputs), optional
        Where to begin; by default at the fit of a sample.
    tolerance : float
        How small the gradient has to become, in standard errors.
    most_steps : int
        Steps after which to give up; the certificate then does not hold.
    progress : callable, optional
        Called after each step with its number, the objective and the length of the gradient.

    Returns
    -------
    solution : Solution
        `value` is a `MappedFit`; `trace` has the objective after each step.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the best solution so far.
    """
    descent = MappedNewtonDescent(problem, tolerance, progress)
    with keep_on_interrupt(descent.solution):
        descent.begin(start)
        descent.run(most_steps)
    return descent.solution()


class MappedNewtonDescent:
    """Steps down from a start, one at a time."""

    def __init__(self, problem: MappedProblem, tolerance: float, progress: Progress | None = None) -> None:
        design = problem.design
        self._problem, self._tolerance, self._progress = problem, tolerance, progress
        self._sample = curvature_sample(design.n_rows, design.n_columns)
        self._inverse: Inverse | None = None
        #: whether gradients, and products with the Hessian, are by tiles of float64
        self._exact_gradient = self._exact_product = design.rough == np.float64
        self._last_gain, self._stuck, self._unit = LOOSE, False, 0.0
        #: whether rounding of float32 is all that its gradients still tell
        self._spent = False
        #: whether the step at hand was found by products of float64
        self._exact_step = False
        self.length, self.trace = np.inf, list[float]()
        self._at = MappedPoint(self._level(), np.zeros((design.n_rows, problem.losses.outputs)), np.inf, np.zeros(0))

    def _level(self) -> Array:
        w = np.zeros((self._problem.design.n_columns, self._problem.losses.outputs))
        if self._problem.design.intercept:
            w[-1] = self._problem.losses.start()
        return w

    def begin(self, start: Array | None) -> None:
        """At a start that is given, or the fit of some rows."""
        w, problem = self._start() if start is None else start, self._problem
        design, swept = problem.design.swept_and_kept(w, problem.slopes)
        self._problem = replace(problem, design=design)
        self._at = self._point_of(w, swept, single=design.rough == np.float32)
        self.trace.append(self._at.value)

    def _start(self) -> Array:
        problem, n = self._problem, self._problem.design.n_rows
        if problem.losses.quadratic:
            return self._level() if len(self._sample) == n else self._start_of_sample()
        few = sample_numbers(n, START_ROWS * problem.design.n_columns)
        return self._level() if len(few) == n else _fit_with_falling_strength(problem.sampled(few))

    def _start_of_sample(self) -> Array:
        """The fit by least squares of the rows whose curvature is wanted anyway."""
        problem, w, sample = self._problem, self._level(), self._sample
        if not isinstance(problem.design, MappedDesign):
            return w
        _, bend = problem.losses.slopes(self._at.eta)
        few, h, seen = problem.sampled(sample), sample_weights(sample, bend.typical), float(bend.typical[sample].sum())
        design, (_, gradient) = few.design.swept_and_kept(w, few.slopes)
        assert isinstance(design, MappedDesign)
        self._inverse = SampledInverse(design.gram(h), design.n_features, problem.strengths)
        return w - self._inverse.times(gradient * (float(h.sum()) / seen)) if seen > 0 else w

    def penalise(self, strengths: Array) -> None:
        """Go on with other strengths."""
        before, self._problem = self._problem, replace(self._problem, strengths=strengths)
        gradient = self._at.gradient + self._problem.pull(self._at.w) - before.pull(self._at.w)
        self._at = self._at._replace(value=self._objective(self._at.w, self._at.eta), gradient=gradient)
        self._inverse = None if self._inverse is None else self._inverse.penalised(strengths)
        self._last_gain, self.trace = LOOSE, [self._at.value]

    def _point(self, w: Array) -> MappedPoint:
        problem = self._problem
        if self._exact_gradient and (rounded := self._rounded(w)) <= ROUNDED * self._tolerance * self._unit:
            swept = problem.design.swept(w, problem.slopes, exactly=False)
            point = self._point_of(w, swept, rounded, single=True)
            if is_even(problem, point.eta):
                return point
        swept = problem.design.swept(w, problem.slopes, exactly=self._exact_gradient)
        return self._point_of(w, swept, single=not self._exact_gradient)

    def _rounded(self, w: Array) -> float:
        """How long the error of a gradient by tiles of float32 would be; infinite if that is not to be asked."""
        wanted = not self._exact_product and is_even(self._problem, self._at.eta)
        return estimate_rounding(self._problem, self._inverse, w) if wanted else np.inf

    def _point_of(self, w: Array, swept: tuple[Array, Array], rounded: float = 0.0, *, single: bool) -> MappedPoint:
        eta, gradient = swept
        return MappedPoint(w, eta, self._objective(w, eta), gradient + self._problem.pull(w), rounded, single)

    def _objective(self, w: Array, eta: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self._problem.losses.value(eta) + 0.5 * float(np.vdot(self._problem.pull(w), w))

    @property
    def arrived(self) -> bool:
        return self.length <= self._tolerance

    def run(self, most_steps: int) -> None:
        """Step down until there, or until there is no way down; what float32 has to say is looked at once more."""
        step = self._look()
        # rounding may let the objective rise, and a fall after that leads nowhere
        headway, lowest = StallMonitor(self.length), self.trace[-1]
        # of least squares a step says itself what it leaves: what float32 would say of that is known
        self._exact_gradient = self._exact_gradient or (self._problem.losses.quadratic and not self.arrived)
        for number in range(1, most_steps + 1):
            before = self.length
            if self.arrived or headway.none or self._spent or not self._advance(step.value):
                if not self._look_closer():
                    return
                headway, before, lowest = StallMonitor(np.inf), np.inf, np.inf
            step = self._look()
            self._judge(before)
            headway.note(lowest, self.trace[-1], self.length)
            lowest = min(lowest, self.trace[-1])
            if self._progress is not None:
                self._progress(number, self.trace[-1], self.length)
        if self.arrived and not self._exact_gradient:
            self._at = self._exactly_here()
            self._look()

    def _look_closer(self) -> bool:
        """Where float32 has arrived, or sees no way on, float64 is asked; False if it has been."""
        if not self._exact_gradient:
            self._at, self._spent = self._exactly_here(), False
        elif self.arrived or self._exact_step:
            self._stuck = not self.arrived
            return False
        else:
            self._exact_product = True
        return True

    def _exactly_here(self) -> MappedPoint:
        self._exact_gradient = True
        point = self._point(self._at.w)
        if not np.isfinite(point.value):  # float32 did not see that it had left the means that a link allows
            point = self._point(self._level())
        self.trace[-1] = point.value
        return point

    def _judge(self, before: float) -> None:
        """From how much shorter a step made the gradient: whether float32 still does."""
        if 0 < before < np.inf:
            self._last_gain = self.length / before
            self._exact_product = self._exact_product or (self._last_gain > SPOILT and self._exact_gradient)
            self._spent = self._last_gain > SPOILT and self.length < NEAR and not self._exact_gradient

    def _look(self) -> NewtonDirection:
        """A Newton step from here, and the length of the gradient."""
        problem, gradient = self._problem, self._at.gradient
        _, bend = problem.losses.slopes(self._at.eta)
        fresh = self._inverse is None
        if self._inverse is None:
            self._inverse = sampled_preconditioner(problem.design, self._sample, bend, problem.strengths)
        self._unit = unit = max(problem.losses.unit(self._at.value), problem.least_noise)

        def product(V: Array, _: Array) -> Array:
            return problem.design.curved(bend, V, exactly=self._exact_product) + problem.pull(V)

        self._exact_step = self._exact_product
        step = newton_direction(
            product,
            self._inverse.times,
            -gradient,
            tolerance=lambda length: self._enough(length / unit),
            most_steps=MOST_PRODUCTS,
        )
        if step.steps > POOR and not fresh:
            self._inverse = None
        length = (float(np.sqrt(abs(float(np.vdot(gradient, step.value))) + step.left)) + self._at.rounded) / unit
        self.length = length if np.isfinite(length) and np.isfinite(self._at.value) else np.inf
        return step

    def _enough(self, length: float) -> float:
        """What may be left of a step: as much as the next one would not leave anyway."""
        wanted = LOOSE * self._tolerance / length if length > 0 else LOOSE
        curved = 0.0 if self._problem.losses.quadratic else min(0.1, self._last_gain**2)
        return float(np.clip(max(wanted, curved), self._problem.design.digits, LOOSE))

    def _advance(self, step: Array) -> bool:
        """One step, halved until the objective does not rise; False if it always does."""
        here, squared = self._at, abs(float(np.vdot(self._at.gradient, step)))
        there = self._point(here.w + step)
        # where a step cannot lower the objective by more than rounding, rounding must not forbid it
        rounded = SINGLE if here.single or there.single else COARSE
        slack = (rounded if squared < rounded * abs(here.value) else ROUNDING) * abs(here.value)
        if not there.value <= here.value + slack:
            for share in 0.5 ** np.arange(1, MOST_HALVINGS):
                w, eta = here.w + share * step, here.eta + share * (there.eta - here.eta)
                if self._objective(w, eta) <= here.value + slack:
                    there = self._point(w)
                    break
            else:
                return False
        self._at = there
        self.trace.append(there.value)
        return True

    def solution(self) -> Solution:
        how = f"√(gᵀH⁻¹g), after {counted(max(0, len(self.trace) - 1), 'Newton step')}"
        if self._at.rounded > 0:
            how += describe_rounding(self._at.rounded / self._unit)
        tolerance = self._tolerance
        if self._stuck and tolerance < self.length <= UNSEEN:
            tolerance = UNSEEN
            how += f"; {self._tolerance:.2g} was asked for, but rounding of float64 leads no further"
        certificate = gradient_certificate(
            self.length,
            tolerance,
            how,
            is_convex=self._problem.losses.is_convex,
            of="the optimum of the approximate problem",
        )
        return Solution(MappedFit(self._at.w, self._at.eta), certificate, tuple(self.trace))


def _fit_with_falling_strength(problem: MappedProblem) -> Array:
    """The coefficients that some rows have, by way of stronger penalties."""
    few = MappedNewtonDescent(problem, SAMPLE_TOLERANCE)
    few.begin(None)
    for factor in _falling_factors(problem, few._at.eta):
        few.penalise(factor * problem.strengths)
        few.run(1)
    few.penalise(problem.strengths)
    few.run(SAMPLE_STEPS)
    return few._at.w


def _falling_factors(problem: MappedProblem, eta: Array) -> Array:
    """By what λ is multiplied before it is what it is: from where it outweighs the typical curvature."""
    _, bend = problem.losses.slopes(eta)
    top = float(bend.typical.sum()) / max(1, problem.design.n_features)
    falls = np.ceil(np.log(max(top / float(problem.strengths.min()), 1.0)) / np.log(FALL))
    return np.asarray(FALL ** np.arange(min(falls, MOST_FALLS), 0, -1))
