"""Counts of hashes of terms: the MurmurHash3 of a term determines its column and sign; no table of terms is kept."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import four_bytes
from mercer.text._document_loops import BLANK_BYTE, UNIT_WORDS, allocate_buffers, cut
from mercer.text._matrix_loops import insert
from mercer.text._term_loops import code_of

#: number of entries from which on a document is sorted digit by digit
RADIX_SORT_FROM = 1 << 12
#: bits of a digit of the radix sort
RADIX_BITS = 11
#: the two multipliers of MurmurHash3 for 32 bits
MURMUR_1 = np.uint32(0xCC9E2D51)
MURMUR_2 = np.uint32(0x1B873593)


@jit(forceinline=True)
def rotate_left(x, by):  # type: ignore[no-untyped-def]
    """Rotate the bits of a 32-bit number to the left."""
    return np.uint32(x << np.uint32(by)) | np.uint32(x >> np.uint32(32 - by))


@jit(forceinline=True)
def _mix_four(h, read):  # type: ignore[no-untyped-def]
    """Return the hash after four more bytes."""
    h ^= np.uint32(rotate_left(np.uint32(read * MURMUR_1), 15) * MURMUR_2)
    return np.uint32(np.uint32(rotate_left(h, 13) * np.uint32(5)) + np.uint32(0xE6546B64))


@jit(forceinline=True)
def murmur(data, start, length):  # type: ignore[no-untyped-def]
    """Return MurmurHash3 for 32 bits with seed 0 as a signed number; twelve bytes beyond the start must be readable."""
    h = np.uint32(0)
    whole = length // 4
    if whole < 3:  # most words; the number of rounds would often be mispredicted, so all are computed
        one = _mix_four(h, four_bytes(data, start))
        two = _mix_four(one, four_bytes(data, start + 4))
        h = one * np.uint32(whole == 1) + two * np.uint32(whole == 2)
    else:
        for block in range(whole):
            h = _mix_four(h, four_bytes(data, start + 4 * block))
    # the remaining bytes; if there are none, 0, which changes nothing
    k = four_bytes(data, start + 4 * whole) & np.uint32((1 << (8 * (length - 4 * whole))) - 1)
    h ^= np.uint32(rotate_left(np.uint32(k * MURMUR_1), 15) * MURMUR_2)
    h ^= np.uint32(length)
    h ^= h >> np.uint32(16)
    h = np.uint32(h * np.uint32(0x85EBCA6B))
    h ^= h >> np.uint32(13)
    h = np.uint32(h * np.uint32(0xC2B2AE35))
    return np.int32(h ^ (h >> np.uint32(16)))


@jit(forceinline=True)
def hash_entry(data, start, length, columns, signed):  # type: ignore[no-untyped-def]
    """Return 2 × column of a term, + 1 if its sign is −1, so that sorting makes the entries of a column neighbours."""
    h = np.int64(murmur(data, start, length))
    # |−2³¹| overflows 32 bits; scikit-learn uses this value
    size = np.int64(2147483647) - (columns - 1) if h == -2147483648 else abs(h)
    column = size & (columns - 1) if columns & (columns - 1) == 0 else size % columns  # division is slow
    return 2 * column + (1 if signed and h < 0 else 0)


@jit
def hash_terms(texts, states, alphabet, rule, stop_words, columns, signed, indices, values):  # type: ignore[no-untyped-def]
    """Write the columns and values of the hashed terms of each document to two arrays, or to larger ones.

    Returns
    -------
    (rows, indices, values)
    """
    data, offsets = texts
    n = states.size
    min_gram, max_gram = (rule.min_gram, rule.max_gram) if rule.unit == UNIT_WORDS else (1, 1)
    buffers = allocate_buffers(offsets, rule)
    joins = rule.unit == UNIT_WORDS and (max_gram > 1 or stop_words.sizes[0] > 0)
    starts, stops, text = buffers.starts, buffers.stops, buffers.copy if joins else buffers.text
    rows = np.zeros(n + 1, dtype=np.int32)
    entries, spare = np.empty(1024, dtype=np.uint32), np.empty(1024, dtype=np.uint32)
    heads, bits = np.empty(RADIX_SORT_FROM, dtype=np.int32), bit_length(2 * columns - 1)
    for document in range(n):
        pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, rule, buffers)
        if joins:
            pieces = _join_words(buffers, pieces, stop_words)
        place, most = np.int64(rows[document]), pieces * (max_gram - min_gram + 1)
        while place + most > indices.size:
            indices, values = double(indices), double(values)
        while entries.size < most:
            entries, spare = double(entries), double(spare)
        count = 0
        for first in range(pieces):
            for last in range(first + min_gram - 1, min(first + max_gram, pieces)):
                start = np.int64(starts[first])
                entries[count] = hash_entry(text, start, np.int64(stops[last]) - start, columns, signed)
                count += 1
        sort_entries(entries[:count], spare[:count], heads, bits)
        rows[document + 1] = _write_entries(entries[:count], indices, values, place)
    return rows, indices, values


@jit
def sort_entries(entries, spare, heads, bits):  # type: ignore[no-untyped-def]
    """Sort numbers below 2^bits in ascending order.

    Few numbers are sorted by as many of their highest bits as number them and then by insertion, since hashes are
    uniformly distributed; others by radix sort, the lowest digit first.
    """
    if entries.size < RADIX_SORT_FROM:
        digit = max(bit_length(entries.size), 1)
        _sort_by_digit(entries, spare, heads[: 1 << digit], max(bits - digit, 0))
        entries[:1] = spare[:1]
        for i in range(1, entries.size):
            insert(entries, i, spare[i])
        return
    for shift in range(0, bits, RADIX_BITS):
        _sort_by_digit(entries, spare, heads[: 1 << RADIX_BITS], shift)
        entries[:] = spare


@jit
def _sort_by_digit(entries, sorted_entries, heads, shift):  # type: ignore[no-untyped-def]
    """Sort entries stably by the digit that begins at bit `shift`."""
    mask, by = np.uint32(heads.size - 1), np.uint32(shift)
    heads[:] = 0
    for entry in entries:
        heads[np.uint64((entry >> by) & mask)] += 1
    total = np.int32(0)
    for digit in range(heads.size):
        count = heads[digit]
        heads[digit] = total
        total += count
    for entry in entries:
        own = np.uint64((entry >> by) & mask)
        sorted_entries[heads[own]] = entry
        heads[own] += 1


@jit(forceinline=True)
def bit_length(number):  # type: ignore[no-untyped-def]
    """Return the number of binary digits of a number."""
    bits = 0
    while number >> bits > 0:
        bits += 1
    return bits


@jit
def _join_words(buffers, pieces, stop_words):  # type: ignore[no-untyped-def]
    """Copy words that are not stop words, separated by one blank, and update their positions; return their number."""
    place, kept = np.int64(0), 0
    text, out, starts, stops = buffers.text, buffers.copy, buffers.starts, buffers.stops
    has_stop_words = stop_words.sizes[0] > 0
    for piece in range(pieces):
        start, length = np.int64(starts[piece]), np.int64(stops[piece] - starts[piece])
        if has_stop_words and code_of(stop_words, text, start, length, False) >= 0:
            continue
        for i in range(length):
            out[place + i] = text[start + i]
        out[place + length] = BLANK_BYTE
        starts[kept], stops[kept] = place, place + length
        place += length + 1
        kept += 1
    return kept


@jit
def _write_entries(entries, indices, values, place):  # type: ignore[no-untyped-def]
    """Write sorted entries, those of one column summed; return the position where the next row begins.

    A column is written again with each of its entries, since a branch would often be mispredicted.
    """
    before, value = np.int64(-1), np.int64(0)
    place -= 1
    for entry in entries:
        column = np.int64(entry >> np.uint32(1))
        is_new = column != before
        value = (0 if is_new else value) + 1 - 2 * np.int64(entry & np.uint32(1))
        place += is_new
        indices[place], values[place] = column, value
        before = column
    return place + 1


@jit
def normalize(rows, values, squared, out):  # type: ignore[no-untyped-def]
    """Divide rows by the sum of their absolute values, or if `squared` by their Euclidean norm; rows of zeros are
    unchanged.

    Sums of whole numbers are exact in any order of summation.
    """
    for row in range(rows.size - 1):
        own = slice(rows[row], rows[row + 1])
        norm = 0.0
        for value in values[own]:
            norm += np.float64(value) * value if squared else np.float64(abs(value))
        norm = np.sqrt(norm) if squared else norm
        norm = norm if norm != 0.0 else 1.0
        read, written = values[own], out[own]
        for k in range(read.size):
            written[k] = read[k] / norm


@jit
def double(values):  # type: ignore[no-untyped-def]
    """Return an array of twice the size that begins with the values."""
    larger = np.empty(2 * values.size, dtype=values.dtype)
    larger[: values.size] = values
    return larger
