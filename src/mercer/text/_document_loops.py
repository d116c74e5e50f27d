"""Documents cut up into words, or into runs of characters: where each is in the text of the document."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import eight_bytes, lowest_bit, put_eight, word_bits

# From the bytes of a document to lower-case words or characters, as scikit-learn cuts it up.

#: what is known of a document: its bytes are all ASCII; tables tell its lower case; it is to be taken as it is; Python
#: has to say what its lower case is
PLAIN, TABLED, AS_IT_IS, PYTHONS = np.uint8(0), np.uint8(1), np.uint8(2), np.uint8(3)
#: what is known of a character
OF_WORD, WHITE = np.uint8(1), np.uint8(2)
#: bytes that may be read after the last one that is asked for
SPARE = 64
BLANK = np.uint8(32)
#: in each of eight bytes: the highest bit, and what reaches it from A on and beyond Z
EACH = 0x0101010101010101
HIGH_BITS, FROM_A, BEYOND_Z = (np.uint64(EACH * byte) for byte in (0x80, 0x80 - ord("A"), 0x7F - ord("Z")))
NO_BITS = np.uint64(0)


class Alphabet(NamedTuple):
    """Of every character, by pages of 256: what is to be added for its lower case, and whether it belongs to words or
    is white space."""

    pages: Any
    lower: Any
    kinds: Any


@jit
def describe(data, offsets, lower, states):  # type: ignore[no-untyped-def]
    """Tell documents of ASCII from others, and from those whose lower case no table of characters tells.

    These hold a capital sigma, whose lower case depends on its neighbours, or İ, which becomes two characters.
    """
    for document in range(states.size):
        together = np.uint8(0)
        for byte in data[offsets[document] : offsets[document + 1]]:
            together |= byte
        states[document] = PLAIN if together < 0x80 else TABLED
        if lower and together >= 0x80 and _needs_python(data, offsets[document], offsets[document + 1]):
            states[document] = PYTHONS


@jit
def _needs_python(data, start, stop):  # type: ignore[no-untyped-def]
    """Whether there is a capital sigma (CE A3) or an İ (C4 B0); eight bytes of ASCII are passed over at once."""
    i = start
    while i + 1 < stop:
        while i + 8 <= stop and eight_bytes(data, i) & HIGH_BITS == NO_BITS:
            i += 8
        if i + 1 < stop and ((data[i] == 0xCE and data[i + 1] == 0xA3) or (data[i] == 0xC4 and data[i + 1] == 0xB0)):
            return True
        i += 1
    return False


@jit
def longest_document(offsets):  # type: ignore[no-untyped-def]
    """Bytes of the longest document, in lower case: which may take three where there were two."""
    longest = 0
    for document in range(offsets.size - 1):
        longest = max(longest, offsets[document + 1] - offsets[document])
    return longest + longest // 2 + 4


@jit
def copy_plain(data, start, stop, lower, out):  # type: ignore[no-untyped-def]
    """ASCII characters, in lower case if asked for; how many."""
    read = data[start:stop]
    if lower:
        for i in range(read.size):
            byte = read[i]
            out[i] = byte + (np.uint8(32) if np.uint8(byte - np.uint8(65)) < np.uint8(26) else np.uint8(0))
    else:
        for i in range(read.size):
            out[i] = read[i]
    return stop - start


@jit
def copy_tabled(data, start, stop, lower, words_only, alphabet, out):  # type: ignore[no-untyped-def]
    """Characters of any kind, in lower case if asked for, and if asked for those beyond ASCII that are of no word as
    blanks; how many bytes. Eight of ASCII are copied at once."""
    size = 0
    i = start
    while i < stop:
        while i + 8 <= stop and eight_bytes(data, i) & HIGH_BITS == NO_BITS:
            read = eight_bytes(data, i)
            put_eight(out, size, _lower_case(read) if lower else read)
            i, size = i + 8, size + 8
        if i == stop:
            break
        point, i = point_at(data, i)
        if lower:
            point += np.int64(alphabet.lower[alphabet.pages[point >> 8], point & 255])
        if words_only and point >= 0x80 and kind_of(point, alphabet) != OF_WORD:
            point = np.int64(32)
        size = _put(point, out, size)
    return size


@jit(forceinline=True)
def _lower_case(read):  # type: ignore[no-untyped-def]
    """Eight characters of ASCII in lower case: one sum marks those from A on, another those after Z."""
    capital = (read + FROM_A) & ~(read + BEYOND_Z) & HIGH_BITS
    return read | capital >> np.uint64(2)


@jit(forceinline=True)
def point_at(text, place):  # type: ignore[no-untyped-def]
    """The code point of the character that begins at a place, and where the next one does."""
    byte = np.int64(text[place])
    if byte < 0x80:
        return byte, place + 1
    second = np.int64(text[place + 1]) & 0x3F
    if byte < 0xE0:
        return (byte & 0x1F) << 6 | second, place + 2
    third = np.int64(text[place + 2]) & 0x3F
    if byte < 0xF0:
        return (byte & 0x0F) << 12 | second << 6 | third, place + 3
    return (byte & 0x07) << 18 | second << 12 | third << 6 | (np.int64(text[place + 3]) & 0x3F), place + 4


@jit(forceinline=True)
def kind_of(point, alphabet):  # type: ignore[no-untyped-def]
    """What is known of a character."""
    return alphabet.kinds[alphabet.pages[point >> 8], point & 255]


@jit(forceinline=True)
def _put(point, out, size):  # type: ignore[no-untyped-def]
    """Write one character in UTF-8; where the next one goes."""
    if point < 0x80:
        out[size] = point
        return size + 1
    if point < 0x800:
        out[size] = 0xC0 | point >> 6
        out[size + 1] = 0x80 | point & 0x3F
        return size + 2
    if point < 0x10000:
        out[size] = 0xE0 | point >> 12
        out[size + 1] = 0x80 | point >> 6 & 0x3F
        out[size + 2] = 0x80 | point & 0x3F
        return size + 3
    out[size] = 0xF0 | point >> 18
    out[size + 1] = 0x80 | point >> 12 & 0x3F
    out[size + 2] = 0x80 | point >> 6 & 0x3F
    out[size + 3] = 0x80 | point & 0x3F
    return size + 4


@jit
def copy_document(data, start, stop, state, lower, words_only, alphabet, out):  # type: ignore[no-untyped-def]
    """A document ready to be cut up; its bytes."""
    if state == PLAIN:
        return copy_plain(data, start, stop, lower, out)
    return copy_tabled(data, start, stop, lower and state == TABLED, words_only, alphabet, out)


@jit
def find_words(text, size, beyond, shortest, starts, stops):  # type: ignore[no-untyped-def]
    """Where words of at least `shortest` characters begin and end; how many. `beyond`: whether some are beyond ASCII.

    64 bytes are judged at once: a word begins or ends where the bits of neighbouring bytes differ. These places are
    written down one after the other, in two arrays by turns, without a branch that would be foretold wrongly.
    """
    begun = ended = 0
    before = np.uint64(0)
    for position in range(0, size + 1, 64):
        bits = word_bits(text, position)
        if size - position < 64:
            bits &= (np.uint64(1) << np.uint64(size - position)) - np.uint64(1)
        shifted = bits << np.uint64(1) | before
        before = bits >> np.uint64(63)
        begun = _write_places(bits & ~shifted, position, starts, begun)
        ended = _write_places(~bits & shifted, position, stops, ended)
    found = 0
    for word in range(ended):
        start, stop = np.int64(starts[word]), np.int64(stops[word])
        starts[found], stops[found] = start, stop
        found += has_characters(text, start, stop, shortest, beyond)
    return found


@jit(forceinline=True)
def _write_places(bits, position, places, count):  # type: ignore[no-untyped-def]
    """Where bits are set, counted from a position on; how many places there are then."""
    while bits != np.uint64(0):
        places[count] = position + lowest_bit(bits)
        bits &= bits - np.uint64(1)
        count += 1
    return count


@jit(forceinline=True)
def has_characters(text, start, stop, many, beyond):  # type: ignore[no-untyped-def]
    """Whether there are at least so many characters between two places; `beyond` says whether some are beyond ASCII."""
    if not beyond or stop - start < many:
        return stop - start >= many
    place = start
    for _ in range(many - 1):
        place = after(text, place)
    return place < stop


@jit(forceinline=True)
def after(text, place):  # type: ignore[no-untyped-def]
    """Where the next character begins."""
    byte = text[place]
    return place + (1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)


#: what documents are cut up into: words, characters, or characters of each word by itself
WORDS, CHARACTERS, WITHIN_WORDS = 0, 1, 2


class CutRule(NamedTuple):
    """How to cut: into what, in lower case or not, words of at least how many characters, runs of from how many to how
    many."""

    unit: Any
    lower: Any
    shortest: Any
    fewest: Any
    most: Any


class CutBuffers(NamedTuple):
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
    return CutBuffers(
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
