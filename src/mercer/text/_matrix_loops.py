"""Ascending order of the terms that several threads found, and the rows of the matrix.

Each thread's terms are sorted and then merged. Runs of words are sorted level by level: a run of two words by (position
of the first, position of the second), one of three by (position of the first two, position of the third), …; each level
lists the children of the level above.
"""

from __future__ import annotations

import numpy as np

from mercer._jit import jit
from mercer._jit.instructions import lowest_bit
from mercer.text._document_loops import NO_BITS
from mercer.text._term_loops import HALF_BITS, LOWER_HALF, RUN_FLAG, copy_bytes

# Rows of a sparse matrix with ascending columns.
#
# A few columns are sorted by insertion. For more, each is marked by a bit, and the marks are read in order; two levels
# of bits above mark where there are any, so that the cost per entry does not depend on the number of columns.

#: rows of at most this many entries are sorted by insertion
INSERTION_SORT_UP_TO = 12
#: the lowest bit of a word
LOWEST_BIT = np.uint64(1)
#: a word of marks has 2⁶ bits
WORD_SHIFT = np.uint64(6)
#: the lowest bits of a number: its position in a word of marks
BIT_MASK = np.uint64(63)


@jit
def no_marks(n_columns):  # type: ignore[no-untyped-def]
    """Return arrays without marks: a bit for each column, one for each 64 of these, and one for each 64 of those."""
    low = np.zeros(n_columns // 64 + 1, dtype=np.uint64)
    middle = np.zeros(low.size // 64 + 1, dtype=np.uint64)
    return low, middle, np.zeros(middle.size // 64 + 1, dtype=np.uint64)


@jit(forceinline=True)
def mark(column, low, middle, top):  # type: ignore[no-untyped-def]
    """Mark a column; return whether it was marked before."""
    at = np.uint64(column)
    bit, word = LOWEST_BIT << (at & BIT_MASK), at >> WORD_SHIFT
    before = low[word]
    low[word] = before | bit
    middle[word >> WORD_SHIFT] |= LOWEST_BIT << (word & BIT_MASK)
    top[word >> WORD_SHIFT >> WORD_SHIFT] |= LOWEST_BIT << ((word >> WORD_SHIFT) & BIT_MASK)
    return before & bit != NO_BITS


@jit(forceinline=True)
def take_marks(low, middle, top, indices, place):  # type: ignore[no-untyped-def]
    """Write the marked columns in ascending order from `place` on and erase the marks; return the end of the row."""
    for highest in range(top.size):
        groups = top[highest]
        top[highest] = NO_BITS
        while groups != NO_BITS:
            group = 64 * highest + lowest_bit(groups)
            groups &= groups - LOWEST_BIT
            words = middle[group]
            middle[group] = NO_BITS
            while words != NO_BITS:
                word = 64 * group + lowest_bit(words)
                words &= words - LOWEST_BIT
                bits = low[word]
                low[word] = NO_BITS
                while bits != NO_BITS:
                    indices[place] = 64 * word + lowest_bit(bits)
                    bits &= bits - LOWEST_BIT
                    place += 1
    return place


@jit(forceinline=True)
def insert(entries, count, entry):  # type: ignore[no-untyped-def]
    """Insert an entry into the first `count`, which are in ascending order."""
    k = count
    while k > 0 and entries[k - 1] > entry:
        entries[k] = entries[k - 1]
        k -= 1
    entries[k] = entry


@jit
def kept_entries(rows, codes, of_words, of_runs, kept):  # type: ignore[no-untyped-def]
    """Write the number of terms with a column in each document; `of_words` and `of_runs` hold the columns, or −1."""
    for i in range(rows.size - 1):
        count = 0
        for k in range(rows[i], rows[i + 1]):
            code = codes[k]
            count += (of_words[code] if code >= 0 else of_runs[-1 - code]) >= 0
        kept[i] = count


@jit
def write_rows(rows, codes, counts, of_words, of_runs, n_columns, out_rows, indices, values):  # type: ignore[no-untyped-def]
    """Write the columns and counts of the terms of documents; row i begins at out_rows[i]."""
    entries = np.empty(INSERTION_SORT_UP_TO, dtype=np.int64)
    low, middle, top = no_marks(n_columns)
    value_of = np.empty(n_columns, dtype=np.int32)
    for i in range(rows.size - 1):
        place = out_rows[i]
        if rows[i + 1] - rows[i] <= INSERTION_SORT_UP_TO:
            count = 0
            for k in range(rows[i], rows[i + 1]):
                code = codes[k]
                column = np.int64(of_words[code] if code >= 0 else of_runs[-1 - code])
                if column >= 0:
                    insert(entries, count, column << 32 | np.int64(counts[k]))
                    count += 1
            for k in range(count):
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


#: bits of a digit of the radix sort of keys
KEY_DIGIT_BITS = np.uint64(9)


@jit
def sort_keys(keys, codes, spare_keys, spare_codes, highest):  # type: ignore[no-untyped-def]
    """Sort keys, which are at most `highest`, and their codes with them; all four arrays are overwritten."""
    starts = np.empty(1 << KEY_DIGIT_BITS, dtype=np.int64)
    shift, mask = np.uint64(0), np.uint64((1 << KEY_DIGIT_BITS) - 1)
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
        shift += KEY_DIGIT_BITS
    return keys, codes


@jit
def merge_keys(one, other, both, of_one, of_other):  # type: ignore[no-untyped-def]
    """Merge two ascending lists of distinct keys; write the positions of both in the union and return its size."""
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
    """Merge two ascending lists of distinct strings as `merge_keys` does, given their first eight bytes as numbers as
    well.

    Bytes are copied eight at a time: each of the three arrays must have `SPARE_BYTES` bytes more.
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
    """Return −1, 0 or 1 if the first string comes before the second, is equal to it, or comes after it."""
    for k in range(min(stop - start, stop2 - start2)):
        if data[start + k] != data2[start2 + k]:
            return np.int64(-1) if data[start + k] < data2[start2 + k] else np.int64(1)
    return np.int64(stop - start > stop2 - start2) - np.int64(stop - start < stop2 - start2)


@jit
def tally(codes, counts, of_words, of_runs):  # type: ignore[no-untyped-def]
    """Add to of_words[code] and of_runs[−1 − code] the number of documents with a term, and its occurrences."""
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
    """Add counts by code to counts by column."""
    for code in range(columns.size):
        column = columns[code]
        if column >= 0:
            documents[column] += counts[code, 0]
            occurrences[column] += counts[code, 1]


@jit
def write_terms(places, counted, first, step, terms):  # type: ignore[no-untyped-def]
    """Write the numbers first, first + step, … of the terms of a level at the places of those that are counted."""
    for i in range(places.size):
        if counted[i]:
            terms[places[i]] = first + step * i


@jit
def assign_columns(codes, places, level, counted, columns):  # type: ignore[no-untyped-def]
    """Write columns[code], the position of its term or −1 if it is not counted; `places` are positions in the level."""
    for i in range(codes.size):
        place = places[i]
        columns[codes[i]] = level[place] if counted[place] else -1


@jit
def find_runs(lengths, length, codes):  # type: ignore[no-untyped-def]
    """Write the codes of the runs of `length` words."""
    count = 0
    for run in range(lengths.size):
        if lengths[run] == length:
            codes[count] = run
            count += 1


@jit
def count_words(pairs, lengths):  # type: ignore[no-untyped-def]
    """Write the number of words of each run."""
    for run in range(lengths.size):
        left = np.int64(pairs[run] >> HALF_BITS)
        lengths[run] = lengths[left ^ RUN_FLAG] + 1 if left & RUN_FLAG else 2


@jit
def make_keys(runs, pairs, word_places, run_places, bits, keys):  # type: ignore[no-untyped-def]
    """Write the keys of runs: the position of the run without its last word, and below it that of this word."""
    for i in range(runs.size):
        pair = np.uint64(pairs[runs[i]])
        left = np.int64(pair >> HALF_BITS)
        left = run_places[left ^ RUN_FLAG] if left & RUN_FLAG else word_places[left]
        keys[i] = np.uint64(left) << bits | np.uint64(word_places[np.int64(pair & LOWER_HALF)])


@jit
def add_up(keys, bits, sizes, above):  # type: ignore[no-untyped-def]
    """Add the sizes of the children of p to above[p]."""
    for i in range(keys.size):
        above[keys[i] >> bits] += sizes[i]


@jit
def place_below(keys, bits, sizes, free, places):  # type: ignore[no-untyped-def]
    """Write the positions of children one after the other from free[p] on, each taking as many as its size."""
    for i in range(keys.size):
        parent = keys[i] >> bits
        places[i] = free[parent]
        free[parent] += sizes[i]


@jit
def make_pairs(keys, bits, above, pairs):  # type: ignore[no-untyped-def]
    """Write runs as pairs of codes; codes of the level above begin at `above`, or are those of words if it is −1."""
    mask = (np.uint64(1) << bits) - np.uint64(1)
    for i in range(keys.size):
        left = np.int64(keys[i] >> bits)
        left = left if above < 0 else (left + above) | RUN_FLAG
        pairs[i] = np.uint64(left) << HALF_BITS | (keys[i] & mask)
