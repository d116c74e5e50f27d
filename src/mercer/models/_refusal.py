"""scikit-learn's refusals of X and y, with what is to blame and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer._errors import ColumnTypeError, DataError, NonFiniteError, PenaltyError
from mercer._suggest import quoted
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.labels import encode_labels
from mercer.data.table import Table

#: how refusals of a y with gaps begin; the last is what NumPy makes of pandas' NA
NO_VALUE = ("Input y contains", "Input contains NaN", "boolean value of NA is ambiguous")
#: and those of text
NOT_NUMBERS = ("could not convert string to float", "dtype='numeric' is not compatible")
#: and those of dates, of lists and of names that occur twice, for which a table has better words
NO_COLUMN = ("The DType", "setting an array element with a sequence", "Expected unique column names")


def explained(refusal: Exception, X: Any, y: Any, *, estimator: str, numeric: bool) -> Exception:
    """An error that names the row or column and the remedy; the refusal itself where it says enough.

    Parameters
    ----------
    refusal : Exception
        What scikit-learn raised.
    X, y : array-like
        As they were given; y may be None.
    estimator : str
        Who refuses.
    numeric : bool
        Whether y is to be numbers.
    """
    sentence = str(refusal)
    try:
        if y is not None and sentence.startswith(NO_VALUE):
            refuse_spoilt_target(y, numeric=numeric)
        if sentence.startswith(NOT_NUMBERS):
            return _text(sentence, X, y, estimator, numeric=numeric)
        if sentence.startswith(NO_COLUMN):
            _refuse_columns(Table.of(X))
    except DataError as better:
        return better
    return refusal


def refuse_no_target(estimator: Any, y: Any, what: str = "target") -> None:
    """Raise if there is no y, which has `what` of every row."""
    if y is None:
        raise DataError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None. Pass the "
            f"{what} of every row."
        )


def refuse_one_class(classes: Array, advice: str = "") -> None:
    """There must be two classes at least."""
    if len(classes) < 2:
        raise DataError(
            f"The number of classes has to be greater than one; got {len(classes)} class. All rows are of class "
            f"{classes.tolist()[0]!r}; add rows of another{advice}."
        )


def refuse_one_class_of_solver(classes: Array) -> None:
    """The same in the words of liblinear and the solvers of logistic regression."""
    if len(classes) < 2:
        raise DataError(
            "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
            f"{classes.tolist()[0]!r}. Look at how y was selected."
        )


def warn_of_many_classes(classes: Array, rows: int) -> None:
    """More classes than half the rows may be numbers to predict; of a few rows nothing is said, as in scikit-learn."""
    if rows > 20 and len(classes) > round(0.5 * rows):
        warn(
            "The number of unique classes is greater than 50% of the number of samples. `y` could represent a "
            f"regression problem, not a classification problem. There are {len(classes)} classes among {rows} rows.",
            UserWarning,
        )


def refuse_spoilt_target(y: Any, *, numeric: bool) -> None:
    """Raise an error that names the first row of y that is missing or infinite, if there is one."""
    if not numeric:
        encode_labels(y)
        return
    try:
        values = np.asarray(y, dtype=float).reshape(len(y), -1)
    except (TypeError, ValueError):  # text, or pandas' NA
        return
    if not (finite := np.isfinite(values).all(axis=1)).all():
        row = int(np.argmin(finite))
        what = "NaN" if np.isnan(values[row]).any() else f"infinity or a value too large for {values.dtype!r}"
        raise NonFiniteError(f"Input y contains {what}. Row {row} has y = {values[row].squeeze()}; drop such rows.")


def _refuse_columns(table: Table) -> None:
    for column, kind in enumerate(table.kinds):
        if not kind.numeric:
            table.coded(column)


def _text(sentence: str, X: Any, y: Any, estimator: str, *, numeric: bool) -> Exception:
    table, sentence = Table.of(X), sentence.rstrip(".")
    for column, kind in enumerate(table.kinds):
        words = [] if kind.numeric else table.coded(column).labels.tolist()
        if (word := _first_not_a_number(words)) is not None:
            return ColumnTypeError(
                f"{sentence}. Column {table.names[column]!r} holds text or categories such as {quoted(word)}, but "
                f"{estimator} takes numbers only. Put TableFeatures or CategoryFeatures before "
                "it in a pipeline, leave the column out, or use GLM, or for classes NaiveBayes, which take it as it is."
            )
    if numeric and y is not None and (word := _first_not_a_number(np.ravel(np.asarray(y, dtype=object)))) is not None:
        return DataError(
            f"{sentence}. y holds {quoted(word)}, but {estimator} predicts numbers; convert y, or use a classifier "
            "such as LogisticRegression."
        )
    return DataError(f"{sentence}. X holds numbers that are written as text; convert it, e.g. with X.astype(float).")


def _first_not_a_number(words: Iterable[Any]) -> Any:
    for word in words:
        if word is None:
            continue
        try:
            float(word)
        except (TypeError, ValueError):
            return word
    return None


def refuse_no_alphas(alphas: Any) -> None:
    """For models that choose among strengths of the penalty."""
    if not len(alphas):
        raise PenaltyError("alphas is empty; give at least one strength of the penalty to choose from.")
