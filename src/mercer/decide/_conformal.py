"""What conformal sets and intervals share: how rows are held out, what that promises, and how many it takes."""

from __future__ import annotations

from math import ceil
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval

from mercer._errors import CalibrationWarning, DataError
from mercer._stored import stored
from mercer._typing import Array
from mercer._warn import warn
from mercer.decide._split import split_rows
from mercer.decide._training import Training, cv_constraint, folds_of, is_prefit
from mercer.decide.conformal import ROUNDING, exact_rank
from mercer.decide.wrapped import WrapsModel, plan_of, refuse_unfitted
from mercer.families.draws import as_generator
from mercer.report.wording import counted
from mercer.solvers.certificate import Certificate

CONSTRAINTS: dict[str, Any] = {
    "coverage": [Interval(Real, 0, 1, closed="neither")],
    "cv": cv_constraint("split", "prefit"),
    "calibration": [Interval(Real, 0, 1, closed="neither")],
    "random_state": ["random_state", np.random.Generator],
}


class Fold(NamedTuple):
    """A fitted model, rows that it has not seen, and those that it has seen: none, where it came fitted."""

    model: Any
    rows: Array
    learnt: Array


class HoldsOut(WrapsModel):
    """A model within whose answers are compared with those about rows that it has not seen."""

    coverage: float
    cv: Any
    calibration: float
    random_state: Any
    models_: list[Any]
    calibration_scores_: list[Array]

    @property
    def _n_held_out(self) -> int:
        return sum(map(len, self.calibration_scores_))

    def _fit_parts(self, training: Training) -> list[Fold]:
        """Fit the models; each comes with the rows held out from it, as `cv` says."""
        parts = self._parts_of(training)
        self.models_ = [part.model for part in parts]
        self.model_ = self.models_[0] if len(parts) == 1 else training.fitted(self.model)
        return parts

    def _parts_of(self, training: Training) -> list[Fold]:
        n = len(training)
        if is_prefit(self):
            refuse_unfitted(self.model)
            return [Fold(self.model, np.arange(n), np.arange(0))]
        if n < 2:
            raise DataError(f"n_samples={n} leaves no row to compare others with; give two rows or more.")
        return [Fold(training.fitted(self.model, train), test, train) for train, test in self._folds(training)]

    def _folds(self, training: Training) -> list[tuple[Array, Array]]:
        """Rows to learn from and held out, in a random order: the promise is for rows that could have come in any."""
        cv, n = self.cv, len(training)
        if isinstance(cv, str):
            return [split_rows(n, held_out=self.calibration, rng=as_generator(self.random_state))]
        if isinstance(cv, Integral):
            if int(cv) > n:
                raise DataError(f"Cannot have cv={cv} folds of n_samples={n} rows; give a smaller cv, or more rows.")
            order = as_generator(self.random_state).permutation(n)
            tests = [np.sort(part) for part in np.array_split(order, int(cv))]
            return [(np.setdiff1d(order, test), test) for test in tests]
        folds = folds_of(check_cv(cv, training.y), training)
        counts = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
        if (counts > 1).any():
            raise DataError(
                f"cv holds out row {int(np.argmax(counts > 1))} more than once; each row can be compared with once."
            )
        return folds

    def _publish(self, promised: Promise, path: str, ranks: str) -> None:
        """What is promised, how we know, and which path was taken."""
        self.guaranteed_coverage_, self.guarantee_ = promised
        self.certificate_ = Certificate.closed_form(f"ranks among {ranks} of rows held out")
        parts = f"{self._n_held_out} rows held out in {counted(len(self.models_), 'part')}"
        self.plan_ = plan_of(self.model_, f"{path} of {parts}")


@stored()
class Promise(NamedTuple):
    """What is guaranteed for a new row, as a number and in words."""

    coverage: float
    sentence: str


def promise(coverage: float, sizes: list[Array], *, what: str, by_class: bool = False) -> Promise:
    """For a row that comes from where those of the calibration came from.

    Parameters
    ----------
    coverage : float
        What was asked for.
    sizes : list of arrays of shape (n_folds,)
        How many rows were held out in each fold: of all classes, or for each class apart.
    what : str
        What is inside.
    by_class : bool
        Whether it is promised for each class.
    """
    n, folds, each = int(np.sum(sizes)), len(sizes[0]), " of each class" if by_class else ""
    least = min(least_coverage(coverage, size) for size in sizes)
    usual = "" if folds == 1 else f", and usually of about {coverage:.4g}"
    how = f"the {n} rows held out" if folds == 1 else f"{n} rows, held out in {folds} parts from models of the others"
    return Promise(
        least,
        f"A new row{each} has its true {what} inside with a probability of at least {least:.4g}{usual}, whatever the "
        f"model: on average over new rows and {how}, not for each row separately, and if all rows are exchangeable.",
    )


def least_coverage(coverage: float, sizes: Array) -> float:
    """What is proven for rows held out in folds of these sizes.

    One fold: the coverage itself. More (Barber, Candès, Ramdas and Tibshirani 2021, theorem 4): 1 − 2α less the smaller
    of two losses. The first comes from p-values of the folds, of which twice the average is one, whatever the sizes of
    the folds; the second, 0 where each row is a fold, needs folds of one size.

    Examples
    --------
    >>> least_coverage(0.9, np.array([100])), round(least_coverage(0.9, np.array([20] * 5)), 4)
    (0.9, 0.7238)
    """
    sizes = sizes[sizes > 0]
    n, folds = int(sizes.sum()), len(sizes)
    if folds <= 1:
        return coverage
    loss = 2 * (folds - 1) / (n + folds)
    if (sizes == sizes[0]).all():
        loss = min(loss, (1 - folds / n) / (folds + 1))
    return max(0.0, 1 - 2 * (1 - coverage) - loss)


def warn_if_too_few(n: int, coverage: float, consequence: str) -> None:
    """Say so where no rank is high enough."""
    if exact_rank(n, coverage) > n:
        needed = ceil(coverage / (1 - coverage) - ROUNDING)
        warn(
            f"{counted(n, 'held-out row')} cannot give a coverage of {coverage:g}: {consequence}. Hold out "
            f"{needed:,} or more (give more rows, a larger share with calibration=…, or cv=5, which holds out all "
            "of them in turn), or ask for a lower coverage.",
            CalibrationWarning,
        )
