"""Hashes and norms are scikit-learn's, and entries are sorted as NumPy sorts them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import preprocessing
from sklearn.utils import murmurhash3_32

from mercer.text._hash_loops import RADIX_SORT_FROM, murmur, normalize, sort_entries


@given(st.binary(max_size=40))
def test_murmur_of_any_bytes(key: bytes) -> None:
    data = np.frombuffer(key + bytes(12), dtype=np.uint8)
    assert murmur(data, 0, len(key)) == murmurhash3_32(key, seed=0)


@pytest.mark.parametrize("many", [0, 1, 2, 60, RADIX_SORT_FROM - 1, RADIX_SORT_FROM, 3 * RADIX_SORT_FROM])
@pytest.mark.parametrize("bits", [1, 5, 21, 32])
def test_entries_are_sorted(many: int, bits: int) -> None:
    entries = np.random.default_rng(many).integers(0, 2**bits, many, dtype=np.uint32)
    wanted = np.sort(entries)
    sort_entries(entries, np.empty_like(entries), np.empty(RADIX_SORT_FROM, dtype=np.int32), bits)
    np.testing.assert_array_equal(entries, wanted)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_rows_normalised_to_length_one_agree_with_scikit_learn(norm: str) -> None:
    rows = np.array([0, 3, 3, 5, 6], dtype=np.int32)
    values, found = np.array([1, -2, 7, 0, 0, -4], dtype=np.int32), np.empty(6)
    normalize(rows, values, norm == "l2", found)
    X = sparse.csr_array((values.astype(float), np.arange(6), rows), shape=(4, 6))
    np.testing.assert_array_equal(found, preprocessing.normalize(X, norm).data)
