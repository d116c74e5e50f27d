"""What is known at one strength of a penalty: see `mercer.solvers.sparse._walk`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from mercer._typing import Array

#: looks at all columns without progress after which to give up
IN_VAIN = 3


class LassoFit(NamedTuple):
    """Coefficients, the intercept, and how many sweeps over them it took."""

    coefficients: Array
    intercept: float
    sweeps: int


class Point(NamedTuple):
    """Working coefficients, the residual of each row, Σ weight r², and the slope of each column."""

    w: Array
    residual: Array
    squares: float
    c: Array


@dataclass
class Attempt:
    """What has been done for the present strength."""

    sweeps: int = 0
    gaps: list[float] = field(default_factory=list)

    @property
    def in_vain(self) -> bool:
        """Whether the last looks brought no progress."""
        return len(self.gaps) > IN_VAIN and min(self.gaps[-IN_VAIN:]) > 0.5 * min(self.gaps[:-IN_VAIN])
