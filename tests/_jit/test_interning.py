"""Codes are those of a dict that numbers what it sees, however large the tables grow."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer._jit import interning

STRINGS = st.lists(st.one_of(st.binary(max_size=20), st.binary(min_size=14, max_size=40)), max_size=60)


def numbered(values: list[bytes] | list[int]) -> list[int]:
    number: dict[bytes | int, int] = {}
    return [number.setdefault(value, len(number)) for value in values]


def interned(strings: list[bytes], table: interning.Strings) -> tuple[interning.Strings, list[int]]:
    data = np.frombuffer(b"".join(strings) + bytes(interning.SPARE), dtype=np.uint8).copy()
    offsets = np.concatenate([[0], np.cumsum([len(string) for string in strings], dtype=np.int64)]).astype(np.int64)
    codes = np.empty(len(strings), dtype=np.int64)
    return interning.intern(table, data, offsets, codes), codes.tolist()


@given(STRINGS)
def test_strings_are_numbered_as_they_come(strings: list[bytes]) -> None:
    table, codes = interned(strings, interning.no_strings())
    assert codes == numbered(strings)
    for string, code in zip(strings, codes, strict=True):
        assert table.arena[table.offsets[code] : table.offsets[code + 1]].tobytes() == string


def test_tables_grow() -> None:
    strings = [b"%d" % number * (1 + number % 9) for number in range(20000)]
    table, codes = interned(strings, interning.no_strings())
    assert codes == numbered(strings)
    assert interned(strings[::-1], table)[1] == codes[::-1]
    assert table.sizes[0] <= len(table.signatures) == len(table.slots) // 2


def test_pairs_of_another_table_find_their_codes() -> None:
    mark = np.uint64(1 << 31)
    rng = np.random.default_rng(0)
    words = rng.permutation(50)
    mine, other = interning.no_pairs(), interning.no_pairs()
    pairs = np.unique(rng.integers(0, 50, (2000, 2)), axis=0)
    other = interning.with_room_for_pairs(other, 2 * len(pairs))
    for left, right in pairs:  # each a pair of words, and a longer one that begins with it
        code = interning.code_of_pair(other, np.uint64(left) << np.uint64(32) | np.uint64(right))
        interning.code_of_pair(other, (np.uint64(code) | mark) << np.uint64(32) | np.uint64(left))
    codes = np.empty(int(other.sizes[0]), dtype=np.int64)
    mine = interning.merge_pairs(mine, other, mark, words, codes)
    assert sorted(codes.tolist()) == list(range(2 * len(pairs)))
    for place, (left, right) in enumerate(pairs):
        short, long = mine.entries[codes[2 * place : 2 * place + 2], interning.PAIR].view(np.uint64).tolist()
        assert short == int(words[left]) << 32 | int(words[right])
        assert long == (int(codes[2 * place]) | 1 << 31) << 32 | int(words[left])
