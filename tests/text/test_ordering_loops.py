"""Sorting and merging are those of Python's lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer.text import _matrix_loops as matrix_loops

KEYS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 600), max_size=50)
STRINGS = st.sets(st.binary(max_size=3) | st.binary(min_size=7, max_size=20).map(lambda tail: b"the same" + tail))


@given(KEYS)
def test_keys_are_sorted_with_their_codes(keys: list[int]) -> None:
    given, codes = np.array(keys, dtype=np.uint64), np.arange(len(keys), dtype=np.int32)
    spare, highest = (np.empty_like(given), np.empty_like(codes)), given.max(initial=np.uint64(0))
    found, order = matrix_loops.sort_keys(given.copy(), codes.copy(), *spare, highest)
    assert found.tolist() == sorted(keys)
    assert order.tolist() == sorted(codes.tolist(), key=lambda code: keys[code])  # those of equal keys stay in order


@given(KEYS, KEYS)
def test_merged_keys_are_the_union(one: list[int], other: list[int]) -> None:
    lists = [np.array(sorted(set(keys)), dtype=np.uint64) for keys in (one, other)]
    both = np.empty(sum(map(len, lists)), dtype=np.uint64)
    places = [np.empty(len(keys), dtype=np.int32) for keys in lists]
    both = both[: matrix_loops.merge_keys(*lists, both, *places)]
    assert both.tolist() == sorted({*one, *other})
    for keys, place in zip(lists, places, strict=True):
        np.testing.assert_array_equal(both[place], keys)


def packed(strings: set[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First eight bytes, offsets and bytes of strings in ascending order."""
    ordered = sorted(strings)
    heads = np.array([int.from_bytes(string[:8].ljust(8, b"\0"), "big") for string in ordered], dtype=np.uint64)
    offsets = np.concatenate([[0], np.cumsum([len(string) for string in ordered])]).astype(np.int64)
    return heads, offsets, np.frombuffer(b"".join(ordered) + bytes(16), dtype=np.uint8).copy()


@given(STRINGS, STRINGS)
def test_merged_strings_are_the_union(one: set[bytes], other: set[bytes]) -> None:
    many, size = len(one) + len(other), sum(map(len, [*one, *other]))
    heads, offsets = np.empty(many, dtype=np.uint64), np.empty(many + 1, dtype=np.int64)
    data = np.empty(size + 16, dtype=np.uint8)
    places = [np.empty(len(strings), dtype=np.int32) for strings in (one, other)]
    count = matrix_loops.merge_strings(*packed(one), *packed(other), heads, offsets, data, *places)
    expected = sorted(one | other)
    assert [data[offsets[i] : offsets[i + 1]].tobytes() for i in range(count)] == expected
    np.testing.assert_array_equal(heads[:count], packed(one | other)[0])
    for strings, place in zip((one, other), places, strict=True):
        assert [expected[i] for i in place] == sorted(strings)
