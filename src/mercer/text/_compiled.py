"""Counting of terms by compiled loops on all cores.

Results do not depend on threads and blocks, since terms are sorted at the end.

The terms found in a block take eight bytes per entry until its rows of the matrix, usually twelve bytes per entry, are
written; then they are freed. The memory needed is that of the matrix, of the terms, and of a few blocks per thread;
there is no second copy of the matrix or of the documents.
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
from mercer.text._merge_scans import NO_COLUMN, TermColumnNumbers, unite_scans
from mercer.text._scanner import BLOCK_BYTES, Block, Decode, GrowingArray, Scanned, Scanner, in_blocks
from mercer.text._vocabulary import Vocabulary
from mercer.text._weights import normalize_rows
from mercer.text.analysis import Analysis

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")
#: replaces the rows, codes and counts of a block whose memory is freed
FREED = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class Pool(Generic[T]):
    """Objects that no thread uses at the moment: scanners, or buffers."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._idle = make, SimpleQueue[T]()

    @contextmanager
    def borrow(self) -> Iterator[T]:
        """Lend an object, or a new one if all are in use; it is dropped after an error."""
        try:
            borrowed = self._idle.get_nowait()
        except Empty:
            borrowed = self._make()
        yield borrowed
        self._idle.put(borrowed)


def _scan_with(pool: Pool[Scanner]) -> Callable[[Texts], Scanned]:
    def scan(texts: Texts) -> Scanned:
        with pool.borrow() as scanner:
            return scanner.scan(texts)

    return scan


@dataclass(eq=False)
class ScannedVocabulary:
    """The terms found in documents, and their counts, from which rows are written."""

    vocabulary: Vocabulary
    #: number of documents that were converted to lower case by Python
    by_python: int
    _scanned: list[Scanned]
    #: the columns of the words and runs of each scanner
    _columns: dict[Scanner, TermColumnNumbers]

    @property
    def counts(self) -> sparse.csr_array:
        """The counts of all terms (columns) in documents (rows)."""
        return write(list(self._scanned), self._columns, len(self.vocabulary), np.int64, all_kept=True)

    def matrix(self, kept: Array, dtype: Any = np.int64) -> sparse.csr_array:
        """Return the counts of the terms that a mask keeps.

        It can be called once: the memory of the scanned entries is freed while rows are written.
        """
        columns, n_kept = self._columns, int(kept.sum())
        if n_kept < len(kept):
            renumbered = np.where(kept, np.cumsum(kept) - 1, NO_COLUMN).astype(np.int32)
            columns = {scanner: one.renumber(renumbered) for scanner, one in columns.items()}
        return write(self._scanned, columns, n_kept, dtype, all_kept=n_kept == len(kept))


def learn(
    documents: Any, analysis: Analysis, decode: Decode | None = None, block_bytes: int = BLOCK_BYTES
) -> ScannedVocabulary:
    """Find and count the terms of documents: a sequence or column of strings, or an iterable of them."""
    pool = Pool(lambda: Scanner.of(analysis))
    scanned = _scan_blocks(documents, decode, _scan_with(pool), block_bytes)
    vocabulary, columns = unite_scans(scanned)
    return ScannedVocabulary(vocabulary, sum(one.by_python for one in scanned), scanned, columns)


@dataclass(eq=False)
class KnownTerms:
    """The terms of a given vocabulary in the order of the columns, with scanners that have them in their tables."""

    terms: Texts
    analysis: Analysis
    _pool: Pool[Scanner] = field(init=False)
    _columns: TermColumnNumbers = field(init=False)

    def __post_init__(self) -> None:
        scanner, codes = Scanner.with_terms(self.analysis, self.terms)
        columns = np.arange(len(self.terms), dtype=np.int32)
        of_words, of_runs = np.full(scanner.n_words, NO_COLUMN), np.full(scanner.n_runs, NO_COLUMN)
        is_word = codes >= 0
        of_words[codes[is_word]] = columns[is_word]
        of_runs[-1 - codes[~is_word]] = columns[~is_word]
        self._columns = TermColumnNumbers(of_words, of_runs)
        self._pool = Pool(scanner.copy)

    def matrix(
        self,
        documents: Any,
        dtype: Any = np.int64,
        decode: Decode | None = None,
        block_bytes: int = BLOCK_BYTES,
    ) -> sparse.csr_array:
        """Count the terms in documents, one row for each document."""
        scanned = _scan_blocks(documents, decode, _scan_with(self._pool), block_bytes)
        columns = {one.scanner: self._columns for one in scanned}
        return write(scanned, columns, len(self.terms), dtype)


