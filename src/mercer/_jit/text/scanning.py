"""Documents as counts of terms: words, runs of words, or runs of characters, as codes of growing tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import fetch
from mercer._jit.text.cutting import WORDS, cut
from mercer._jit.text.interning import (
    HALF,
    PAIR_LAST,
    PAIR_WIDTH,
    RUN,
    add,
    add_pair,
    code_in,
    find,
    find_pair,
    has_room,
    has_room_for_pairs,
    hash_of_pair,
    signed,
)

#: pieces of a document for which room is made at once
AT_ONCE = 1 << 12
#: terms that are looked for ahead of their turn, because memory is slow: the slot first, then the entry
FAR, NEAR = 12, 6


class Progress(NamedTuple):
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


def progress(n_documents: int, most: int, codes: Any, counts: Any) -> Progress:
    """The beginning of a scan of so many documents with runs of at most `most` words, which writes to two arrays."""
    return Progress(
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
