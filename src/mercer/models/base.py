"""What every estimator shares: checking its input, keeping the old model when a fit fails, and saying how it went."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, check_array, check_X_y, column_or_1d, validate_data

from mercer._errors import (
    ColumnMismatchError,
    DataError,
    DeviceError,
    EmptyDataError,
    FitInterrupted,
    NonFiniteError,
    SupportError,
)
from mercer._gpu import is_tensor, to_numpy
from mercer._memory import gigabytes
from mercer._stored import stored
from mercer._typing import Array
from mercer.data.select import fetched
from mercer.data.side_by_side import rows_of_arrow
from mercer.data.storages.dense import unmasked
from mercer.data.table import Table
from mercer.designs.encoded import Encoded
from mercer.models._encoded_rows import checked_encoded, encoded_table
from mercer.models._refusal import explained, refuse_spoilt_target
from mercer.report.wording import counted


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
