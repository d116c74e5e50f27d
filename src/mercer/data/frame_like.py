"""Creation of tables in the library of the input."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from mercer._optional import require
from mercer._typing import Array

#: the libraries that are installed with the extra "frames"
EXTRA = ("pandas", "polars")


def frame_like(names: Sequence[str], columns: Sequence[Array], library: str) -> Any:
    """Return columns as an array ("numpy"), a CSR matrix ("scipy") or a frame ("pandas", "polars", "pyarrow", …).

    Examples
    --------
    >>> import numpy as np
    >>> frame_like(["a", "b"], [np.array([1, 2]), np.array([0.5, 1.5])], "numpy")
    array([[1. , 0.5],
           [2. , 1.5]])
    """
    if library == "numpy":
        return _array(columns)
    if library == "scipy":
        from scipy import sparse

        return sparse.csr_matrix(_array(columns))
    import narwhals as nw

    backend = module_of(library)
    # lists, since polars would store an array of objects as a column of opaque objects
    plain = {
        name: column.tolist() if column.dtype.kind == "O" else column
        for name, column in zip(names, columns, strict=True)
    }
    return nw.from_dict(plain, backend=backend).to_native()


def module_of(library: str) -> ModuleType:
    """Import a library of frames; raise an error that describes its installation if it is missing."""
    return require(library, purpose=f"A {library} frame", extra="frames" if library in EXTRA else None)


def _array(columns: Sequence[Array]) -> Array:
    """Return one array, of numbers if all columns are numeric, else of objects."""
    if all(column.dtype.kind in "fiub" for column in columns):
        return np.column_stack(list(columns))
    matrix = np.empty((len(columns[0]), len(columns)), dtype=object)
    for position, column in enumerate(columns):
        matrix[:, position] = column
    return matrix
