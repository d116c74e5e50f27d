"""Strings, and pairs of numbers, as codes in the order of their first appearance: open-addressing tables that grow.

A slot holds the code + 1 in its lower and a tag, half of the hash, in its upper 32 bits; 0 is an empty slot. Only
where the tag agrees is the string itself looked at. Of most strings that is 16 bytes, their signature, and few words
make up most of a text, so that these and their slots stay in the cache; all that is known of a pair is in one line of
it, because pairs are too many to stay there.
Loops that look for many take the fields of a table one by one: each look into a tuple of arrays counts references,
and costs more than to find a word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.bits import eight_bytes, fetch

#: columns of `seen`: where a term was counted last, documents that hold it, and how often it occurs in all
LAST, DOCUMENTS, OCCURRENCES = 0, 1, 2
#: columns of the entries of pairs: the pair, and the same three
PAIR, PAIR_LAST, PAIR_DOCUMENTS, PAIR_OCCURRENCES, PAIR_WIDTH = 0, 1, 2, 3, 4
#: odd numbers with bits all over, to multiply by
SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
HALF, CODES = np.uint64(32), np.uint64(0xFFFFFFFF)
NO_SLOT = np.uint64(0)
#: bytes that may be read after the last one of a string
SPARE = 16
#: bytes from which on a string is not told by its signature
LONG = 16
#: strings or pairs whose slots are fetched before the first of them is looked for
AHEAD = 256
#: LOWEST[n] has the lowest n bytes set
LOWEST = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


class Strings(NamedTuple):
    """Strings by code: `arena[offsets[c]:offsets[c + 1]]`."""

    slots: Any
    signatures: Any
    offsets: Any
    arena: Any
    seen: Any
    #: how many there are
    sizes: Any


class Pairs(NamedTuple):
    """Pairs of 32-bit numbers by code, in one number each."""

    slots: Any
    entries: Any
    sizes: Any


def no_strings() -> Strings:
    """A table without strings."""
    return Strings(
        np.zeros(1024, dtype=np.uint64),
        np.empty((512, 2), dtype=np.uint64),
        np.zeros(513, dtype=np.int64),
        np.empty(8192, dtype=np.uint8),
        np.empty((512, 3), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def no_pairs() -> Pairs:
    """A table without pairs."""
    return Pairs(
        np.zeros(1024, dtype=np.uint64), np.empty((512, PAIR_WIDTH), dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


@jit(forceinline=True)
def signature(data, start, length):  # type: ignore[no-untyped-def]
    """Two numbers that tell a string of up to 15 bytes from all others: bytes 0 to 7; and bytes 8 to 14 with the
    length. Of longer ones, the first 15 bytes. 16 bytes must be there to read."""
    head = eight_bytes(data, start) & LOWEST[min(length, 8)]
    tail = eight_bytes(data, start + 8) & LOWEST[max(min(length, 15) - 8, 0)]
    return head, tail | np.uint64(min(length, LONG)) << np.uint64(56)


@jit(forceinline=True)
def mixed(key):  # type: ignore[no-untyped-def]
    """A number whose every bit depends on all of the key's."""
    key = (key ^ (key >> HALF)) * MIX
    return (key ^ (key >> HALF)) * MIX


@jit(forceinline=True)
def hash_of(data, start, length, head, tail):  # type: ignore[no-untyped-def]
    """Of the whole string, of which the signature is given; eight bytes at a time, the last of which may overlap."""
    key = head * SPREAD ^ tail * MIX
    if length >= LONG:
        for position in range(8, length - 8, 8):
            key = (key ^ eight_bytes(data, start + position)) * MIX
            key ^= key >> HALF
        key = (key ^ eight_bytes(data, start + length - 8)) * MIX ^ np.uint64(length)
    return mixed(key)


@jit(forceinline=True)
def same_rest(data, start, length, arena, place, end):  # type: ignore[no-untyped-def]
    """Whether two strings are the same, of which the first eight bytes are, and one has at least 16."""
    if end - place != length:
        return False
    for position in range(8, length - 8, 8):
        if eight_bytes(data, start + position) != eight_bytes(arena, place + position):
            return False
    return eight_bytes(data, start + length - 8) == eight_bytes(arena, end - 8)


