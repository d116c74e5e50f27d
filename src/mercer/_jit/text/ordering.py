"""Ascending order of terms that several threads have found: what each found is sorted, and then merged.

Runs of words are put in order level by level: one of two words is (place of the first, place of the second), one of
three (place of the first two, place of the third), …; each level is a list of children of the level above.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.text.interning import HALF, RUN, WORD
from mercer._jit.text.spelling import copy_bytes

#: bits by which keys are sorted at once
DIGIT = np.uint64(9)


@jit
def sort_keys(keys, codes, spare_keys, spare_codes, highest):  # type: ignore[no-untyped-def]
    """Keys, which are at most `highest`, in ascending order, and with them their codes; all four arrays are used up."""
    starts = np.empty(1 << DIGIT, dtype=np.int64)
    shift, mask = np.uint64(0), np.uint64((1 << DIGIT) - 1)
    while shift < np.uint64(64) and highest >> shift != np.uint64(0):
        starts[:] = 0
        for i in range(keys.size):
            starts[(keys[i] >> shift) & mask] += 1
        total = 0
        for digit in range(starts.size):
            starts[digit], total = total, total + starts[digit]
        for i in range(keys.size):
            digit = (keys[i] >> shift) & mask
            spare_keys[starts[digit]], spare_codes[starts[digit]] = keys[i], codes[i]
            starts[digit] += 1
        keys, spare_keys = spare_keys, keys
        codes, spare_codes = spare_codes, codes
        shift += DIGIT
    return keys, codes


@jit
def merge_keys(one, other, both, of_one, of_other):  # type: ignore[no-untyped-def]
    """All of two ascending lists of keys, each once; where those of each are then. How many there are."""
    i = j = count = 0
    while i < one.size or j < other.size:
        takes_one = j == other.size or (i < one.size and one[i] <= other[j])
        takes_other = i == one.size or (j < other.size and other[j] <= one[i])
        both[count] = one[i] if takes_one else other[j]
        if takes_one:
            of_one[i] = count
            i += 1
        if takes_other:
            of_other[j] = count
            j += 1
        count += 1
    return count


@jit
def merge_strings(heads, offsets, data, heads2, offsets2, data2, both_heads, both_offsets, both, of_one, of_other):  # type: ignore[no-untyped-def]
    """The same for ascending lists of strings, of which the first eight bytes are given as numbers, too.

    Bytes are copied eight at a time: all three must have some to spare.
    """
    i = j = count = 0
    n, n2 = heads.size, heads2.size
    both_offsets[0] = 0
    while i < n or j < n2:
        sign = np.int64(-1) if j == n2 else np.int64(1)
        if i < n and j < n2:
            sign = np.int64(heads[i] > heads2[j]) - np.int64(heads[i] < heads2[j])
            if sign == 0:
                sign = compare(data, offsets[i], offsets[i + 1], data2, offsets2[j], offsets2[j + 1])
        if sign <= 0:
            both_heads[count] = heads[i]
            copy_bytes(data, offsets[i], offsets[i + 1], both, both_offsets[count])
            both_offsets[count + 1] = both_offsets[count] + offsets[i + 1] - offsets[i]
            of_one[i] = count
            i += 1
        else:
            both_heads[count] = heads2[j]
            copy_bytes(data2, offsets2[j], offsets2[j + 1], both, both_offsets[count])
            both_offsets[count + 1] = both_offsets[count] + offsets2[j + 1] - offsets2[j]
        if sign >= 0:
            of_other[j] = count
            j += 1
        count += 1
    return count


@jit
def compare(data, start, stop, data2, start2, stop2):  # type: ignore[no-untyped-def]
    """−1, 0 or 1: whether a string comes before another, is the same, or comes after it."""
    for k in range(min(stop - start, stop2 - start2)):
        if data[start + k] != data2[start2 + k]:
            return np.int64(-1) if data[start + k] < data2[start2 + k] else np.int64(1)
    return np.int64(stop - start > stop2 - start2) - np.int64(stop - start < stop2 - start2)


@jit
def tally(codes, counts, of_words, of_runs):  # type: ignore[no-untyped-def]
    """Count documents that hold a term, and how often it occurs: of_words[code] is both."""
    for i in range(codes.size):
        code = codes[i]
        if code >= 0:
            of_words[code, 0] += 1
            of_words[code, 1] += counts[i]
        else:
            of_runs[-1 - code, 0] += 1
            of_runs[-1 - code, 1] += counts[i]


@jit
def add_counts(columns, counts, documents, occurrences):  # type: ignore[no-untyped-def]
    """Add what was counted by code to what was counted by column."""
    for code in range(columns.size):
        column = columns[code]
        if column >= 0:
            documents[column] += counts[code, 0]
            occurrences[column] += counts[code, 1]


@jit
def write_terms(places, counted, first, step, terms):  # type: ignore[no-untyped-def]
    """Terms at their places, numbered from `first` on in steps; what is not counted is none."""
    for i in range(places.size):
        if counted[i]:
            terms[places[i]] = first + step * i


@jit
def columns_of(codes, places, level, counted, columns):  # type: ignore[no-untyped-def]
    """columns[code]: where its term is, or −1 if it is none; `places` are those in its level."""
    for i in range(codes.size):
        place = places[i]
        columns[codes[i]] = level[place] if counted[place] else -1


@jit
def codes_of(lengths, length, codes):  # type: ignore[no-untyped-def]
    """The runs of so many words."""
    count = 0
    for run in range(lengths.size):
        if lengths[run] == length:
            codes[count] = run
            count += 1


@jit
def words_in(pairs, many):  # type: ignore[no-untyped-def]
    """many[run]: how many words it has."""
    for run in range(many.size):
        left = np.int64(pairs[run] >> HALF)
        many[run] = many[left ^ RUN] + 1 if left & RUN else 2


@jit
def keys_of(runs, pairs, of_words, of_shorter, bits, keys):  # type: ignore[no-untyped-def]
    """Place of what comes before the last word of a run, and below in so many bits the place of that word."""
    for i in range(runs.size):
        pair = np.uint64(pairs[runs[i]])
        left = np.int64(pair >> HALF)
        left = of_shorter[left ^ RUN] if left & RUN else of_words[left]
        keys[i] = np.uint64(left) << bits | np.uint64(of_words[np.int64(pair & WORD)])


@jit
def add_up(keys, bits, sizes, above):  # type: ignore[no-untyped-def]
    """above[p] becomes larger by the sizes of the children of p."""
    for i in range(keys.size):
        above[keys[i] >> bits] += sizes[i]


@jit
def place_below(keys, bits, sizes, free, places):  # type: ignore[no-untyped-def]
    """Places of children, one after the other from free[p] on, each of which takes as much as its size."""
    for i in range(keys.size):
        parent = keys[i] >> bits
        places[i] = free[parent]
        free[parent] += sizes[i]


@jit
def pairs_of(keys, bits, above, pairs):  # type: ignore[no-untyped-def]
    """Runs as pairs of codes, where those of the level above are numbered from `above` on; if that is −1 they are
    words."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for i in range(keys.size):
        left = np.int64(keys[i] >> bits)
        left = left if above < 0 else (left + above) | RUN
        pairs[i] = np.uint64(left) << HALF | (keys[i] & mask)
