"""Instructions that numba has no words for: each an ordinary function with a compiled twin in `_instructions`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import overload


def eight_bytes(data: Any, position: Any) -> Any:
    """Eight bytes from a place on, as one number; there must be so many."""
    return np.frombuffer(data[position : position + 8].tobytes(), dtype=np.uint64)[0]


def four_bytes(data: Any, position: Any) -> Any:
    """Four bytes from a place on, as one number; there must be so many."""
    return np.frombuffer(data[position : position + 4].tobytes(), dtype=np.uint32)[0]


def word_bits(data: Any, position: Any) -> Any:
    """A bit for each of the 64 bytes from a place on: whether it belongs to a word, as every byte beyond ASCII does."""
    read = data[position : position + 64]
    letter = ((read | 0x20) >= ord("a")) & ((read | 0x20) <= ord("z"))
    digit = (read >= ord("0")) & (read <= ord("9"))
    found = letter | digit | (read == ord("_")) | (read >= 0x80)
    return np.packbits(found, bitorder="little").view(np.uint64)[0]


def lowest_bit(bits: Any) -> Any:
    """The position of the lowest bit that is set; 64 if none is."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def fetch(data: Any, position: Any) -> None:
    """Have what lies at a place of an array, laid flat, brought into the cache; nothing waits for it."""


def put_eight(data: Any, position: Any, value: Any) -> None:
    """Write a number to the eight bytes from a place on."""
    data[position : position + 8] = np.frombuffer(np.uint64(value).tobytes(), dtype=np.uint8)


def number_at(address: Any, like: Any) -> Any:
    """The number at an address in memory, of the type of an array; the caller keeps alive what lies there."""
    return np.ctypeslib.as_ctypes_type(like.dtype).from_address(int(address)).value


@overload(eight_bytes)
def _eight_bytes(data, position) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.eight_bytes
    return lambda data, position: compiled(data, position)


@overload(four_bytes)
def _four_bytes(data, position) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.four_bytes
    return lambda data, position: compiled(data, position)


@overload(word_bits)
def _word_bits(data, position) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.word_bits
    return lambda data, position: compiled(data, position)


@overload(lowest_bit)
def _lowest_bit(bits) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.lowest_bit
    return lambda bits: compiled(bits)


@overload(fetch)
def _fetch(data, position) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.fetch
    return lambda data, position: compiled(data, position)


@overload(put_eight)
def _put_eight(data, position, value) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.put_eight
    return lambda data, position, value: compiled(data, position, value)


@overload(number_at)
def _number_at(address, like) -> Any:  # type: ignore[no-untyped-def]
    from mercer._jit import _instructions as instructions

    compiled: Any = instructions.number_at
    return lambda address, like: compiled(address, like)
