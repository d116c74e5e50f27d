"""Codes are those of a dict that numbers its keys, however large the tables grow."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.text import _term_loops as term_loops

STRINGS = st.lists(st.one_of(st.binary(max_size=20), st.binary(min_size=14, max_size=40)), max_size=60)


def numbered(values: list[bytes] | list[int]) -> list[int]:
    number: dict[bytes | int, int] = {}
    return [number.setdefault(value, len(number)) for value in values]


def interned(strings: list[bytes], table: term_loops.StringTable) -> tuple[term_loops.StringTable, list[int]]:
    data = np.frombuffer(b"".join(strings) + bytes(term_loops.SPARE_BYTES), dtype=np.uint8).copy()
    offsets = np.concatenate([[0], np.cumsum([len(string) for string in strings], dtype=np.int64)]).astype(np.int64)
    codes = np.empty(len(strings), dtype=np.int64)
    return term_loops.intern(table, data, offsets, codes), codes.tolist()


@given(STRINGS)
def test_strings_are_numbered_in_order_of_appearance(strings: list[bytes]) -> None:
    table, codes = interned(strings, term_loops.empty_strings())
    assert codes == numbered(strings)
    for string, code in zip(strings, codes, strict=True):
        assert table.arena[table.offsets[code] : table.offsets[code + 1]].tobytes() == string


def test_tables_grow() -> None:
    strings = [b"%d" % number * (1 + number % 9) for number in range(20000)]
    table, codes = interned(strings, term_loops.empty_strings())
    assert codes == numbered(strings)
    assert interned(strings[::-1], table)[1] == codes[::-1]
    assert table.sizes[0] <= len(table.signatures) == len(table.slots) // 2


def test_pairs_are_numbered_in_order_of_appearance() -> None:
    pairs = np.random.default_rng(0).integers(0, 2**32, (5000, 2), dtype=np.uint64)[np.arange(20000) % 5000]
    table = term_loops.enlarge_pairs(term_loops.empty_pairs(), len(pairs))
    whole = pairs[:, 0] << np.uint64(32) | pairs[:, 1]
    assert [term_loops.code_of_pair(table, pair) for pair in whole] == numbered(whole.tolist())


def test_growing_pairs_keep_their_codes() -> None:
    table, pairs = term_loops.empty_pairs(), np.arange(3000, dtype=np.uint64) << np.uint64(33)
    for _ in range(2):
        for code, pair in enumerate(pairs):
            table = term_loops.enlarge_pairs(table, 1)
            assert term_loops.code_of_pair(table, pair) == code
