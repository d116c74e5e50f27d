"""Documents as counts of terms: words, runs of words, or runs of characters, as codes of growing tables."""

from __future__ import annotations

import math
import mmap
from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import eight_bytes, fetch, put_eight
from mercer.text._document_loops import BLANK, WORDS, cut

# Arrays whose memory goes back to the system as soon as nobody holds them.
#
# What `malloc` is given back it keeps for the next request, of each thread apart: of arrays of some megabytes that come
# and go while documents are read, that was more than all that was needed at once.

#: bytes from which on an array has pages of its own
OWN_PAGES = 1 << 16
#: bytes from which on pages of 2 MB, which are found sooner, are asked for
LARGE = 4 << 20


def empty(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """An array of anything; memory is taken when it is written to."""
    kind = np.dtype(dtype)
    many = shape if isinstance(shape, int) else math.prod(shape)
    size = many * kind.itemsize
    if size < OWN_PAGES:
        return np.empty(shape, dtype=kind)
    own = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)
    if size >= LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        own.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(own, dtype=kind, count=many).reshape(shape)


def copied(values: Any, dtype: Any = None) -> Any:
    """The same values in an array that holds nothing else."""
    copy = empty(values.shape, values.dtype if dtype is None else dtype)
    copy[:] = values
    return copy


# Strings, and pairs of numbers, as codes in the order of their first appearance: open-addressing tables that grow.
#
# A slot has 32 bits, so that many are in the cache together: the lower ones hold the code + 1, as many as number the
# slots; the others a tag, bits of the hash; 0 is an empty slot. Only where the tag agrees is the string itself looked
# at. Of most strings that is 16 bytes, their signature. Where a term was counted last is all that changes while
# documents are read; few words make up most of a text, so that what is known of these stays in the cache. There are
# many more pairs, of which hardly any does: all that is known of one is in one line of it. Loops that look for many
# take the fields of a table one by one: each look into a tuple of arrays counts references, and costs more than to find
# a word.

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


class StringTable(NamedTuple):
    """Strings by code: `arena[offsets[c]:offsets[c + 1]]`."""

    slots: Any
    signatures: Any
    offsets: Any
    arena: Any
    #: where each was counted last, or −1
    last: Any
    #: how many there are
    sizes: Any


class PairTable(NamedTuple):
    """Pairs of 32-bit numbers by code, in one number each."""

    slots: Any
    entries: Any
    sizes: Any


