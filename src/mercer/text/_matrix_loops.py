"""Ascending order of terms that several threads have found: what each found is sorted, and then merged.

Runs of words are put in order level by level: one of two words is (place of the first, place of the second), one of
three (place of the first two, place of the third), …; each level is a list of children of the level above.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import lowest_bit
from mercer.text._term_loops import HALF, RUN, WORD, copy_bytes

# Rows of a sparse matrix with their columns in ascending order.
#
# A few columns are sorted by insertion. Of more, each is marked by a bit, and the marks are read off in order: with two
# levels of bits above that say where there are any, that takes a few steps for each, however many columns there are.

#: entries that are sorted by insertion
FEW = 12
ONE, NO_BITS, SIX = np.uint64(1), np.uint64(0), np.uint64(6)
PLACE = np.uint64(63)


@jit
def no_marks(n_columns):  # type: ignore[no-untyped-def]
    """A bit for each column, one for each 64 of them, and one for each 64 of those."""
    low = np.zeros(n_columns // 64 + 1, dtype=np.uint64)
    middle = np.zeros(low.size // 64 + 1, dtype=np.uint64)
    return low, middle, np.zeros(middle.size // 64 + 1, dtype=np.uint64)


@jit(forceinline=True)
def mark(column, low, middle, top):  # type: ignore[no-untyped-def]
    """Mark a column; whether it was marked before."""
    at = np.uint64(column)
    bit, word = ONE << (at & PLACE), at >> SIX
    before = low[word]
    low[word] = before | bit
    middle[word >> SIX] |= ONE << (word & PLACE)
    top[word >> SIX >> SIX] |= ONE << ((word >> SIX) & PLACE)
    return before & bit != NO_BITS


@jit(forceinline=True)
def take_marks(low, middle, top, indices, place):  # type: ignore[no-untyped-def]
    """Write marked columns in ascending order from a place on, and forget them; where the next row begins."""
    for highest in range(top.size):
        groups = top[highest]
        top[highest] = NO_BITS
        while groups != NO_BITS:
            group = 64 * highest + lowest_bit(groups)
            groups &= groups - ONE
            words = middle[group]
            middle[group] = NO_BITS
            while words != NO_BITS:
                word = 64 * group + lowest_bit(words)
                words &= words - ONE
                bits = low[word]
                low[word] = NO_BITS
                while bits != NO_BITS:
                    indices[place] = 64 * word + lowest_bit(bits)
                    bits &= bits - ONE
                    place += 1
    return place


@jit(forceinline=True)
def insert(entries, count, entry):  # type: ignore[no-untyped-def]
    """Put an entry among the first `count`, which are in ascending order."""
    k = count
    while k > 0 and entries[k - 1] > entry:
        entries[k] = entries[k - 1]
        k -= 1
    entries[k] = entry


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
def write_rows(rows, codes, counts, of_words, of_runs, n_columns, out_rows, indices, values):  # type: ignore[no-untyped-def]
    """Columns and counts of the terms of documents; row i goes to out_rows[i]."""
    entries = np.empty(FEW, dtype=np.int64)
    low, middle, top = no_marks(n_columns)
    value_of = np.empty(n_columns, dtype=np.int32)
    for i in range(rows.size - 1):
        place = out_rows[i]
        if rows[i + 1] - rows[i] <= FEW:
            many = 0
            for k in range(rows[i], rows[i + 1]):
                code = codes[k]
                column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
                if column >= 0:
                    insert(entries, many, column << 32 | np.int64(counts[k]))
                    many += 1
            for k in range(many):
                indices[place + k], values[place + k] = entries[k] >> 32, entries[k] & 0xFFFFFFFF
            continue
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
            if column >= 0:
                mark(column, low, middle, top)
                value_of[column] = counts[k]
        for k in range(place, take_marks(low, middle, top, indices, place)):
            values[k] = value_of[indices[k]]


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
