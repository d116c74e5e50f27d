"""Conjugate gradients for A v = b with a positive semidefinite A given by its products."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.optim.certificate import Certificate, History, Solution

Product = Callable[[Array], Array]

#: relative residual
RESIDUAL_TOLERANCE = 1e-10
#: conjugate gradient steps after which a Newton direction is used as it is
MAX_DIRECTION_STEPS = 500
#: longer steps mean that A has decreased since it was preconditioned, so that the residual underestimates the error
LONG_STEP = 2.0


def conjugate_gradient(
    product: Product,
    b: Array,
    *,
    start: Array | None = None,
    precondition: Product | None = None,
    tolerance: float = RESIDUAL_TOLERANCE,
    most_steps: int | None = None,
) -> Solution:
    """Solve A v = b, each column of b independently.

    Parameters
    ----------
    product : callable
        v ↦ A v, for v of the shape of b.
    b : array of shape (size,) or (size, targets)
        Right-hand sides. If A is singular they must lie in its range; without `start` and `precondition` the
        solution is then the shortest.
    start : array, optional
        Initial v; 0 by default.
    precondition : callable, optional
        r ↦ M r for a positive definite M close to A⁻¹.
    tolerance : float
        Upper bound for ‖b − A v‖ / ‖b‖.
    most_steps : int, optional
        Maximum number of steps, ten times the size of b by default; beyond it the certificate does not hold.

    Returns
    -------
    solution : Solution
        The distances of the history are the largest relative residuals of the recursion; the residual of the
        certificate is computed from A v.

    Examples
    --------
    >>> import numpy as np
    >>> A = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> solution = conjugate_gradient(lambda v: A @ v, np.array([1.0, 2.0]))
    >>> solution.coef.round(4), solution.certificate.holds
    (array([0.0909, 0.6364]), True)
    """
    search = _ConjugateSearch(product, b, start, precondition)
    steps = 10 * len(b) if most_steps is None else most_steps
    try:
        search.run(tolerance, steps)
    except KeyboardInterrupt:
        return search.solution(tolerance, interrupted=True)
    return search.solution(tolerance)


class _ConjugateSearch:
    """The iterates of conjugate gradients, with their residuals."""

    def __init__(self, product: Product, b: Array, start: Array | None, precondition: Product | None) -> None:
        self._product, self._b = product, b
        self._precondition = precondition or (lambda r: r)
        self._v = np.zeros(b.shape) if start is None else np.array(start, dtype=float)
        self._residual = np.array(b, dtype=float) if start is None else b - product(self._v)
        size = np.linalg.norm(b, axis=0)
        self._unit = np.where(size > 0, size, 1.0)
        self._first = self._error(self._residual)
        #: relative residuals after each step, by the recursion
        self._residuals: list[float] = []
        self._known: float | None = None  # the error of v, if it was computed from A v

    def run(self, tolerance: float, most_steps: int) -> None:
        """Restart until the true residual is small: that of the recursion gradually drifts away from it."""
        error, least, best = np.inf, self._first, (self._v, self._residual)
        while len(self._residuals) < most_steps:
            self._descend(tolerance, most_steps)
            self._residual = self._b - self._product(self._v)
            before, error = error, self._error(self._residual)
            if error < least:
                least, best = error, (self._v, self._residual)
            if error <= tolerance or not error <= 0.5 * before:
                break
        (self._v, self._residual), self._known = best, least

    def _descend(self, tolerance: float, most_steps: int) -> None:
        """Make steps by the recursion until its residual is small."""
        across = self._precondition(self._residual)
        direction, energy = across, _column_dots(self._residual, across)
        while len(self._residuals) < most_steps and self._error(self._residual) > tolerance:
            image = self._product(direction)
            curvature = _column_dots(direction, image)
            step = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
            if not step.any():  # the rest of b is not in the range of A
                return
            # in one statement: an interruption between two would leave a solution without its residual
            self._known = None
            self._v, self._residual = self._v + step * direction, self._residual - step * image
            across = self._precondition(self._residual)
            before, energy = energy, _column_dots(self._residual, across)
            direction = across + np.divide(energy, before, out=np.zeros_like(energy), where=before > 0) * direction
            self._residuals.append(self._error(self._residual))
            if ((energy < 0) & (self._errors(self._residual) > tolerance)).any():
                return  # no square is negative: the preconditioner is dominated by rounding

    def _errors(self, residual: Array) -> Array:
        return np.asarray(np.linalg.norm(residual, axis=0) / self._unit)

    def _error(self, residual: Array) -> float:
        return float(np.max(self._errors(residual), initial=0.0))

    def solution(self, tolerance: float, *, interrupted: bool = False) -> Solution:
        value = self._error(self._b - self._product(self._v)) if self._known is None else self._known
        sentence = f"‖b − A v‖ / ‖b‖ after {len(self._residuals)} steps of conjugate gradients"
        certificate = Certificate("gradient norm", value, tolerance, sentence)
        if interrupted:
            certificate = certificate.after_interruption()
        history = History.of([np.nan] * (len(self._residuals) + 1), [self._first, *self._residuals])
        return Solution(self._v, certificate, history, interrupted)


def _column_dots(a: Array, b: Array) -> Array:
    """Return the scalar products of corresponding columns."""
    return np.asarray(np.einsum("i...,i...->...", a, b))


class NewtonDirection(NamedTuple):
    """Approximate D with A D = residual, its image K D, the squared length of the error, and the number of steps."""

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
    most_steps: int = MAX_DIRECTION_STEPS,
) -> NewtonDirection:
    """Compute a Newton step by preconditioned conjugate gradients in the inner product ⟨u, v⟩ = uᵀ K v.

    All columns are solved together.

    Parameters
    ----------
    product : callable
        (v, K v) ↦ A v.
    precondition : callable
        r ↦ P r, with P close to A⁻¹; both are self-adjoint in this inner product.
    residual : array of shape (size, outputs)
        The right-hand side.
    metric : callable, optional
        v ↦ K v; the identity by default.
    tolerance : callable
        Upper bound for the error relative to the length of the step, given √(rᵀ K P r) of the right-hand side.
    most_steps : int
        Maximum number of steps.
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
        if not curvature > 0:  # only rounding is left
            break
        length = energy / curvature
        D, KD, residual = D + length * direction, KD + length * image, residual - length * bent
        gain, longest, steps = length * energy, max(longest, length), steps + 1
        gained += gain
        across = precondition(residual)
        K_across = times(across)
        before, energy = energy, float(np.vdot(residual, K_across))
        direction, image = across + energy / before * direction, K_across + energy / before * image
        # a negative square shows the size of rounding errors
        left = longest * abs(energy)
        if longest > LONG_STEP:
            left = max(left, gain)
    return NewtonDirection(D, KD, left, steps)
