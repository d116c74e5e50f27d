"""Folds of a cross-validation."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y, column_or_1d, validate_data

from mercer._errors import (
    ColumnMismatchError,
    ColumnTypeError,
    DataError,
    DegenerateDataError,
    DeviceError,
    EmptyDataError,
    FitInterrupted,
    NonFiniteError,
    PenaltyError,
    SupportError,
)
from mercer._gpu import is_tensor, like, to_numpy
from mercer._memory import gigabytes
from mercer._stored import stored
from mercer._suggest import did_you_mean, quoted
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer._warn import warn
from mercer.data.labels import encode_labels
from mercer.data.select import fetched
from mercer.data.side_by_side import rows_of_arrow
from mercer.data.storages.dense import unmasked
from mercer.data.table import Table
from mercer.kernels.inputs import take
from mercer.matrices import Encoded
from mercer.report.wording import counted

# scikit-learn's refusals of X and y, with what is to blame and what to do about it.

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


# Encoded rows at the door of an estimator: what scikit-learn's validation does for arrays and frames.


def checked_encoded(estimator: Any, X: Encoded, y: Any, *, reset: bool, codes: bool, **options: Any) -> Any:
    """As they are where the estimator reads `codes`, else as a sparse matrix if it takes one, else written out."""
    remember_columns(estimator, X, reset=reset)
    options = {"estimator": estimator, **options}
    if not codes:
        matrix = X.tocsr() if options["accept_sparse"] else X.toarray()
        return check_array(matrix, input_name="X", **options) if y is None else check_X_y(matrix, y, **options)
    if y is None:
        return X
    stands_for_X = np.broadcast_to(0.0, X.shape)
    return X, check_X_y(stands_for_X, y, **options)[1]


def encoded_table(estimator: Any, X: Encoded, *, reset: bool, codes: bool) -> Any:
    """As they are where the estimator reads `codes`, else a table of numbers."""
    remember_columns(estimator, X, reset=reset)
    if codes:
        return X
    table = Table.of(X.toarray())
    return table if X.given_names is None else replace(table, column_names=tuple(X.given_names), named=True)


def remember_columns(estimator: Any, X: Encoded, *, reset: bool) -> None:
    """In a fit, remember number and names of the columns; later, refuse others."""
    name = type(estimator).__name__
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={X.shape}) while a minimum of 1 is required by {name}. Look at how "
                "X was selected or encoded."
            )
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        if X.given_names is not None:
            estimator.feature_names_in_ = np.asarray(X.given_names, dtype=object)
        return
    if X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. "
            "Encode the rows with the transformer of the fit."
        )
    _refuse_other_names(X, getattr(estimator, "feature_names_in_", None))


def _refuse_other_names(X: Encoded, fitted: Any) -> None:
    if fitted is None or X.given_names is None or X.given_names is fitted:
        return
    differ = np.flatnonzero(np.asarray(X.given_names, dtype=object) != fitted)
    if len(differ):
        column = int(differ[0])
        raise ColumnMismatchError(
            f"The feature names should match those that were passed during fit. Column {column} is "
            f"{X.given_names[column]!r}, but was {fitted[column]!r}; encode the rows with the transformer of the fit."
        )


# What every estimator shares: checking its input, keeping the old model when a fit fails, and saying how it went.


@stored()
@dataclass(frozen=True)
class Plan:
    """Which path a fit took."""

    path: str
    dtype: str
    blocks: int
    threads: int
    exact: bool = True
    device: str = "cpu"
    #: what was read, where it was not in memory, its bytes if they are known, how often, and what could not be read
    source: str | None = None
    bytes: int | None = None
    passes: int = 0
    skipped: tuple[str, ...] = ()
    #: where passes ran, if not in this process
    cluster: str | None = None

    def where(self, X: Any) -> Plan:
        """The same path on the device that the rows were given on."""
        return replace(self, device=str(X.device)) if is_tensor(X) else self

    def __str__(self) -> str:
        kind = "exact" if self.exact else "approximate"
        where = f"{counted(self.blocks, 'block')} on {counted(self.threads, 'thread')}"
        said = f"{self.path}; {kind}, {self.dtype}, {where}, {self.device}"
        if self.source is not None:
            size = "" if self.bytes is None else f" of {gigabytes(self.bytes)}"
            where = "" if self.cluster is None else f" on {self.cluster}"
            said += f"; {counted(self.passes, 'pass')} over {self.source}{size}{where}"
        return said + (f"; skipped {', '.join(self.skipped)}" if self.skipped else "")


#: what is said of weights that are all zero
NO_WEIGHT = "Sample weights must contain at least one non-zero number. All are zero; give some rows a weight above 0."


@contextmanager
def old_state_on_failure(estimator: Any) -> Iterator[None]:
    """Put every attribute back if the body raises: a failed fit leaves the model that was there.

    An interrupted one has stored the best model so far, whose certificate does not hold.
    """
    before = dict(vars(estimator))
    try:
        yield
    except FitInterrupted:
        raise
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def forget_fit(estimator: Any) -> None:
    """Take away what the last fit has published: not every fit publishes the same."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def adopt_columns(estimator: Any, fitted: Any) -> None:
    """Number and names of the columns that another estimator was fitted on; names only where it has some."""
    for name in ("n_features_in_", "feature_names_in_"):
        vars(estimator).pop(name, None)
        if hasattr(fitted, name):
            setattr(estimator, name, getattr(fitted, name))


