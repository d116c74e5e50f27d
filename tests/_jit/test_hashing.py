"""MurmurHash3 is scikit-learn's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from mercer._jit.hashing import murmur


@given(st.binary(max_size=40))
def test_murmur_of_any_bytes(key: bytes) -> None:
    data = np.frombuffer(key + bytes(4), dtype=np.uint8)
    assert murmur(data, 0, len(key)) == murmurhash3_32(key, seed=0)
