"""One penalty, any number of targets: each is a model of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer._errors import DataError, FitInterrupted
from mercer._typing import Array
from mercer.models.base import is_sparse
from mercer.models.linear._coordinate_gram import usable_gram
from mercer.models.linear._coordinate_points import WORKING_SETS, Point, Task, Terms, points, warn_of
from mercer.report.wording import counted
from mercer.solvers.certificate import Certificate, Solution
from mercer.solvers.least_squares.direct import Rows
from mercer.solvers.least_squares.fit import LinearFit

#: rows that tell most columns that vary
FEW = 8
RANDOM = f"{WORKING_SETS} (in cyclic order: selection='random' has the same optimum)"


@dataclass(frozen=True, eq=False)
class Fitted:
    """The solution for all targets, and each by itself."""

    solution: Solution  # of a `LinearFit`
    each: list[Point]


def fit(rows: Rows, alpha: float, terms: Terms, *, precompute: Any = False, start: Any = None) -> Fitted:
    """Fit every target; a `FitInterrupted` has a `Fitted` as its `solution`, with zeros where it did not get to."""
    X, weight = columnwise(rows.X), normalised(rows.weight)
    tasks = [Task.of(X, y, weight) for y in rows.Y.T]
    terms = replace(terms, closely=True, gram=usable_gram(precompute, tasks[0], intercept=terms.intercept))
    starts = starts_of(start, rows)
    constant = constant_columns(X, weight) if terms.intercept else ()
    return each_target(tasks, alpha, terms, starts, partial(together, constant=constant))


def each_target(
    tasks: Sequence[Task],
    alpha: float,
    terms: Terms,
    starts: Sequence[Array | None],
    finished: Callable[[list[Point]], Fitted],
) -> Fitted:
    """What `finished` makes of the models of all targets, also of those that were found when the user stopped."""
    found: list[Point] = []
    for task, begin in zip(tasks, starts, strict=True):
        try:
            found.extend(points(task, np.array([alpha]), terms, begin))
        except FitInterrupted as stop:
            found.append(stop.solution[-1])
            found.extend(_untouched(task) for task in tasks[len(found) :])
            raise FitInterrupted(str(stop), finished(found)) from None
    warn_of(found, np.full(len(found), alpha), tasks[0].total)
    return finished(found)


def columnwise(X: Any) -> Any:
    """As the solver reads it: floating-point numbers, sparse ones by column."""
    if is_sparse(X):
        return X.tocsc()
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def normalised(weight: Array | None) -> Array | None:
    """Weights that sum to the number of rows, as scikit-learn's Gram matrices have them."""
    return None if weight is None else np.asarray(weight * (len(weight) / weight.sum()))


def constant_columns(X: Any, weight: Array | None) -> tuple[int, ...]:
    """Columns that do not vary among rows that have a weight."""
    weighted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    if is_sparse(X):
        some = X if len(weighted) == X.shape[0] else X.tocsr()[weighted]
        constant = np.flatnonzero(some.max(axis=0).toarray().ravel() == some.min(axis=0).toarray().ravel())
        return tuple(int(j) for j in constant)
    few = X[weighted[:FEW]]
    suspects = np.flatnonzero((few == few[0]).all(axis=0))
    return tuple(int(j) for j in suspects if (X[weighted, j] == few[0, j]).all())


def starts_of(start: Any, rows: Rows) -> list[Array | None]:
    """Coefficients of the last fit for each target, where it is to begin with them."""
    if start is None:
        return [None] * rows.targets
    begin = np.atleast_2d(np.asarray(start, dtype=np.float64))
    if begin.shape != (rows.targets, rows.shape[1]):
        raise DataError(
            f"warm_start=True, but coef_ has shape {np.shape(start)} and the new data have "
            f"{counted(rows.targets, 'target')} and {rows.shape[1]} columns; set warm_start=False."
        )
    return list(begin)


def _untouched(task: Task) -> Point:
    """A target that was not got to."""
    certificate = Certificate("duality gap", np.inf, 0.0, "stopped by the user before this target")
    return Point(np.zeros(task.X.shape[1]), float(task.y.mean()), np.inf, 0, certificate, WORKING_SETS)


def together(found: list[Point], constant: tuple[int, ...]) -> Fitted:
    """All targets."""
    coefficients = np.column_stack([point.coefficients for point in found])
    intercept = np.array([point.intercept for point in found])
    linear = LinearFit(coefficients, intercept, found[0].path, constant=constant)
    worst = max(found, key=lambda point: point.certificate.value - point.certificate.tolerance)
    return Fitted(Solution(linear, worst.certificate, ()), found)
