"""Sparse blocks, as compiled loops take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.stats._base import Array


def as_csr(x: Any) -> Any:
    """CSR with one stored float64 per place, in arrays that may be written to: one array type for the loops."""
    x = x.tocsr()
    if x.dtype != np.float64:
        x = x.astype(np.float64)
    if not x.has_canonical_format or not (x.data.flags.writeable and x.indices.flags.writeable):
        x = x.copy()
        x.sum_duplicates()
    return x


def row_of_entry(indptr: Array, entries: Array) -> Array:
    """The rows to which stored entries of a CSR matrix belong."""
    return np.searchsorted(indptr, entries, side="right") - 1
