"""Forged files: any description with a valid checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import load, save
from mercer.files._arrays import code_of
from mercer.files._container import NO_DIGEST


def octets_of(model: Any, folder: Path) -> bytes:
    save(model, folder / "whole.mercer")
    return (folder / "whole.mercer").read_bytes()


def read(octets: bytes, folder: Path) -> Any:
    (folder / "other.mercer").write_bytes(octets)
    return load(folder / "other.mercer")


def signed(header: dict[str, Any], data: bytes) -> bytes:
    """Return a file with this header and a valid checksum."""
    header["__metadata__"]["sha256"] = NO_DIGEST
    raw = json.dumps(header, separators=(",", ":")).encode()
    digest = hashlib.sha256(len(raw).to_bytes(8, "little") + raw + data).hexdigest()
    return len(raw).to_bytes(8, "little") + raw.replace(NO_DIGEST.encode(), digest.encode()) + data


def taken_apart(octets: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """Return the header, the description of the model, and the arrays of a file."""
    end = 8 + int.from_bytes(octets[:8], "little")
    header = json.loads(octets[8:end])
    return header, json.loads(header["__metadata__"]["model"]), octets[end:]


def record_of(described: Any, name: str) -> Any:
    """Return the first object of a class in a description."""
    return next(record for record in described["objects"] if record.get("class", "").rpartition(".")[2] == name)


def forged(octets: bytes, change: Callable[[Any], None]) -> bytes:
    """Change the description of a file, and update its checksum."""
    header, described, data = taken_apart(octets)
    change(described)
    header["__metadata__"]["model"] = json.dumps(described)
    return signed(header, data)


def with_array(octets: bytes, owner: str, part: str, values: NDArray[Any]) -> bytes:
    """The file with other numbers, another shape or type, for an array of the first object of a class, signed anew."""
    header, described, data = taken_apart(octets)
    place = record_of(described, owner)["state"][part]
    if "object" in place:  # a sparse matrix
        raise ValueError(f"{part} of {owner} is not an array")
    place["dtype"] = values.dtype.str
    header["__metadata__"]["model"] = json.dumps(described)
    return rewritten(header, data, place["array"], values)


def rewritten(header: dict[str, Any], data: bytes, name: str, values: NDArray[Any]) -> bytes:
    """Replace an array of a file."""
    pieces, place = [], 0
    for each, about in header.items():
        if each == "__metadata__":
            continue
        begin, end = about["data_offsets"]
        piece = np.ascontiguousarray(values).tobytes() if each == name else data[begin:end]
        if each == name:
            about["shape"], about["dtype"] = list(values.shape), code_of(values)
        about["data_offsets"] = [place, place + len(piece)]
        place += len(piece)
        pieces.append(piece)
    return signed(header, b"".join(pieces))