def in_main_memory(estimator: str, **given: Any) -> tuple[Any, ...]:
    """What was given for computing with arrays alone: tensors as arrays, a DuckDB relation as its rows.

    What a mask hides is missing. Nothing is fetched from a card.
    """
    for name, values in given.items():
        if is_tensor(values) and values.device.type != "cpu":
            raise DeviceError(
                f"{estimator} computes this in main memory, but {name} is on {values.device}: models do not move "
                f"tensors by themselves; give {name}.cpu()."
            )
    return tuple(
        to_numpy(v) if is_tensor(v) else fetched(v) if _is_unknown_frame(v) else unmasked(v) for v in given.values()
    )


def _is_unknown_frame(X: Any) -> bool:
    """Whether X is a relation of DuckDB or a record batch of pyarrow: nobody who has not imported these has one."""
    known = (("duckdb", "DuckDBPyRelation"), ("pyarrow", "RecordBatch"))
    return any(isinstance(X, getattr(sys.modules.get(library), name, ())) for library, name in known)


def checked(estimator: Any, X: Any, y: Any = None, *, reset: bool, codes: bool = False, **options: Any) -> Any:
    """scikit-learn's `validate_data` without its pass over the values: statistics find NaN and infinity themselves.

    `Encoded` rows stay so where `codes` are asked for; otherwise they become a sparse matrix, or an array if the
    estimator takes none.
    """
    X, y = in_main_memory(type(estimator).__name__, X=X, y=y)
    options.setdefault("accept_sparse", "csr")
    options.setdefault("ensure_all_finite", False)
    numeric = options.get("y_numeric", False)
    try:
        if isinstance(X, Encoded):
            taken = checked_encoded(estimator, X, y, reset=reset, codes=codes, **options)
        else:
            taken = _validated(estimator, X, y, reset=reset, **options)
            taken = _as_numbers(taken) if y is None else (_as_numbers(taken[0]), taken[1])
        if numeric and y is not None and taken[1].dtype.kind in "US":
            taken = (taken[0], taken[1].astype(np.float64))  # words, which scikit-learn leaves to who computes
    except (TypeError, ValueError) as refusal:
        better = explained(refusal, X, y, estimator=type(estimator).__name__, numeric=numeric)
        if better is refusal:
            raise
        raise better from None
    if numeric and getattr(y, "dtype", "O") == "O":  # None is missing, too, which scikit-learn overlooks
        refuse_spoilt_target(y, numeric=True)
    return taken


def _validated(estimator: Any, X: Any, y: Any, *, reset: bool, **options: Any) -> Any:
    """scikit-learn's `validate_data`; tables of pyarrow become rows without it, which it makes a column at a time."""
    given = {} if y is None else {"y": y}
    if (rows := rows_of_arrow(X)) is None:
        return validate_data(estimator, X, **given, reset=reset, **options)
    validate_data(estimator, X, **given, reset=reset, skip_check_array=True)  # names, and how many there are
    if y is None:
        return check_array(rows, estimator=estimator, input_name="X", **options)
    return check_X_y(rows, y, estimator=estimator, **options)


def _as_numbers(X: Any) -> Any:
    """X with numbers where scikit-learn left objects, as it does with frames of several types but pandas'."""
    return X.astype(np.float64) if X.dtype == object else X


