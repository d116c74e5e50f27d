"""Documents cut up into words, or into runs of characters: where each is in the text of the document."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.text.characters import (
    BLANK,
    PLAIN,
    SPARE,
    WHITE,
    after,
    copy_document,
    find_words,
    kind_of,
    longest_document,
    point_at,
)

#: what documents are cut up into: words, characters, or characters of each word by itself
WORDS, CHARACTERS, WITHIN_WORDS = 0, 1, 2


class How(NamedTuple):
    """How to cut: into what, in lower case or not, words of at least how many characters, runs of from how many to how
    many."""

    unit: Any
    lower: Any
    shortest: Any
    fewest: Any
    most: Any


class Room(NamedTuple):
    """Room for one document: its text, as it is cut up and as it was, and where its pieces begin and end."""

    text: Any
    copy: Any
    starts: Any
    stops: Any
    #: where characters begin, and at which of them words end
    places: Any
    ends: Any


@jit
def room_for(offsets, how):  # type: ignore[no-untyped-def]
    """Room for the longest of some documents; memory is taken when it is written to."""
    longest = longest_document(offsets)
    if how.unit == WORDS:
        size, pieces, places = longest, longest // 2 + 2, 0
    else:  # a word of one character has two blanks around it
        size, places = 3 * longest, 3 * longest + 2
        pieces = places * (how.most - how.fewest + 1)
    return Room(
        np.empty(size + SPARE, dtype=np.uint8),
        np.empty(size + SPARE, dtype=np.uint8),
        np.empty(pieces, dtype=np.int32),
        np.empty(pieces, dtype=np.int32),
        np.empty(places, dtype=np.int32),
        np.empty(places, dtype=np.int32),
    )


@jit
def cut(data, start, stop, state, alphabet, how, room):  # type: ignore[no-untyped-def]
    """Cut up one document; how many pieces there are, each text[starts[i]:stops[i]]."""
    if how.unit == WORDS:
        size = copy_document(data, start, stop, state, how.lower, True, alphabet, room.text)
        return find_words(room.text, size, state != PLAIN, how.shortest, room.starts, room.stops)
    size = copy_document(data, start, stop, state, how.lower, False, alphabet, room.copy)
    if how.unit == CHARACTERS:
        count = _one_blank(room.copy, size, alphabet, room.text, room.places)
        return _find_runs(room.places, 0, count, how, room.starts, room.stops, 0)
    words = _blanks_around(room.copy, size, alphabet, room.text, room.places, room.ends)
    found, first = 0, np.int64(0)
    for word in range(words):
        found = _find_runs(room.places, first, np.int64(room.ends[word]), how, room.starts, room.stops, found)
        first = np.int64(room.ends[word])
    return found


@jit
def _find_runs(places, first, end, how, starts, stops, found):  # type: ignore[no-untyped-def]
    """Runs of the characters from `first` to before `end`; how many were found, with those before.

    Within words, one that is no longer than the run is itself a run, once.
    """
    for many in range(how.fewest, how.most + 1):
        last = end - many
        if how.unit == WITHIN_WORDS:
            last = max(last, first)
        for i in range(first, last + 1):
            starts[found] = places[i]
            stops[found] = places[min(i + many, end)]
            found += 1
        if how.unit == WITHIN_WORDS and last == first:
            break
    return found


@jit
def _one_blank(text, size, alphabet, out, places):  # type: ignore[no-untyped-def]
    """Copy a text with one blank for two or more white characters (one by itself stays what it is); where characters
    begin, and how many there are."""
    count = place = i = 0
    while i < size:
        stop = after(text, i)
        places[count] = place
        count += 1
        if _is_white(text, i, alphabet) and stop < size and _is_white(text, stop, alphabet):
            out[place] = BLANK
            place += 1
            i = _after_white(text, stop, size, alphabet)
            continue
        for k in range(i, stop):
            out[place] = text[k]
            place += 1
        i = stop
    places[count] = place
    return count


@jit
def _blanks_around(text, size, alphabet, out, places, ends):  # type: ignore[no-untyped-def]
    """Copy the words of a text, each with a blank before and after it; where characters begin, at which of them words
    end, and how many words there are."""
    count = place = words = 0
    i = _after_white(text, 0, size, alphabet)
    while i < size:
        places[count], out[place] = place, BLANK
        count, place = count + 1, place + 1
        while i < size and not _is_white(text, i, alphabet):
            stop = after(text, i)
            places[count] = place
            count += 1
            for k in range(i, stop):
                out[place] = text[k]
                place += 1
            i = stop
        places[count], out[place] = place, BLANK
        count, place = count + 1, place + 1
        ends[words] = count
        words += 1
        i = _after_white(text, i, size, alphabet)
    places[count] = place
    return words


@jit
def _after_white(text, i, size, alphabet):  # type: ignore[no-untyped-def]
    """Where the first character is that is not white, from a place on."""
    while i < size and _is_white(text, i, alphabet):
        i = after(text, i)
    return i


@jit(forceinline=True)
def _is_white(text, i, alphabet):  # type: ignore[no-untyped-def]
    """Whether the character that begins at a place is white space: none of four bytes is."""
    if text[i] >= 0xF0:
        return False
    point, _ = point_at(text, i)
    return kind_of(point, alphabet) == WHITE
