"""Documents are cut into words or runs of characters, given by their positions in the text of the document."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import eight_bytes, lowest_bit, put_eight, word_bits

#: state of a document of ASCII
PLAIN = np.uint8(0)
#: state of a document whose lower case follows from the tables of an `Alphabet`
TABLED = np.uint8(1)
#: state of a document that is not converted (any more)
UNCHANGED = np.uint8(2)
#: state of a document that Python must convert
NEEDS_PYTHON = np.uint8(3)

#: kind of a character that belongs to words
WORD_CHARACTER = np.uint8(1)
#: kind of a white character
WHITE = np.uint8(2)

#: bytes that loops may read beyond the end of a document
READ_AHEAD = 64
#: the byte of a blank
BLANK_BYTE = np.uint8(32)
#: a 1 in each of eight bytes
ONES = 0x0101010101010101
#: the highest bit of each of eight bytes
HIGH_BITS = np.uint64(ONES * 0x80)
#: added to ASCII, sets the highest bit of each byte from "A" on
FROM_A = np.uint64(ONES * (0x80 - ord("A")))
#: added to ASCII, sets the highest bit of each byte after "Z"
BEYOND_Z = np.uint64(ONES * (0x7F - ord("Z")))
#: a word without bits
NO_BITS = np.uint64(0)


class Alphabet(NamedTuple):
    """Tables of all characters in pages of 256: what is added to a code point for its lower case, and its kind (part of
    words, white space, or neither).
    """

    pages: Any
    lower: Any
    kinds: Any


@jit
def describe(data, offsets, lower, states):  # type: ignore[no-untyped-def]
    """Write the state of each document: `PLAIN`, `TABLED`, or `NEEDS_PYTHON` if `lower` and a table cannot convert it.

    Such documents contain a capital sigma, whose lower case depends on its neighbours, or İ, which becomes two
    characters.
    """
    for document in range(states.size):
        together = np.uint8(0)
        for byte in data[offsets[document] : offsets[document + 1]]:
            together |= byte
        states[document] = PLAIN if together < 0x80 else TABLED
        if lower and together >= 0x80 and _needs_python(data, offsets[document], offsets[document + 1]):
            states[document] = NEEDS_PYTHON


@jit
def _needs_python(data, start, stop):  # type: ignore[no-untyped-def]
    """Return whether a text has a capital sigma (CE A3) or an İ (C4 B0); ASCII is skipped eight bytes at a time."""
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
    """Return an upper bound of the bytes of the longest document in lower case, which may need three bytes for two."""
    longest = 0
    for document in range(offsets.size - 1):
        longest = max(longest, offsets[document + 1] - offsets[document])
    return longest + longest // 2 + 4


@jit
def copy_plain(data, start, stop, lower, out):  # type: ignore[no-untyped-def]
    """Copy ASCII characters, in lower case if `lower`; return their number."""
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
    """Copy characters of any kind, in lower case if `lower`; return the number of bytes.

    If `words_only`, characters beyond ASCII that belong to no word become blanks. ASCII is copied eight bytes at a
    time.
    """
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
        if words_only and point >= 0x80 and kind_of(point, alphabet) != WORD_CHARACTER:
            point = np.int64(32)
        size = _put(point, out, size)
    return size


@jit(forceinline=True)
def _lower_case(read):  # type: ignore[no-untyped-def]
    """Convert eight characters of ASCII to lower case: one sum marks those from A on, another those after Z."""
    capital = (read + FROM_A) & ~(read + BEYOND_Z) & HIGH_BITS
    return read | capital >> np.uint64(2)


@jit(forceinline=True)
def point_at(text, place):  # type: ignore[no-untyped-def]
    """Return the code point of the character that begins at a position, and the position of the next one."""
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
    """Return the kind of a character."""
    return alphabet.kinds[alphabet.pages[point >> 8], point & 255]


@jit(forceinline=True)
def _put(point, out, size):  # type: ignore[no-untyped-def]
    """Write one character in UTF-8; return the position of the next one."""
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
    """Copy a document, converted as its state requires; return the number of bytes."""
    if state == PLAIN:
        return copy_plain(data, start, stop, lower, out)
    return copy_tabled(data, start, stop, lower and state == TABLED, words_only, alphabet, out)


@jit
def find_words(text, size, beyond, shortest, starts, stops):  # type: ignore[no-untyped-def]
    """Write the positions where words of at least `shortest` characters begin and end; return their number.

    `beyond` is whether there are characters beyond ASCII. 64 bytes are classified at a time: a word begins or ends
    where the bits of neighbouring bytes differ. The positions are written to two arrays in turn, without branches that
    would often be mispredicted.
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
    """Write the positions of the bits that are set, counted from `position`; return the new number of positions."""
    while bits != np.uint64(0):
        places[count] = position + lowest_bit(bits)
        bits &= bits - np.uint64(1)
        count += 1
    return count


@jit(forceinline=True)
def has_characters(text, start, stop, n, beyond):  # type: ignore[no-untyped-def]
    """Return whether there are at least n characters between two positions; `beyond`: some are beyond ASCII."""
    if not beyond or stop - start < n:
        return stop - start >= n
    place = start
    for _ in range(n - 1):
        place = next_character(text, place)
    return place < stop


@jit(forceinline=True)
def next_character(text, place):  # type: ignore[no-untyped-def]
    """Return the position of the next character."""
    byte = text[place]
    return place + (1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)


#: unit of cutting: words
UNIT_WORDS = 0
#: unit of cutting: characters
UNIT_CHARACTERS = 1
#: unit of cutting: characters inside each word
UNIT_WITHIN_WORDS = 2