def checked_table(estimator: Any, X: Any, y: Any = None, *, reset: bool, codes: bool = False) -> tuple[Any, Any]:
    """`checked` for columns of any type: X as a table, nothing converted, and y as a vector of labels.

    `Encoded` rows stay so where `codes` are asked for; otherwise they become a table of numbers.
    """
    X, y = in_main_memory(type(estimator).__name__, X=X, y=y)
    if isinstance(X, Encoded):
        table = encoded_table(estimator, X, reset=reset, codes=codes)
    else:
        table = _table_of(estimator, X, reset=reset)
    if y is not None:
        y = column_or_1d(y, warn=True)
        if len(y) != table.n_rows:
            raise DataError(
                f"Found input variables with inconsistent numbers of samples: {[table.n_rows, len(y)]}. Give one label "
                "for each row of X."
            )
    return table, y


def checked_columns(estimator: Any, X: Any, *, reset: bool) -> Table:
    """X as a table whose dates and times are read as numbers; where names are those of the fit, so is their order."""
    (X,) = in_main_memory(type(estimator).__name__, X=X)
    return _table_of(estimator, X, reset=reset, dates=True)


def _table_of(estimator: Any, X: Any, *, reset: bool, dates: bool = False) -> Table:
    """X as a table with rows and columns, whose names are those of the fit."""
    table = Table.of(X, dates=dates)
    for size, what in ((table.n_rows, "sample(s)"), (table.n_columns, "feature(s)")):
        if size == 0:
            shape = (table.n_rows, table.n_columns)
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required. Look at how X was "
                "selected or read."
            )
    try:
        validate_data(estimator, table.native if dates else X, reset=reset, skip_check_array=True)
    except ValueError as mismatch:
        raise ColumnMismatchError(
            f"{str(mismatch).rstrip()}\nGive the columns of the fit, by the same names and in the same order."
        ) from None
    return table


def checked_weight(sample_weight: Any, X: Any, *, forgets: bool = False, part: bool = False) -> Array | None:
    """Weights as float64, one per row and none negative; None stays None. `forgets` says that the model can.

    Some must be above 0, but where the rows are `part` of more.
    """
    if sample_weight is None:
        return None
    (sample_weight,) = in_main_memory("the model", sample_weight=sample_weight)
    try:
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, allow_all_zero_weights=True)
    except ValueError as refusal:
        raise DataError(f"{refusal} Give one weight for each row.") from None
    if (negative := weight < 0).any():
        row = int(np.argmax(negative))
        advice = ", and take rows out again with `forget`" if forgets else ""
        raise DataError(
            f"Negative values in data passed to `sample_weight`. Row {row} has the weight {weight[row]:g}; give 0 or "
            f"more to each row{advice}."
        )
    if not (part or weight.any()):
        raise DataError(NO_WEIGHT)
    return weight


def publish(estimator: Any, **attributes: Array) -> None:
    """Set fitted attributes in the precision of the data, as scikit-learn does; what scores rows keeps all digits."""
    dtype = np.float32 if estimator.plan_.dtype == "float32" else np.float64
    for name, value in attributes.items():
        setattr(estimator, name, in_precision(value, dtype))


def in_precision(value: Array, dtype: Any) -> Array:
    """Values of a type, if it has room for them: infinity would be no coefficient."""
    with np.errstate(over="ignore"):
        narrow = value.astype(dtype, copy=False)
    return narrow if np.array_equal(np.isfinite(narrow), np.isfinite(value)) else value


def is_sparse(X: Any) -> bool:
    """`scipy.sparse.issparse` without its type guard, which would make mypy forget what X is."""
    return bool(sp.issparse(X))


