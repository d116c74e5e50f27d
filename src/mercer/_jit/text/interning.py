"""Strings, and pairs of numbers, as codes in the order of their first appearance: open-addressing tables that grow.

A slot has 32 bits, so that many are in the cache together: the lower ones hold the code + 1, as many as number the
slots; the others a tag, bits of the hash; 0 is an empty slot. Only where the tag agrees is the string itself looked at.
Of most strings that is 16 bytes, their signature. Where a term was counted last is all that changes while documents are
read; few words make up most of a text, so that what is known of these stays in the cache. There are many more pairs,
of which hardly any does: all that is known of one is in one line of it.
Loops that look for many take the fields of a table one by one: each look into a tuple of arrays counts references,
and costs more than to find a word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import eight_bytes, fetch, put_eight
from mercer._jit.text import pages
from mercer._jit.text.pages import LARGE

#: columns of the entries of pairs: the pair, and where it was counted last
PAIR, PAIR_LAST, PAIR_WIDTH = 0, 1, 2
#: odd numbers with bits all over, to multiply by
SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
HALF, WORD = np.uint64(32), np.uint64(0xFFFFFFFF)
NO_SLOT = np.uint32(0)
#: marks the left half of a pair that is the code of a pair, where that of a string may stand too
RUN = np.int64(1 << 31)
#: bytes that may be read after the last one of a string
SPARE = 16
#: bytes from which on a string is not told by its signature
LONG = 16
#: strings whose slots are fetched before the first of them is looked for
AHEAD = 256
NOTHING = np.uint64(0)


class Strings(NamedTuple):
    """Strings by code: `arena[offsets[c]:offsets[c + 1]]`."""

    slots: Any
    signatures: Any
    offsets: Any
    arena: Any
    #: where each was counted last, or −1
    last: Any
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
        np.zeros(1024, dtype=np.uint32),
        np.empty((512, 2), dtype=np.uint64),
        np.zeros(513, dtype=np.int64),
        np.empty(8192, dtype=np.uint8),
        np.empty(512, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def no_pairs() -> Pairs:
    """A table without pairs."""
    return Pairs(
        np.zeros(1024, dtype=np.uint32), np.empty((512, PAIR_WIDTH), dtype=np.int64), np.zeros(1, dtype=np.int64)
    )


@jit(forceinline=True)
def mixed(key):  # type: ignore[no-untyped-def]
    """A number whose lower and upper half depend on all bits of the key, which was multiplied already."""
    key = (key ^ (key >> HALF)) * MIX
    return key ^ (key >> HALF)


@jit(forceinline=True)
def slot_with(key, code, last):  # type: ignore[no-untyped-def]
    """What a slot holds; `last` is the number of slots − 1."""
    return np.uint32((key >> HALF) & ~last) | np.uint32(code + 1)


@jit(forceinline=True)
def code_in(held, last):  # type: ignore[no-untyped-def]
    """The code in a slot; −1 if it is empty."""
    return np.int64(np.uint64(held) & last) - 1


@jit(forceinline=True)
def may_be(held, key, last):  # type: ignore[no-untyped-def]
    """Whether the tag in a slot is that of a key."""
    return (np.uint64(held) ^ (key >> HALF)) & ~last & WORD == np.uint64(0)


@jit(forceinline=True)
def signed(data, start, length):  # type: ignore[no-untyped-def]
    """The hash of a string, and its signature: two numbers that tell one of up to 15 bytes from all others, which are
    bytes 0 to 7; and bytes 8 to 14 with the length. Of longer ones, the first 15 bytes. 16 must be there to read.

    Most words have up to eight bytes, and are done with soon.
    """
    head = eight_bytes(data, start)
    if length <= 8:
        rest = np.uint64(64 - 8 * length)
        head = head << rest >> rest if length > 0 else NOTHING
        tail = np.uint64(length) << np.uint64(56)
        return mixed(head * SPREAD ^ tail * MIX), head, tail
    rest = np.uint64(64 - 8 * min(length - 8, 7))
    tail = eight_bytes(data, start + 8) << rest >> rest | np.uint64(min(length, LONG)) << np.uint64(56)
    key = head * SPREAD ^ tail * MIX
    return mixed(key if length < LONG else _with_rest(key, data, start, length)), head, tail


@jit
def _with_rest(key, data, start, length):  # type: ignore[no-untyped-def]
    """A key of all bytes of a long string; eight at a time, the last of which may overlap."""
    for position in range(8, length - 8, 8):
        key = (key ^ eight_bytes(data, start + position)) * MIX
        key ^= key >> HALF
    return (key ^ eight_bytes(data, start + length - 8)) * MIX ^ np.uint64(length)


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
        if may_be(held, key, last):
            code = code_in(held, last)
            if (
                signatures[code, 0] == head
                and signatures[code, 1] == tail
                and (length < LONG or same_rest(data, start, length, arena, offsets[code], offsets[code + 1]))
            ):
                return code
        slot = (slot + np.uint64(1)) & last


@jit(forceinline=True)
def copy_string(data, start, length, out, place):  # type: ignore[no-untyped-def]
    """Copy a string eight bytes at a time; there must be some to spare. Most have no more, and are done with soon."""
    put_eight(out, place, eight_bytes(data, start))
    k = 8
    while k < length:
        put_eight(out, place + k, eight_bytes(data, start + k))
        k += 8


@jit(forceinline=True)
def add(slots, signatures, offsets, arena, last, sizes, data, start, length, head, tail, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new string at a slot that `find` has named; there must be room for it. Its code."""
    code = sizes[0]
    place = offsets[code]
    slots[slot] = slot_with(key, code, np.uint64(slots.size - 1))
    copy_string(data, start, length, arena, place)
    signatures[code, 0], signatures[code, 1] = head, tail
    offsets[code + 1] = place + length
    last[code] = -1
    sizes[0] = code + 1
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
        slots, offsets = no_slots(2 * room), _larger(table.offsets, count + 1, (room + 1,))
        signatures, last = _larger(table.signatures, count, (room, 2)), _larger(table.last, count, (room,))
        _enter_strings(slots, offsets, table.arena, count)
        table = Strings(slots, signatures, offsets, table.arena, last, table.sizes)
    used = int(table.offsets[count])
    if used + size + SPARE > len(table.arena):
        table = table._replace(arena=_larger(table.arena, used, (2 * (used + size + SPARE),)))
    return table