def count_hashes(
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
    """Count the hashes of terms, one row for each document.

    Counts are replaced by ones if `binary`, and rows are scaled to norm 1 if `norm` is "l1" or "l2".
    """
    stop_words = Scanner.of(analysis).words
    pool = Pool(GrowingArray)

    def scan(texts: Texts) -> tuple[Array, Array, Array]:
        prepared = analysis.prepare(texts)
        if analysis.unit != "word" and prepared.has_lone_surrogates:
            raise TextError(
                "A document has a lone surrogate, which cannot be encoded in UTF-8, so that it has no hash."
            )
        with pool.borrow() as buffer:
            rows, indices, values = hash_loops.hash_terms(
                (prepared.data, prepared.offsets),
                prepared.states,
                prepared.alphabet,
                analysis.cut_rule,
                stop_words,
                n_columns,
                signed,
                *buffer.reserve(1024 + texts.n_bytes // 4),
            )
            return rows, *buffer.take(indices, values, int(rows[-1]))

    parts = _scan_blocks(documents, decode, scan)
    if not parts:
        raise EmptyDataError("Cannot vectorize empty sequence. Give at least one document.")
    starts = np.cumsum([0, *(len(indices) for _, indices, _ in parts)])
    rows = np.cumsum(np.concatenate([[0], *(np.diff(rows) for rows, _, _ in parts)]))
    columns, counts = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=dtype)
    norm_in_loop = norm is not None and counts.dtype == np.float64

    def fill(block: int) -> None:
        (rows, indices, values), parts[block] = parts[block], FREED
        entries = slice(starts[block], starts[block + 1])
        columns[entries] = indices
        if binary:
            values[:] = 1
        if norm_in_loop:
            hash_loops.normalize(rows, values, norm == "l2", counts[entries])
        else:
            counts[entries] = values

    _map_blocks(fill, range(len(parts)))
    X = _csr(counts, columns, rows, n_columns)
    return X if norm is None or norm_in_loop else normalize_rows(X, norm)


def _scan_blocks(
    documents: Any, decode: Decode | None, scan: Callable[[Texts], A], block_bytes: int = BLOCK_BYTES
) -> list[A]:
    """Return the results of `scan` for all parts of all blocks of documents, in the order of the documents."""

    def scan_block(block: Block) -> list[A]:
        return [scan(texts) for texts in block()]

    scanned = (
        parts for blocks in in_blocks(documents, decode, block_bytes) for parts in _map_blocks(scan_block, blocks)
    )
    return [one for parts in scanned for one in parts]


def _map_blocks(function: Callable[[B], A], blocks: Sequence[B]) -> list[A]:
    """Call a function of each block on all threads; one block is not worth the start of the threads."""
    return ordered_map(function, blocks) if len(blocks) > 1 else [function(block) for block in blocks]


def write(
    scanned: list[Scanned],
    columns: dict[Scanner, TermColumnNumbers],
    n_columns: int,
    dtype: Any,
    *,
    all_kept: bool = False,
) -> sparse.csr_array:
    """Write the scanned entries as a CSR matrix with ascending columns in each row, and free their memory."""
    places = np.cumsum([0, *(len(one.rows) - 1 for one in scanned)])
    starts = np.zeros(places[-1] + 1, dtype=np.int64)

    def count(block: int) -> None:
        one = scanned[block]
        of_words, of_runs = columns[one.scanner]
        sizes = starts[1 + places[block] : 1 + places[block + 1]]
        if all_kept:
            sizes[:] = np.diff(one.rows)
        else:
            loops.kept_entries(one.rows, one.codes, of_words, of_runs, sizes)

    _map_blocks(count, range(len(scanned)))
    np.cumsum(starts, out=starts)
    indices = np.empty(starts[-1], dtype=np.int32)
    is_float = np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.float32))
    values = np.empty(starts[-1], dtype=dtype if is_float else np.int64)  # the types that the loop is compiled for

    def fill(block: int) -> None:
        one = scanned[block]
        of_words, of_runs = columns[one.scanner]
        row_starts = starts[places[block] : places[block + 1]]
        loops.write_rows(one.rows, one.codes, one.counts, of_words, of_runs, n_columns, row_starts, indices, values)
        scanned[block] = Scanned(one.scanner, *FREED, one.by_python)

    _map_blocks(fill, range(len(scanned)))
    return _csr(values.astype(dtype, copy=False), indices, starts, n_columns)


def _csr(values: Array, indices: Array, starts: Array, n_columns: int) -> sparse.csr_array:
    rows = starts.astype(np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64)
    X: sparse.csr_array = csr(values, indices.astype(rows.dtype, copy=False), rows, n_columns)
    X.has_canonical_format = True
    return X
