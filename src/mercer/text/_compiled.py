"""Documents as counts of terms, by compiled loops on every core.

What is learned and what is written do not depend on threads and blocks: terms are put in order at the end.

What was found in a block takes eight bytes an entry until its rows are written, which take twelve as a rule, and is
given back then. So memory is needed for the matrix, for the terms, and for a few blocks to each thread; not for another
copy of the matrix, nor for the documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from mercer._errors import EmptyDataError, TextError
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.data.texts import Texts
from mercer.text import _hash_loops as hash_loops
from mercer.text import _matrix_loops as loops
from mercer.text._csr import csr
from mercer.text._scanner import Block, Decode, GrowingArray, Scanned, Scanner, in_blocks
from mercer.text._uniting import NOWHERE, TermColumnNumbers, united
from mercer.text._vocabulary import Vocabulary
from mercer.text._weights import normalised
from mercer.text.analysis import Analysis

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
#: rows, codes and counts that are not needed any more
GIVEN_BACK = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class Pool(Generic[T]):
    """What no thread uses just now: scanners, or room."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._idle = make, SimpleQueue[T]()

    @contextmanager
    def one(self) -> Iterator[T]:
        """One of them for a while; not to be used again if that ends with an error."""
        try:
            taken = self._idle.get_nowait()
        except Empty:
            taken = self._make()
        yield taken
        self._idle.put(taken)


def _scanner_of(pool: Pool[Scanner]) -> Callable[[Texts], Scanned]:
    def scan(texts: Texts) -> Scanned:
        with pool.one() as scanner:
            return scanner.scan(texts)

    return scan


@dataclass(eq=False)
class ScannedVocabulary:
    """Terms that were found in documents, which are to be written as rows."""

    vocabulary: Vocabulary
    #: documents whose lower case Python had to find
    by_python: int
    _scanned: list[Scanned]
    #: where the words and runs of each scanner are in the vocabulary
    _columns: dict[Scanner, TermColumnNumbers]

    @property
    def counts(self) -> sparse.csr_array:
        """How often each document has each term."""
        return write(list(self._scanned), self._columns, len(self.vocabulary), np.int64, all_kept=True)

    def matrix(self, kept: Array, dtype: Any = np.int64) -> sparse.csr_array:
        """How often each document has each of the terms that are kept, by a mask.

        To be asked for once: what was scanned is given back while rows are written.
        """
        columns, n_kept = self._columns, int(kept.sum())
        if n_kept < len(kept):
            there = np.where(kept, np.cumsum(kept) - 1, NOWHERE).astype(np.int32)
            columns = {scanner: one.moved(there) for scanner, one in columns.items()}
        return write(self._scanned, columns, n_kept, dtype, all_kept=n_kept == len(kept))


def learn(documents: Any, analysis: Analysis, decode: Decode | None = None) -> ScannedVocabulary:
    """Find the terms of documents: a sequence or column of strings, or an iterable of them."""
    pool = Pool(lambda: Scanner.of(analysis))
    scanned = _scanned(documents, decode, _scanner_of(pool))
    vocabulary, columns = united(scanned)
    return ScannedVocabulary(vocabulary, sum(one.by_python for one in scanned), scanned, columns)


@dataclass(eq=False)
class KnownTerms:
    """Terms that are given, in the order of the columns."""

    terms: Texts
    analysis: Analysis
    _pool: Pool[Scanner] = field(init=False)
    _columns: TermColumnNumbers = field(init=False)

    def __post_init__(self) -> None:
        scanner, codes = Scanner.knowing(self.analysis, self.terms)
        columns = np.arange(len(self.terms), dtype=np.int32)
        self._columns = TermColumnNumbers(*_by_code(codes, columns, scanner.n_words, scanner.n_runs))
        self._pool = Pool(scanner.twin)

    def matrix(self, documents: Any, dtype: Any = np.int64, decode: Decode | None = None) -> sparse.csr_array:
        """Counts, one row for each document."""
        scanned = _scanned(documents, decode, _scanner_of(self._pool))
        of_scanner = {one.scanner: self._columns for one in scanned}
        return write(scanned, of_scanner, len(self.terms), dtype)


