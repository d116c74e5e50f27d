"""Each function on many bytes does compiled what it does in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mercer._jit import instructions, jit

BYTES = st.binary(min_size=72, max_size=72).map(lambda read: np.frombuffer(read, dtype=np.uint8).copy())


@jit
def all_of_them(data, position, out):  # type: ignore[no-untyped-def]
    instructions.fetch(data, position)
    instructions.put_eight(out, position, instructions.eight_bytes(data, position))
    found = instructions.word_bits(data, position)
    return (
        instructions.eight_bytes(data, position),
        instructions.four_bytes(data, position),
        found,
        instructions.lowest_bit(found),
    )


@given(data=BYTES, position=st.integers(0, 8))
def test_compiled_and_plain_agree(data: Any, position: int) -> None:
    compiled_out, plain_out = np.zeros(72, dtype=np.uint8), np.zeros(72, dtype=np.uint8)
    compiled, plain = all_of_them(data, position, compiled_out), all_of_them.plain(data, position, plain_out)
    assert tuple(map(int, compiled)) == tuple(map(int, plain))
    np.testing.assert_array_equal(compiled_out, plain_out)


def test_word_bits_agree_with_regular_expressions() -> None:
    data = np.arange(128, dtype=np.uint8)
    found = [int(instructions.word_bits(data, start)) >> k & 1 for start in (0, 64) for k in range(64)]
    assert found == [chr(byte).isalnum() or chr(byte) == "_" for byte in range(128)]


def test_the_lowest_bit_of_zero_is_64() -> None:
    assert instructions.lowest_bit(np.uint64(0)) == 64
