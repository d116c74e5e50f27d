"""What one model reached."""

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

# How large a fitted model is.


class _Counter:
    """A file that keeps nothing but its length."""

    length = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.length += size
        return size


def size_of(model: Any) -> float:
    """Bytes of a model, counted as it would be pickled; NaN where it cannot be.

    Examples
    --------
    >>> import numpy as np
    >>> size_of(np.zeros(1000)) > 8000
    True
    """
    counter = _Counter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except Exception:
        return math.nan
    return float(counter.length)


# How simple a fitted model is to use: whether it explains its predictions exactly, and whether it can be exported.

#: terms up to which an export counts as short
MOST_TERMS = 20_000


class Simplicity(NamedTuple):
    """Whether the score is a sum over columns, why the model cannot be exported, and that its export is long.

    The last two are sentences; None where it can be exported, and where the export is short.
    """

    additive: bool
    obstacle: str | None
    long_export: str | None = None


def simplicity_of(model: Any, row: Any, *, most_terms: int = MOST_TERMS) -> Simplicity:
    """Return the simplicity of a fitted model, of which one row is explained.

    The export of a model of more than `most_terms` terms counts as long. Such a model is not written out to find what
    is in the way of it, which takes seconds: only its kind is checked.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> simplicity_of(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"]), [[1.0]])
    Simplicity(additive=True, obstacle=None, long_export=None)
    """
    from mercer.explanation.explanation import explain_exactly
    from mercer.export.obstacle import obstacle, obstacle_of_kind

    model = without_search(model)
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
        except Exception as failure:  # of a model of another library
            return Simplicity(False, f"{type(model).__name__} cannot be exported ({type(failure).__name__}).")


def without_search(model: Any) -> Any:
    """Return a fitted model with the estimator that a search within it chose in the place of the search."""
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        *first, (name, last) = model.steps
        return Pipeline([*first, (name, without_search(last))])
    return getattr(model, "best_estimator_", model)


class ChosenParameter(NamedTuple):
    """What a search within a fit has chosen for a parameter, and what it tried."""

    parameter: str
    value: Any
    tried: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Entry:
    """A model of a comparison, what it was shown, and what it reached on rows that it had not seen.

    Attributes
    ----------
    name : str
        By which it is listed.
    model : estimator
        Not fitted; whatever it tunes, it tunes when it is fitted, on the rows of that fit alone.
    table : Table
        What it is shown: all columns, or those that it has an answer to.
    kind : {"generative", "discriminative", "direct", "kernel", "density", "baseline", "reference"}
        What is modelled: rows and target together; the target given the row; only the decision; a function in the
        span of a kernel; densities by windows; nothing. A reference shows what another method reaches on the same
        splits, and is never recommended.
    partner : str or None
        Name of its counterpart in the list: the other half of a generative-discriminative pair.
    scores : mapping from measure to array of shape (n_splits,)
        NaN where there is nothing to report.
    by_unit, signal : mapping from measure to array of shape (n_units,)
        The part of each unit of rows in a measure (see `measuring.units`), and in the covariance of the target with
        the forecasts. Without them differences are judged by the splits alone.
    held_out : array of shape (n_rows, n_classes) or (n_rows,)
        Probabilities, with a column for each label of the task, or predictions, by models that had not seen the row;
        the mean over repeats; NaN where a row was never held out. A classifier without probabilities has the share
        of the repeats in which it decided for a class: see `probabilistic`.
    fit_seconds, predict_seconds, size_bytes : float
        Of one split: to fit, to predict the held-out rows, and the bytes of the fitted model; the (lower) median.
    notes : tuple of str
        What it warned of, or why it failed.
    fitted : estimator or None
        The model, fitted to all rows, where somebody asked for it: see `Comparison.fitted`.
    choice : Choice or None
        What its search, if it has one, chose in that fit.
    calibration : CalibrationError or None
        How far the held-out probabilities are from frequencies, over all rows; None where there are no probabilities.
    probabilistic : bool
        Whether a classifier has probabilities.
    failed : bool
        Whether it could not be fitted or scored.
    converged : bool
        Whether all fits reached their optimum, as far as the model says.
    additive : bool
        Whether its score is a sum of contributions of the columns, so that predictions are explained exactly.
    impossible : int
        Held-out rows for which the prediction is impossible, such as a count below 0.
    obstacle : str or None
        Why it cannot be exported, in a sentence; None where it can be. By the fit to the first split.
    long_export : str or None
        That its export is long, in a sentence with the number of terms; None where it is short. By the same fit.
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
        """Name, kind and mean scores, without the arrays."""
        scores = ", ".join(f"{metric}={self.mean(metric):.4g}" for metric in self.scores)
        return f"Entry({self.name!r}, {self.kind}{', failed' if self.failed else ''}{scores and f': {scores}'})"

    @property
    def answered(self) -> Array:
        """Which rows have an answer of a model that had not seen them."""
        return np.asarray(np.isfinite(self.held_out.reshape(len(self.held_out), -1)).all(axis=1))

    def mean(self, metric: str) -> float:
        """The mean of a measure over the splits that have it."""
        return mean_of(self.scores[metric])
