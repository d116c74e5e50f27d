"""Selection and replacement of columns of a frame by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def names_of(X: Any) -> list[str] | None:
    """Return the names of the columns of a frame; None for anything else, or if a name is not a string.

    Examples
    --------
    >>> import pyarrow as pa
    >>> names_of(pa.table({"a": [1], "b": [2]})), names_of([[1, 2]])
    (['a', 'b'], None)
    """
    frame = _frame(X)
    if frame is None or not all(isinstance(name, str) for name in frame.columns):
        return None
    return list(frame.columns)


def fetch_relation(X: Any) -> Any:
    """Return a DuckDB relation as a pyarrow table in memory; anything else unchanged."""
    frame = _frame(X)
    return X if frame is None else frame.to_native()


def select(X: Any, names: Sequence[str]) -> Any:
    """Return the columns of these names, in this order, in the library of the frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> select(pa.table({"a": [1], "b": [2]}), ["b"]).to_pydict()
    {'b': [2]}
    """
    frame = _frame(X)
    return X if frame is None else frame.select(*names).to_native()


def with_columns(X: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Return a frame with new values in the columns of these names, in the library of the frame.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with_columns(pa.table({"a": ["1,5"], "b": [2]}), {"a": np.array([1.5])}).to_pydict()
    {'a': [1.5], 'b': [2]}
    """
    import narwhals as nw

    frame = _frame(X)
    if frame.implementation.is_pyarrow():  # declarations about a column are in its field
        import pyarrow as pa

        table = frame.to_native()
        positions = {name: position for position, name in enumerate(table.column_names)}
        arrays = {positions[name]: pa.array(values) for name, values in columns.items()}
        fields = list(table.schema)
        return set_columns(table, {j: (fields[j].with_type(array.type), array) for j, array in arrays.items()})
    series = [nw.new_series(name, values, backend=frame.implementation) for name, values in columns.items()]
    return frame.with_columns(*series).to_native()


def set_columns(table: Any, changed: Mapping[int, tuple[Any, Any]]) -> Any:
    """Return a pyarrow table with columns at some positions replaced, in time linear in the number of columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> set_columns(pa.table({"a": ["1"], "b": [2]}), {0: ("a", pa.array([1.0]))}).to_pydict()
    {'a': [1.0], 'b': [2]}
    """
    if not changed:
        return table
    import pyarrow as pa

    fields, columns = list(table.schema), list(table.columns)
    for position, (field, column) in changed.items():
        fields[position] = pa.field(field, column.type) if isinstance(field, str) else field
        columns[position] = column
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, table.schema.metadata))


def as_labels(X: Any, names: Sequence[str]) -> Any:
    """Return a frame in which the columns of these names are strings, if labels were written as numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_labels(pa.table({"ward": [3.0, None, 1.0], "age": [31, 40, 28]}), ["ward"]).to_pydict()
    {'ward': ['3', None, '1'], 'age': [31, 40, 28]}
    """
    frame = _frame(X)
    if frame is None or not names:
        return X
    import narwhals as nw

    from mercer.data.table import Table

    spelled = []
    for name in names:
        codes, labels = Table.of(frame.select(name)).coded(0)
        values = np.array([*map(str, labels.tolist()), None], dtype=object)[codes].tolist()
        spelled.append(nw.new_series(name, values, nw.String, backend=frame.implementation))
    return frame.with_columns(*spelled).to_native()


def _frame(X: Any) -> Any:
    if isinstance(X, np.ndarray | list | tuple) or sparse.issparse(X):
        return None
    from mercer.data.storages.frame import as_frame  # imports narwhals, which takes a tenth of a second

    return as_frame(X)
