"""Counts of terms (words, runs of words, or runs of characters) as codes of growing hash tables."""

from __future__ import annotations

import math
import mmap
from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import eight_bytes, fetch, put_eight
from mercer.text._document_loops import BLANK_BYTE, UNIT_WORDS, cut

# Arrays whose memory is returned to the system as soon as they are released.
#
# `malloc` keeps freed memory for later requests of the same thread. For the arrays of a few megabytes that are
# allocated and released while documents are read, that was more memory than all that was in use at a time.

#: size in bytes from which on an array has its own pages
OWN_PAGES = 1 << 16
#: size in bytes from which on pages of 2 MB are requested, which are faster to address
HUGE_PAGES = 4 << 20


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialized array; the system provides memory when it is written to."""
    kind = np.dtype(dtype)
    n = shape if isinstance(shape, int) else math.prod(shape)
    size = n * kind.itemsize
    if size < OWN_PAGES:
        return np.empty(shape, dtype=kind)
    pages = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    if size >= HUGE_PAGES and hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=kind, count=n).reshape(shape)


def copied(values: Any, dtype: Any = None) -> Any:
    """Return a copy of the values in an array of its own."""
    copy = empty(values.shape, values.dtype if dtype is None else dtype)
    copy[:] = values
    return copy


# Strings, and pairs of numbers, as codes in the order of their first appearance: open-addressing tables that grow.
#
# A slot has 32 bits, so that many fit into the cache: the lower bits, as many as number the slots, hold the code + 1;
# the others hold a tag, bits of the hash; 0 is an empty slot. The string itself is compared only if the tag agrees. For
# most strings this takes 16 bytes, their signature. While documents are read, only the entry where a term was counted
# last changes; few words make up most of a text, so their data stay in the cache. Pairs are far more numerous and
# rarely cached: all data of a pair are in one cache line. Loops with many lookups unpack the fields of a table first:
# each access to a field of a tuple of arrays counts references, which costs more than finding a word.

#: column of the entries of pairs: the pair
PAIR_VALUE = 0
#: column of the entries of pairs: the entry where the pair was counted last
PAIR_LAST = 1
#: number of columns of the entries of pairs
PAIR_WIDTH = 2
#: odd multiplier with evenly distributed bits, of keys
HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
#: odd multiplier with evenly distributed bits, of partial hashes
HASH_MIXER = np.uint64(0xD6E8FEB86659FD93)
#: bits of half a 64-bit number
HALF_BITS = np.uint64(32)
#: mask of the lower half of a pair, the code of a word
LOWER_HALF = np.uint64(0xFFFFFFFF)
#: an empty slot
NO_SLOT = np.uint32(0)
#: marks the left half of a pair as the code of a pair; otherwise it is that of a string
RUN_FLAG = np.int64(1 << 31)
#: bytes that loops may read beyond the end of a string
SPARE_BYTES = 16
#: length from which on a string is not identified by its signature
LONG_STRING = 16
#: number of strings whose slots are prefetched before the first of them is looked up
STRINGS_AHEAD = 256
#: first eight bytes of an empty string
EMPTY_HEAD = np.uint64(0)


class StringTable(NamedTuple):
    """Strings by code: `arena[offsets[c]:offsets[c + 1]]`."""

    slots: Any
    signatures: Any
    offsets: Any
    arena: Any
    #: entry where each string was counted last, or −1
    last: Any
    #: number of strings
    sizes: Any


class PairTable(NamedTuple):
    """Pairs of 32-bit numbers by code, each stored in one 64-bit number."""

    slots: Any
    entries: Any
    sizes: Any


def empty_strings() -> StringTable:
    """Return a table without strings."""
    return StringTable(
        np.zeros(1024, dtype=np.uint32),
        np.empty((512, 2), dtype=np.uint64),
        np.zeros(513, dtype=np.int64),
        np.empty(8192, dtype=np.uint8),
        np.empty(512, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def empty_pairs() -> PairTable:
    """Return a table without pairs."""
    return PairTable(
        np.zeros(1024, dtype=np.uint32), np.empty((512, PAIR_WIDTH), dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


@jit(forceinline=True)
def mix(key):  # type: ignore[no-untyped-def]
    """Return a number whose lower and upper half depend on all bits of a key, which must be a product."""
    key = (key ^ (key >> HALF_BITS)) * HASH_MIXER
    return key ^ (key >> HALF_BITS)


@jit(forceinline=True)
def make_slot(key, code, last):  # type: ignore[no-untyped-def]
    """Return the content of a slot; `last` is the number of slots − 1."""
    return np.uint32((key >> HALF_BITS) & ~last) | np.uint32(code + 1)


@jit(forceinline=True)
def code_in(held, last):  # type: ignore[no-untyped-def]
    """Return the code in a slot, or −1 if it is empty."""
    return np.int64(np.uint64(held) & last) - 1


@jit(forceinline=True)
def has_tag(held, key, last):  # type: ignore[no-untyped-def]
    """Return whether the tag in a slot is that of a key."""
    return (np.uint64(held) ^ (key >> HALF_BITS)) & ~last & LOWER_HALF == np.uint64(0)


@jit(forceinline=True)
def hash_string(data, start, length):  # type: ignore[no-untyped-def]
    """Return the hash of a string and the two numbers of its signature; 16 bytes from the start must be readable.

    The signature identifies a string of up to 15 bytes: bytes 0 to 7, and bytes 8 to 14 with the length. That of a
    longer string holds its first 15 bytes. Most words have up to eight bytes, for which the first branch suffices.
    """
    head = eight_bytes(data, start)
    if length <= 8:
        rest = np.uint64(64 - 8 * length)
        head = head << rest >> rest if length > 0 else EMPTY_HEAD
        tail = np.uint64(length) << np.uint64(56)
        return mix(head * HASH_MULTIPLIER ^ tail * HASH_MIXER), head, tail
    rest = np.uint64(64 - 8 * min(length - 8, 7))
    tail = eight_bytes(data, start + 8) << rest >> rest | np.uint64(min(length, LONG_STRING)) << np.uint64(56)
    key = head * HASH_MULTIPLIER ^ tail * HASH_MIXER
    return mix(key if length < LONG_STRING else _mix_rest(key, data, start, length)), head, tail


@jit
def _mix_rest(key, data, start, length):  # type: ignore[no-untyped-def]
    """Return a key of all bytes of a long string, eight at a time; the last eight may overlap those before."""
    for position in range(8, length - 8, 8):
        key = (key ^ eight_bytes(data, start + position)) * HASH_MIXER
        key ^= key >> HALF_BITS
    return (key ^ eight_bytes(data, start + length - 8)) * HASH_MIXER ^ np.uint64(length)


@jit(forceinline=True)
def same_rest(data, start, length, arena, place, end):  # type: ignore[no-untyped-def]
    """Return whether two strings are equal, given that their first eight bytes are and one has at least 16."""
    if end - place != length:
        return False
    for position in range(8, length - 8, 8):
        if eight_bytes(data, start + position) != eight_bytes(arena, place + position):
            return False
    return eight_bytes(data, start + length - 8) == eight_bytes(arena, end - 8)


@jit(forceinline=True)
def find(slots, signatures, offsets, arena, data, start, length, head, tail, key):  # type: ignore[no-untyped-def]
    """Return the code of a string, or −1 − (the slot that it would take)."""
    last = np.uint64(slots.size - 1)
    slot = key & last
    while True:
        held = slots[slot]
        if held == NO_SLOT:
            return -1 - np.int64(slot)
        if has_tag(held, key, last):
            code = code_in(held, last)
            if (
                signatures[code, 0] == head
                and signatures[code, 1] == tail
                and (length < LONG_STRING or same_rest(data, start, length, arena, offsets[code], offsets[code + 1]))
            ):
                return code
        slot = (slot + np.uint64(1)) & last


@jit(forceinline=True)
def copy_string(data, start, length, out, place):  # type: ignore[no-untyped-def]
    """Copy a string eight bytes at a time, writing up to seven bytes too many; one step suffices for most."""
    put_eight(out, place, eight_bytes(data, start))
    k = 8
    while k < length:
        put_eight(out, place + k, eight_bytes(data, start + k))
        k += 8


@jit(forceinline=True)
def add(slots, signatures, offsets, arena, last, sizes, data, start, length, head, tail, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new string at the slot found by `find` and return its code; the table must be large enough."""
    code = sizes[0]
    place = offsets[code]
    slots[slot] = make_slot(key, code, np.uint64(slots.size - 1))
    copy_string(data, start, length, arena, place)
    signatures[code, 0], signatures[code, 1] = head, tail
    offsets[code + 1] = place + length
    last[code] = -1
    sizes[0] = code + 1
    return code


