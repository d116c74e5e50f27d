"""The four learning rules of lecture 2: how wrong a unit is about a row, and how much that costs.

A linear threshold unit says 1 where u = w·x ≥ 0 and 0 elsewhere. Each rule moves its weights by w ← w + α e x:

    perceptron   e = y − s(u)                      s the step function, y 0 or 1
    LMS          e = t − u                         of ½ (t − u)²; Widrow and Hoff. t = ±1, see below
    logistic     e = y − σ(u)                      of −y log σ(u) − (1 − y) log(1 − σ(u))
    sigmoid      e = σ(u) (1 − σ(u)) (y − σ(u))    of ½ (y − σ(u))²

With targets 0 and 1, LMS would put the threshold where u = ½, not where the unit has it (on the lecture's three points
u(2, 2) = 0, so that the point of class 0 would be given to class 1); with −1 and 1 both agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer._jit.solvers import online as loops


@dataclass(frozen=True)
class Rule:
    """A learning rule; compiled loops know it by its code.

    Examples
    --------
    >>> RULES["logistic"].curvature
    0.25
    """

    name: str
    code: int
    #: the largest second derivative of the loss by u; 0 where it has none
    curvature: float
    #: the loss of a row where u = 0: what it costs to know nothing
    ignorance: float

    @property
    def has_gradient(self) -> bool:
        """Whether it descends along the gradient of a differentiable loss."""
        return self.curvature > 0

    @property
    def has_probabilities(self) -> bool:
        return self.code in (loops.LOGISTIC, loops.SIGMOID)


#: the second derivative of ½ (y − σ(u))² is largest where σ, or 1 − σ, is (15 − √33)/24
SIGMOID_CURVATURE = 0.07703

RULES = {
    rule.name: rule
    for rule in (
        Rule("perceptron", loops.PERCEPTRON, 0.0, 0.0),
        Rule("lms", loops.LMS, 1.0, 0.5),
        Rule("logistic", loops.LOGISTIC, 0.25, math.log(2)),
        Rule("sigmoid", loops.SIGMOID, SIGMOID_CURVATURE, 0.125),
    )
}


class How(NamedTuple):
    """How a rule is applied; `rate` None stands for a safe one."""

    incremental: bool = False
    rate: float | None = None
    decay: float | None = None
    average: bool = False
    #: None for the order that the rows have
    rng: np.random.Generator | None = None
    #: rows × columns² × units up to which a linear programme decides whether a separating hyperplane exists
    proof_size: float = 1e8