@jit(forceinline=True)
def find(slots, signatures, offsets, arena, data, start, length, head, tail, key):  # type: ignore[no-untyped-def]
    """The code of a string, or −1 − (the slot that it would take)."""
    last = np.uint64(slots.size - 1)
    slot = key & last
    while True:
        held = slots[slot]
        if held == NO_SLOT:
            return -1 - np.int64(slot)
        if held >> HALF == key >> HALF:
            code = np.int64(held & CODES) - 1
            if (
                signatures[code, 0] == head
                and signatures[code, 1] == tail
                and (length < LONG or same_rest(data, start, length, arena, offsets[code], offsets[code + 1]))
            ):
                return code
        slot = (slot + np.uint64(1)) & last


@jit
def add(table, data, start, length, head, tail, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new string at a slot that `find` has named; there must be room for it. Its code."""
    code = table.sizes[0]
    place = table.offsets[code]
    table.slots[slot] = (key >> HALF) << HALF | np.uint64(code + 1)
    for i in range(length):
        table.arena[place + i] = data[start + i]
    table.signatures[code, 0], table.signatures[code, 1] = head, tail
    table.offsets[code + 1] = place + length
    table.seen[code, LAST], table.seen[code, DOCUMENTS], table.seen[code, OCCURRENCES] = -1, 0, 0
    table.sizes[0] = code + 1
    return code


@jit
def has_room(table, strings, size):  # type: ignore[no-untyped-def]
    """Whether so many strings of so many bytes together can be added."""
    count = table.sizes[0]
    return count + strings <= table.signatures.shape[0] and table.offsets[count] + size + SPARE <= table.arena.size


def with_room(table: Strings, strings: int, size: int) -> Strings:
    """The table with room for so many strings of so many bytes together: as it is, or some times larger.

    In Python, because compiled loops in which tuples of arrays change places take very long to compile.
    """
    count, room = int(table.sizes[0]), len(table.signatures)
    while count + strings > room:
        room *= 2
    if room > len(table.signatures):
        slots, offsets = np.zeros(2 * room, dtype=np.uint64), _larger(table.offsets, count + 1, (room + 1,))
        signatures = _larger(table.signatures, count, (room, 2))
        seen = _larger(table.seen, count, (room, 3))
        _enter_strings(slots, signatures, offsets, table.arena, count)
        table = Strings(slots, signatures, offsets, table.arena, seen, table.sizes)
    used = int(table.offsets[count])
    if used + size + SPARE > len(table.arena):
        table = table._replace(arena=_larger(table.arena, used, (2 * (used + size + SPARE),)))
    return table


def _larger(values: Any, count: int, shape: tuple[int, ...]) -> Any:
    """The first so many values in an array of another shape."""
    larger = np.empty(shape, dtype=values.dtype)
    larger[:count] = values[:count]
    return larger


@jit
def _enter_strings(slots, signatures, offsets, arena, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        start, length = offsets[code], offsets[code + 1] - offsets[code]
        _enter(slots, hash_of(arena, start, length, signatures[code, 0], signatures[code, 1]), code)


@jit
def code_of(table, data, start, length, learning):  # type: ignore[no-untyped-def]
    """The code of a string, which is added if need be and there must be room for it; below 0 if it is not known."""
    head, tail = signature(data, start, length)
    key = hash_of(data, start, length, head, tail)
    slots, signatures, offsets, arena, _, _ = table
    code = find(slots, signatures, offsets, arena, data, start, length, head, tail, key)
    return add(table, data, start, length, head, tail, key, -1 - code) if code < 0 and learning else code


def intern(table: Strings, data: Any, offsets: Any, codes: Any) -> Strings:
    """Codes of strings, new ones added; the last of them must have `SPARE` bytes after it. The table as it is then."""
    table = with_room(table, len(codes), int(offsets[-1] - offsets[0]))
    _add_strings(table, data, offsets, codes)
    return table


@jit
def _add_strings(table, data, offsets, codes):  # type: ignore[no-untyped-def]
    slots, last = table.slots, np.uint64(table.slots.size - 1)
    for first in range(0, codes.size, AHEAD):
        stop = min(first + AHEAD, codes.size)
        for i in range(first, stop):
            head, tail = signature(data, offsets[i], offsets[i + 1] - offsets[i])
            fetch(slots, np.int64(hash_of(data, offsets[i], offsets[i + 1] - offsets[i], head, tail) & last))
        for i in range(first, stop):
            codes[i] = code_of(table, data, offsets[i], offsets[i + 1] - offsets[i], True)


@jit(forceinline=True)
def hash_of_pair(pair):  # type: ignore[no-untyped-def]
    """Its every bit depends on all of the pair's."""
    return mixed(pair * SPREAD)


@jit(forceinline=True)
def find_pair(slots, entries, pair, key):  # type: ignore[no-untyped-def]
    """The code of a pair, or −1 − (the slot that it would take)."""
    last = np.uint64(slots.size - 1)
    slot = key & last
    while True:
        held = slots[slot]
        if held == NO_SLOT:
            return -1 - np.int64(slot)
        if held >> HALF == key >> HALF:
            code = np.int64(held & CODES) - 1
            if entries[code, PAIR] == np.int64(pair):
                return code
        slot = (slot + np.uint64(1)) & last


@jit
def add_pair(table, pair, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new pair at a slot that `find_pair` has named; there must be room for it. Its code."""
    code = table.sizes[0]
    table.slots[slot] = (key >> HALF) << HALF | np.uint64(code + 1)
    entry = table.entries[code]
    entry[PAIR], entry[PAIR_LAST], entry[PAIR_DOCUMENTS], entry[PAIR_OCCURRENCES] = np.int64(pair), -1, 0, 0
    table.sizes[0] = code + 1
    return code


@jit
def code_of_pair(table, pair):  # type: ignore[no-untyped-def]
    """The code of a pair, which is added if need be and there must be room for it."""
    key = hash_of_pair(pair)
    code = find_pair(table.slots, table.entries, pair, key)
    return code if code >= 0 else add_pair(table, pair, key, -1 - code)


@jit
def has_room_for_pairs(table, many):  # type: ignore[no-untyped-def]
    """Whether so many pairs can be added."""
    return table.sizes[0] + many <= table.entries.shape[0]


def with_room_for_pairs(table: Pairs, many: int) -> Pairs:
    """The table with room for so many more pairs: as it is, or some times larger."""
    count, room = int(table.sizes[0]), len(table.entries)
    while count + many > room:
        room *= 2
    if room == len(table.entries):
        return table
    slots, entries = np.zeros(2 * room, dtype=np.uint64), _larger(table.entries, count, (room, PAIR_WIDTH))
    _enter_pairs(slots, entries, count)
    return Pairs(slots, entries, table.sizes)


@jit
def _enter_pairs(slots, entries, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        _enter(slots, hash_of_pair(np.uint64(entries[code, PAIR])), code)


def merge_pairs(table: Pairs, other: Pairs, mark: Any, words: Any, codes: Any) -> Pairs:
    """Add the pairs of another table, whose right halves are `words[right]` here and whose left halves are too, or
    with the mark the code here of an earlier pair; codes[c] becomes the code here of its pair c. The table then."""
    table = with_room_for_pairs(table, len(codes))
    _add_pairs(table, other.entries, mark, words, codes)
    return table


@jit
def _add_pairs(table, others, mark, words, codes):  # type: ignore[no-untyped-def]
    slots, last = table.slots, np.uint64(table.slots.size - 1)
    pairs = np.empty(AHEAD, dtype=np.uint64)
    for first in range(0, codes.size, AHEAD):
        many = min(AHEAD, codes.size - first)
        for i in range(many):  # most begin with a word: their slots can be fetched ahead
            pair = np.uint64(others[first + i, PAIR])
            left, right = pair >> HALF, np.uint64(words[np.int64(pair & CODES)])
            pairs[i] = pair
            if not left & mark:
                pairs[i] = np.uint64(words[np.int64(left)]) << HALF | right
                fetch(slots, np.int64(hash_of_pair(pairs[i]) & last))
        for i in range(many):
            pair = np.uint64(others[first + i, PAIR])
            left = pair >> HALF
            if left & mark:
                here = np.uint64(codes[np.int64(left ^ mark)]) | mark
                pairs[i] = here << HALF | np.uint64(words[np.int64(pair & CODES)])
            codes[first + i] = code_of_pair(table, pairs[i])


@jit
def _enter(slots, key, code):  # type: ignore[no-untyped-def]
    last = np.uint64(slots.size - 1)
    slot = key & last
    while slots[slot] != NO_SLOT:
        slot = (slot + np.uint64(1)) & last
    slots[slot] = (key >> HALF) << HALF | np.uint64(code + 1)
