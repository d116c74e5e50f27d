"""Machine instructions without a counterpart in numba: Python functions with an intrinsic each in `_instructions`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._jit import overload


def eight_bytes(data: Any, position: Any) -> Any:
    """Read eight bytes from a position on as one number, without a bounds check."""
    return np.frombuffer(data[position : position + 8].tobytes(), dtype=np.uint64)[0]


def four_bytes(data: Any, position: Any) -> Any:
    """Read four bytes from a position on as one number, without a bounds check."""
    return np.frombuffer(data[position : position + 4].tobytes(), dtype=np.uint32)[0]


def word_bits(data: Any, position: Any) -> Any:
    """Return a bit for each of the 64 bytes from a position on: 1 for bytes of words, and all bytes beyond ASCII."""
    read = data[position : position + 64]
    letter = ((read | 0x20) >= ord("a")) & ((read | 0x20) <= ord("z"))
    digit = (read >= ord("0")) & (read <= ord("9"))
    in_word = letter | digit | (read == ord("_")) | (read >= 0x80)
    return np.packbits(in_word, bitorder="little").view(np.uint64)[0]


def lowest_bit(bits: Any) -> Any:
    """Position of the lowest bit that is set, or 64 if none is set."""
    return (int(bits) & -int(bits)).bit_length() - 1 if bits else 64


def fetch(data: Any, position: Any) -> None:
    """Prefetch the cache line at a position of a flattened array; it does not block."""


def put_eight(data: Any, position: Any, value: Any) -> None:
    """Write a number to the eight bytes from a position on."""
    data[position : position + 8] = np.frombuffer(np.uint64(value).tobytes(), dtype=np.uint8)


def number_at(address: Any, like: Any) -> Any:
    """Read the number at an address, of the dtype of an array; the caller keeps the memory alive."""
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
