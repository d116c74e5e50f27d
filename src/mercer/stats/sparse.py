"""Sparse blocks in the form that compiled loops take."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.stats import _sparse_loops as loops

#: types for which loops are compiled: word counts are integers, everything else is float
STORED_DTYPES = (np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64))


class StoredMatrixRows(NamedTuple):
    """The stored entries of a CSR matrix, in arrays of the types for which loops are compiled."""

    indptr: Array
    indices: Array
    values: Array

    @classmethod
    def of(cls, x: Any) -> StoredMatrixRows:
        """Return the entries of a sparse matrix, sharing its memory if possible."""
        x = x.tocsr()
        values = x.data if x.data.dtype in STORED_DTYPES else x.data.astype(np.float64)
        indptr, indices, values = (
            np.require(array, requirements=["C", "W"]) for array in (x.indptr, x.indices, values)
        )
        return cls(indptr, indices.view(f"u{indices.itemsize}"), values)

    def rows(self, rows: slice) -> StoredMatrixRows:
        """Return the entries of some rows."""
        bounds = self.indptr[rows.start : rows.stop + 1]
        entries = slice(bounds[0], bounds[-1])
        return StoredMatrixRows(bounds - bounds[0], self.indices[entries], self.values[entries])

    def row_of(self, entries: Array) -> Array:
        """Return the rows to which some of the entries belong."""
        return np.searchsorted(self.indptr, entries, side="right") - 1


def sum_duplicates(x: Any) -> Any:
    """Return a CSR matrix without duplicates; `x` itself if it has none, whatever the order of its entries."""
    x = x.tocsr()
    if x.has_canonical_format or not loops.stores_twice(*StoredMatrixRows.of(x)[:2], x.shape[1]):
        return x
    x = x.copy()
    x.sum_duplicates()
    return x
