"""Base classes of sources: rows that are read piece by piece, as often as needed, and need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.data.schema import Schema

#: approximate size of a chunk in bytes of decoded values: large against the cost of a statistic's update, small against
#: the memory
CHUNK_BYTES = 1 << 25
#: approximate size of a piece in bytes of decoded values: several chunks, so that a file is not opened for each chunk
PIECE_BYTES = 4 * CHUNK_BYTES
#: approximate size of a piece in bytes of text
TEXT_PIECE_BYTES = 1 << 25
#: bytes of text of a source that are parsed at once
SOURCE_BLOCK_BYTES = 1 << 23


class Chunk(NamedTuple):
    """Some rows: features, and targets, weights and offsets if there are any.

    Examples
    --------
    >>> import mercer
    >>> import pyarrow
    >>> visits = pyarrow.table({"age": [23, 31, 58], "risk": ["low", "low", "high"]})
    >>> first = next(iter(mercer.data.open(visits, target="risk", rows=2)))
    >>> first.n_rows, first.X.to_pydict(), first.y.tolist()
    (2, {'age': [23, 31]}, ['low', 'low'])
    """

    #: an array, a CSR matrix, a frame, or the result of a feature map
    X: Any
    #: labels or numbers as a NumPy array; (rows, targets) if there are several targets
    y: Any = None
    weight: Array | None = None
    offset: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)


class Piece(ABC):
    """A part of a source that can be read independently, also by another process: it is small and can be pickled."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the part for messages, such as 'part-3.parquet, row groups 4 to 7'."""

    @abstractmethod
    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        """Yield its rows in order, a bounded number at a time; never a chunk without rows.

        Parts that cannot be read raise an error, or are dropped and named in `skipped` if the source was opened with
        this option.
        """


@dataclass(frozen=True)
class SourceColumns:
    """The roles of the columns of a source."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    offset: str | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.features, *(name for name in (self.target, self.weight, self.offset) if name is not None))


class Source(ABC):
    """Rows with a target, read piece by piece, as often as needed; `fit(source)` of every estimator accepts it.

    A pass over it is `for chunk in source` or, faster, `mercer.engines.fold`, which reads pieces on several threads or
    machines. All passes yield the same rows: `SourceChangedError` is raised if a file changes.

    Examples
    --------
    >>> import mercer
    >>> import pyarrow
    >>> visits = pyarrow.table({"age": [23, 31, 58, 67], "risk": ["low", "low", "high", "high"]})
    >>> source = mercer.data.open(visits, target="risk", rows=2)
    >>> mercer.GaussianNB().fit(source).theta_
    array([[62.5],
           [27. ]])
    """

    columns: SourceColumns
    #: rows of the random sample from which a solver starts; it has fewer if they are wide
    sample_rows: int = 100_000

    @abstractmethod
    def pieces(self) -> Iterable[Piece]:
        """Return the parts in order, created one by one as they are iterated over."""

    @property
    @abstractmethod
    def described(self) -> str:
        """Short description of the data, such as '12 Parquet files'."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, if known without reading them."""
        return None

    @property
    def n_bytes(self) -> int | None:
        """Number of bytes that a pass reads, if known."""
        return None

    @property
    def identity(self) -> str:
        """Text that distinguishes these data from others, and from other versions of a file; used by checkpoints."""
        return self.described

    @property
    def schema(self) -> Schema:
        """Schema of the features by their types, which is the same for every chunk."""
        from mercer.data.schema import Schema
        from mercer.data.table import Table

        return Schema.of(Table.of(self.head().X, dates=True))

    def __repr__(self) -> str:
        return f"<source: {self.described}>"

    def __iter__(self) -> Iterator[Chunk]:
        for piece in self.pieces():
            yield from piece.chunks([])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Raise an error: the rows of a source are not converted to one array."""
        from mercer._errors import DataError

        raise DataError(
            f"{self.described} is a source, whose rows are read chunk by chunk, and only models of mercer can be "
            "fitted to it. Predict chunk by chunk: for chunk in source: model.predict(chunk.X)."
        )

    def map(self, function: Callable[[Chunk], Chunk]) -> Source:
        """Return a source that applies a function to every chunk when it is read; `function` must be picklable."""
        return Mapped(self, function)

    def head(self) -> Chunk:
        """Return the first rows."""
        from mercer._errors import EmptyDataError

        skipped: list[str] = []
        for piece in self.pieces():
            for chunk in piece.chunks(skipped):
                return chunk
        raise EmptyDataError(f"There are no rows in {self.described}{describe_skipped(skipped)}.")


def describe_skipped(skipped: list[str]) -> str:
    """Return a clause about dropped parts for the error that there are no rows."""
    return f" except for those left out: {skipped[0].rstrip('.')}" if skipped else ""


def digest(*parts: object) -> str:
    """Return a hexadecimal digest of the text of the parts."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, eq=False)
class PreparedSource:
    """A source prepared for a statistic: rows that `mercer.engines.reduce` reads, chunk by chunk."""

    source: Source
    #: the function of a chunk that returns the arguments of the statistic's `update`; it must be picklable
    prepare: Callable[[Chunk], tuple[Any, ...]]


@dataclass(frozen=True)
class _MappedPiece(Piece):
    piece: Piece
    function: Callable[[Chunk], Chunk]

    @property
    def name(self) -> str:
        return self.piece.name

    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        return map(self.function, self.piece.chunks(skipped))


class Mapped(Source):
    """A source that applies a function to its chunks when they are read, such as a feature map."""

    def __init__(self, source: Source, function: Callable[[Chunk], Chunk]) -> None:
        self.source, self.function = source, function
        self.columns, self.sample_rows = source.columns, source.sample_rows

    def pieces(self) -> Iterator[Piece]:
        return (_MappedPiece(piece, self.function) for piece in self.source.pieces())

    @property
    def described(self) -> str:
        return self.source.described

    @property
    def n_rows(self) -> int | None:
        return self.source.n_rows

    @property
    def n_bytes(self) -> int | None:
        return self.source.n_bytes

    @property
    def identity(self) -> str:
        return self.source.identity
