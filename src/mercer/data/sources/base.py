"""What a source is: rows that are read piece by piece, as often as needed, and need not fit into memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from mercer._typing import Array

if TYPE_CHECKING:
    from mercer.data.schema import Schema

#: bytes of decoded values that one chunk has, about: large beside what a statistic costs, small beside any memory
CHUNK_BYTES = 1 << 25


class Chunk(NamedTuple):
    """Some rows: what to learn from, and where there are any their targets, weights and offsets.

    Examples
    --------
    >>> import mercer
    >>> import pyarrow
    >>> visits = pyarrow.table({"age": [23, 31, 58], "risk": ["low", "low", "high"]})
    >>> first = next(iter(mercer.data.open(visits, target="risk", rows=2)))
    >>> first.n_rows, first.X.to_pydict(), first.y.tolist()
    (2, {'age': [23, 31]}, ['low', 'low'])
    """

    #: an array, a CSR matrix, a frame, or whatever a feature map made of one
    X: Any
    #: labels or numbers, as NumPy has them; (rows, targets) where there are several
    y: Any = None
    weight: Array | None = None
    offset: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)


class Piece(ABC):
    """A part of a source that can be read on its own, by another process too: it can be pickled, and is small."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where its rows come from, for people: 'part-3.parquet, row groups 4 to 7'."""

    @abstractmethod
    def chunks(self, skipped: list[str]) -> Iterator[Chunk]:
        """Its rows in their order, a bounded number at a time; never a chunk without rows.

        What cannot be read raises, or is left out and named in `skipped` where the source was opened to skip it.
        """


@dataclass(frozen=True)
class SourceColumns:
    """What the columns of a source are for."""

    features: tuple[str, ...]
    target: str | None = None
    weight: str | None = None
    offset: str | None = None

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that have to be read."""
        return (*self.features, *(name for name in (self.target, self.weight, self.offset) if name is not None))


class Source(ABC):
    """Rows with a target, read piece by piece, as often as needed: `fit(source)` of every estimator takes one.

    A pass over it is `for chunk in source`, or faster `mercer.engines.fold`, which reads pieces on several threads or
    machines. What a source yields does not change between passes: `SourceChangedError` says that a file did.

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

    @abstractmethod
    def pieces(self) -> Iterable[Piece]:
        """The parts in their order, made one by one as they are asked for."""

    @property
    @abstractmethod
    def described(self) -> str:
        """What is read, in a few words: '12 Parquet files'."""

    @property
    def n_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        return None

    @property
    def n_bytes(self) -> int | None:
        """How many bytes a pass reads, where that is known."""
        return None

    @property
    def identity(self) -> str:
        """Tells this data from other data, and a file from what it was before: what checkpoints are compared by."""
        return self.described

    @property
    def schema(self) -> Schema:
        """What the columns to learn from are, by their types; the same for every chunk."""
        from mercer.data.schema import Schema
        from mercer.data.table import Table

        return Schema.of(Table.of(self.head().X, dates=True))

    def __repr__(self) -> str:
        return f"<source: {self.described}>"

    def __iter__(self) -> Iterator[Chunk]:
        for piece in self.pieces():
            yield from piece.chunks([])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """There is none: asked for by whoever takes rows in memory alone, e.g. `predict`."""
        from mercer._errors import DataError

        raise DataError(
            f"{self.described} is a source, whose rows are read chunk by chunk: only models of mercer are fitted to "
            "it. Predict chunk by chunk: for chunk in source: model.predict(chunk.X)."
        )

    def map(self, function: Callable[[Chunk], Chunk]) -> Source:
        """The same rows with something done to every chunk when it is read; `function` can be pickled."""
        return Mapped(self, function)

    def head(self) -> Chunk:
        """The first rows."""
        from mercer._errors import EmptyDataError

        skipped: list[str] = []
        for piece in self.pieces():
            for chunk in piece.chunks(skipped):
                return chunk
        raise EmptyDataError(f"There are no rows in {self.described}{but(skipped)}.")


def but(skipped: list[str]) -> str:
    """What was left out, where nothing else is there."""
    return f" but what was left out: {skipped[0].rstrip('.')}" if skipped else ""


def digest(*parts: object) -> str:
    """Some letters that differ where the parts, as they print, differ."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


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
    """A source whose chunks go through a function when they are read: features of rows that never are in memory."""

    def __init__(self, source: Source, function: Callable[[Chunk], Chunk]) -> None:
        self.source, self.function = source, function
        self.columns = source.columns

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
