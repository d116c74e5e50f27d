"""Quadratic problems in a box: the duals of support vector machines, and what is known of a point of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.solvers.certificate import Certificate
from mercer.solvers.kernel_rows import Rows

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """Minimise ½ βᵀKβ − targetᵀβ + ε Σ|βᵢ| in a box that has 0 in it.

    Parameters
    ----------
    rows : KernelRows or PairRows
        K.
    target : ndarray of shape (n,)
        Classes as ±1, or numbers.
    lower, upper : ndarray of shape (n,)
        Bounds of β.
    epsilon : float, default=0
        Half the width of the tube in which residuals are free.
    intercept : bool, default=True
        Whether there is a b, and so the constraint Σβ = 0.
    """

    rows: Rows
    target: Array
    lower: Array
    upper: Array
    epsilon: float = 0.0
    intercept: bool = True

    def __len__(self) -> int:
        return len(self.target)


@dataclass(frozen=True, eq=False)
class BoxPoint:
    """A feasible β, the intercept that goes with it, f at the rows, and the steps it took."""

    beta: Array
    intercept: float
    scores: Array
    steps: int = 0


@dataclass(frozen=True)
class Margins(Certificate):
    """How far the rows are from their optimality conditions, and the values of both problems."""

    primal: float = np.nan
    dual: float = np.nan

    @property
    def gap(self) -> float:
        """Primal minus dual: by so much at most is the objective too large."""
        return self.primal - self.dual


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a round."""

    iterations: int
    violation: float
    gap: float
    seconds: float
