"""Sources over Dask collections: every partition is read on the worker that holds it."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from mercer._errors import ColumnMismatchError, DataError
from mercer._threads import row_blocks
from mercer.data.sources.base import CHUNK_BYTES, Chunk, Mapped, Piece, Source, SourceColumns


def current_client() -> Any | None:
    """Return the client of the current Dask cluster, or None."""
    distributed = sys.modules.get("distributed")  # without this module there is no client
    if distributed is None:
        return None
    try:
        return distributed.Client.current()
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class Partition(Piece):
    """Rows that Dask holds or can compute: the parts of a chunk as `Delayed` objects."""

    parts: Chunk
    place: str
    #: the column of X that is y
    target: str | None
    #: largest number of rows of a chunk; None for about `CHUNK_BYTES`
    rows: int | None = None

    @property
    def name(self) -> str:
        return self.place

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        chunk = self._split(Chunk(*_computed(self.parts)))
        for name, part in zip(Chunk._fields[1:], chunk[1:], strict=True):
            if part is not None and part.shape[0] != chunk.n_rows:
                raise DataError(
                    f"In {self.place}, X has {chunk.n_rows} rows and {name} has {part.shape[0]}. Give both collections "
                    "the same partitions."
                )
        size = self.rows or max(1, CHUNK_BYTES // (8 * max(1, chunk.X.shape[1])))
        for rows in row_blocks(chunk.n_rows, size):
            yield Chunk(*(None if part is None else _rows(part, rows) for part in chunk))

    def _split(self, chunk: Chunk) -> Chunk:
        X, y = chunk.X, chunk.y
        if self.target is not None:
            X, y = X.drop(columns=[self.target]), X[self.target]
        return Chunk(X, *(None if part is None else np.asarray(part) for part in (y, chunk.weight, chunk.offset)))


def _computed(parts: Chunk) -> Any:
    """Compute the parts, in this thread if there is neither a cluster nor a chosen scheduler."""
    import dask
    from dask.base import get_scheduler

    return dask.compute(*parts, traverse=False, scheduler=None if get_scheduler() else "synchronous")


def _rows(part: Any, rows: slice) -> Any:
    return part.iloc[rows] if hasattr(part, "iloc") else part[rows]


class Collection(Source):
    """Rows of a Dask array or dataframe, with a piece for each partition of rows."""

    def __init__(
        self, X: Any, y: Any = None, weight: Any = None, offset: Any = None, *, rows: int | None = None
    ) -> None:
        self._frame = _is_frame(X)
        target = y if isinstance(y, str) else None
        names = tuple(map(str, X.columns)) if self._frame else tuple(f"x{j}" for j in range(X.shape[1]))
        self.columns = SourceColumns(tuple(name for name in names if name != target), target)
        self._all = Chunk(X, None if target else y, weight, offset)
        self._target, self._rows = target, rows

    def with_targets(self, **others: Any) -> Collection | None:
        """Return the same rows with targets and weights, as in `of_collection`; None if they already have some."""
        if self._target is not None or any(part is not None for part in self._all[1:]):
            return None
        return of_collection(self._all.X, **others, rows=self._rows)

    @property
    def client(self) -> Any | None:
        """The client of the cluster that holds the rows, or None."""
        return current_client()

    def pieces(self) -> Iterator[Partition]:
        columns = _delayed(self._all)
        what = "partition" if self._frame else "block"
        for number, parts in enumerate(zip(*columns, strict=True)):
            yield Partition(Chunk(*parts), f"{what} {number} of {self.described}", self._target, self._rows)

    @property
    def described(self) -> str:
        kind, what = ("dataframe", "partitions") if self._frame else ("array", "blocks")
        return f"a Dask {kind} of {_count(self._all.X)} {what}"

    @property
    def n_rows(self) -> int | None:
        return None if self._frame or math.isnan(self._all.X.shape[0]) else int(self._all.X.shape[0])

    @property
    def n_bytes(self) -> int | None:
        return None if self.n_rows is None else int(self._all.X.nbytes)

    @property
    def identity(self) -> str:
        from dask.base import tokenize

        return str(tokenize(*self._all, self._target))


def of_collection(
    X: Any, y: Any = None, sample_weight: Any = None, offset: Any = None, *, rows: int | None = None
) -> Collection:
    """Return a source of a Dask array or dataframe with targets and weights.

    Parameters
    ----------
    X : dask.array.Array of two dimensions, dask.dataframe.DataFrame or Series
        A block of rows or a partition is read at a time, by the worker that holds it; column blocks of an array are
        joined. Persisted data are not computed again.
    y : dask array, dataframe or series, array-like or str, default=None
        Targets; a string names their column of the dataframe. Dask collections must have, or allow, the same blocks of
        rows as X.
    sample_weight, offset : dask array, series or array-like, default=None
        Weights and offsets of the rows.
    rows : int, default=None
        Largest number of rows in a chunk; by default as many as take about 32 MB.

    Examples
    --------
    >>> import dask.array as da
    >>> source = of_collection(da.ones((6, 2), chunks=(4, 1)), da.arange(6, chunks=3))
    >>> [(chunk.X.shape, chunk.y) for chunk in source]
    [((4, 2), array([0, 1, 2, 3])), ((2, 2), array([4, 5]))]
    """
    X = _of_columns(X)
    if isinstance(y, str) and y not in getattr(X, "columns", ()):
        raise ColumnMismatchError(f"X has no column {y!r} that could be its target.")
    others = (("y", y), ("sample_weight", sample_weight), ("offset", offset))
    parts = (part if isinstance(part, str) else _cut_like(X, name, part) for name, part in others)
    return Collection(X, *parts, rows=rows)


def with_targets(source: Source, **others: Any) -> Source | None:
    """Return a source of a collection alone, mapped or not, with targets and weights; None for any other source.

    A pipeline passes X from step to step, and y separately.
    """
    if type(source) is Mapped:
        inner = with_targets(source.source, **others)
        return None if inner is None else inner.map(source.function)
    return source.with_targets(**others) if isinstance(source, Collection) else None


def _of_columns(X: Any) -> Any:
    """Return X with all columns of a row in one block."""
    if _is_frame(X):
        return X if X.ndim == 2 else X.to_frame()
    if not _is_array(X):
        raise DataError(f"A Dask {type(X).__name__} has no columns. Convert it to a dask array or dataframe.")
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, rows and columns, but this Dask array has {X.ndim}.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _cut_like(X: Any, name: str, given: Any) -> Any:
    """Return targets or weights with the partitions of X, and with their lengths if these are known."""
    if given is None:
        return None
    lengths = None if _is_frame(X) or math.isnan(X.shape[0]) else X.chunks[0]
    if not (_is_array(given) or _is_frame(given)):
        if lengths is None:
            raise DataError(
                f"The numbers of rows of the partitions of X are not known, so that {name} cannot be cut to match "
                "them. Give a dask array or series, or X.compute_chunk_sizes() of an array."
            )
        import dask.array

        given = dask.array.from_array(np.asarray(given))
    if _is_array(given) and not math.isnan(given.shape[0]) and lengths is not None:
        if given.shape[0] != sum(lengths):
            raise DataError(f"X has {sum(lengths)} rows and {name} has {given.shape[0]}.")
        return given.rechunk((lengths, *given.shape[1:]))
    if _count(given) != _count(X):
        raise DataError(
            f"X has {_count(X)} partitions and {name} has {_count(given)}, so that their rows cannot be matched. Give "
            "both the same partitions."
        )
    if _is_frame(X) and _is_frame(given) and X.divisions != given.divisions:
        raise DataError(f"X and {name} have different divisions of their index. Use {name}.repartition(X.divisions).")
    return given


def _delayed(parts: Chunk) -> list[Sequence[Any]]:
    """Return the partitions of every part, one list for each."""
    arrays = _delayed_blocks([part for part in parts if _is_array(part)])
    return [
        [None] * _count(parts.X) if part is None else next(arrays) if _is_array(part) else part.to_delayed()
        for part in cast("tuple[Any, ...]", parts)
    ]


def _delayed_blocks(arrays: list[Any]) -> Iterator[list[Any]]:
    """Yield the blocks of each array, all in one graph, so that shared blocks are computed once."""
    if not arrays:
        return
    from dask.core import flatten
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph

    keys = [list(flatten(array.__dask_keys__())) for array in arrays]
    optimized = arrays[0].__dask_optimize__(HighLevelGraph.merge(*(array.__dask_graph__() for array in arrays)), keys)
    graph = HighLevelGraph.from_collections(arrays[0].name, optimized)
    for array_keys in keys:
        yield [Delayed(key, graph, layer=arrays[0].name) for key in array_keys]


def _count(collection: Any) -> int:
    return int(collection.numblocks[0] if _is_array(collection) else collection.npartitions)


def _is_array(given: Any) -> bool:
    import dask.array

    return isinstance(given, dask.array.Array)


def _is_frame(given: Any) -> bool:
    from dask.base import is_dask_collection

    return is_dask_collection(given) and hasattr(given, "divisions")
