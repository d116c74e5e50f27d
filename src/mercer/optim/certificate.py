"""Solutions of a search with their certificates, the evidence that they are optimal, and their histories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._stored import stored
from mercer._typing import Array

#: kind of a certificate that the gradient vanishes although the objective is not convex: a local claim
STATIONARY = "stationary point"
#: the limits of that claim
LOCAL_ONLY = "the objective is not convex, so that this is about points nearby, and a lower one may exist elsewhere"

#: beginning of the claim that the minimum of the objective is near
FALL = "; the objective is within "

#: default bound for the length of the gradient, in standard errors: the distance to the optimum
LENGTH_TOLERANCE = 1e-8


@stored()
@dataclass(frozen=True)
class Certificate:
    """A number that is zero at the optimum, with its value and its tolerance.

    If the objective is not convex, the number is zero at every stationary point: the kind is then "stationary point",
    and `is_global` is False.

    Attributes
    ----------
    kind : str
        "closed form", "gradient norm", "duality gap" or "KKT"; "stationary point" where the objective is not convex;
        "separation" or "no separation" for hyperplanes.
    value : float
        The number, evaluated at the returned coefficients.
    tolerance : float
        The bound on the value.
    sentence : str
        The meaning of the number.

    Examples
    --------
    >>> Certificate("gradient norm", 1e-9, 1e-8, "the gradient vanishes").holds
    True
    """

    kind: str
    value: float
    tolerance: float
    sentence: str

    @classmethod
    def closed_form(cls, sentence: str) -> Self:
        """Return the certificate of a solution that is a formula of the data, without iterations."""
        return cls("closed form", 0.0, 0.0, sentence)

    @property
    def holds(self) -> bool:
        """True if the value is at most the tolerance."""
        return bool(self.value <= self.tolerance)  # a value may be NumPy's

    @property
    def is_global(self) -> bool:
        """True if the certificate holds for a global optimum, rather than a local one.

        >>> Certificate("stationary point", 1e-9, 1e-8, "the gradient vanishes").is_global
        False
        """
        return self.holds and self.kind != STATIONARY

    def after_rounding(self, dtype: Any, bound_after: Callable[[float], float]) -> Self:
        """Return the certificate of the coefficients rounded to `dtype`.

        `bound_after` maps a bound before rounding to a bound after rounding. It is applied to the tolerance, too:
        coefficients of that type come no closer, so that rounding alone does not make a search fail.
        """
        value = bound_after(self.value)
        if self.kind == "closed form":
            sentence = f"{self.sentence} before the coefficients were rounded to {dtype}, and to {value:.1g} after that"
        else:
            claim, _, fall = self.sentence.partition(FALL)
            sentence = f"{claim}; before the coefficients were rounded to {dtype} it was {self.value:.1g}"
            sentence += f", and the objective within {fall}" if fall else ""
        return replace(self, value=value, tolerance=bound_after(self.tolerance), sentence=sentence)

    def after_interruption(self) -> Self:
        """Return the certificate of a search that was interrupted, which does not hold."""
        if not self.holds:
            return self
        return replace(self, value=np.inf, sentence=f"{self.sentence}; the search was stopped before it was confirmed")

    def __str__(self) -> str:
        if self.kind == "closed form":
            return f"{self.kind}: {self.sentence}"
        sign = "≤" if self.holds else ">"
        return f"{self.kind} {self.value:.2g} {sign} {self.tolerance:.2g}: {self.sentence}"


@dataclass(frozen=True, eq=False)
class History:
    """Record of a search, with an entry for the start and one for each iteration.

    Attributes
    ----------
    objective : ndarray of shape (n_iter + 1,)
        The objective; the last entry is that of the returned coefficients.
    distance : ndarray of shape (n_iter + 1,)
        Distance to the optimum by the measure of the method: √(gᵀH⁻¹g) in standard errors, a gap, or a residual; NaN
        where it is not known.
    length : ndarray of shape (n_iter + 1,)
        Portion of the proposed step that was taken; NaN at the start, and for methods without a line search.

    Examples
    --------
    >>> History.of([3.0, 1.0, 0.5]).n_iter
    2
    """

    objective: Array
    distance: Array
    length: Array

    @classmethod
    def of(
        cls,
        objective: Sequence[float] | Array,
        distance: Sequence[float] | None = None,
        length: Sequence[float] | None = None,
    ) -> Self:
        """Return the record of these entries; distances and lengths are NaN by default."""
        unknown = np.full(len(objective), np.nan)
        given = (unknown if values is None else np.asarray(values, dtype=float) for values in (distance, length))
        return cls(np.asarray(objective, dtype=float), *given)

    @property
    def n_iter(self) -> int:
        """Number of iterations; 0 for a closed form, which has no entries."""
        return max(0, len(self.objective) - 1)

    def followed_by(self, other: History) -> History:
        """Return the record of this search and another one, which began at its end."""
        pairs = zip(
            (self.objective, self.distance, self.length), (other.objective, other.distance, other.length), strict=True
        )
        return History(*(np.concatenate([before, after[1:]]) for before, after in pairs))


#: the record of a closed form
NO_ITERATIONS = History.of(())


@dataclass(frozen=True)
class Solution:
    """Result of a solver: coefficients, their certificate, and the history of the search.

    Attributes
    ----------
    coef : Any
        Coefficients in the coordinates of the problem, or another description of what was found.
    certificate : Certificate
        Evidence that they are optimal.
    history : History
        Record of the search; empty for a closed form.
    interrupted : bool
        Whether Ctrl-C or a callback ended the search, whose certificate does not hold then, or the work after it.
    """

    coef: Any
    certificate: Certificate
    history: History = NO_ITERATIONS
    interrupted: bool = False

    @property
    def objective(self) -> float:
        """The objective at the coefficients."""
        return float(self.history.objective[-1])

    @property
    def n_iter(self) -> int:
        """Number of iterations of the search."""
        return self.history.n_iter

    def require_completion(self) -> Self:
        """Return the solution, or raise `KeyboardInterrupt` if the search was interrupted.

        For searches that are a part of a larger calculation, of which nothing is kept.
        """
        if self.interrupted:
            raise KeyboardInterrupt("stopped by the user.")
        return self


def gradient_certificate(
    length: float,
    tolerance: float,
    how: str,
    *,
    is_convex: bool,
    fall: float | None = None,
    target: str = "the optimum",
) -> Certificate:
    """Return the certificate of a gradient whose length is measured in standard errors.

    Parameters
    ----------
    length, tolerance : float
        √(gᵀH⁻¹g), and its upper bound.
    how : str
        The measure, and the number of steps.
    is_convex : bool
        Whether the objective is convex: else the claim is local.
    fall : float, optional
        Upper bound for a further decrease of the objective, if known.
    target : str
        The point to which the distance is measured.
    """
    if not is_convex:
        return Certificate(
            STATIONARY, length, tolerance, f"length of the gradient in standard errors, {how}; {LOCAL_ONLY}"
        )
    sentence = f"distance to {target} in standard errors, {how}"
    if fall is not None and length <= tolerance:  # by the curvature here, which is not that of a distant minimum
        sentence += f"{FALL}{fall:.1g} of its minimum"
    return Certificate("gradient norm", length, tolerance, sentence)


def sentence_without_fall(certificate: Certificate) -> str:
    """Return the sentence of a gradient certificate without its claim about the minimum of the objective."""
    return certificate.sentence.partition(FALL)[0]


def subgradient_certificate(length: float, tolerance: float, steps: str, *, is_convex: bool) -> Certificate:
    """Return the certificate of the shortest subgradient, in standard errors by the diagonal of the Hessian."""
    sentence = f"length of the shortest subgradient in standard errors, √(gᵀD⁻¹g), {steps}"
    if is_convex:
        return Certificate("KKT", length, tolerance, sentence)
    return Certificate(STATIONARY, length, tolerance, f"{sentence}; {LOCAL_ONLY}")


#: the next aim is below the estimate of a sufficient length by this factor
AIM_FACTOR = 0.7


class LengthMeasure:
    """Length of the gradient by the curvature of the present point, for solvers whose steps use that of the start.

    A measurement takes passes over the rows, so that it is made only where a solver has converged by its own measure,
    and once per point.
    """

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._value, self._point = np.inf, None

    def at(self, point: Any) -> float:
        """Return the length at `point`, the present point of the solver, measured once."""
        if self._point is not point:
            self._value, self._point = self._measure(), point
        return self._value

    def aim(self, point: Any, length: float, tolerance: float) -> float | None:
        """Return the aim for the solver's own measure, now `length`; None if the measured length suffices."""
        measured = self.at(point)
        return AIM_FACTOR * length * tolerance / measured if tolerance < measured < np.inf else None
