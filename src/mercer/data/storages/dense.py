"""Tables over NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from mercer._errors import ColumnTypeError, DataError
from mercer._typing import Array
from mercer.data.coding import Coded, code_array, code_floats
from mercer.data.dates import days
from mercer.data.kinds import Kind
from mercer.data.storages.base import MatrixStorage

_KINDS = {"f": Kind.NUMBER, "i": Kind.INTEGER, "u": Kind.INTEGER, "b": Kind.BOOLEAN}
_KINDS |= {"U": Kind.CATEGORY, "S": Kind.CATEGORY, "T": Kind.CATEGORY}


@dataclass(frozen=True, eq=False)
class DenseStorage(MatrixStorage):
    """A two-dimensional array, of objects if its columns have different types."""

    @property
    def library(self) -> str:
        return "numpy"

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(self.values[start:stop])

    def numbers(self, columns: list[int]) -> Array:
        values = self._columns(columns)
        if values.dtype.kind in "mM":
            return days(values)
        # copied only if compiled loops would otherwise be compiled again for another type of array
        return np.require(values, float_type(values.dtype), ["C", "A", "W"])

    def days(self, column: int, zone: str) -> Array:
        return days(self.values[:, column])

    def coded(self, column: int) -> Coded:
        values = self.values[:, column]
        return code_floats(days(values)) if values.dtype.kind in "mM" else code_array(values)


def as_matrix(X: Any, *, spelled: bool = True) -> Array:
    """Return anything array-like as a two-dimensional array of numbers, strings or objects.

    An array of objects becomes one of numbers if all are numbers or, as in scikit-learn, strings that spell numbers
    (`spelled`).
    """
    X = unmask(X)
    try:
        values = np.asarray(X)
        if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
            values = np.asarray(X, dtype=object)  # NumPy would convert the number in [["red", 1.5]] to a string
    except ValueError as uneven:
        reason = str(uneven).rstrip(".")
        raise DataError(f"{reason}. X is not a table: give every row the same number of values.") from None
    if values.ndim != 2:
        if isinstance(X, Mapping):
            raise DataError(
                f"X is a {type(X).__name__}, not a table. Make one of it: pyarrow.table(X), or a data frame."
            )
        raise DataError(
            f"Expected 2D array, got {values.ndim}D array instead. Reshape your data either using X.reshape(-1, 1) if "
            "it has a single column or X.reshape(1, -1) if it is a single row."
        )
    if values.dtype.kind == "c":
        raise ColumnTypeError("Complex data not supported. Give the real and the imaginary part as two columns.")
    return _numbers_if_all_are(values, spelled) if values.dtype.kind == "O" else values


def unmask(X: Any) -> Any:
    """Return a masked array with NaN (None for other types than numbers) at masked positions; anything else
    unchanged.
    """
    if not isinstance(X, np.ma.MaskedArray):
        return X
    hidden = np.ma.getmaskarray(X)
    if not hidden.any():
        return X.data
    numbers = X.dtype.kind in "biuf"
    values = X.data.astype(float_type(X.dtype) if numbers else object)
    values[hidden] = np.nan if numbers else None
    return values


def kinds_of(values: Array, *, dates: bool = False) -> tuple[Kind, ...]:
    """Return the kinds of the columns by the type of the array, or by the types of its objects."""
    if values.dtype.kind == "O":
        return tuple(_kind_of_objects(column) for column in values.T)
    if dates and values.dtype.kind in "mM":
        return (Kind.DATE if values.dtype.kind == "M" else Kind.NUMBER,) * int(values.shape[1])
    if values.dtype.kind not in _KINDS:
        raise ColumnTypeError(
            f"An array of type {values.dtype} holds neither numbers nor categories. Convert its values to numbers, "
            "e.g. dates to days since some date."
        )
    return (_KINDS[values.dtype.kind],) * int(values.shape[1])


def float_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return float32 for float32, and float64 for every other type of numbers."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def _numbers_if_all_are(values: Array, spelled: bool) -> Array:
    if not spelled and any(isinstance(value, str | bytes) for value in values.flat):
        return values
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values


def _kind_of_objects(column: Array) -> Kind:
    types = set(map(type, column)) - {type(None)}
    if types and all(issubclass(each, bool | np.bool_) for each in types):
        return Kind.BOOLEAN
    return Kind.NUMBER if all(issubclass(each, Real | np.bool_) for each in types) else Kind.CATEGORY