def hashed(
    documents: Any,
    analysis: Analysis,
    n_columns: int,
    *,
    signed: bool,
    dtype: Any,
    norm: str | None = None,
    binary: bool = False,
    decode: Decode | None = None,
) -> sparse.csr_array:
    """Hashed counts, or ones where `binary`, one row for each document; of length 1 by a norm, "l1" or "l2"."""
    stop_words = Scanner.of(analysis).words
    pool = Pool(GrowingArray)

    def scan(texts: Texts) -> tuple[Array, Array, Array]:
        read = analysis.read(texts)
        if analysis.unit != "word" and read.has_lone_surrogates:
            raise TextError("A document has a lone surrogate, which UTF-8 has no bytes for, so that it has no hash.")
        with pool.one() as room:
            rows, indices, values = hash_loops.hash_terms(
                (read.data, read.offsets),
                read.states,
                read.alphabet,
                analysis.how,
                stop_words,
                n_columns,
                signed,
                *room.of(1024 + texts.n_bytes // 4),
            )
            return rows, *room.taken(indices, values, int(rows[-1]))

    parts = _scanned(documents, decode, scan)
    if not parts:
        raise EmptyDataError("Cannot vectorize empty sequence. Give at least one document.")
    starts = np.cumsum([0, *(len(indices) for _, indices, _ in parts)])
    rows = np.cumsum(np.concatenate([[0], *(np.diff(rows) for rows, _, _ in parts)]))
    columns, counts = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=dtype)
    at_once = norm is not None and counts.dtype == np.float64

    def fill(block: int) -> None:
        (rows, indices, values), parts[block] = parts[block], GIVEN_BACK
        here = slice(starts[block], starts[block + 1])
        columns[here] = indices
        if binary:
            values[:] = 1
        if at_once:
            hash_loops.normalise(rows, values, norm == "l2", counts[here])
        else:
            counts[here] = values

    _each(fill, range(len(parts)))
    X = _csr(counts, columns, rows, n_columns)
    return X if norm is None or at_once else normalised(X, norm)


def _scanned(documents: Any, decode: Decode | None, scan: Callable[[Texts], A]) -> list[A]:
    """What is found in each block of documents, in their order."""

    def of_block(block: Block) -> list[A]:
        return [scan(texts) for texts in block()]

    found = (parts for blocks in in_blocks(documents, decode) for parts in _each(of_block, blocks))
    return [one for parts in found for one in parts]


def _each(function: Callable[[B], A], blocks: Sequence[B]) -> list[A]:
    """On all threads, unless there is but one block: to call them takes longer than to read a short document."""
    return ordered_map(function, blocks) if len(blocks) > 1 else [function(block) for block in blocks]


def write(
    scanned: list[Scanned],
    columns: dict[Scanner, TermColumnNumbers],
    n_columns: int,
    dtype: Any,
    *,
    all_kept: bool = False,
) -> sparse.csr_array:
    """The rows of a sparse matrix of what was scanned, which is given back; columns in ascending order."""
    places = np.cumsum([0, *(len(one.rows) - 1 for one in scanned)])
    starts = np.zeros(places[-1] + 1, dtype=np.int64)

    def count(block: int) -> None:
        one = scanned[block]
        of_words, of_runs = columns[one.scanner]
        here = starts[1 + places[block] : 1 + places[block + 1]]
        if all_kept:
            here[:] = np.diff(one.rows)
        else:
            loops.kept_entries(one.rows, one.codes, of_words, of_runs, here)

    _each(count, range(len(scanned)))
    np.cumsum(starts, out=starts)
    indices = np.empty(starts[-1], dtype=np.int32)
    values = np.empty(starts[-1], dtype=_loop_type(dtype))

    def fill(block: int) -> None:
        one = scanned[block]
        of_words, of_runs = columns[one.scanner]
        here = starts[places[block] : places[block + 1]]
        loops.write_rows(one.rows, one.codes, one.counts, of_words, of_runs, n_columns, here, indices, values)
        scanned[block] = Scanned(one.scanner, *GIVEN_BACK, one.by_python)

    _each(fill, range(len(scanned)))
    return _csr(values.astype(dtype, copy=False), indices, starts, n_columns)


def _by_code(codes: Array, columns: Array, n_words: int, n_runs: int) -> tuple[Array, Array]:
    """Columns of words and of runs by their codes, given those of terms; `NOWHERE` for all others."""
    of_words, of_runs = np.full(n_words, NOWHERE), np.full(n_runs, NOWHERE)
    is_word = codes >= 0
    of_words[codes[is_word]] = columns[is_word]
    of_runs[-1 - codes[~is_word]] = columns[~is_word]
    return of_words, of_runs


def _loop_type(dtype: Any) -> Any:
    """The type that a loop writes: one that it is compiled for."""
    return dtype if np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.float32)) else np.int64


def _csr(values: Array, indices: Array, starts: Array, n_columns: int) -> sparse.csr_array:
    rows = starts.astype(np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64)
    X: sparse.csr_array = csr(values, indices.astype(rows.dtype, copy=False), rows, n_columns)
    X.has_canonical_format = True
    return X