def column_names(estimator: Any) -> list[str]:
    """Names of the columns the estimator was fitted on; x0, x1, … where they had none."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def first_where(X: Any, bad: Callable[[Array], Array]) -> tuple[int, int, Any] | None:
    """Row, column and value of the first entry that is `bad`.

    Of a sparse matrix only stored entries are asked, of a tensor only rows that are not finite.
    """
    if is_tensor(X):
        suspects = (~X.isfinite()).any(dim=1).nonzero()[:, 0]
        first = first_where(to_numpy(X[suspects]), bad)
        return first and (int(suspects[first[0]]), first[1], first[2])
    if isinstance(X, Encoded):
        return X.first_where(bad)
    if is_sparse(X):
        if not (found := bad(X.data)).any():
            return None
        entries, place = X.tocoo(), int(np.argmax(found))
        return int(entries.row[place]), int(entries.col[place]), entries.data[place]
    values = np.asarray(X)
    found = np.argwhere(bad(values))
    return (int(found[0, 0]), int(found[0, 1]), values[tuple(found[0])]) if len(found) else None


def refuse_infinite(X: Any, names: list[str], *, estimator: str, missing: bool = True) -> None:
    """Find the first value that is infinite (or, where `missing` is False, NaN) and raise an error that names it."""
    refuse_where(
        np.isinf if missing else lambda values: ~np.isfinite(values),
        X,
        names,
        gaps=f"{estimator} does not accept missing values encoded as NaN; drop or impute them, or use NaiveBayes, "
        "which integrates them out",
        unknown=", or by NaN if it is unknown" if missing else "",
    )


def refuse_where(bad: Callable[[Array], Array], X: Any, names: list[str], *, gaps: str, unknown: str = "") -> None:
    """Find the first NaN or infinity that is `bad`, if there is one, and raise an error that names it.

    `gaps` says who takes no NaN, and what to do then; `unknown` what an infinity may be replaced by beside a number.
    """
    if (found := first_where(X, bad)) is None:
        return
    row, column, value = found
    if np.isnan(value):
        raise NonFiniteError(
            f"Input X contains NaN. Column {names[column]!r} has a missing value in row {row}, and {gaps}."
        )
    raise NonFiniteError(
        f"Input X contains infinity or a value too large for {X.dtype!r}. Column {names[column]!r} is {value} in row "
        f"{row}; replace it by a number{unknown}."
    )


def refuse_negative(X: Any, names: list[str], *, estimator: str, expected: str) -> None:
    """Find the first negative value and raise an error that names it and says what was `expected`."""
    found = first_where(X, lambda values: values < 0)
    if found is not None:
        row, column, value = found
        raise SupportError(
            f"Negative values in data passed to {estimator} (input X). Column {names[column]!r} is {value} in row "
            f"{row}, but {expected}."
        )


# Values of X that are no finite numbers: looked for at little cost, found, and named.

#: numbers that one thread adds up: with fewer, threads would cost more than they gain
SUMMED = 1 << 20


def refuse_not_finite(estimator: Any, X: Any) -> None:
    """Find the first value of an array or tensor that is not finite, if there is one, and raise an error about it."""
    if adds_up(X):
        return
    if is_tensor(X):
        _refuse_tensor(estimator, X)
    else:
        refuse_non_finite(X, column_names(estimator), type(estimator).__name__)


def adds_up(X: Any) -> bool:
    """Whether the sum of all values is a number, so that each of them is; large ones may have none all the same.

    A sum takes no memory, as a mask would; of encoded rows it is not taken.
    """
    if is_tensor(X):
        import torch

        return bool(X.sum(dtype=torch.float64).isfinite())
    if isinstance(X, Encoded):
        return False
    values = X.data if is_sparse(X) else X
    parts = row_blocks(len(values), max(1, SUMMED // max(1, values[:1].size)))
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(sum(ordered_map(lambda rows: values[rows].sum(dtype=np.float64), parts))))


def refuse_non_finite(X: Any, names: list[str], estimator: str) -> None:
    """Find the first value of X that is not a finite number, if there is one, and raise an error that names it."""
    refuse_where(
        lambda values: ~np.isfinite(values),
        X,
        names,
        gaps=f"{estimator} does not accept missing values encoded as NaN natively; drop such rows, or put "
        "TableFeatures() before it, which fills the gaps and says where they were",
    )


def refuse_unrepresentable(coef: Array, names: list[str]) -> None:
    """Raise if a coefficient has no float64: its column is too small."""
    if not (finite := np.isfinite(coef).all(axis=0)).all():
        column = int(np.argmin(finite))
        raise NonFiniteError(
            f"the coefficient of column {names[column]!r} is too large for float64, because its values are so small; "
            "multiply the column by 1e100, say."
        )


def refuse_spoilt_start(*coefficients: Any) -> None:
    """Raise if a fit is to begin with coefficients that are no numbers: no step leads away from them."""
    if not all(np.isfinite(each).all() for each in coefficients):
        raise NonFiniteError(
            "the coefficients to begin with hold NaN or infinity: set warm_start=False, or give others (coef_init)."
        )


def refuse_too_wide(spread: Array, names: Sequence[str]) -> None:
    """Raise if the spread of a column, one number each, has no float64."""
    if (wide := np.flatnonzero(~np.isfinite(spread))).size:
        raise DegenerateDataError(
            f"column {names[wide[0]]!r} is so wide that its variance is too large for float64; divide it by its "
            "largest value."
        )


def _refuse_tensor(estimator: Any, X: Any) -> None:
    if (found := first_where(X, lambda values: ~np.isfinite(values))) is None:
        return
    row, column, value = found
    raise NonFiniteError(
        f"Input X contains {'NaN' if np.isnan(value) else 'infinity'}. Column {column_names(estimator)[column]!r} is "
        f"{value} in row {row}; drop the row, or replace it by a number."
    )


def finite_numbers(y: Any) -> Array:
    """Targets as float64; a typed error where they are not numbers."""
    try:
        numbers: Array = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"the targets y are not numbers ({error}); encode them, or use a classifier.") from error
    if not np.isfinite(numbers).all():
        row = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise NonFiniteError(f"Input y contains NaN or infinity in row {row}. Leave the row out, or impute its target.")
    return numbers


# Tensors of torch at the door of an estimator: what scikit-learn's validation does for arrays.
#
# A model fitted to tensors is the same model: its attributes are small arrays in main memory, so that it predicts
# arrays and tensors alike, on whatever device, and is saved like any other. What it computes with rows stays where the
# rows are, and what it says about rows is a tensor there.


def checked_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Rows as a matrix of float32 or float64 on their device; `reset` in a fit, which says how many columns there are.

    Whether all numbers are finite is left to whatever reads them anyway; see `_finite.refuse_not_finite`.
    """
    import torch

    name = type(estimator).__name__
    if X.layout != torch.strided or X.is_complex():
        raise DeviceError(f"{name} takes dense tensors of real numbers; give X.to_dense(), or an array.")
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead: X has the shape {tuple(X.shape)}. Give X.reshape(-1, 1) "
            "if there is one column, and X.reshape(1, -1) if there is one row."
        )
    for size, what in zip(X.shape, ("sample(s)", "feature(s)"), strict=True):
        if not size:
            raise EmptyDataError(
                f"Found array with 0 {what} (shape={tuple(X.shape)}) while a minimum of 1 is required by {name}. Look "
                "at how X was selected or read."
            )
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
        estimator.__dict__.pop("feature_names_in_", None)
    elif X.shape[1] != estimator.n_features_in_:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} features as input. Give "
            "the columns of the fit, in the same order."
        )
    return X.detach() if X.dtype in (torch.float32, torch.float64) else X.detach().to(working_dtype(X))


