"""Columns of a table as numbers, days, labels or texts, with errors that name the row of a wrong value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import ColumnMismatchError, ColumnTypeError, EmptyDataError, NonFiniteError
from mercer._suggest import did_you_mean, listed, quoted
from mercer._typing import Array
from mercer.data.coding import Coded, drop_missing_words
from mercer.data.dates import are_dates, days_of_labels
from mercer.data.kinds import Kind
from mercer.data.select import names_of, select
from mercer.data.table import Table
from mercer.data.texts import present_texts
from mercer.matrices import Encoded


def numbers_of(table: Table, position: int) -> Array:
    """Return a column as float64, NaN where it is missing."""
    if table.kinds[position] is Kind.DATE:
        raise _wrong_type_error(table, position, "numbers", "dates", "Turn them into numbers")
    if not table.kinds[position].numeric:
        coded = table.coded(position)
        if (coded.codes >= 0).any():
            raise _not_a_number_error(table, position, coded)
        return np.full(table.n_rows, np.nan)
    values = np.asarray(table.numbers([position])[:, 0], dtype=np.float64)
    if (infinite := np.isinf(values)).any():
        row = int(np.argmax(infinite))
        raise NonFiniteError(
            f"Input X contains infinity. Column {table.names[position]!r} is {values[row]} in row {row}; replace it by "
            "a number, or by NaN if it is unknown."
        )
    return values


def days_of(table: Table, position: int, zone: str | None = None) -> Array:
    """Return a column of dates, or of strings that spell them, as days since 1970; NaN where they are missing.

    Times are those of the clock of `zone` ("" for dates without a time zone), or of the column's own zone if it is
    None.
    """
    days, own_zone = _parse_days(table, position, zone or ""), table.zone(position)
    if zone is not None and bool(zone) != bool(own_zone) and not np.isnan(days).all():
        held, holds = (f"the time zone {name!r}" if name else "no time zone" for name in (zone, own_zone))
        raise ColumnTypeError(
            f"Column {table.names[position]!r} had {held} when this was fitted and has {holds} here, so that times "
            "cannot be compared. Give both a time zone, e.g. by pandas' tz_localize."
        )
    return days


def _parse_days(table: Table, position: int, zone: str) -> Array:
    if table.kinds[position] is Kind.DATE:
        return table.days(position, zone)
    coded = table.coded(position)
    if not (coded.codes >= 0).any():
        return np.full(table.n_rows, np.nan)
    labels = coded.labels.tolist()
    if not are_dates(labels):
        wrong = next(label for label in labels if not are_dates([label]))
        row = int(np.argmax(coded.codes == labels.index(wrong)))
        raise ColumnTypeError(
            f"Column {table.names[position]!r} must hold dates, but is {quoted(wrong)} in row {row}. Write dates as "
            "2024-05-31 or 2024-05-31 17:00, or give a column of dates."
        )
    return days_of_labels(coded)


def labels_of(table: Table, position: int, *, text: bool | None) -> Coded:
    """Return a column as codes and labels; check that labels are strings (`text`) or numbers, or neither if None."""
    if table.kinds[position] is Kind.DATE:
        raise _wrong_type_error(table, position, "labels", "dates", "Turn them into strings")
    coded = table.coded(position)
    if text is None or not (coded.codes >= 0).any():
        return coded
    is_text = coded.labels.dtype.kind == "O"
    if is_text and not text:
        raise _not_a_number_error(table, position, coded)
    if text and not is_text:
        row = int(np.argmax(coded.codes >= 0))
        raise ColumnTypeError(
            f"Column {table.names[position]!r} held strings when this was fitted, but is "
            f"{quoted(coded.labels.tolist()[coded.codes[row]])} in row {row}. Convert it to strings, as they were "
            "written then."
        )
    return coded


def texts_of(table: Table, position: int) -> tuple[Any, Array]:
    """Return documents, the missing ones empty, and a mask of those that are missing.

    The documents are a pyarrow array if the column is one of strings.
    """
    if (strings := table.strings(position)) is not None:
        return present_texts(strings)
    coded = drop_missing_words(labels_of(table, position, text=None), ())
    labels = np.append(coded.labels.astype(object), "")
    for code, label in enumerate(labels.tolist()):
        if not isinstance(label, str) and (row := np.flatnonzero(coded.codes == code)).size:
            raise ColumnTypeError(
                f"Column {table.names[position]!r} must hold text, but is {quoted(label)} of type "
                f"{type(label).__name__} in row {int(row[0])}. Convert it to a string, or leave it empty."
            )
    return labels[coded.codes], coded.codes < 0


def check_not_sparse(X: Any) -> None:
    """Raise an error if X is a sparse or encoded matrix, which consists of features already."""
    if sparse.issparse(X) or isinstance(X, Encoded):
        raise ColumnTypeError(
            "X is a sparse or encoded matrix, which consists of features already: give it to the model as it is. "
            "TableFeatures takes frames and dense arrays."
        )


def drop_columns(X: Any, excluded: Sequence[Any]) -> Any:
    """Return a frame without the excluded columns; those of an array are left out later."""
    names = names_of(X)
    if names is None or not len(excluded):
        return X
    for name in excluded:
        if name not in names:
            raise ColumnMismatchError(f"There is no column {name!r} to exclude. {did_you_mean(str(name), names)}")
    kept = [name for name in names if name not in excluded]
    if not kept:
        raise EmptyDataError("There is no column to learn from: all are in `exclude`. Take at least one out of it.")
    return select(X, kept)


def absent_columns(absent: list[str], names: list[str]) -> ColumnMismatchError:
    """Return the error about columns of the fit that are missing from the given names."""
    return ColumnMismatchError(
        "The feature names should match those that were passed during fit.\nFeature names seen at fit time, yet now "
        f"missing: {listed(absent)}. {did_you_mean(absent[0], names)} Give the columns of the fit; their order "
        "does not matter, and others are ignored."
    )


def check_no_gaps(column: str, gaps: Array) -> None:
    """Raise an error that names the first row without a value, if there is one."""
    if gaps.any():
        raise NonFiniteError(
            f"Input X contains NaN. Column {column!r} has a missing value in row {int(np.argmax(gaps))}; fill it, or "
            "allow gaps with missing='indicator' or missing='keep'."
        )


def _not_a_number_error(table: Table, position: int, coded: Coded) -> ColumnTypeError:
    labels = coded.labels.tolist()
    row = next((r for r, c in enumerate(coded.codes.tolist()) if c >= 0 and isinstance(labels[c], str)), 0)
    return ColumnTypeError(
        f"Column {table.names[position]!r} must hold numbers, but is {quoted(labels[coded.codes[row]])} in row {row}. "
        "Convert it to numbers, with NaN for missing values, or fit again."
    )


def _wrong_type_error(table: Table, position: int, wanted: str, actual: str, remedy: str) -> ColumnTypeError:
    return ColumnTypeError(
        f"Column {table.names[position]!r} must hold {wanted}, but holds {actual}. {remedy}, or fit again."
    )