class CutRule(NamedTuple):
    """Rule by which documents are cut."""

    #: `UNIT_WORDS`, `UNIT_CHARACTERS` or `UNIT_WITHIN_WORDS`
    unit: Any
    #: whether documents are converted to lower case
    lower: Any
    #: smallest number of characters in a word
    shortest_word: Any
    #: smallest and largest number of units in a run
    min_gram: Any
    max_gram: Any


class CutBuffers(NamedTuple):
    """Buffers for one document."""

    #: the text that is cut
    text: Any
    #: the text before white space is replaced
    copy: Any
    #: positions where pieces begin and end
    starts: Any
    stops: Any
    #: positions of characters, and the numbers of the characters at which words end
    places: Any
    ends: Any


@jit
def allocate_buffers(offsets, rule):  # type: ignore[no-untyped-def]
    """Allocate buffers for the longest of the documents; the system provides memory when they are written to."""
    longest = longest_document(offsets)
    if rule.unit == UNIT_WORDS:
        size, pieces, places = longest, longest // 2 + 2, 0
    else:  # a word of one character is padded with two blanks
        size, places = 3 * longest, 3 * longest + 2
        pieces = places * (rule.max_gram - rule.min_gram + 1)
    return CutBuffers(
        np.empty(size + READ_AHEAD, dtype=np.uint8),
        np.empty(size + READ_AHEAD, dtype=np.uint8),
        np.empty(pieces, dtype=np.int32),
        np.empty(pieces, dtype=np.int32),
        np.empty(places, dtype=np.int32),
        np.empty(places, dtype=np.int32),
    )


@jit
def cut(data, start, stop, state, alphabet, rule, buffers):  # type: ignore[no-untyped-def]
    """Cut one document into pieces text[starts[i]:stops[i]]; return their number."""
    if rule.unit == UNIT_WORDS:
        size = copy_document(data, start, stop, state, rule.lower, True, alphabet, buffers.text)
        return find_words(buffers.text, size, state != PLAIN, rule.shortest_word, buffers.starts, buffers.stops)
    size = copy_document(data, start, stop, state, rule.lower, False, alphabet, buffers.copy)
    if rule.unit == UNIT_CHARACTERS:
        count = _merge_blanks(buffers.copy, size, alphabet, buffers.text, buffers.places)
        return _find_runs(buffers.places, 0, count, rule, buffers.starts, buffers.stops, 0)
    words = _pad_words(buffers.copy, size, alphabet, buffers.text, buffers.places, buffers.ends)
    found, first = 0, np.int64(0)
    for word in range(words):
        end = np.int64(buffers.ends[word])
        found = _find_runs(buffers.places, first, end, rule, buffers.starts, buffers.stops, found)
        first = end
    return found


@jit
def _find_runs(places, first, end, rule, starts, stops, found):  # type: ignore[no-untyped-def]
    """Write the runs of the characters from `first` to before `end`; return the new number of runs.

    Inside words, a word that is not longer than the run is itself a run, once.
    """
    for length in range(rule.min_gram, rule.max_gram + 1):
        last = end - length
        if rule.unit == UNIT_WITHIN_WORDS:
            last = max(last, first)
        for i in range(first, last + 1):
            starts[found] = places[i]
            stops[found] = places[min(i + length, end)]
            found += 1
        if rule.unit == UNIT_WITHIN_WORDS and last == first:
            break
    return found


@jit
def _merge_blanks(text, size, alphabet, out, places):  # type: ignore[no-untyped-def]
    """Copy a text with one blank for two or more white characters (a single one is kept as it is).

    Write the positions of the characters; return their number.
    """
    count = place = i = 0
    while i < size:
        stop = next_character(text, i)
        places[count] = place
        count += 1
        if _is_white(text, i, alphabet) and stop < size and _is_white(text, stop, alphabet):
            out[place] = BLANK_BYTE
            place += 1
            i = _skip_white(text, stop, size, alphabet)
            continue
        for k in range(i, stop):
            out[place] = text[k]
            place += 1
        i = stop
    places[count] = place
    return count


@jit
def _pad_words(text, size, alphabet, out, places, ends):  # type: ignore[no-untyped-def]
    """Copy the words of a text, each with a blank before and after it.

    Write the positions of the characters, and the numbers of the characters at which words end; return the number of
    words.
    """
    count = place = words = 0
    i = _skip_white(text, 0, size, alphabet)
    while i < size:
        places[count], out[place] = place, BLANK_BYTE
        count, place = count + 1, place + 1
        while i < size and not _is_white(text, i, alphabet):
            stop = next_character(text, i)
            places[count] = place
            count += 1
            for k in range(i, stop):
                out[place] = text[k]
                place += 1
            i = stop
        places[count], out[place] = place, BLANK_BYTE
        count, place = count + 1, place + 1
        ends[words] = count
        words += 1
        i = _skip_white(text, i, size, alphabet)
    places[count] = place
    return words


@jit
def _skip_white(text, i, size, alphabet):  # type: ignore[no-untyped-def]
    """Return the position of the first character from i on that is not white."""
    while i < size and _is_white(text, i, alphabet):
        i = next_character(text, i)
    return i


@jit(forceinline=True)
def _is_white(text, i, alphabet):  # type: ignore[no-untyped-def]
    """Return whether the character at a position is white space; none of four bytes is."""
    if text[i] >= 0xF0:
        return False
    point, _ = point_at(text, i)
    return kind_of(point, alphabet) == WHITE