def working_dtype(X: Any) -> Any:
    """float64 for whole numbers, float32 for halves of it."""
    import torch

    return torch.float32 if X.dtype.is_floating_point else torch.float64


def refuse_other_device(values: Any, X: Any, name: str) -> None:
    """Tensors that belong together lie together; arrays and lists are moved, since they lie nowhere in particular."""
    if is_tensor(values) and values.device != X.device:
        raise DeviceError(
            f"X is on {X.device}, but {name} is on {values.device}: models do not move tensors by themselves; give "
            f"{name}.to(X.device)."
        )


def beside(values: Any, X: Any, name: str, *, dtype: Any = None) -> Any:
    """Targets or weights of rows, one for each, as numbers of the type of X (or the one given) and on its device."""
    refuse_other_device(values, X, name)
    numbers = like(values.detach() if is_tensor(values) else _numbers(values, name), X, dtype=dtype)
    if numbers.ndim == 0 or len(numbers) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), numbers.numel()]}. Give one entry "
            f"of {name} for each row of X."
        )
    return numbers


def _numbers(values: Any, name: str) -> Array:
    array = np.asarray(values)
    try:
        return array if array.dtype.kind in "biuf" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} holds {array.dtype} where numbers are needed; convert it to float.") from None


def checked_tensor_weight(sample_weight: Any, X: Any) -> Any:
    """`checked_weight` for tensors: float64 on the device of X; None stays None."""
    import torch

    if sample_weight is None:
        return None
    if isinstance(sample_weight, Number):
        sample_weight = np.full(len(X), sample_weight)
    weight = beside(sample_weight, X, "sample_weight", dtype=torch.float64)
    if weight.ndim != 1 or not bool(((weight >= 0) & weight.isfinite()).all() & weight.any()):
        checked_weight(to_numpy(weight), range(len(X)))  # finds out what is wrong, and says it
    return weight


