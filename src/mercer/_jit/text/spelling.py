"""Terms spelled out: from strings to codes of words and runs, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import jit
from mercer._jit.text.characters import BLANK
from mercer._jit.text.interning import (
    HALF,
    RUN,
    WORD,
    Pairs,
    Strings,
    code_of,
    code_of_pair,
    copy_string,
    with_room,
    with_room_for_pairs,
)


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
