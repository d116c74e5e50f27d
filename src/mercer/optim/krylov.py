"""Conjugate gradients: A v = b for a positive semidefinite A that is only known by its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Certificate, Solution, keep_on_interrupt

Product = Callable[[Array], Array]

TOLERANCE = 1e-10
#: steps of conjugate gradients after which a Newton step is taken as it is
MOST_NEWTON_STEPS = 500
#: steps this much longer than 1 tell that the matrix has fallen since it was preconditioned: what is left looks small
LONG_STEP = 2.0


def conjugate_gradient(
    product: Product,
    b: Array,
    *,
    start: Array | None = None,
    precondition: Product | None = None,
    tolerance: float = TOLERANCE,
    most_steps: int | None = None,
) -> Solution:
    """Solve A v = b, for each column of b by itself.

    Parameters
    ----------
    product : callable
        v ↦ A v, for v of the shape of b.
    b : array of shape (size,) or (size, targets)
        Right-hand sides. Where A is singular they must lie in its range; without `start` and `precondition` the
        answer is then the shortest.
    start : array, optional
        Where to begin; 0 if not given.
    precondition : callable, optional
        r ↦ M r for a positive definite M close to A⁻¹.
    tolerance : float
        How small ‖b − A v‖ has to become, compared with ‖b‖.
    most_steps : int, optional
        Steps after which to give up; ten times the size of b if not given. The certificate then does not hold.

    Returns
    -------
    solution : Solution
        `trace` has the largest relative residual after each step, as the recursion has it; the one of the certificate
        is computed anew.

    Raises
    ------
    FitInterrupted
        On Ctrl-C, with the solution so far.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solution = conjugate_gradient(lambda v: A @ v, np.array([1.0, 2.0]))
    >>> solution.value.round(4), solution.certificate.holds
    (array([0.0909, 0.6364]), True)
    """
    search = _ConjugateSearch(product, b, start, precondition)
    steps = 10 * len(b) if most_steps is None else most_steps
    with keep_on_interrupt(lambda: search.solution(tolerance), "the coefficients found so far are kept"):
        search.run(tolerance, steps)
    return search.solution(tolerance)


class _ConjugateSearch:
    """Where the search is, and which way it goes."""

    def __init__(self, product: Product, b: Array, start: Array | None, precondition: Product | None) -> None:
        self._product, self._b = product, b
        self._precondition = precondition or (lambda r: r)
        self._v = np.zeros(b.shape) if start is None else np.array(start, dtype=float)
        self._residual = np.array(b, dtype=float) if start is None else b - product(self._v)
        size = np.linalg.norm(b, axis=0)
        self._unit = np.where(size > 0, size, 1.0)
        self._trace: list[float] = []
        self._known: float | None = None  # the error of v, where it was computed anew

    def run(self, tolerance: float, most_steps: int) -> None:
        """Search until the residual, computed anew, is small; the recursion gradually drifts away from it."""
        error, least, best = np.inf, self._error(self._residual), (self._v, self._residual)
        while len(self._trace) < most_steps:
            self._descend(tolerance, most_steps)
            self._residual = self._b - self._product(self._v)
            before, error = error, self._error(self._residual)
            if error < least:
                least, best = error, (self._v, self._residual)
            if error <= tolerance or not error <= 0.5 * before:
                break
        (self._v, self._residual), self._known = best, least

    def _descend(self, tolerance: float, most_steps: int) -> None:
        across = self._precondition(self._residual)
        direction, energy = across, _column_dots(self._residual, across)
        while len(self._trace) < most_steps and self._error(self._residual) > tolerance:
            image = self._product(direction)
            curvature = _column_dots(direction, image)
            step = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
            if not step.any():  # no way on: what is left of b is not in the range of A
                return
            # both at once, or an interruption between them would leave a solution without its residual
            self._known = None
            self._v, self._residual = self._v + step * direction, self._residual - step * image
            across = self._precondition(self._residual)
            before, energy = energy, _column_dots(self._residual, across)
            direction = across + np.divide(energy, before, out=np.zeros_like(energy), where=before > 0) * direction
            self._trace.append(self._error(self._residual))
            if ((energy < 0) & (self._errors(self._residual) > tolerance)).any():
                return  # no square is negative: rounding has spoilt the preconditioner, and leads astray

    def _errors(self, residual: Array) -> Array:
        return np.asarray(np.linalg.norm(residual, axis=0) / self._unit)

    def _error(self, residual: Array) -> float:
        return float(np.max(self._errors(residual), initial=0.0))

    def solution(self, tolerance: float) -> Solution:
        value = self._error(self._b - self._product(self._v)) if self._known is None else self._known
        sentence = f"‖b − A v‖ / ‖b‖ after {len(self._trace)} steps of conjugate gradients"
        return Solution(self._v, Certificate("gradient norm", value, tolerance, sentence), tuple(self._trace))


def _column_dots(a: Array, b: Array) -> Array:
    """Scalar products of the columns."""
    return np.asarray(np.einsum("i...,i...->...", a, b))


class NewtonDirection(NamedTuple):
    """About D with A D = residual, its image in the metric, the square of what is left of it, and the steps taken."""

    value: Array
    image: Array
    left: float
    steps: int


def newton_direction(
    product: Callable[[Array, Array], Array],
    precondition: Product,
    residual: Array,
    *,
    metric: Product | None = None,
    tolerance: Callable[[float], float],
    most_steps: int = MOST_NEWTON_STEPS,
) -> NewtonDirection:
    """A Newton step by preconditioned conjugate gradients, all columns together, in an inner product ⟨u, v⟩ = uᵀ K v.

    Parameters
    ----------
    product : callable
        (v, K v) ↦ A v.
    precondition : callable
        r ↦ P r, with P close to A⁻¹; both are self-adjoint in the inner product.
    residual : array of shape (size, outputs)
        The right-hand side.
    metric : callable, optional
        v ↦ K v; the ordinary inner product if not given.
    tolerance : callable
        What may be left, in the length of the step, given the length of the right-hand side as P measures it.
    """
    times = metric or (lambda v: v)
    D, KD = np.zeros(residual.shape), np.zeros(residual.shape)
    direction = precondition(residual)
    image = times(direction)
    energy = float(np.vdot(residual, image))
    enough = tolerance(np.sqrt(abs(energy))) ** 2
    left, gained, longest, steps = abs(energy), 0.0, 1.0, 0
    while energy > 0 and left > enough * gained and steps < most_steps:
        bent = product(direction, image)
        curvature = float(np.vdot(image, bent))
        if not curvature > 0:  # rounding is all that is left
            break
        length = energy / curvature
        D, KD, residual = D + length * direction, KD + length * image, residual - length * bent
        gain, longest, steps = length * energy, max(longest, length), steps + 1
        gained += gain
        across = precondition(residual)
        K_across = times(across)
        before, energy = energy, float(np.vdot(residual, K_across))
        direction, image = across + energy / before * direction, K_across + energy / before * image
        # no square is negative: one that is tells how large rounding errors are
        left = longest * abs(energy)
        if longest > LONG_STEP:
            left = max(left, gain)
    return NewtonDirection(D, KD, left, steps)