def _larger(values: Any, count: int, shape: tuple[int, ...]) -> Any:
    """The first so many values in an array of another shape."""
    larger = _room(shape, values.dtype)
    larger[:count] = values[:count]
    return larger


def no_slots(many: int) -> Any:
    """So many empty slots: a power of 2, below 2³²."""
    slots = _room((many,), np.dtype(np.uint32))
    slots[:] = NO_SLOT
    return slots


def _room(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of what no table is too small for: if it is not quite small, of large pages."""
    size = int(np.prod(shape)) * dtype.itemsize
    if not LARGE // 8 <= size < LARGE:
        return pages.empty(shape, dtype)
    return pages.empty(LARGE, np.uint8)[:size].view(dtype).reshape(shape)


@jit
def _enter_strings(slots, offsets, arena, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        key, _, _ = signed(arena, offsets[code], offsets[code + 1] - offsets[code])
        _enter(slots, key, code)


@jit
def code_of(table, data, start, length, learning):  # type: ignore[no-untyped-def]
    """The code of a string, which is added if need be and there must be room for it; below 0 if it is not known."""
    key, head, tail = signed(data, start, length)
    slots, signatures, offsets, arena, last, sizes = table
    code = find(slots, signatures, offsets, arena, data, start, length, head, tail, key)
    if code >= 0 or not learning:
        return code
    return add(slots, signatures, offsets, arena, last, sizes, data, start, length, head, tail, key, -1 - code)


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
            key, _, _ = signed(data, offsets[i], offsets[i + 1] - offsets[i])
            fetch(slots, np.int64(key & last))
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
        if may_be(held, key, last):
            code = code_in(held, last)
            if entries[code, PAIR] == np.int64(pair):
                return code
        slot = (slot + np.uint64(1)) & last


@jit(forceinline=True)
def add_pair(slots, entries, sizes, pair, key, slot):  # type: ignore[no-untyped-def]
    """Enter a new pair at a slot that `find_pair` has named; there must be room for it. Its code."""
    code = sizes[0]
    slots[slot] = slot_with(key, code, np.uint64(slots.size - 1))
    entries[code, PAIR], entries[code, PAIR_LAST] = np.int64(pair), -1
    sizes[0] = code + 1
    return code


@jit
def code_of_pair(table, pair):  # type: ignore[no-untyped-def]
    """The code of a pair, which is added if need be and there must be room for it."""
    key = hash_of_pair(pair)
    slots, entries, sizes = table
    code = find_pair(slots, entries, pair, key)
    return code if code >= 0 else add_pair(slots, entries, sizes, pair, key, -1 - code)


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
    slots, entries = no_slots(2 * room), _larger(table.entries, count, (room, PAIR_WIDTH))
    _enter_pairs(slots, entries, count)
    return Pairs(slots, entries, table.sizes)


@jit
def _enter_pairs(slots, entries, count):  # type: ignore[no-untyped-def]
    for code in range(count):
        _enter(slots, hash_of_pair(np.uint64(entries[code, PAIR])), code)


@jit
def _enter(slots, key, code):  # type: ignore[no-untyped-def]
    last = np.uint64(slots.size - 1)
    slot = key & last
    while slots[slot] != NO_SLOT:
        slot = (slot + np.uint64(1)) & last
    slots[slot] = slot_with(key, code, last)