def coded(y: Any, X: Any) -> tuple[Array, Any]:
    """The classes, sorted, in main memory, and the number of each row's class on the device of X."""
    import torch

    refuse_other_device(y, X, "y")
    if is_tensor(y):
        found, codes = _distinct(y)
        classes = encode_labels(to_numpy(found))[0]  # which refuses what is no class
    else:
        classes, places = encode_labels(column_or_1d(y, warn=True))
        codes = like(places, X, dtype=torch.int64)
    if len(codes) != len(X):
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: {[len(X), len(codes)]}. Give one label for "
            "each row of X."
        )
    return classes, codes


def _distinct(y: Any) -> tuple[Any, Any]:
    """The labels in ascending order, and the place of each row's among them."""
    import torch

    if y.ndim != 1 and tuple(y.shape[1:]) != (1,):
        raise DataError(
            f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead. Give one label per row."
        )
    if y.is_complex():
        raise DataError(f"Unknown label type: {y.dtype}. Give every row one of a few whole numbers.")
    if y.is_floating_point():
        if not bool(y.isfinite().all()):
            raise NonFiniteError("Input y contains NaN or infinity; drop the rows without a label.")
        y = y if y.dtype == torch.float64 else y.float()  # NumPy has fewer types of halves
    y = y.detach().reshape(-1)
    if len(y) and bool(((y == (low := y.min())) | (second := y == (high := y.max()))).all()) and bool(low != high):
        return torch.stack([low, high]), second.long()  # nothing has to be sorted for two
    found, codes = torch.unique(y, return_inverse=True)
    return found, codes


def in_memory(values: Any) -> Any:
    """Targets or weights that are a tensor as an array; anything else as it is."""
    return to_numpy(values) if is_tensor(values) else values


def fetch_rows(rows: Any, numbers: Array) -> Any:
    """Some rows, by their numbers, in main memory: those of a tensor come from its device."""
    some = take(rows, numbers)
    return to_numpy(some) if is_tensor(some) else some


def labelled(classes: Array, codes: Any) -> Any:
    """Labels by their numbers: a tensor, or an array where labels are no numbers, which no tensor holds."""
    import torch

    if classes.dtype.kind in "biuf":
        return torch.as_tensor(np.array(classes), device=codes.device)[codes]
    return classes[to_numpy(codes)]


def best_class(scores: Any, classes: Array) -> Any:
    """The label of the highest score, or the second of two where it is above 0; of tensors and of arrays."""
    if is_tensor(scores):
        return labelled(classes, scores.argmax(dim=1) if scores.ndim == 2 else (scores > 0).long())
    return np.asarray(classes[scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)])


def tensor_plan(path: str, X: Any, *, exact: bool = True, blocks: int = 1) -> Plan:
    """Which path a fit of tensors took."""
    return Plan(path, str(X.dtype).removeprefix("torch."), blocks, 1, exact, str(X.device))


# Columns that somebody names, or counts.


def position_of(key: Any, names: Sequence[str], parameter: str) -> int:
    """Where the column is that a parameter has by its name or number; negative numbers count from the end."""
    no_column = f"{parameter} names column {key!r}, but there is no such column"
    if isinstance(key, str):
        if key not in names:
            raise ColumnMismatchError(f"{no_column}. {did_you_mean(key, names)}")
        return names.index(key)
    try:
        return range(len(names))[operator.index(key)]
    except (IndexError, TypeError):
        raise ColumnMismatchError(f"{no_column}: there are {len(names)} columns, counted from 0.") from None


def weight_in_fold(train: Array, n: int, weight: Array | None) -> Array:
    """Weights of n rows to learn a fold from: rows outside of it have none, so that nothing is copied."""
    chosen = np.bincount(np.arange(n)[train], minlength=n).astype(np.float64)
    chosen = chosen if weight is None else chosen * weight
    if not chosen.any():
        raise DataError(
            "the rows of a fold are none, or all have the weight zero, so that there is nothing to learn from; use "
            "fewer folds, or shuffle them."
        )
    return chosen
