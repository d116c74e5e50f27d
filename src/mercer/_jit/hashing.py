"""Documents as hashed counts: MurmurHash3 of each term tells its column and sign; no table is kept."""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.bits import fetch, four_bytes
from mercer._jit.characters import BLANK
from mercer._jit.cutting import WORDS, cut, room_for
from mercer._jit.interning import code_of
from mercer._jit.rows import FEW, mark, no_marks, take_marks

#: columns up to which each has a bit and a sum of its own while a row is written
MARKED = 1 << 24
FIRST, SECOND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


@jit(forceinline=True)
def turned(x, by):  # type: ignore[no-untyped-def]
    """Bits turned to the left."""
    return np.uint32(x << np.uint32(by)) | np.uint32(x >> np.uint32(32 - by))


@jit(forceinline=True)
def murmur(data, start, length):  # type: ignore[no-untyped-def]
    """MurmurHash3 for 32 bits, with the seed 0, as a signed number; four bytes must be there to read after the end."""
    h = np.uint32(0)
    whole = length // 4
    for block in range(whole):
        k = np.uint32(four_bytes(data, start + 4 * block) * FIRST)
        h ^= np.uint32(turned(k, 15) * SECOND)
        h = np.uint32(np.uint32(turned(h, 13) * np.uint32(5)) + np.uint32(0xE6546B64))
    # the bytes that are left; if there is none, 0, which changes nothing: a branch would often be foretold wrongly
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
def hash_terms(texts, states, alphabet, how, stop_words, columns, signed):  # type: ignore[no-untyped-def]
    """Columns and values of the hashed terms of each document.

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
    rows = np.zeros(n + 1, dtype=np.int64)
    indices = np.empty(1024 + (offsets[n] - offsets[0]) // 4, dtype=np.int32)
    values = np.empty(indices.size, dtype=np.int32)
    marked = columns <= MARKED
    low, middle, top = no_marks(columns if marked else 0)
    value_of = np.empty(columns if marked else 0, dtype=np.int32)
    entries = np.empty(1024, dtype=np.int64)
    for document in range(n):
        pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, how, room)
        if joins:
            pieces = _join_words(room, pieces, stop_words)
        place, many = rows[document], pieces * (most - fewest + 1)
        indices, values = _with_room(indices, values, place + many)
        while entries.size < many:
            entries = twice(entries)
        count = 0
        for first in range(pieces):
            for last in range(first + fewest - 1, min(first + most, pieces)):
                start = np.int64(starts[first])
                entries[count] = entry_of(text, start, np.int64(stops[last]) - start, columns, signed)
                fetch(value_of, entries[count] >> 1)
                count += 1
        if marked and count > FEW:
            for k in range(count):
                column, sign = entries[k] >> 1, np.int32(1 - 2 * (entries[k] & 1))
                value_of[column] = value_of[column] + sign if mark(column, low, middle, top) else sign
            rows[document + 1] = take_marks(low, middle, top, indices, place)
            for k in range(place, rows[document + 1]):
                values[k] = value_of[indices[k]]
            continue
        entries[:count].sort()
        rows[document + 1] = _write_entries(entries[:count], indices, values, place)
    return rows, indices[: rows[n]], values[: rows[n]]


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
    """Write entries that are in order, those of a column added up; where the next row begins."""
    before = -1
    for entry in entries:
        column = entry >> 1
        sign = 1 - 2 * (entry & 1)
        if column == before:
            values[place - 1] += sign
        else:
            indices[place] = column
            values[place] = sign
            place += 1
            before = column
    return place


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
