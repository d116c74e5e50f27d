"""Documents as counts of terms: words, runs of words, or runs of characters, as codes of growing tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.bits import eight_bytes, fetch, put_eight
from mercer._jit.characters import BLANK
from mercer._jit.cutting import WORDS, cut
from mercer._jit.interning import (
    CODES,
    DOCUMENTS,
    HALF,
    LAST,
    NO_SLOT,
    OCCURRENCES,
    PAIR_DOCUMENTS,
    PAIR_LAST,
    PAIR_OCCURRENCES,
    PAIR_WIDTH,
    Pairs,
    Strings,
    add,
    add_pair,
    code_of,
    code_of_pair,
    find,
    find_pair,
    has_room,
    has_room_for_pairs,
    hash_of,
    hash_of_pair,
    signature,
    with_room,
    with_room_for_pairs,
)

#: marks the code of a run of words, where that of a word may stand too
RUN = np.int64(1 << 31)
#: pieces of a document for which room is made at once
AT_ONCE = 1 << 12
#: terms that are looked for ahead of their turn, because memory is slow: the slot first, then the entry
FAR, NEAR = 12, 6
#: entries that are sorted by insertion
FEW = 40


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


def progress(n_documents: int, size: int, most: int) -> Progress:
    """Room for the entries of so many documents of so many bytes together, with runs of at most `most` words."""
    entries = AT_ONCE * most + most * size // 16
    return Progress(
        np.zeros(n_documents + 1, dtype=np.int64),
        np.empty(entries, dtype=np.int32),
        np.empty(entries, dtype=np.int32),
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
    at, before = done.at, done.before
    document, piece, pieces, used, first = at[0], at[1], at[2], at[3], at[4]
    while document < states.size:
        if piece == 0:
            pieces = cut(data, offsets[document], offsets[document + 1], states[document], alphabet, how, room)
            first = base + used
            before[:] = -1
        while piece < pieces:
            many = min(AT_ONCE, pieces - piece)
            starts, stops = room.starts[piece : piece + many], room.stops[piece : piece + many]
            size = np.int64(0)
            for k in range(many):
                size += np.int64(stops[k] - starts[k])
            if used + many * most > done.codes.size or (
                learning and not (has_room(words, many, size) and has_room_for_pairs(runs, many * (most - 1)))
            ):
                at[0], at[1], at[2], at[3], at[4] = document, piece, pieces, used, first
                return size
            _sign(room.text, starts, stops, words.slots, done.keys)
            kept, used = _count_words(
                room.text, starts, stops, done.keys, words, learning, n_stop, fewest == 1, done.found,
                first, base, used, done.codes, done.counts,
            )  # fmt: skip
            if most > 1:
                used = _count_runs(
                    done.found, kept, done.keys[0], fewest, most, learning, runs, before,
                    first, base, used, done.codes, done.counts,
                )  # fmt: skip
            piece += many
        piece = 0
        document += 1
        done.rows[document] = used
    return np.int64(-1)


@jit
def _sign(text, starts, stops, slots, keys):  # type: ignore[no-untyped-def]
    """Hashes and signatures of pieces of a text, one below the other; their slots are on their way into the cache."""
    last = np.uint64(slots.size - 1)
    for k in range(starts.size):
        start, length = np.int64(starts[k]), np.int64(stops[k] - starts[k])
        head, tail = signature(text, start, length)
        keys[0, k], keys[1, k], keys[2, k] = hash_of(text, start, length, head, tail), head, tail
        fetch(slots, np.int64(keys[0, k] & last))


@jit
def _count_words(  # type: ignore[no-untyped-def]
    text, starts, stops, keys, words, learning, n_stop, counts_words, found, first, base, used, codes, counts
):
    """Codes of pieces of a text that are no stop words, and count them if asked for; how many, and entries then."""
    slots, signatures, places, arena, seen, _ = words
    last = np.uint64(slots.size - 1)
    kept = 0
    for k in range(starts.size):
        if k + NEAR < starts.size:
            likely = max(np.int64(slots[keys[0, k + NEAR] & last] & CODES) - 1, np.int64(0))
            fetch(signatures, 2 * likely)
            fetch(seen, 3 * likely)
        start, length = np.int64(starts[k]), np.int64(stops[k] - starts[k])
        key, head, tail = keys[0, k], keys[1, k], keys[2, k]
        word = find(slots, signatures, places, arena, text, start, length, head, tail, key)
        if word < 0 and learning:
            word = add(words, text, start, length, head, tail, key, -1 - word)
        if counts_words and word >= n_stop:
            used = _counted(seen, LAST, word, word, first, base, used, codes, counts)
        found[kept] = word
        kept += not 0 <= word < n_stop
    return kept, used


@jit
def _count_runs(found, n, keys, fewest, most, learning, runs, before, first, base, used, codes, counts):  # type: ignore[no-untyped-def]
    """Count the runs that end with one of n words; before[k] is the run of the k words before, if k is 1 that word.

    There are many more runs than words, so that hardly any is in the cache: those of two words are looked for ahead.
    """
    slots, entries, _ = runs
    last = np.uint64(slots.size - 1)
    for i in range(n):
        left = found[i - 1] if i > 0 else before[1]
        keys[i] = hash_of_pair(np.uint64(left) << HALF | np.uint64(found[i]))
    for i in range(n):
        if i + FAR < n:
            fetch(slots, np.int64(keys[i + FAR] & last))
        if i + NEAR < n:
            held = slots[keys[i + NEAR] & last]
            fetch(entries, (np.int64(held & CODES) - 1) * PAIR_WIDTH * (held != NO_SLOT))
        word = found[i]
        for many in range(most - 1, 0, -1):
            run = np.int64(-1)
            if before[many] >= 0 and word >= 0:
                pair = np.uint64(before[many]) << HALF | np.uint64(word)
                key = keys[i] if many == 1 else hash_of_pair(pair)
                run = find_pair(slots, entries, pair, key)
                if run < 0 and learning:
                    run = add_pair(runs, pair, key, -1 - run)
                if run >= 0 and many + 1 >= fewest:
                    used = _counted(entries, PAIR_LAST, run, -1 - run, first, base, used, codes, counts)
            before[many + 1] = run | RUN if run >= 0 else -1
        before[1] = word
    return used


@jit(forceinline=True)
def _counted(entries, last_in, code, column, first, base, used, codes, counts):  # type: ignore[no-untyped-def]
    """Count a term of the document whose entries begin at `first`; how many entries there are then.

    Columns of the table after the one of the last position hold the numbers of documents and of occurrences.
    """
    last = entries[code, last_in]
    entries[code, last_in + 2] += 1
    if last >= first:
        counts[last - base] += 1
        return used
    codes[used] = column
    counts[used] = 1
    entries[code, last_in] = base + used
    entries[code, last_in + 1] += 1
    return used + 1


def intern_terms(words: Strings, runs: Pairs, data: Any, offsets: Any, codes: Any) -> tuple[Strings, Pairs]:
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
def spell_lengths(words, pairs, lengths):  # type: ignore[no-untyped-def]
    """Bytes of each run of words, with a blank between them; `words` are the offsets of words."""
    for run in range(lengths.size):
        left, right = np.int64(pairs[run] >> HALF), np.int64(pairs[run] & CODES)
        length = words[right + 1] - words[right] + 1
        lengths[run] = length + (lengths[left ^ RUN] if left & RUN else words[left + 1] - words[left])


@jit
def spell(terms, words, arena, pairs, most, offsets, out):  # type: ignore[no-untyped-def]
    """Write terms (the code of a word, or −1 − that of a run of at most `most`) one after another.

    Eight bytes are written at once, and what is too much is overwritten by what comes next: `out` has some to spare.
    """
    chain = np.empty(most, dtype=np.int64)
    for i in range(terms.size):
        code = np.int64(terms[i])
        code = code if code >= 0 else (-1 - code) | RUN
        length = 0
        while code & RUN:
            pair = pairs[code ^ RUN]
            chain[length] = np.int64(pair & CODES)
            code = np.int64(pair >> HALF)
            length += 1
        place = _put(arena, words[code], words[code + 1], out, offsets[i])
        for k in range(length - 1, -1, -1):
            out[place] = BLANK
            place = _put(arena, words[chain[k]], words[chain[k] + 1], out, place + 1)


@jit(forceinline=True)
def _put(arena, start, stop, out, place):  # type: ignore[no-untyped-def]
    """Copy some bytes, eight at a time; where the next go."""
    for k in range(0, stop - start, 8):
        put_eight(out, place + k, eight_bytes(arena, start + k))
    return place + stop - start


@jit
def counts_of(terms, words, runs, documents, occurrences):  # type: ignore[no-untyped-def]
    """Documents that hold each term, and how often it occurs; `words` and `runs` are what was seen of them."""
    for i in range(terms.size):
        code = np.int64(terms[i])
        if code >= 0:
            documents[i], occurrences[i] = words[code, DOCUMENTS], words[code, OCCURRENCES]
        else:
            documents[i], occurrences[i] = runs[-1 - code, PAIR_DOCUMENTS], runs[-1 - code, PAIR_OCCURRENCES]


@jit
def words_of_runs(pairs, of_words, columns):  # type: ignore[no-untyped-def]
    """columns[k, run]: `of_words` of the k-th word of a run, or 0 where it has fewer."""
    for run in range(pairs.size):
        code = np.int64(run) | RUN
        length = 1
        while code & RUN:
            code = np.int64(pairs[code ^ RUN] >> HALF)
            length += 1
        code = np.int64(run) | RUN
        for k in range(length - 1, -1, -1):
            word = code
            if code & RUN:
                word = np.int64(pairs[code ^ RUN] & CODES)
                code = np.int64(pairs[code ^ RUN] >> HALF)
            columns[k, run] = of_words[word]


@jit
def kept_entries(rows, codes, of_words, of_runs, kept):  # type: ignore[no-untyped-def]
    """kept[i]: how many terms of document i have a column; `of_words` and `of_runs` say which, or −1."""
    for i in range(rows.size - 1):
        count = 0
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            count += (of_words[code] if code >= 0 else of_runs[-1 - code]) >= 0
        kept[i] = count


@jit
def write_rows(rows, codes, counts, of_words, of_runs, out_rows, indices, values):  # type: ignore[no-untyped-def]
    """The rows of a sparse matrix, columns in ascending order; row i goes to out_rows[i]."""
    longest = 0
    for i in range(rows.size - 1):
        longest = max(longest, rows[i + 1] - rows[i])
    entries, spare = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for i in range(rows.size - 1):
        count, highest = 0, np.int64(0)
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
            if column >= 0:
                entries[count] = column << 32 | np.int64(counts[k])
                highest = max(highest, column)
                count += 1
        in_order = sort_entries(entries, spare, count, 32, highest)
        place = out_rows[i]
        for k in range(count):
            indices[place + k] = in_order[k] >> 32
            values[place + k] = in_order[k] & 0xFFFFFFFF


@jit
def sort_entries(entries, spare, count, shift, highest):  # type: ignore[no-untyped-def]
    """The first `count` entries in ascending order of what they are without their lowest `shift` bits, which is at most
    `highest`: in the same array or in the other. A few are sorted by insertion, more a byte at a time."""
    if count <= FEW:
        for i in range(1, count):
            value = entries[i]
            k = i
            while k > 0 and entries[k - 1] > value:
                entries[k] = entries[k - 1]
                k -= 1
            entries[k] = value
        return entries
    starts = np.empty(256, dtype=np.int64)
    while highest > 0:
        starts[:] = 0
        for i in range(count):
            starts[(entries[i] >> shift) & 255] += 1
        total = 0
        for digit in range(256):
            starts[digit], total = total, total + starts[digit]
        for i in range(count):
            digit = (entries[i] >> shift) & 255
            spare[starts[digit]] = entries[i]
            starts[digit] += 1
        entries, spare = spare, entries
        shift += 8
        highest >>= 8
    return entries
