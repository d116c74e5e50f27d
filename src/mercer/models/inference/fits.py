"""What every reader of an estimator hands over: a fit, and how new rows become a design of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError
from mercer._typing import Array
from mercer.data.table import Table
from mercer.designs import Design, Observations
from mercer.families.penalties import Strengths
from mercer.models.diagnosis import INTERCEPT
from mercer.models.glm.inputs import refuse_spoilt_table
from mercer.models.inference.fitted import Fitted
from mercer.models.inference.prediction import NewRows
from mercer.models.inference.rows import Classes, OneMean
from mercer.solvers.problem import Problem


@dataclass(frozen=True, eq=False)
class Reading:
    """A fit, how new rows become a design of it, and what else is to be said."""

    fitted: Fitted
    #: from X, offset and exposure to a design in the same coordinates, and an offset
    new: Callable[[Any, Any, Any], tuple[Design, Array | None]]
    #: what the columns of X are called
    columns: list[str]
    notes: tuple[str, ...] = ()

    def predictor(self, X: Any, offset: Any, exposure: Any) -> NewRows:
        rows = NewRows(self.fitted, *self.new(X, offset, exposure))
        self.refuse_spoilt(rows.eta, X, "predict_interval")
        return rows

    def refuse_spoilt(self, eta: Array, X: Any, who: str) -> None:
        """Raise where a value of X that is not finite has spoilt linear predictors."""
        if not np.isfinite(eta).all():
            refuse_spoilt_table(Table.of(X), self.columns, estimator=who)


class Beside(NamedTuple):
    """What was given to `fit` beside X and y."""

    sample_weight: Any
    offset: Any
    exposure: Any

    def refuse_offset(self, model: Any) -> None:
        if self.offset is not None or self.exposure is not None:
            raise DataError(f"{type(model).__name__} takes neither offset nor exposure; use GLM, which does.")


def fitted_of(problem: Problem, w: Array, names: Sequence[str], **more: Any) -> Fitted:
    """A problem of one linear predictor with its solution; the intercept comes first among what the user sees."""
    coordinates = problem.observations.design.coordinates
    to_user = coordinates.jacobian()
    if coordinates.intercept:
        to_user, names = np.roll(to_user, 1, axis=0), (INTERCEPT, *names)
    rows = OneMean(problem.response)
    return Fitted(problem.observations, rows, w, np.eye(len(w)), to_user, tuple(names), problem.strengths, **more)


def fitted_classes(
    model: Any, observations: Observations, strengths: Strengths, names: Sequence[str], reference: Any, **more: Any
) -> Fitted:
    """A softmax: one predictor per class, and with a reference class none for that.

    Without a reference only differences of classes are determined, except where a prior pulls each of them to its
    mean: coefficients sum to zero over the classes.
    """
    coordinates = observations.design.coordinates
    k, p = len(model.classes_), coordinates.n_columns
    w = coordinates.from_user(model.coef_.T, model.intercept_)
    to_user = coordinates.jacobian()
    if coordinates.intercept:
        to_user, names = np.roll(to_user, 1, axis=0), (INTERCEPT, *names)
    shown = np.eye(k)[[label != reference for label in model.classes_.tolist()]]
    labels = [label for label in model.classes_.tolist() if label != reference]
    within = np.linalg.qr(np.eye(k) - 1 / k)[0][:, : k - 1] if reference is None else shown.T
    free = np.kron(within, np.eye(p))
    if reference is None and strengths.l2.any():
        # the sum over classes of a coefficient with a prior is as free as any other combination
        sums = np.kron(np.full((k, 1), k**-0.5), np.eye(p)[:, strengths.l2 > 0])
        free = np.column_stack([free, sums])
    return Fitted(
        observations,
        Classes(k),
        w.T.ravel(),
        free,
        np.kron(shown, to_user),
        tuple(f"{label}: {name}" for label in labels for name in names),
        Strengths(*(np.tile(part, k) for part in strengths)),
        **more,
    )


def refuse_other_classes(classes: Array, fitted: Array) -> None:
    """Raise if these are not the classes of the fit."""
    if not np.array_equal(classes, fitted):
        raise DataError(
            f"y has the classes {classes.tolist()}, but the model was fitted to {fitted.tolist()}; give the data of "
            "the fit."
        )
