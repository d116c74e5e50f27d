"""Reading all rows of a source, for models that need them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from mercer._errors import EmptyDataError
from mercer._memory import check_memory
from mercer.data.readers.arrow_types import row_bytes
from mercer.data.sources.base import Chunk, Source
from mercer.data.sources.layout import Layout


def read_all(source: Source, skipped: list[str] | None = None) -> Chunk:
    """Return all rows in one chunk, or raise an error if they do not fit into memory.

    Sentences about dropped parts are appended to `skipped`.
    """
    _check_memory(2 * (_expected_bytes(source) or 0), source)
    chunks, n_bytes = list[Chunk](), 0
    skipped = [] if skipped is None else skipped
    for chunk in (chunk for piece in source.pieces() for chunk in piece.chunks(skipped)):
        chunks.append(chunk)
        # the size of some sources is not known in advance; the chunks are copied once more when they are joined
        n_bytes += _bytes(chunk.X)
        _check_memory(n_bytes, source)
    if not chunks:
        raise EmptyDataError(f"There are no rows in {source.described}.")
    X, y, weight, offset = zip(*chunks, strict=True)
    return Chunk(_stacked(X), _joined(y), _joined(weight), _joined(offset))


def _check_memory(needed: int, source: Source) -> None:
    check_memory(
        needed,
        f"To hold all rows of {source.described}, which this model needs together,",
        "use a model that streams (see the guide to big files), an approximation, or a sample of the rows",
    )


def _bytes(X: Any) -> int:
    """Return the bytes of an array, a sparse matrix or a frame."""
    parts = (X.data, X.indices) if hasattr(X, "indptr") else (X,)
    return sum(int(getattr(part, "nbytes", 0)) for part in parts)


def _expected_bytes(source: Source) -> int | None:
    """Return the bytes of all rows in memory, where they take more space than in a compressed file; None if unknown."""
    layout: Layout | None = getattr(source, "layout", None)
    if layout is None or source.n_rows is None:
        return source.n_bytes
    return max(source.n_bytes or 0, source.n_rows * row_bytes(layout.types.types))


def _joined(parts: Sequence[Any]) -> Any:
    return None if parts[0] is None else np.concatenate(parts)


def _stacked(parts: Sequence[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    if hasattr(parts[0], "vstack"):  # encoded rows of a feature map from a higher package
        return type(parts[0]).vstack(parts)
    import narwhals as nw

    return nw.concat([nw.from_native(part) for part in parts]).to_native()
