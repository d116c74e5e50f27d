"""Separation of the target column from the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mercer._errors import ColumnMismatchError, DataError, EmptyDataError
from mercer._suggest import did_you_mean


class TargetProblem(NamedTuple):
    """A target and the columns to predict it from."""

    X: Any
    y: Any
    #: the name of y
    target: str
    #: number of rows dropped because they have no label
    unlabelled: int
    #: labels from lowest to highest, if the type of the column has an order
    order: list[Any] | None = None
    #: how y was read, if it consists of strings that spell numbers
    note: str = ""
    #: the unit of the numbers of y, such as "$" or "%", if they are strings
    unit: str = ""

    def order_for(self, task: str) -> list[Any] | None:
        """Return the order of the labels if a task uses it and there are more than two."""
        return self.order if task in ("auto", "ordered") and self.order is not None and len(self.order) > 2 else None

    def column(self, name: str) -> Any:
        """Return the values of a column of X, with strings that spell numbers or dates converted."""
        from mercer.data.infer import read_formats
        from mercer.data.storages.frame import as_frame
        from mercer.data.table import Table

        if name == self.target:
            raise DataError(f"Column {name!r} is the target; split the rows by another one.")
        frame: Any = as_frame(self.X)
        column = frame.select(column_name(name, frame.columns))
        read: Any = as_frame(read_formats(Table.of(column.to_native(), dates=True)).native)
        return read.get_column(read.columns[0]).to_numpy()

    def without(self, names: Sequence[str]) -> TargetProblem:
        """Return the problem without some columns of X."""
        if not len((remaining := without_columns(self.X, names)).columns):
            raise DataError(f"Besides the target {self.target!r} there is no column left to predict it from.")
        return self._replace(X=remaining)


def split_target(frame: Any, target: str, *, drop: Sequence[str] = (), source: str = "") -> TargetProblem:
    """Separate the column `target` from a frame, dropping the columns in `drop` and the rows without a label.

    A column is given by its name or its position, counted from the end if negative: "-1" is the last one. Errors name
    `source`, the file of the frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> problem = split_target(pa.table({"id": [7, 8], "x": [1.5, 2.5], "y": ["a", None]}), "-1", drop=["id"])
    >>> problem.X.to_pydict(), problem.y.tolist(), problem.target, problem.unlabelled
    ({'x': [1.5]}, ['a'], 'y', 1)
    """
    from mercer.data.labels import declared_order
    from mercer.data.storages.frame import as_frame  # imports narwhals, which takes a tenth of a second

    table = as_frame(frame)
    if table is None:
        raise DataError(f"The target must be a column of a frame, but this is a {type(frame).__name__}.")
    label = column_name(target, table.columns)
    dropped = column_names(drop, table.columns)
    if label in dropped:
        raise DataError(f"Column {label!r} is the target, which cannot be dropped; name another target, or keep it.")
    table, how = _with_numbers(table, label)
    labelled = table.filter(~_without_value(table.get_column(label)))
    X = labelled.drop(label, *dropped)
    values = labelled.get_column(label)
    if not X.columns:
        raise DataError(f"Besides the target {label!r} there is no column left to predict it from.")
    unlabelled = len(table) - len(labelled)
    if unlabelled and not len(labelled):
        rows = f"all {unlabelled} rows{f' of {source!r}' if source else ''}"
        raise EmptyDataError(f"The target {label!r} is missing in {rows}; name another column.")
    y = _whole_as_integers(values.to_numpy())
    return TargetProblem(X.to_native(), y, label, unlabelled, declared_order(values.to_native()), *how)


def _whole_as_integers(y: Any) -> Any:
    """Return floats that are all whole as integers: with missing values, dropped here, 1 is often stored as 1.0."""
    import numpy as np

    is_whole = y.dtype.kind == "f" and len(y) and bool((np.abs(y) < 2**53).all()) and bool((y == np.floor(y)).all())
    return y.astype(np.int64) if is_whole else y


def _with_numbers(frame: Any, label: str) -> tuple[Any, tuple[str, str]]:
    """Return a frame with strings of the target that spell numbers converted, a note on how they were read, and their
    unit.
    """
    import narwhals as nw

    from mercer.data.formats import NumberFormat
    from mercer.data.infer import infer_formats
    from mercer.data.select import with_columns
    from mercer.data.storages.frame import as_frame
    from mercer.data.table import Table

    strings = [name for name in frame.columns if frame.get_column(name).dtype in (nw.String, nw.Object)]
    if label not in strings:
        return frame, ("", "")
    table = Table.of(frame.select(*strings).to_native(), dates=True)
    form = infer_formats(table).get(label)
    if not isinstance(form, NumberFormat):
        return frame, ("", "")
    numbers = table.with_formats({label: form}).numbers([table.names.index(label)])[:, 0]
    return as_frame(with_columns(frame.to_native(), {label: numbers})), (form.described, form.unit)


def _without_value(labels: Any) -> Any:
    """Return a mask of the rows without a label: null, or NaN, which only pandas treats as missing."""
    return labels.is_null() | labels.is_nan() if labels.dtype.is_float() else labels.is_null()


def without_columns(frame: Any, names: Sequence[str]) -> Any:
    """Return a frame without some of its columns, given as in `split_target`."""
    from mercer.data.storages.frame import as_frame

    table: Any = as_frame(frame)
    return table.drop(*column_names(names, table.columns)).to_native()


def column_names(columns: Sequence[str], names: list[str]) -> list[str]:
    """Return the names of columns that are given by names or positions, without repetition."""
    return list(dict.fromkeys(column_name(column, names) for column in columns))


def column_name(name: str, names: list[str]) -> str:
    """Return the name of a column that is given by its name or its position."""
    if name in names:
        return name
    if name.removeprefix("-").isdecimal() and -len(names) <= int(name) < len(names):
        return names[int(name)]
    raise ColumnMismatchError(f"There is no column {name!r}. {did_you_mean(name, names)}")
