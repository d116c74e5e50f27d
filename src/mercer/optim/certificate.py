"""A length that takes a pass over the rows: measured where a solver believes that it has arrived, and nowhere twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import FitInterrupted
from mercer._stored import stored

# How we know that an answer is the optimum, and what is kept of a search that was stopped on the way there.

#: kind of a certificate that the gradient vanishes where the objective is not convex: a local claim
STATIONARY = "stationary point"
#: what it does not claim
LOCAL_ONLY = "the objective is not convex, so that this is about points nearby, and a lower one may exist elsewhere"

#: called after each step with its number, the objective and the distance to the optimum
Progress = Callable[[int, float, float], None]


@stored()
@dataclass(frozen=True)
class Certificate:
    """A number that is zero at the optimum, how small it is, and how small it had to be.

    Of an objective that is not convex it is zero at every stationary point: the kind is then "stationary point", and
    `is_global` is False.

    Examples
    --------
    >>> Certificate("gradient norm", 1e-9, 1e-8, "the gradient vanishes").holds
    True
    """

    #: "closed form", "gradient norm", "duality gap" or "KKT"; "stationary point" where the objective is not convex; of
    #: hyperplanes "separation" or "no separation"
    kind: str
    value: float
    tolerance: float
    sentence: str

    @classmethod
    def closed_form(cls, sentence: str) -> Self:
        """The answer is a formula of the data: nothing was iterated, so nothing can be left over."""
        return cls("closed form", 0.0, 0.0, sentence)

    @property
    def holds(self) -> bool:
        return bool(self.value <= self.tolerance)  # a value may be NumPy's

    @property
    def is_global(self) -> bool:
        """Whether it holds and is about the best of all points, rather than the best of those nearby.

        >>> Certificate("stationary point", 1e-9, 1e-8, "the gradient vanishes").is_global
        False
        """
        return self.holds and self.kind != STATIONARY

    def after_rounding(self, dtype: Any, moved: Callable[[float], float]) -> Self:
        """Return the certificate of the coefficients rounded to `dtype`.

        `moved` takes a bound of what was found to one of what is left after rounding. The tolerance moves with the
        value: coefficients of that type come no closer, so that rounding alone does not make a search fail.
        """
        value = moved(self.value)
        sentence = f"{self.sentence}; before the coefficients were rounded to {dtype} it was {self.value:.1g}"
        return replace(self, value=value, tolerance=moved(self.tolerance), sentence=sentence)

    def __str__(self) -> str:
        if self.kind == "closed form":
            return f"{self.kind}: {self.sentence}"
        sign = "≤" if self.holds else ">"
        return f"{self.kind} {self.value:.2g} {sign} {self.tolerance:.2g}: {self.sentence}"


@dataclass(frozen=True)
class Solution:
    """What a solver returns: the answer, the proof, and the value of what it optimises after each step."""

    value: Any
    certificate: Certificate
    trace: tuple[float, ...]


@contextmanager
def keep_on_interrupt(solution: Callable[[], Any], what: str = "the best coefficients found so far are kept") -> Iterator[None]:
    """On Ctrl-C, `FitInterrupted` with the solution as it then is."""
    try:
        yield
    except KeyboardInterrupt:
        raise FitInterrupted(f"stopped by the user; {what}.", solution()) from None


def gradient_certificate(
    length: float, tolerance: float, how: str, *, is_convex: bool, fall: float | None = None, of: str = "the optimum"
) -> Certificate:
    """The certificate of a gradient whose length is measured in standard errors.

    Parameters
    ----------
    length, tolerance : float
        √(gᵀH⁻¹g), and how small it had to become.
    how : str
        How it was measured, after how many steps.
    is_convex : bool
        Whether the objective is: else the claim is about points nearby.
    fall : float, optional
        How much the objective can still fall by, if that is known.
    of : str
        What is near.
    """
    if not is_convex:
        return Certificate(
            STATIONARY, length, tolerance, f"length of the gradient in standard errors, {how}; {LOCAL_ONLY}"
        )
    sentence = f"distance to {of} in standard errors, {how}"
    if fall is not None and length <= tolerance:  # by the curvature here, which says little of a minimum far away
        sentence += f"; the objective is within {fall:.1g} of its minimum"
    return Certificate("gradient norm", length, tolerance, sentence)


def subgradient_certificate(length: float, tolerance: float, steps: str, *, is_convex: bool) -> Certificate:
    """The certificate of the shortest subgradient, measured in standard errors by the diagonal of the Hessian."""
    sentence = f"length of the shortest subgradient in standard errors, √(gᵀD⁻¹g), {steps}"
    if is_convex:
        return Certificate("KKT", length, tolerance, sentence)
    return Certificate(STATIONARY, length, tolerance, f"{sentence}; {LOCAL_ONLY}")


#: where a length turns out to be too long, the next aim is this much below what would be short enough
AIM_FACTOR = 0.7


class LengthMeasure:
    """A length by the curvature of the point, for solvers whose steps use that of the start."""

    def __init__(self, measure: Callable[[], float]) -> None:
        self._measure = measure
        self._value, self._point = np.inf, None

    def at(self, point: Any) -> float:
        """The length at a point, which is the one that `measure` looks at now."""
        if self._point is not point:
            self._value, self._point = self._measure(), point
        return self._value

    def aim(self, point: Any, length: float, tolerance: float) -> float | None:
        """How short the length by which steps are taken has to become; None where nothing more is to be done."""
        measured = self.at(point)
        return AIM_FACTOR * length * tolerance / measured if tolerance < measured < np.inf else None
