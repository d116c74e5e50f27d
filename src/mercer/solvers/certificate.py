"""How we know that an answer is the optimum, and what is kept of a search that was stopped on the way there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from mercer._errors import FitInterrupted

#: called after each step with its number, the objective and the distance to the optimum
Progress = Callable[[int, float, float], None]


@dataclass(frozen=True)
class Certificate:
    """A number that is zero exactly at the optimum, how small it is, and how small it had to be.

    Examples
    --------
    >>> Certificate("gradient norm", 1e-9, 1e-8, "the gradient vanishes").holds
    True
    """

    #: "closed form", "gradient norm", "duality gap" or "KKT"; of hyperplanes "separation" or "no separation"
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
def keeping(solution: Callable[[], Any], what: str = "the best coefficients found so far are kept") -> Iterator[None]:
    """On Ctrl-C, `FitInterrupted` with the solution as it then is."""
    try:
        yield
    except KeyboardInterrupt:
        raise FitInterrupted(f"stopped by the user; {what}.", solution()) from None
