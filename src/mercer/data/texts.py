"""Strings as contiguous bytes, as compiled loops read and models store them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer._errors import TextError
from mercer._stored import integers, stored
from mercer._typing import Array
from mercer.data.coding import MISSING_WORDS

#: error handler that encodes lone surrogates, which UTF-8 excludes, in the order of code points
SURROGATES = "surrogatepass"
#: number of strings up to which packing them in Python is faster than pyarrow
MAX_PACKED_IN_PYTHON = 32


def are_valid_offsets(data: Any, offsets: Any) -> bool:
    """Return whether offsets are those of consecutive strings inside the bytes."""
    if not (isinstance(data, np.ndarray) and isinstance(offsets, np.ndarray)):
        return False
    if data.dtype != np.uint8 or offsets.dtype != np.int64 or data.ndim != 1 or offsets.ndim != 1 or not len(offsets):
        return False
    return bool(offsets[0] >= 0 and (offsets[1:] >= offsets[:-1]).all() and offsets[-1] <= len(data))


@stored(lambda texts: are_valid_offsets(texts.data, texts.offsets), offsets=integers("n+1"))
@dataclass(frozen=True, eq=False)
class Texts:
    """Strings in UTF-8: string i is `data[offsets[i]:offsets[i + 1]]`.

    Examples
    --------
    >>> texts = Texts.of(["naïve", "", "Bayes"])
    >>> len(texts), texts.offsets.tolist(), texts.strings()
    (3, [0, 6, 6, 11], ['naïve', '', 'Bayes'])
    """

    data: Array
    offsets: Array

    @classmethod
    def of(cls, strings: Any, *, first: int = 0) -> Self:
        """Create from a sequence of str, or from a column of strings of pyarrow, pandas or polars.

        A column is not copied if its memory layout is the same. In errors the first string has the number `first`.
        """
        if isinstance(strings, list | tuple):
            return cls._of_sequence(strings, first)
        if (column := column_of_texts(strings)) is not None:
            return cls(column.data, column.offsets)
        return cls._of_sequence(list(strings), first)

    @classmethod
    def packed(cls, pieces: Iterable[bytes]) -> Self:
        """Create from one bytes object per string."""
        pieces = list(pieces)
        offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
        return cls(np.frombuffer(b"".join(pieces), dtype=np.uint8), offsets)

    @classmethod
    def _of_sequence(cls, strings: Sequence[Any], first: int) -> Self:
        if len(strings) <= MAX_PACKED_IN_PYTHON and all(isinstance(string, str) for string in strings):
            return cls.packed(string.encode("utf-8", SURROGATES) for string in strings)
        import pyarrow as pa

        try:
            # pyarrow would attach the UTF-8 bytes to each string that is not ASCII, for its lifetime
            plain = [string if str.isascii(string) else string.encode("utf-8", SURROGATES) for string in strings]
        except TypeError:
            check_strings(strings, first)
            raise
        return cls.of_strings(pa.array(plain, pa.large_binary()))

    @classmethod
    def of_strings(cls, array: Any) -> Self:
        """Create from a pyarrow array of large strings (or large binary values) in one chunk, without nulls or a
        copy.
        """
        _, offsets, data = array.buffers()
        rows = slice(array.offset, array.offset + len(array) + 1)
        places = np.frombuffer(offsets, dtype=np.int64)[rows] if len(array) else [0]
        return cls(np.frombuffer(data or b"", dtype=np.uint8), np.asarray(places, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_bytes(self) -> int:
        return int(self.offsets[-1] - self.offsets[0])

    def __getitem__(self, position: int) -> str:
        return self.data[self.offsets[position] : self.offsets[position + 1]].tobytes().decode("utf-8", SURROGATES)

    def rows(self, rows: slice) -> Self:
        """Return consecutive strings, without a copy."""
        start, stop, _ = rows.indices(len(self))
        return type(self)(self.data, self.offsets[start : max(start, stop) + 1])

    def take(self, positions: Array) -> Self:
        """Return the strings at these positions."""
        import pyarrow as pa

        return type(self).of_strings(self.binary().take(pa.array(positions)))

    def order(self) -> Array:
        """Return the positions in ascending order of the strings, by code points."""
        import pyarrow.compute as pc

        return np.asarray(pc.array_sort_indices(self.binary()).to_numpy(), dtype=np.int64)

    def distinct_with(self, other: Self) -> tuple[Self, Array]:
        """Return the distinct strings of both, and the code of each string of the first and then of the second."""
        import pyarrow as pa

        both = pa.concat_arrays([self.binary(), other.binary()]).dictionary_encode()
        return type(self).of_strings(both.dictionary), both.indices.to_numpy(zero_copy_only=False)

    def strings(self) -> list[str]:
        """Return Python strings."""
        try:
            import pyarrow as pa

            result: list[str] = self.binary().cast(pa.large_string()).to_pylist()
            return result
        except (pa.ArrowInvalid, UnicodeError):
            return [self[position] for position in range(len(self))]

    def binary(self) -> Any:
        """Return a pyarrow array of bytes, without a copy."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(np.ascontiguousarray(self.offsets)), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def __reduce__(self) -> Any:
        start, stop = self.offsets[0], self.offsets[-1]
        return type(self), (self.data[start:stop].copy(), self.offsets - start)


def check_strings(strings: Iterable[Any], first: int = 0) -> None:
    """Raise an error that names the first value that is not a string."""
    for row, string in enumerate(strings, first):
        if not isinstance(string, str):
            raise TextError(
                f"Document {row} is {string!r} of type {type(string).__name__}, not a string; convert it with str(), "
                'or give missing documents as "".'
            )


def column_of_texts(column: Any) -> Texts | None:
    """Return the strings of a column of a frame library; None for anything else."""
    import narwhals as nw
    import pyarrow as pa

    if not isinstance(column, pa.Array | pa.ChunkedArray):
        series = nw.from_native(column, pass_through=True, series_only=True)
        if not isinstance(series, nw.Series) or series.dtype != nw.String:
            return None
        try:
            column = series.to_arrow()
        except (pa.ArrowException, UnicodeError):
            return None
    if not any(check(column.type) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
        return None
    if column.null_count:
        check_strings(column.to_pylist())
    column = column.cast(pa.large_string())
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return Texts.of_strings(column)


def present_texts(strings: Any) -> tuple[Any, Array]:
    """Return documents, "" for missing ones, and a mask of these: null, blank, or only a word for a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array(MISSING_WORDS, strings.type)
    absent = pc.or_(strings.is_null(), pc.is_in(pc.utf8_trim_whitespace(strings), value_set=words))
    if not pc.any(absent).as_py():
        return strings, np.zeros(len(strings), dtype=bool)
    return pc.if_else(absent, pa.scalar("", strings.type), strings), np.asarray(absent)