@jit
def fits_strings(table, n, size):  # type: ignore[no-untyped-def]
    """Return whether n strings of `size` bytes together can be added without enlarging the table."""
    count = table.sizes[0]
    return count + n <= table.signatures.shape[0] and table.offsets[count] + size + SPARE_BYTES <= table.arena.size


def enlarge_strings(table: StringTable, n: int, size: int) -> StringTable:
    """Return the table, enlarged if necessary for n more strings of `size` bytes together.

    This is not compiled, because compiled loops that replace tuples of arrays take very long to compile.
    """
    count, capacity = int(table.sizes[0]), len(table.signatures)
    while count + n > capacity:
        capacity *= 2
    if capacity > len(table.signatures):
        slots, offsets = empty_slots(2 * capacity), _resize(table.offsets, count + 1, (capacity + 1,))
        signatures, last = _resize(table.signatures, count, (capacity, 2)), _resize(table.last, count, (capacity,))
        _enter_strings(slots, offsets, table.arena, count)
        table = StringTable(slots, signatures, offsets, table.arena, last, table.sizes)
    used = int(table.offsets[count])
    if used + size + SPARE_BYTES > len(table.arena):
        table = table._replace(arena=_resize(table.arena, used, (2 * (used + size + SPARE_BYTES),)))
    return table


