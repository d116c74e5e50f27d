"""Conversion of arrays to and from those of safetensors, which are little-endian and in C order.

Types that safetensors lacks are stored as other types, with their names: `U` as code points, `S` as bytes, dates and
durations as integers, complex numbers as pairs. What a class declares about its arrays (shapes, dtypes, ranges, finite
values) is verified by `mercer._stored` once all parts of the object are read.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from mercer._errors import ModelFileError
from mercer._typing import Array

#: types of safetensors with their names in NumPy
STORED_TYPES = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
}
_CODES = {name: code for code, name in STORED_TYPES.items()}
_STRINGS = re.compile(r"<U[1-9]\d{0,8}|\|S[1-9]\d{0,8}")
_TIMES = re.compile(r"<[Mm]8(\[\d{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?")
_COMPLEX = {"<c8": "<f4", "<c16": "<f8"}
#: the last code point of Unicode
LAST_CHARACTER = 0x10FFFF


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Return whether arrays of this type can be written."""
    return is_known(little(dtype).str)


def is_known(name: str) -> bool:
    """Return whether arrays in files can have a type of this name."""
    return _stored_as(name) is not None


def little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the little-endian type, as in files."""
    return dtype.newbyteorder("<")


def stored(values: Array) -> tuple[Array, dict[str, Any]]:
    """Return the array as it is written, copied only if necessary, and a description for reading it."""
    about: dict[str, Any] = {"dtype": little(values.dtype).str}
    if values.ndim > 1 and values.flags.f_contiguous and not values.flags.c_contiguous:
        values, about["order"] = values.T, "F"
    if not values.flags.writeable:
        about["locked"] = True
    shape = values.shape
    plain = np.ascontiguousarray(values, dtype=little(values.dtype)).reshape(shape)
    kind = _stored_as(about["dtype"]) or ""
    if kind != about["dtype"]:
        width = plain.dtype.itemsize // np.dtype(kind).itemsize
        parts = (*shape, width) if width > 1 or values.dtype.kind in "US" else shape
        plain = plain.reshape(-1).view(kind).reshape(parts)
    return plain, about


def code_of(values: Array) -> str:
    """Return the name of the type in safetensors."""
    return _CODES[values.dtype.str]


def restored(plain: Array, about: dict[str, Any]) -> Array:
    """Return the array with its original type, order and writability, without a copy."""
    name = about["dtype"]
    kind = _stored_as(name) if isinstance(name, str) else None
    if kind != plain.dtype.str:
        raise ModelFileError(f"The file stores an array of {name!r} as {plain.dtype.str!r}; it is damaged.")
    values = _retyped(plain, np.dtype(name)) if kind != name else plain
    _check_values(values, plain)
    if about.get("order", "C") == "F":
        values = values.T
    if about.get("locked", False):
        values.flags.writeable = False
    return values


def _retyped(plain: Array, dtype: np.dtype[Any]) -> Array:
    width = dtype.itemsize // plain.dtype.itemsize
    if width > 1 or dtype.kind in "US":
        if plain.ndim == 0 or plain.shape[-1] != width:
            raise ModelFileError(f"The file has an array of {dtype.str!r} with parts of a wrong size; it is damaged.")
        return plain.reshape(-1).view(dtype).reshape(plain.shape[:-1])
    return plain.view(dtype)


def _check_values(values: Array, plain: Array) -> None:
    """Raise `ModelFileError` for invalid truth values and characters, which NumPy would accept."""
    if values.dtype.kind == "b" and plain.size and plain.view(np.uint8).max() > 1:
        raise ModelFileError("The file has truth values that are neither true nor false; it is damaged.")
    if values.dtype.kind == "U" and plain.size and plain.max() > LAST_CHARACTER:
        raise ModelFileError("The file has characters that do not exist; it is damaged.")


def _stored_as(name: str) -> str | None:
    if name in _CODES:
        return name
    if name in _COMPLEX:
        return _COMPLEX[name]
    if _TIMES.fullmatch(name):
        return "<i8"
    if _STRINGS.fullmatch(name):
        return "<u4" if name.startswith("<U") else "|u1"
    return None
