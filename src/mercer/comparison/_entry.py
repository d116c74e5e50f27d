"""The results of one model of a comparison, with its size and its simplicity."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.base import ModelKind, traits_of
from mercer.base.pipelines import last_step
from mercer.comparison._paired import mean_of
from mercer.comparison.pairs import uses_products
from mercer.data import Table
from mercer.decision import CalibrationError


class _ByteCounter:
    """A file that only counts the bytes written to it."""

    length = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.length += size
        return size


def measure_size(model: Any) -> float:
    """Return the bytes of a pickled model; NaN if it cannot be pickled.

    Examples
    --------
    >>> import numpy as np
    >>> measure_size(np.zeros(1000)) > 8000
    True
    """
    counter = _ByteCounter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except Exception:
        return math.nan
    return float(counter.length)


#: terms up to which an export counts as short
MAX_EXPORT_TERMS = 20_000


class Simplicity(NamedTuple):
    """Properties that make a fitted model simple to use.

    `additive` is True if the score is a sum over columns, and hence explained exactly. `obstacle` is a sentence on why
    the model cannot be exported; None if it can be. `long_export` is a sentence on a long export; None if it is short.
    """

    additive: bool
    obstacle: str | None
    long_export: str | None = None


def assess_simplicity(model: Any, row: Any, *, most_terms: int = MAX_EXPORT_TERMS) -> Simplicity:
    """Return the simplicity of a fitted model; `row` is explained to find whether the model is additive.

    The export of a model with more than `most_terms` terms counts as long. Such an export takes seconds, so only the
    kind of the model is checked for obstacles.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> assess_simplicity(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]), [[1.0]])
    Simplicity(additive=True, obstacle=None, long_export=None)
    """
    from mercer.explanation.explanation import explain_exactly
    from mercer.export.obstacle import obstacle, obstacle_of_kind

    model = unwrap_search(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            additive = explain_exactly(model, row) is not None and not uses_products(model)
            features = getattr(last_step(model), "n_features_in_", np.shape(row)[1])
            last = last_step(model)
            traits, each, per_class = traits_of(last), "feature", features
            if traits.half_of(last) == "monomials":
                each, per_class = "product of two columns", features * (features + 1) // 2
            terms = per_class * len(getattr(model, "classes_", [0]))
            if terms <= most_terms:
                return Simplicity(additive, obstacle(model))
            of_what = f"{terms:,} terms, one for each {each} and class"
            if traits.kind_of(last) == "kernel":
                of_what = f"the rows that it compares with have {features:,} columns"
            return Simplicity(additive, obstacle_of_kind(model), f"Its export is long: {of_what}.")
        except Exception as failure:  # a model of another library
            return Simplicity(False, f"{type(model).__name__} cannot be exported ({type(failure).__name__}).")


def unwrap_search(model: Any) -> Any:
    """Return a fitted model with its search replaced by the best estimator."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        *first, (name, last) = model.steps
        return Pipeline([*first, (name, unwrap_search(last))])
    return getattr(model, "best_estimator_", model)


class ChosenParameter(NamedTuple):
    """The value that a search within a fit chose for a parameter, and the tried values."""

    parameter: str
    value: Any
    tried: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a comparison, its table, and its scores on held-out rows.

    Attributes
    ----------
    name : str
        Name in the leaderboard.
    model : estimator
        The unfitted model; it tunes its parameters within each fit, on the rows of that fit.
    table : Table
        The columns that the model gets.
    kind : {"generative", "discriminative", "direct", "kernel", "density", "baseline", "reference"}
        The kind of the model. In this order: the joint distribution of row and target; the target given the row; only
        the decision; a function in the span of a kernel; densities by windows; the target without the row; another
        method scored on the same splits, which is never recommended.
    partner : str or None
        Name of the listed counterpart: the other half of a generative-discriminative pair.
    scores : mapping from measure to array of shape (n_splits,)
        Scores of each split; NaN if a split does not have the measure.
    by_unit, signal : mapping from measure to array of shape (n_units,)
        The part of each unit of rows in a measure (see `scores_by_unit`), and in the covariance of the target with
        the forecasts. Without them differences are tested by the splits.
    held_out : array of shape (n_rows, n_classes) or (n_rows,)
        Probabilities, with a column for each label of the task, or predictions, by models fitted without the row:
        the mean over repeats, NaN for a row that was never held out. A classifier without probabilities has the share
        of the repeats in which it predicted a class: see `probabilistic`.
    fit_seconds, predict_seconds, size_bytes : float
        Seconds of a fit and of the prediction of the held-out rows, and bytes of the fitted model: the (lower) median
        over the splits.
    notes : tuple of str
        Warnings of the model, or the reason why it failed.
    fitted : estimator or None
        The model fitted to all rows, once `Comparison.fitted` has been called.
    choice : ChosenParameter or None
        The choice of its search, if it has one, in that fit.
    calibration : CalibrationError or None
        Distance of the held-out probabilities from frequencies, over all rows; None without probabilities.
    probabilistic : bool
        Whether a classifier has probabilities.
    failed : bool
        Whether it could not be fitted or scored.
    converged : bool
        Whether all fits reached their optimum, as far as the model reports it.
    additive : bool
        Whether its score is a sum of contributions of the columns, so that predictions are explained exactly.
    impossible : int
        Held-out rows for which the prediction is impossible, such as a count below 0.
    obstacle : str or None
        Why the model of the first split cannot be exported, in a sentence; None if it can be.
    long_export : str or None
        A sentence on a long export of that model, with the number of terms; None if it is short.
    """

    name: str
    model: Any
    table: Table
    kind: ModelKind
    partner: str | None
    scores: Mapping[str, Array]
    held_out: Array
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    size_bytes: float = math.nan
    notes: tuple[str, ...] = ()
    fitted: Any | None = None
    choice: ChosenParameter | None = None
    calibration: CalibrationError | None = None
    probabilistic: bool = False
    failed: bool = False
    converged: bool = True
    additive: bool = False
    impossible: int = 0
    obstacle: str | None = None
    long_export: str | None = None
    by_unit: Mapping[str, Array] = field(default_factory=dict)
    signal: Mapping[str, Array] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return name, kind and mean scores, without the arrays."""
        scores = ", ".join(f"{metric}={self.mean(metric):.4g}" for metric in self.scores)
        return f"Entry({self.name!r}, {self.kind}{', failed' if self.failed else ''}{scores and f': {scores}'})"

    @property
    def answered(self) -> Array:
        """Mask of the rows that have a prediction of a model fitted without them."""
        return np.asarray(np.isfinite(self.held_out.reshape(len(self.held_out), -1)).all(axis=1))

    def mean(self, metric: str) -> float:
        """Return the mean of a measure over the splits that have it."""
        return mean_of(self.scores[metric])
