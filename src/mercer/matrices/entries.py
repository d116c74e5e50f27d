"""The stored entries of sparse matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._typing import Array

#: dtypes that the loops are compiled for; other dtypes are converted
ENTRY_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


class Entries(NamedTuple):
    """The stored entries of a CSR or CSC matrix, in arrays of the types that loops are compiled for."""

    indptr: Array
    indices: Array
    values: Array

    @classmethod
    def of(cls, X: Any) -> Entries:
        """Return the entries of a matrix, sharing memory where possible."""
        values = X.data if X.data.dtype in ENTRY_DTYPES else X.data.astype(np.float64)
        indices = np.require(X.indices, requirements=["C", "W"])
        return cls(
            np.require(X.indptr, np.int64, ["C", "W"]).view(np.uint64),
            indices.view(f"u{indices.itemsize}"),
            np.require(values, requirements=["C", "W"]),
        )

    @classmethod
    def of_dense(cls, values: Array) -> Entries:
        """Return the values of a dense matrix, without indices."""
        return cls(np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32), values)

    def for_scipy(self) -> tuple[Array, Array, Array]:
        """Return values, indices and indptr for the constructors of SciPy, without a copy."""
        return self.values, self.indices.view(f"i{self.indices.itemsize}"), self.indptr.view(np.int64)