def no_strings() -> StringTable:
    """A table without strings."""
    return StringTable(
        np.zeros(1024, dtype=np.uint32),
        np.empty((512, 2), dtype=np.uint64),
        np.zeros(513, dtype=np.int64),
        np.empty(8192, dtype=np.uint8),
        np.empty(512, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def no_pairs() -> PairTable:
    """A table without pairs."""
    return PairTable(
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


def with_room(table: StringTable, strings: int, size: int) -> StringTable:
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
        table = StringTable(slots, signatures, offsets, table.arena, last, table.sizes)
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
        return empty(shape, dtype)
    return empty(LARGE, np.uint8)[:size].view(dtype).reshape(shape)


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


def intern(table: StringTable, data: Any, offsets: Any, codes: Any) -> StringTable:
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


def with_room_for_pairs(table: PairTable, many: int) -> PairTable:
    """The table with room for so many more pairs: as it is, or some times larger."""
    count, room = int(table.sizes[0]), len(table.entries)
    while count + many > room:
        room *= 2
    if room == len(table.entries):
        return table
    slots, entries = no_slots(2 * room), _larger(table.entries, count, (room, PAIR_WIDTH))
    _enter_pairs(slots, entries, count)
    return PairTable(slots, entries, table.sizes)


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


# Terms spelled out: from strings to codes of words and runs, and back.


def intern_terms(
    words: StringTable, runs: PairTable, data: Any, offsets: Any, codes: Any
) -> tuple[StringTable, PairTable]:
    """Enter terms, words with a blank between them, into tables; codes[i] is that of a word, or −1 − that of a run.

    The last of the terms must have bytes to spare after it.
    """
    blanks, size = int(np.count_nonzero(data == BLANK)), int(offsets[-1] - offsets[0])
    words, runs = with_room(words, len(codes) + blanks, size), with_room_for_pairs(runs, blanks)
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
        if end < stop and data[end] != BLANK:
            continue
        code = code_of(words, data, start, end - start, True)
        if before < 0:
            before = code
        else:
            run = code_of_pair(runs, np.uint64(before) << HALF | np.uint64(code))
            before, code = run | RUN, -1 - run
        start = end + 1
    return code


@jit
def take_strings(order, offsets, data, out_offsets, out):  # type: ignore[no-untyped-def]
    """Strings in another order; there are bytes to spare after them and in `out`."""
    for i in range(order.size):
        copy_bytes(data, offsets[order[i]], offsets[order[i] + 1], out, out_offsets[i])


@jit
def spell_lengths(words, pairs, lengths):  # type: ignore[no-untyped-def]
    """Bytes of each run of words, with a blank between them; `words` are the offsets of words."""
    for run in range(lengths.size):
        left, right = np.int64(pairs[run] >> HALF), np.int64(pairs[run] & WORD)
        length = words[right + 1] - words[right] + 1
        lengths[run] = length + (lengths[left ^ RUN] if left & RUN else words[left + 1] - words[left])


@jit
def spell_offsets(terms, words, lengths, offsets):  # type: ignore[no-untyped-def]
    """Where terms begin when they are written one after another; `lengths` are those of runs."""
    offsets[0] = 0
    for i in range(terms.size):
        code = terms[i]
        offsets[i + 1] = offsets[i] + (words[code + 1] - words[code] if code >= 0 else lengths[-1 - code])


@jit
def spell(terms, words, arena, pairs, most, offsets, out):  # type: ignore[no-untyped-def]
    """Write terms (the code of a word, or −1 − that of a run of at most `most`), one after another.

    Eight bytes are written at once, and what is too much is overwritten by what comes next; not so the last terms,
    after which another thread may have written: seven bytes too many may reach over as many terms of one byte.
    """
    chain = np.empty(most, dtype=np.int64)
    for i in range(terms.size):
        code = np.int64(terms[i])
        code = code if code >= 0 else (-1 - code) | RUN
        length = 0
        while code & RUN:
            pair = pairs[code ^ RUN]
            chain[length] = np.int64(pair & WORD)
            code = np.int64(pair >> HALF)
            length += 1
        step = 8 if i + 8 < terms.size else 1
        place = copy_bytes(arena, words[code], words[code + 1], out, offsets[i], step)
        for k in range(length - 1, -1, -1):
            out[place] = BLANK
            place = copy_bytes(arena, words[chain[k]], words[chain[k] + 1], out, place + 1, step)


@jit(forceinline=True)
def copy_bytes(data, start, stop, out, place, step=8):  # type: ignore[no-untyped-def]
    """Copy some bytes, eight at a time unless one is asked for; where the next go."""
    length, k = stop - start, 0
    if step == 8:
        copy_string(data, start, length, out, place)
        k = length
    while k < length:
        out[place + k] = data[start + k]
        k += 1
    return place + length


#: pieces of a document for which room is made at once
AT_ONCE = 1 << 12
#: terms that are looked for ahead of their turn, because memory is slow: the slot first, then the entry
FAR, NEAR = 12, 6


class ScanProgress(NamedTuple):
    """What a scan has written, and what it remembers when it stops for want of room."""

    rows: Any
    codes: Any
    counts: Any
    #: document, piece, pieces of the document, entries written, entries before the document
    at: Any
    #: the runs of 1, 2, … words before the next one
    before: Any
    #: codes of the pieces at hand, and their hashes and signatures
    found: Any
    keys: Any


def progress(n_documents: int, most: int, codes: Any, counts: Any) -> ScanProgress:
    """The beginning of a scan of so many documents with runs of at most `most` words, which writes to two arrays."""
    return ScanProgress(
        np.zeros(n_documents + 1, dtype=np.int32),
        codes,
        counts,
        np.zeros(5, dtype=np.int64),
        np.empty(most + 1, dtype=np.int64),
        np.empty(AT_ONCE, dtype=np.int64),
        np.empty((3, AT_ONCE), dtype=np.uint64),
    )


@jit
def scan_some(texts, states, alphabet, how, n_stop, learning, words, runs, base, room, done):  # type: ignore[no-untyped-def]
    """Count the terms of documents as far as there is room; the bytes of the pieces for which there is none, or −1 when
    all is done.

    The codes below `n_stop` are stop words, which are passed over. A run of words is a pair: the run without its last
    word, and that word; so no run is ever spelled. Terms that are not in the tables are added if `learning`, else
    passed over. Positions in the tables are counted from `base` on. In `done`, terms of document i are
    codes[rows[i]:rows[i + 1]], those of runs as −1 − code.
    """
    data, offsets = texts
    fewest, most = (how.fewest, how.most) if how.unit == WORDS else (1, 1)
    rows, codes, counts, at, before, found, keys = done
    text, starts, stops = room.text, room.starts, room.stops
    document, piece, pieces, used, first = at[0], at[1], at[2], at[3], at[4]
    while document < states.size:
        if piece == 0:
            pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, how, room)
            first = base + used
            before[:] = -1
        while piece < pieces:
            many = min(AT_ONCE, pieces - piece)
            begun, ended = starts[piece : piece + many], stops[piece : piece + many]
            size = np.int64(0)
            for k in range(many):
                size += np.int64(ended[k] - begun[k])
            if used + many * most > codes.size or (
                learning and not (has_room(words, many, size) and has_room_for_pairs(runs, many * (most - 1)))
            ):
                at[0], at[1], at[2], at[3], at[4] = document, piece, pieces, used, first
                return np.int64(size)
            _sign(text, begun, ended, words.slots, keys)
            kept, used = _count_words(
                text, begun, ended, keys, words, learning, n_stop, fewest == 1, found, first, base, used, codes, counts
            )
            if most > 1:
                used = _count_runs(
                    found, kept, keys[0], fewest, most, learning, runs, before, first, base, used, codes, counts
                )
            piece += many
        piece = 0
        document += 1
        rows[document] = used
    return np.int64(-1)


@jit
def _sign(text, starts, stops, slots, keys):  # type: ignore[no-untyped-def]
    """Hashes and signatures of pieces of a text, one below the other; their slots are on their way into the cache."""
    last = np.uint64(slots.size - 1)
    for k in range(starts.size):
        start, length = np.int64(starts[k]), np.int64(stops[k] - starts[k])
        keys[0, k], keys[1, k], keys[2, k] = signed(text, start, length)
        fetch(slots, np.int64(keys[0, k] & last))


@jit
def _count_words(  # type: ignore[no-untyped-def]
    text, starts, stops, keys, words, learning, n_stop, counts_words, found, first, base, used, codes, counts
):
    """Codes of pieces of a text that are no stop words, and count them if asked for; how many, and entries then."""
    slots, signatures, offsets, arena, last, sizes = words
    last_slot = np.uint64(slots.size - 1)
    kept = 0
    for k in range(starts.size):
        if k + NEAR < starts.size:
            likely = max(code_in(slots[keys[0, k + NEAR] & last_slot], last_slot), np.int64(0))
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
def _count_runs(found, n, keys, fewest, most, learning, runs, before, first, base, used, codes, counts):  # type: ignore[no-untyped-def]
    """Count the runs that end with one of n words; before[k] is the run of the k words before, if k is 1 that word.

    There are many more runs than words, so that hardly any is in the cache: those of two words are looked for ahead.
    """
    slots, entries, sizes = runs
    last_slot = np.uint64(slots.size - 1)
    for i in range(n):
        left = found[i - 1] if i > 0 else before[1]
        keys[i] = hash_of_pair(np.uint64(left) << HALF | np.uint64(found[i]))
    for i in range(n):
        if i + FAR < n:
            fetch(slots, np.int64(keys[i + FAR] & last_slot))
        if i + NEAR < n:
            likely = max(code_in(slots[keys[i + NEAR] & last_slot], last_slot), np.int64(0))
            fetch(entries, likely * PAIR_WIDTH)
        word = found[i]
        for many in range(most - 1, 0, -1):
            run = np.int64(-1)
            if before[many] >= 0 and word >= 0:
                pair = np.uint64(before[many]) << HALF | np.uint64(word)
                key = keys[i] if many == 1 else hash_of_pair(pair)
                run = find_pair(slots, entries, pair, key)
                if run < 0 and learning:
                    run = add_pair(slots, entries, sizes, pair, key, -1 - run)
                if run >= 0 and many + 1 >= fewest:
                    place = entries[run, PAIR_LAST]
                    if place >= first:
                        counts[place - base] += 1
                    else:
                        codes[used], counts[used], entries[run, PAIR_LAST] = -1 - run, 1, base + used
                        used += 1
            before[many + 1] = run | RUN if run >= 0 else -1
        before[1] = word
    return used
