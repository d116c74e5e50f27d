"""Rows whose columns come from different rows of a table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import DataError
from mercer._typing import Array
from mercer.data.select import names_of, select
from mercer.data.table import Table


@dataclass(frozen=True, eq=False)
class StackedRows:
    """The rows of two tables with the same columns, one below the other.

    Examples
    --------
    >>> stacked = StackedRows.of(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    >>> stacked.mix(np.array([[0, 1], [1, 0]]))
    array([[1., 4.],
           [3., 2.]])
    """

    native: Any
    #: number of rows of the first table
    first: int

    @classmethod
    def of(cls, first: Any, second: Any) -> StackedRows:
        """Stack two tables; further columns of the second are dropped."""
        rows = Table.of(first, dates=True)
        first, second = rows.native, Table.of(second, dates=True).native
        names = names_of(first)
        if (names is None) != (names_of(second) is None) or type(first).__module__ != type(second).__module__:
            raise DataError(
                f"Rows are a {type(first).__name__} and background rows a {type(second).__name__}. Give both in the "
                "same kind of table."
            )
        return cls(_stacked(first, second if names is None else select(second, names)), rows.n_rows)

    @cached_property
    def table(self) -> Table:
        """The stacked rows as a table."""
        return Table.of(self.native, dates=True)

    def codes(self, column: int) -> Array:
        """Return integers that are equal where two rows have the same value in a column."""
        plain = self._dense if sparse.issparse(self.native) else self.native
        if isinstance(plain, np.ndarray) and plain.dtype.kind in "fiub":
            return np.unique(plain[:, column], return_inverse=True)[1]
        return np.asarray(self.table.coded(column).codes)

    def mix(self, index: Array) -> Any:
        """Return rows whose column j is that of the rows `index[:, j]`, in the library of the tables."""
        columns = np.arange(index.shape[1])
        if isinstance(self.native, np.ndarray):
            return self.native[index, columns]
        if sparse.issparse(self.native):
            return sparse.csr_matrix(self._dense[index, columns])
        import narwhals as nw

        frame = nw.from_native(self.native, eager_only=True)
        if frame.implementation.is_pandas():
            import pandas as pd

            if self._block is not None:
                return pd.DataFrame(self._block[index, columns], columns=self.native.columns, copy=False)
            taken = {name: self.native[name].array.take(index[:, j]) for j, name in enumerate(frame.columns)}
            return pd.DataFrame(taken, copy=False)
        parts = [frame.get_column(name)[index[:, j]] for j, name in enumerate(frame.columns)]
        return nw.concat([part.to_frame() for part in parts], how="horizontal").to_native()

    @cached_property
    def _block(self) -> Array | None:
        """A pandas frame with numbers of one type as one array, since indexing hundreds of columns one by one is
        slow.
        """
        types = set(self.native.dtypes)
        one = types.pop() if len(types) == 1 else None
        return np.asarray(self.native) if isinstance(one, np.dtype) and one.kind in "fiub" else None

    @cached_property
    def _dense(self) -> Array:
        return np.asarray(self.native.toarray())


def _stacked(first: Any, second: Any) -> Any:
    """Stack the rows of two tables of one library; types that differ become one that holds both."""
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    if sparse.issparse(first):
        both: list[Any] = [first, second]
        return sparse.vstack(both, format="csr")
    import narwhals as nw

    frame = nw.from_native(first, eager_only=True)
    if frame.implementation.is_pandas():
        import pandas as pd

        for name in first.columns:
            if isinstance(first[name].dtype, pd.CategoricalDtype) and first[name].dtype != second[name].dtype:
                known = first[name].cat.categories
                levels = pd.CategoricalDtype(known.append(pd.Index(second[name].dropna().unique()).difference(known)))
                first, second = first.astype({name: levels}), second.astype({name: levels})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # columns without a value
            return pd.concat([first, second], ignore_index=True)
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        for j, kept in enumerate(first.schema):  # no type holds both dates and times
            if pa.types.is_temporal(kept.type) and second.schema.field(kept.name).type != kept.type:
                second = second.set_column(j, kept, second.column(kept.name).cast(kept.type, safe=False))
        return pa.concat_tables([first, second], promote_options="permissive")
    if frame.implementation.is_polars():
        import polars as pl

        return pl.concat([first, second], how="vertical_relaxed")
    return nw.concat([frame, nw.from_native(second, eager_only=True)], how="vertical").to_native()
