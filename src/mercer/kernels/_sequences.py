"""Texts and other sequences of symbols, as numbers: one for each symbol, one sequence after another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from mercer._errors import ColumnTypeError, DataError, NonFiniteError
from mercer._stored import integers, stored
from mercer._typing import Array
from mercer.kernels.inputs import is_gap, is_measurement, is_sparse, things_of
from mercer.kernels.views import Views

#: which number a symbol has that is neither a letter nor a byte
Alphabet = dict[Hashable, int]


def _is_consistent(own: Sequences) -> bool:
    """Whether sequences lie in the codes, and symbols have numbers as they are given."""
    lie_inside = bool(own.bounds.size) and int(own.bounds[-1]) <= len(own.codes)
    return lie_inside and (own.alphabet is None or numbers_in_order(own.alphabet))


def numbers_in_order(alphabet: Mapping[Hashable, int]) -> bool:
    """Whether symbols have the numbers 0, 1, … in the order of their first appearance."""
    return list(alphabet.values()) == list(range(len(alphabet)))


@stored(
    _is_consistent,
    codes=integers("b", least=None),
    bounds=integers("e", order="rising"),
)
@dataclass(frozen=True, eq=False)
class Sequences:
    """Symbols of all sequences, and where each sequence begins and ends.

    `kind` is str, bytes or list; only of lists is there an `alphabet`, as letters and bytes have numbers of their own.
    """

    codes: Array
    bounds: Array
    kind: type
    alphabet: Alphabet | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def take(self, rows: Any) -> Self:
        """Some of the sequences, by a slice or their numbers."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            bounds = self.bounds[start : max(start, stop) + 1]
            return replace(self, codes=self.codes[bounds[0] : bounds[-1]], bounds=bounds - bounds[0])
        rows = np.arange(len(self))[rows]
        starts, lengths = self.bounds[rows], np.diff(self.bounds)[rows]
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], lengths)
        return replace(self, codes=self.codes[places], bounds=bounds)

    def written(self, codes: Array) -> Any:
        """A sequence as it was given: a text, bytes, or a tuple of symbols."""
        if self.alphabet is None:
            return "".join(map(chr, codes)) if self.kind is str else bytes(codes.tolist())
        symbols = list(self.alphabet)
        return tuple(symbols[code] for code in codes)


def sequences_of(views: Views) -> Sequences:
    """The rows as sequences, made once for all parts of a kernel."""

    def make() -> Sequences:
        return read(views.raw, None if views.like is None else sequences_of(views.like))

    return views.once("sequences", make)


def read(rows: Any, like: Sequences | None = None) -> Sequences:
    """Rows of texts, of bytes, or of lists of symbols; symbols have the numbers they have in `like`."""
    things = list(_things(rows))
    kind = _kind(things)
    if like is not None and things and kind is not like.kind:
        raise ColumnTypeError(
            f"X is made of {_name(kind)}, but the rows it is compared with of {_name(like.kind)}; give both alike."
        )
    bounds = np.concatenate([[0], np.cumsum([len(thing) for thing in things], dtype=np.int64)])
    if kind is str:
        letters = "".join(things).encode("utf-32-le", "surrogatepass")
        return Sequences(np.frombuffer(letters, np.uint32).astype(np.int32), bounds, str)
    if kind is bytes:
        return Sequences(np.frombuffer(b"".join(things), np.uint8).astype(np.int32), bounds, bytes)
    alphabet = dict(like.alphabet) if like is not None and like.alphabet is not None else {}
    codes = [alphabet.setdefault(symbol, len(alphabet)) for symbol in _symbols(things)]
    return Sequences(np.array(codes, np.int32), bounds, list, alphabet)


def _things(rows: Any) -> Iterable[Any]:
    if isinstance(rows, (str, bytes)):
        raise DataError(
            f"X is one text, {rows[:20]!r}, where rows are expected; give a list of texts, [{rows[:20]!r}]."
        )
    shape = getattr(rows, "shape", None)
    if not isinstance(rows, Iterable) or is_sparse(rows) or shape == ():
        raise ColumnTypeError(f"X is {rows!r}, where texts or lists of symbols are expected; give a list of them.")
    return things_of(rows) if shape is None or len(shape) == 1 or shape[1:] == (1,) else np.asarray(rows)


def _kind(things: Sequence[Any]) -> type:
    """str, bytes or list, whichever all rows are."""
    if set(map(type, things)) <= {str}:
        return str
    kinds = [_kind_of(row, thing) for row, thing in enumerate(things)]
    for row, kind in enumerate(kinds):
        if kind is not kinds[0]:
            raise ColumnTypeError(
                f"row {row} is made of {_name(kind)}, but row 0 of {_name(kinds[0])}; give all rows alike."
            )
    return kinds[0]


def _kind_of(row: int, thing: Any) -> type:
    if isinstance(thing, (str, bytes)):
        return str if isinstance(thing, str) else bytes
    if is_gap(thing):
        raise NonFiniteError(f"Input X contains {thing!r} in row {row}, where a text is expected; drop the row.")
    if isinstance(thing, Sequence) or (isinstance(thing, np.ndarray) and thing.ndim == 1):
        return list
    raise ColumnTypeError(
        f"row {row} is {thing!r}, where a text or a list of symbols is expected; use str(…) if its digits are meant, "
        "or a kernel of numbers such as RBF()."
    )


def _symbols(things: Iterable[Any]) -> Iterator[Hashable]:
    for symbol in chain.from_iterable(thing.tolist() if isinstance(thing, np.ndarray) else thing for thing in things):
        if is_gap(symbol):
            raise NonFiniteError(f"Input X contains the symbol {symbol!r}, which is a gap, not a symbol; leave it out.")
        if not isinstance(symbol, Hashable) or is_measurement(type(symbol)):
            raise ColumnTypeError(
                f"{symbol!r} is no symbol: symbols are texts or whole numbers, equal or not. Use a kernel of numbers "
                "such as RBF() for measurements, or cut them into bins first."
            )
        yield symbol


def _name(kind: type) -> str:
    names: dict[type, str] = {str: "letters", bytes: "bytes", list: "symbols in lists"}
    return names[kind]
