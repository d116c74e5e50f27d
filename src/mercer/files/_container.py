"""The container: the layout of safetensors, with the description of the model in its metadata and a checksum.

A file has 8 bytes with the length of the header, the header in JSON, and the arrays without gaps. It is read and
checked in one pass, and takes at most as much memory as the file has bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np

from mercer._errors import MissingModelFileError, ModelFileError, NewerModelFileError, UnsavableError
from mercer._memory import check_memory
from mercer._typing import Array
from mercer.files._arrays import STORED_TYPES, code_of

#: the name of the format in the metadata
FORMAT = "mercer"
#: the version of the format
VERSION = 1
#: maximum bytes of a header, as in safetensors
MAX_HEADER_BYTES = 100_000_000
#: maximum number of arrays
MAX_ARRAYS = 1_000_000
#: maximum number of axes of an array
MAX_AXES = 32
#: the placeholder of the checksum while it is computed
NO_DIGEST = "0" * 64
METADATA = "__metadata__"
#: bytes of the pieces in which arrays are hashed and written
FILE_PIECE_BYTES = 1 << 22


class Header(NamedTuple):
    """The header of a file: its metadata and the descriptions of its arrays."""

    metadata: dict[str, str]
    arrays: dict[str, Any]
    raw: bytes
    size: int


def written(metadata: dict[str, str], arrays: dict[str, Array]) -> Iterator[bytes]:
    """Yield the bytes of a file, piece by piece, without copying arrays."""
    digest = hashlib.sha256()
    unsigned = _header(metadata | {"sha256": NO_DIGEST}, arrays)
    if len(unsigned) > MAX_HEADER_BYTES:
        raise UnsavableError(
            f"The model has {len(unsigned):,} bytes outside of arrays, but the limit is {MAX_HEADER_BYTES:,}; leave "
            "out long lists and dicts among its parameters, such as a vocabulary, which a fit can learn."
        )
    length = len(unsigned).to_bytes(8, "little")
    for piece in (length, unsigned, *_pieces(arrays)):
        digest.update(piece)
    yield length
    yield _header(metadata | {"sha256": digest.hexdigest()}, arrays)
    yield from _pieces(arrays)


def _header(metadata: dict[str, str], arrays: dict[str, Array]) -> bytes:
    described: dict[str, Any] = {METADATA: metadata}
    place = 0
    for name, values in arrays.items():
        described[name] = {
            "dtype": code_of(values),
            "shape": list(values.shape),
            "data_offsets": [place, place + values.nbytes],
        }
        place += values.nbytes
    text = json.dumps(described, separators=(",", ":")).encode("ascii")
    return text + b" " * (-len(text) % 8)


def _pieces(arrays: dict[str, Array]) -> Iterator[Any]:
    for values in arrays.values():
        octets = _octets(values)
        for start in range(0, len(octets), FILE_PIECE_BYTES):
            yield octets[start : start + FILE_PIECE_BYTES]


def _octets(values: Array) -> memoryview:
    return values.reshape(-1).view(np.uint8).data if values.size else memoryview(b"")


def opened(path: str | Path) -> BinaryIO:
    """Open a file, or raise an error if it is not a plain, readable file."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise MissingModelFileError(
            f"{str(path)!r} cannot be read: {reason}. Name a file that `save` or `mercer fit` wrote."
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ModelFileError(f"{str(path)!r} is not a file but a folder or device; name a file that `save` wrote.")
    return os.fdopen(handle, "rb")


def read_header(file: BinaryIO) -> Header:
    """Return the header of a file, checked as far as possible without the arrays."""
    size = os.fstat(file.fileno()).st_size
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
        raise ModelFileError(
            "This is not a model file: it does not begin like one. Name a file that `save` or `mercer fit` wrote."
        )
    raw = file.read(length)
    if len(raw) < length:
        _raise_damaged("it is cut off")
    arrays = _parsed(raw)
    metadata = arrays.pop(METADATA, None)
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError("This is a file of safetensors, but not one of mercer. Name a file that `save` wrote.")
    _check_version(metadata)
    if len(arrays) > MAX_ARRAYS:
        _raise_damaged(f"it has {len(arrays):,} arrays")
    if sum(_checked_sizes(arrays)) != size - 8 - length:
        _raise_damaged("it is cut off, or longer than its header says")
    return Header(metadata, arrays, raw, size)


