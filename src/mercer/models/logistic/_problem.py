"""The two problems of logistic regression, and which solver suits them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mercer._typing import Array
from mercer.solvers.problem import Problem, Slope
from mercer.solvers.smooth import lbfgs, newton, row_space, sampled_scaling, softmax
from mercer.solvers.smooth.softmax import SoftmaxProblem
from mercer.solvers.sparse import proximal, softmax_lasso, streamed_proximal
from mercer.stats.quadratic import HESSIAN

#: columns up to which Hessians are worth their while, and rows per column from which on those of a sample are
NEWTON_COLUMNS, ROWS_PER_COLUMN = 300, 500
NEWTON = "Newton's method"


@dataclass(frozen=True, eq=False)
class BinaryProblem(Problem):
    """`Problem` that remembers where it was looked at last."""

    seen: list[Array] = field(default_factory=list)
    by_matrix: ClassVar[bool] = False

    def at(self, w: Array, order: int = HESSIAN) -> Slope:
        self.seen[:] = [w]
        return Problem.at(self, w, order)

    def working(self, w: Array) -> Array:
        """Coefficients of a point."""
        return w

    def point(self, working: Array) -> Array:
        """The point of coefficients, which come as a column."""
        return working[:, 0]


@dataclass(frozen=True, eq=False)
class MultinomialProblem(SoftmaxProblem):
    """`SoftmaxProblem` that remembers where it was looked at last."""

    seen: list[Array] = field(default_factory=list)

    def at(self, v: Array, order: int = HESSIAN) -> Slope:
        self.seen[:] = [v]
        return SoftmaxProblem.at(self, v, order)

    @property
    def by_matrix(self) -> bool:
        """Whether its solver begins at coefficients, not at a point."""
        return not self.strengths.smooth

    def working(self, v: Array) -> Array:
        return self.matrix(v)

    def point(self, working: Array) -> Array:
        return self.vector(working)


def solver_for(problem: Problem | SoftmaxProblem) -> tuple[Any, str]:
    """The module that solves a problem best, and what it is called."""
    if not problem.strengths.smooth and problem.observations.streamed:
        return streamed_proximal, "proximal Newton"
    if isinstance(problem, SoftmaxProblem):
        if not problem.strengths.smooth:
            return softmax_lasso, "L-BFGS-B"
        if softmax.by_newton(problem):
            return softmax, NEWTON
        return softmax, row_space.NAME if row_space.suits(problem) else "L-BFGS"
    if not problem.strengths.smooth:
        return proximal, "proximal Newton"
    if row_space.suits(problem):
        return row_space, row_space.NAME
    n, p = len(problem.observations), problem.n_columns
    if p <= NEWTON_COLUMNS or (p <= sampled_scaling.MOST_WHITENED and n >= ROWS_PER_COLUMN * p):
        return newton, NEWTON
    return lbfgs, "L-BFGS"
