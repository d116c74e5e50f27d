"""Documents as hashed counts: MurmurHash3 of each term tells its column and sign; no table is kept."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import four_bytes
from mercer.text._document_loops import BLANK, WORDS, cut, room_for
from mercer.text._matrix_loops import insert
from mercer.text._term_loops import code_of

#: terms of a document that are sorted by their highest bits at once, and bits of more that are
LARGEST, DIGIT = 1 << 12, 11
FIRST, SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


@jit(forceinline=True)
def turned(x, by):  # type: ignore[no-untyped-def]
    """Bits turned to the left."""
    return np.uint32(x << np.uint32(by)) | np.uint32(x >> np.uint32(32 - by))


@jit(forceinline=True)
def _with_four(h, read):  # type: ignore[no-untyped-def]
    """The hash after four more bytes."""
    h ^= np.uint32(turned(np.uint32(read * FIRST), 15) * SECOND)
    return np.uint32(np.uint32(turned(h, 13) * np.uint32(5)) + np.uint32(0xE6546B64))


@jit(forceinline=True)
def murmur(data, start, length):  # type: ignore[no-untyped-def]
    """MurmurHash3 for 32 bits, with the seed 0, as a signed number; twelve bytes must be there to read."""
    h = np.uint32(0)
    whole = length // 4
    if whole < 3:  # most words; how many rounds they take would often be foretold wrongly, so that each is tried
        one = _with_four(h, four_bytes(data, start))
        two = _with_four(one, four_bytes(data, start + 4))
        h = one * np.uint32(whole == 1) + two * np.uint32(whole == 2)
    else:
        for block in range(whole):
            h = _with_four(h, four_bytes(data, start + 4 * block))
    # the bytes that are left; if there is none, 0, which changes nothing
    k = four_bytes(data, start + 4 * whole) & np.uint32((1 << (8 * (length - 4 * whole))) - 1)
    h ^= np.uint32(turned(np.uint32(k * FIRST), 15) * SECOND)
    h ^= np.uint32(length)
    h ^= h >> np.uint32(16)
    h = np.uint32(h * np.uint32(0x85EBCA6B))
    h ^= h >> np.uint32(13)
    h = np.uint32(h * np.uint32(0xC2B2AE35))
    return np.int32(h ^ (h >> np.uint32(16)))


@jit(forceinline=True)
def entry_of(data, start, length, columns, signed):  # type: ignore[no-untyped-def]
    """Column of a term, twice, and one more where its sign is −1: so that entries of a column are neighbours."""
    h = np.int64(murmur(data, start, length))
    # |−2³¹| has no room in 32 bits, where scikit-learn takes this for it
    size = np.int64(2147483647) - (columns - 1) if h == -2147483648 else abs(h)
    column = size & (columns - 1) if columns & (columns - 1) == 0 else size % columns  # to divide takes long
    return 2 * column + (1 if signed and h < 0 else 0)


@jit
def hash_terms(texts, states, alphabet, how, stop_words, columns, signed, indices, values):  # type: ignore[no-untyped-def]
    """Columns and values of the hashed terms of each document, written to two arrays or to larger ones.

    Returns
    -------
    (rows, indices, values)
    """
    data, offsets = texts
    n = states.size
    fewest, most = (how.fewest, how.most) if how.unit == WORDS else (1, 1)
    room = room_for(offsets, how)
    joins = how.unit == WORDS and (most > 1 or stop_words.sizes[0] > 0)
    starts, stops, text = room.starts, room.stops, room.copy if joins else room.text
    rows = np.zeros(n + 1, dtype=np.int32)
    entries, spare = np.empty(1024, dtype=np.uint32), np.empty(1024, dtype=np.uint32)
    heads, bits = np.empty(LARGEST, dtype=np.int32), bit_length(2 * columns - 1)
    for document in range(n):
        pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, how, room)
        if joins:
            pieces = _join_words(room, pieces, stop_words)
        place, many = np.int64(rows[document]), pieces * (most - fewest + 1)
        indices, values = _with_room(indices, values, place + many)
        while entries.size < many:
            entries, spare = twice(entries), twice(spare)
        count = 0
        for first in range(pieces):
            for last in range(first + fewest - 1, min(first + most, pieces)):
                start = np.int64(starts[first])
                entries[count] = entry_of(text, start, np.int64(stops[last]) - start, columns, signed)
                count += 1
        sort_entries(entries[:count], spare[:count], heads, bits)
        rows[document + 1] = _write_entries(entries[:count], indices, values, place)
    return rows, indices, values


@jit
def sort_entries(entries, spare, heads, bits):  # type: ignore[no-untyped-def]
    """Numbers below 2^bits in ascending order: those of few terms by as many of their highest bits as number them, and
    then by insertion, since what is hashed lies evenly; others digit by digit, the lowest first."""
    if entries.size < LARGEST:
        digit = max(bit_length(entries.size), 1)
        _by_digit(entries, spare, heads[: 1 << digit], max(bits - digit, 0))
        entries[:1] = spare[:1]
        for i in range(1, entries.size):
            insert(entries, i, spare[i])
        return
    for shift in range(0, bits, DIGIT):
        _by_digit(entries, spare, heads[: 1 << DIGIT], shift)
        entries[:] = spare


@jit
def _by_digit(entries, sorted_entries, heads, shift):  # type: ignore[no-untyped-def]
    """Entries in the order of some bits from the lowest `shift` ones on, equal ones as they were."""
    mask, by = np.uint32(heads.size - 1), np.uint32(shift)
    heads[:] = 0
    for entry in entries:
        heads[np.uint64((entry >> by) & mask)] += 1
    total = np.int32(0)
    for digit in range(heads.size):
        many = heads[digit]
        heads[digit] = total
        total += many
    for entry in entries:
        own = np.uint64((entry >> by) & mask)
        sorted_entries[heads[own]] = entry
        heads[own] += 1


@jit(forceinline=True)
def bit_length(number):  # type: ignore[no-untyped-def]
    """Bits that a number takes."""
    many = 0
    while number >> many > 0:
        many += 1
    return many


@jit
def _join_words(room, found, stop_words):  # type: ignore[no-untyped-def]
    """Words that are no stop words, one blank between them, and where they are then; how many."""
    place, kept = np.int64(0), 0
    text, out, starts, stops = room.text, room.copy, room.starts, room.stops
    some = stop_words.sizes[0] > 0
    for piece in range(found):
        start, length = np.int64(starts[piece]), np.int64(stops[piece] - starts[piece])
        if some and code_of(stop_words, text, start, length, False) >= 0:
            continue
        for i in range(length):
            out[place + i] = text[start + i]
        out[place + length] = BLANK
        starts[kept], stops[kept] = place, place + length
        place += length + 1
        kept += 1
    return kept


@jit
def _write_entries(entries, indices, values, place):  # type: ignore[no-untyped-def]
    """Write entries that are in order, those of a column added up; where the next row begins.

    A column is written again with each of its entries, since a branch would often be foretold wrongly.
    """
    before, value = np.int64(-1), np.int64(0)
    place -= 1
    for entry in entries:
        column = np.int64(entry >> np.uint32(1))
        another = column != before
        value = (0 if another else value) + 1 - 2 * np.int64(entry & np.uint32(1))
        place += another
        indices[place], values[place] = column, value
        before = column
    return place + 1


@jit
def normalise(rows, values, squared, out):  # type: ignore[no-untyped-def]
    """Rows divided by the sum of their absolute values, or the root of that of their squares; those of 0 stay so.

    Sums of whole numbers are exact, in whatever order they are added.
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
def _with_room(indices, values, size):  # type: ignore[no-untyped-def]
    """Both with room for so many, as they are or larger."""
    while size > indices.size:
        indices, values = twice(indices), twice(values)
    return indices, values


@jit
def twice(values):  # type: ignore[no-untyped-def]
    """Values with as much room again."""
    larger = np.empty(2 * values.size, dtype=values.dtype)
    larger[: values.size] = values
    return larger