def read_arrays(file: BinaryIO, header: Header) -> dict[str, Array]:
    """Return all arrays of the file, after verifying its checksum."""
    check_memory(header.size, "the model file", "load it on a larger machine")
    digest = hashlib.sha256(len(header.raw).to_bytes(8, "little"))
    claimed = header.metadata.get("sha256", "")
    signed = f'"sha256":"{claimed}"'.encode("utf-8", "replace")
    if len(claimed) != len(NO_DIGEST) or header.raw.count(signed) != 1:
        _raise_damaged("its checksum is missing")
    digest.update(header.raw.replace(signed, f'"sha256":"{NO_DIGEST}"'.encode()))
    arrays = {name: _read_array(file, about, digest) for name, about in header.arrays.items()}
    if digest.hexdigest() != claimed:
        _raise_damaged("its checksum is wrong")
    return arrays


def _read_array(file: BinaryIO, about: dict[str, Any], digest: Any) -> Array:
    try:
        values = np.empty(tuple(about["shape"]), dtype=STORED_TYPES[about["dtype"]])
    except ValueError:  # an empty array with an immense axis, (2⁶¹, 0)
        _raise_damaged("an array has impossible sizes")
    octets = _octets(values)
    for start in range(0, len(octets), FILE_PIECE_BYTES):
        piece = octets[start : start + FILE_PIECE_BYTES]
        if _read_into(file, piece) < len(piece):
            _raise_damaged("it is cut off")
        digest.update(piece)
    return values


def _read_into(file: BinaryIO, piece: memoryview) -> int:
    return int(file.readinto(piece))  # type: ignore[attr-defined]


def read_json(text: str) -> Any:
    """Parse JSON strictly, unlike Python: duplicate names and NaN are errors."""
    return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):  # readers would differ in which one they use
        _raise_damaged("a name occurs twice in it")
    return result


def _no_constant(name: str) -> NoReturn:
    _raise_damaged(f"{name} in it is not valid JSON")


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        result = read_json(raw.decode("utf-8"))
    except ModelFileError:
        raise
    except (ValueError, RecursionError):
        raise ModelFileError("This is not a model file, or a damaged one: its header is not JSON.") from None
    if not isinstance(result, dict):
        _raise_damaged("its header is not an object")
    return result


def _check_version(metadata: dict[str, Any]) -> None:
    if not all(isinstance(value, str) for value in metadata.values()):
        _raise_damaged("its metadata are not strings")
    version = metadata.get("version", "")
    if not (version.isascii() and version.isdigit() and len(version) <= 9 and int(version) > 0):
        _raise_damaged("it has no version")
    if int(version) > VERSION:
        raise NewerModelFileError(
            f"The file has version {version} of the format and was written by mercer {writer(metadata)}; this one "
            f"reads versions up to {VERSION}. Install a newer mercer."
        )


def writer(metadata: dict[str, str]) -> str:
    """Return the version of mercer that wrote a file, in a form that is safe in a message."""
    version = metadata.get("mercer", "")
    return version if re.fullmatch(r"[\w.+-]{1,40}", version, re.ASCII) else "of unknown version"


def _checked_sizes(arrays: dict[str, Any]) -> Iterator[int]:
    """Yield the bytes of each array, after checking that arrays have no gaps."""
    place = 0
    for about in arrays.values():
        if not isinstance(about, dict) or set(about) != {"dtype", "shape", "data_offsets"}:
            _raise_damaged("an array is not described")
        shape, offsets = about["shape"], about["data_offsets"]
        if about["dtype"] not in STORED_TYPES if isinstance(about["dtype"], str) else True:
            _raise_damaged("an array has an unknown type")
        if not (_are_sizes(shape) and len(shape) <= MAX_AXES and _are_sizes(offsets) and len(offsets) == 2):
            _raise_damaged("an array has no sizes")
        n_bytes = prod(shape) * np.dtype(STORED_TYPES[about["dtype"]]).itemsize
        if offsets != [place, place + n_bytes]:
            _raise_damaged("its arrays have gaps or overlap")
        place += n_bytes
        yield n_bytes


def _are_sizes(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)


def _raise_damaged(why: str) -> NoReturn:
    raise ModelFileError(f"The model file is damaged: {why}. Save the model again, or fetch the file again.")