def _resize(values: Any, count: int, shape: tuple[int, ...]) -> Any:
    """Return the first `count` values in an array of another shape."""
    larger = _allocate_table(shape, values.dtype)
    larger[:count] = values[:count]
    return larger


def empty_slots(n: int) -> Any:
    """Return n empty slots, n being a power of 2 below 2³²."""
    slots = _allocate_table((n,), np.dtype(np.uint32))
    slots[:] = NO_SLOT
    return slots


def _allocate_table(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an uninitialized array for a table; arrays of medium size are placed in huge pages, too."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not HUGE_PAGES // 8 <= size < HUGE_PAGES:
        return empty(shape, dtype)
    return empty(HUGE_PAGES, np.uint8)[:size].view(dtype).reshape(shape)


@jit
def _enter_strings(slots, offsets, arena, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        key, _, _ = hash_string(arena, offsets[code], offsets[code + 1] - offsets[code])
        _enter(slots, key, code)


@jit
def code_of(table, data, start, length, learning):  # type: ignore[no-untyped-def]
    """Return the code of a string, or a negative number if it is unknown and not `learning`.

    If `learning`, an unknown string is added; the table must be large enough.
    """
    key, head, tail = hash_string(data, start, length)
    slots, signatures, offsets, arena, last, sizes = table
    code = find(slots, signatures, offsets, arena, data, start, length, head, tail, key)
    if code >= 0 or not learning:
        return code
    return add(slots, signatures, offsets, arena, last, sizes, data, start, length, head, tail, key, -1 - code)


def intern(table: StringTable, data: Any, offsets: Any, codes: Any) -> StringTable:
    """Write the codes of strings, adding new ones, and return the table.

    `SPARE_BYTES` bytes must follow the last string.
    """
    table = enlarge_strings(table, len(codes), int(offsets[-1] - offsets[0]))
    _add_strings(table, data, offsets, codes)
    return table


@jit
def _add_strings(table, data, offsets, codes):  # type: ignore[no-untyped-def]
    slots, last = table.slots, np.uint64(table.slots.size - 1)
    for first in range(0, codes.size, STRINGS_AHEAD):
        stop = min(first + STRINGS_AHEAD, codes.size)
        for i in range(first, stop):
            key, _, _ = hash_string(data, offsets[i], offsets[i + 1] - offsets[i])
            fetch(slots, np.int64(key & last))
        for i in range(first, stop):
            codes[i] = code_of(table, data, offsets[i], offsets[i + 1] - offsets[i], True)


@jit(forceinline=True)
def hash_pair(pair):  # type: ignore[no-untyped-def]
    """Return a hash, all bits of which depend on all bits of the pair."""
    return mix(pair * HASH_MULTIPLIER)


@jit(forceinline=True)
def find_pair(slots, entries, pair, key):  # type: ignore[no-untyped-def]
    """Return the code of a pair, or −1 − (the slot that it would take)."""
    last = np.uint64(slots.size - 1)
    slot = key & last
    while True:
        held = slots[slot]
        if held == NO_SLOT:
            return -1 - np.int64(slot)
        if has_tag(held, key, last):
            code = code_in(held, last)
            if entries[code, PAIR_VALUE] == np.int64(pair):
                return code
        slot = (slot + np.uint64(1)) & last


@jit(forceinline=True)
def add_pair(slots, entries, sizes, pair, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new pair at the slot found by `find_pair` and return its code; the table must be large enough."""
    code = sizes[0]
    slots[slot] = make_slot(key, code, np.uint64(slots.size - 1))
    entries[code, PAIR_VALUE], entries[code, PAIR_LAST] = np.int64(pair), -1
    sizes[0] = code + 1
    return code


@jit
def code_of_pair(table, pair):  # type: ignore[no-untyped-def]
    """Return the code of a pair, which is added if unknown; the table must be large enough."""
    key = hash_pair(pair)
    slots, entries, sizes = table
    code = find_pair(slots, entries, pair, key)
    return code if code >= 0 else add_pair(slots, entries, sizes, pair, key, -1 - code)


@jit
def fits_pairs(table, n):  # type: ignore[no-untyped-def]
    """Return whether n pairs can be added without enlarging the table."""
    return table.sizes[0] + n <= table.entries.shape[0]


def enlarge_pairs(table: PairTable, n: int) -> PairTable:
    """Return the table, enlarged if necessary for n more pairs."""
    count, capacity = int(table.sizes[0]), len(table.entries)
    while count + n > capacity:
        capacity *= 2
    if capacity == len(table.entries):
        return table
    slots, entries = empty_slots(2 * capacity), _resize(table.entries, count, (capacity, PAIR_WIDTH))
    _enter_pairs(slots, entries, count)
    return PairTable(slots, entries, table.sizes)


@jit
def _enter_pairs(slots, entries, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        _enter(slots, hash_pair(np.uint64(entries[code, PAIR_VALUE])), code)


@jit
def _enter(slots, key, code):  # type: ignore[no-untyped-def]
    last = np.uint64(slots.size - 1)
    slot = key & last
    while slots[slot] != NO_SLOT:
        slot = (slot + np.uint64(1)) & last
    slots[slot] = make_slot(key, code, last)


# Conversion of spelled terms to codes of words and runs, and back.


def intern_terms(
    words: StringTable, runs: PairTable, data: Any, offsets: Any, codes: Any
) -> tuple[StringTable, PairTable]:
    """Enter terms, words separated by blanks, into the tables; codes[i] is that of a word, or −1 − that of a run.

    `SPARE_BYTES` bytes must follow the last term.
    """
    blanks, size = int(np.count_nonzero(data == BLANK_BYTE)), int(offsets[-1] - offsets[0])
    words, runs = enlarge_strings(words, len(codes) + blanks, size), enlarge_pairs(runs, blanks)
    _enter_terms(words, runs, data, offsets, codes)
    return words, runs


@jit
def _enter_terms(words, runs, data, offsets, codes):  # type: ignore[no-untyped-def]
    for term in range(codes.size):
        codes[term] = _enter_term(words, runs, data, offsets[term], offsets[term + 1])


@jit
def _enter_term(words, runs, data, start, stop):  # type: ignore[no-untyped-def]
    before = code = np.int64(-1)
    for end in range(start, stop + 1):
        if end < stop and data[end] != BLANK_BYTE:
            continue
        code = code_of(words, data, start, end - start, True)
        if before < 0:
            before = code
        else:
            run = code_of_pair(runs, np.uint64(before) << HALF_BITS | np.uint64(code))
            before, code = run | RUN_FLAG, -1 - run
        start = end + 1
    return code


@jit
def take_strings(order, offsets, data, out_offsets, out):  # type: ignore[no-untyped-def]
    """Copy strings in another order; `SPARE_BYTES` bytes must follow them and the output."""
    for i in range(order.size):
        copy_bytes(data, offsets[order[i]], offsets[order[i] + 1], out, out_offsets[i])


@jit
def spell_lengths(words, pairs, lengths):  # type: ignore[no-untyped-def]
    """Write the number of bytes of each run, its words separated by blanks; `words` are the offsets of the words."""
    for run in range(lengths.size):
        left, right = np.int64(pairs[run] >> HALF_BITS), np.int64(pairs[run] & LOWER_HALF)
        length = words[right + 1] - words[right] + 1
        lengths[run] = length + (lengths[left ^ RUN_FLAG] if left & RUN_FLAG else words[left + 1] - words[left])


@jit
def spell_offsets(terms, words, lengths, offsets):  # type: ignore[no-untyped-def]
    """Write the offsets of terms that are written one after another; `lengths` are those of the runs."""
    offsets[0] = 0
    for i in range(terms.size):
        code = terms[i]
        offsets[i + 1] = offsets[i] + (words[code + 1] - words[code] if code >= 0 else lengths[-1 - code])


@jit
def spell(terms, words, arena, pairs, longest, offsets, out):  # type: ignore[no-untyped-def]
    """Write terms (the code of a word, or −1 − that of a run of at most `longest` words), one after another.

    Eight bytes are written at a time, and the excess is overwritten by what follows. The last terms are written byte by
    byte, since another thread may have written after them: seven excess bytes may reach over seven terms of one byte.
    """
    chain = np.empty(longest, dtype=np.int64)
    for i in range(terms.size):
        code = np.int64(terms[i])
        code = code if code >= 0 else (-1 - code) | RUN_FLAG
        length = 0
        while code & RUN_FLAG:
            pair = pairs[code ^ RUN_FLAG]
            chain[length] = np.int64(pair & LOWER_HALF)
            code = np.int64(pair >> HALF_BITS)
            length += 1
        step = 8 if i + 8 < terms.size else 1
        place = copy_bytes(arena, words[code], words[code + 1], out, offsets[i], step)
        for k in range(length - 1, -1, -1):
            out[place] = BLANK_BYTE
            place = copy_bytes(arena, words[chain[k]], words[chain[k] + 1], out, place + 1, step)


@jit(forceinline=True)
def copy_bytes(data, start, stop, out, place, step=8):  # type: ignore[no-untyped-def]
    """Copy bytes, eight at a time unless `step` is 1; return the position of the next ones."""
    length, k = stop - start, 0
    if step == 8:
        copy_string(data, start, length, out, place)
        k = length
    while k < length:
        out[place + k] = data[start + k]
        k += 1
    return place + length


#: number of pieces of a document that are looked up at a time
PIECES_AT_ONCE = 1 << 12
#: number of terms by which the prefetch of a slot is ahead of its use
SLOT_AHEAD = 12
#: number of terms by which the prefetch of an entry is ahead of its use
ENTRY_AHEAD = 6


class ScanProgress(NamedTuple):
    """The entries that a scan has written, and its state when it stops because a table or array is full."""

    rows: Any
    codes: Any
    counts: Any
    #: document, piece, number of pieces of the document, entries written, entries before the document
    at: Any
    #: the runs of 1, 2, … words that end with the last word
    before: Any
    #: codes of the current pieces, and their hashes and signatures
    found: Any
    keys: Any


def start_scan(n_documents: int, longest: int, codes: Any, counts: Any) -> ScanProgress:
    """Return the initial state of a scan with runs of at most `longest` words, which writes to two arrays."""
    return ScanProgress(
        np.zeros(n_documents + 1, dtype=np.int32),
        codes,
        counts,
        np.zeros(5, dtype=np.int64),
        np.empty(longest + 1, dtype=np.int64),
        np.empty(PIECES_AT_ONCE, dtype=np.int64),
        np.empty((3, PIECES_AT_ONCE), dtype=np.uint64),
    )


@jit
def scan_some(texts, states, alphabet, rule, n_stop, learning, words, runs, base, buffers, progress):  # type: ignore[no-untyped-def]
    """Count the terms of documents until a table or array is full.

    Return the bytes of the pieces that do not fit, or −1 when all documents are finished. Codes below `n_stop` are stop
    words, which are ignored. A run of words is a pair of the run without its last word and this word, so no run is ever
    spelled. Terms that are not in the tables are added if `learning`, otherwise ignored. Entries are numbered from
    `base` on. In `progress`, the terms of document i are codes[rows[i]:rows[i + 1]], those of runs as −1 − code.
    """
    data, offsets = texts
    min_gram, max_gram = (rule.min_gram, rule.max_gram) if rule.unit == UNIT_WORDS else (1, 1)
    rows, codes, counts, at, before, found, keys = progress
    text, starts, stops = buffers.text, buffers.starts, buffers.stops
    document, piece, pieces, used, first = at[0], at[1], at[2], at[3], at[4]
    while document < states.size:
        if piece == 0:
            pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, rule, buffers)
            first = base + used
            before[:] = -1
        while piece < pieces:
            n = min(PIECES_AT_ONCE, pieces - piece)
            begun, ended = starts[piece : piece + n], stops[piece : piece + n]
            size = np.int64(0)
            for k in range(n):
                size += np.int64(ended[k] - begun[k])
            if used + n * max_gram > codes.size or (
                learning and not (fits_strings(words, n, size) and fits_pairs(runs, n * (max_gram - 1)))
            ):
                at[0], at[1], at[2], at[3], at[4] = document, piece, pieces, used, first
                return np.int64(size)
            _hash_pieces(text, begun, ended, words.slots, keys)
            kept, used = _count_words(
                text,
                begun,
                ended,
                keys,
                words,
                learning,
                n_stop,
                min_gram == 1,
                found,
                first,
                base,
                used,
                codes,
                counts,
            )
            if max_gram > 1:
                used = _count_runs(
                    found, kept, keys[0], min_gram, max_gram, learning, runs, before, first, base, used, codes, counts
                )
            piece += n
        piece = 0
        document += 1
        rows[document] = used
    return np.int64(-1)


@jit
def _hash_pieces(text, starts, stops, slots, keys):  # type: ignore[no-untyped-def]
    """Write the hashes and signatures of pieces of a text, and prefetch their slots."""
    last = np.uint64(slots.size - 1)
    for k in range(starts.size):
        start, length = np.int64(starts[k]), np.int64(stops[k] - starts[k])
        keys[0, k], keys[1, k], keys[2, k] = hash_string(text, start, length)
        fetch(slots, np.int64(keys[0, k] & last))


@jit
def _count_words(  # type: ignore[no-untyped-def]
    text, starts, stops, keys, words, learning, n_stop, counts_words, found, first, base, used, codes, counts
):
    """Write the codes of pieces that are not stop words, and count them if `counts_words`; return their number and
    `used`.
    """
    slots, signatures, offsets, arena, last, sizes = words
    last_slot = np.uint64(slots.size - 1)
    kept = 0
    for k in range(starts.size):
        if k + ENTRY_AHEAD < starts.size:
            likely = max(code_in(slots[keys[0, k + ENTRY_AHEAD] & last_slot], last_slot), np.int64(0))
            fetch(signatures, 2 * likely)
            fetch(last, likely)
        start, length = np.int64(starts[k]), np.int64(stops[k] - starts[k])
        key, head, tail = keys[0, k], keys[1, k], keys[2, k]
        word = find(slots, signatures, offsets, arena, text, start, length, head, tail, key)
        if word < 0 and learning:
            word = add(slots, signatures, offsets, arena, last, sizes, text, start, length, head, tail, key, -1 - word)
        if counts_words and word >= n_stop:
            place = np.int64(last[word])
            if place >= first:
                counts[place - base] += 1
            else:
                codes[used], counts[used], last[word] = word, 1, base + used
                used += 1
        found[kept] = word
        kept += not 0 <= word < n_stop
    return kept, used


@jit
def _count_runs(found, n, keys, min_gram, max_gram, learning, runs, before, first, base, used, codes, counts):  # type: ignore[no-untyped-def]
    """Count the runs that end with one of n words; before[k] is the run of the k preceding words (for k = 1 the word).

    Runs are far more numerous than words and rarely cached: those of two words are prefetched.
    """
    slots, entries, sizes = runs
    last_slot = np.uint64(slots.size - 1)
    for i in range(n):
        left = found[i - 1] if i > 0 else before[1]
        keys[i] = hash_pair(np.uint64(left) << HALF_BITS | np.uint64(found[i]))
    for i in range(n):
        if i + SLOT_AHEAD < n:
            fetch(slots, np.int64(keys[i + SLOT_AHEAD] & last_slot))
        if i + ENTRY_AHEAD < n:
            likely = max(code_in(slots[keys[i + ENTRY_AHEAD] & last_slot], last_slot), np.int64(0))
            fetch(entries, likely * PAIR_WIDTH)
        word = found[i]
        for length in range(max_gram - 1, 0, -1):
            run = np.int64(-1)
            if before[length] >= 0 and word >= 0:
                pair = np.uint64(before[length]) << HALF_BITS | np.uint64(word)
                key = keys[i] if length == 1 else hash_pair(pair)
                run = find_pair(slots, entries, pair, key)
                if run < 0 and learning:
                    run = add_pair(slots, entries, sizes, pair, key, -1 - run)
                if run >= 0 and length + 1 >= min_gram:
                    place = entries[run, PAIR_LAST]
                    if place >= first:
                        counts[place - base] += 1
                    else:
                        codes[used], counts[used], entries[run, PAIR_LAST] = -1 - run, 1, base + used
                        used += 1
            before[length + 1] = run | RUN_FLAG if run >= 0 else -1
        before[1] = word
    return used
