"""Tables that are not plain files: standard input, files in a zip archive, files compressed by xz.

They are copied to a temporary file of the same name, which all readers accept and which is removed when Python exits.
Formats that pyarrow decompresses (gzip, bz2, zstd, lz4) are not copied, except from standard input.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import IO, Any
from weakref import WeakKeyDictionary

from mercer._errors import DataError, EmptyDataError
from mercer._memory import check_memory
from mercer._optional import require
from mercer._suggest import did_you_mean, listed

#: the path of standard input
STANDARD_INPUT = "-"
#: the name of standard input in sentences
STANDARD_INPUT_NAME = "standard input"
#: compressions by the first bytes of a file
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
#: endings of binary files by their first bytes
BINARY = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",
    b"SQLite format 3\x00": ".sqlite",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ".xls",
}
#: endings of workbooks, which are zip archives, by a file in them
WORKBOOKS = {"xl/workbook.xml": ".xlsx", "xl/workbook.bin": ".xlsb", "content.xml": ".ods"}
#: number of bytes that are copied at once
UNPACKED_BLOCK_BYTES = 1 << 22


def plain_file(path: str | os.PathLike[str]) -> Path:
    """Return the file to read in place of `path`: itself, or a temporary copy of its contents.

    `path` may be "-" (standard input), a zip archive with one file of data, the path of a file inside an archive
    (`archive.zip/train.csv`), or a file compressed by xz.
    """
    if str(path) == STANDARD_INPUT:
        return copied_input()
    path = Path(path)
    if (archive := archive_of(path)) is not None:
        return _copied(archive, str(path.relative_to(archive).as_posix()), file_version(archive))
    if path.suffix.lower() in (".zip", ".xz") and path.is_file():
        return _copied(path, None, file_version(path))
    return path


def archive_of(path: Path) -> Path | None:
    """Return the zip archive that contains the file; None if `path` is not in one."""
    return next((parent for parent in path.parents if parent.suffix.lower() == ".zip" and parent.is_file()), None)


#: copies of what was read from standard input, which can be read once
_inputs: WeakKeyDictionary[Any, Path] = WeakKeyDictionary()


def copied_input() -> Path:
    """Return a temporary file of all of standard input, with an ending by its content."""
    if sys.stdin not in _inputs:
        _inputs[sys.stdin] = _copy_input()
    return _inputs[sys.stdin]


def _copy_input() -> Path:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise DataError(
            "Standard input (-) is a terminal, not a table. Redirect a table to it, as in `mercer compare - --target y "
            "< table.csv`."
        )
    raw = _folder() / STANDARD_INPUT_NAME
    with raw.open("wb") as file:
        _copy(stream, file, STANDARD_INPUT_NAME, bounded=False)
    if not raw.stat().st_size:
        raise EmptyDataError(
            "Standard input is empty. Redirect a table to it, as in `mercer compare - --target y < table.csv`."
        )
    while (kind := compression_of(raw)) is not None and not (kind == "zip" and workbook_ending(raw)):
        inside = _unzipped(raw, None) if kind == "zip" else _decompressed(raw, kind, raw.name)
        if inside.suffix:  # a file of an archive, whose format follows from its ending
            return inside
        raw = inside
    return raw.rename(raw.with_name(f"{STANDARD_INPUT_NAME}{ending_by_content(raw) or '.csv'}"))


def compression_of(path: Path) -> str | None:
    """Return the compression of a file by its first bytes; None if it is not compressed."""
    start = _start(path)
    return next((kind for magic, kind in COMPRESSED.items() if start.startswith(magic)), None)


def ending_by_content(path: Path) -> str | None:
    """Return an ending by the content of a file; None for text that may be CSV."""
    start = _start(path)
    for magic, ending in BINARY.items():
        if start.startswith(magic):
            return ending
    if start[8:12] == b"DUCK":
        return ".duckdb"
    if compression_of(path) == "zip":
        return workbook_ending(path)
    return ".json" if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[") else None


def workbook_ending(path: Path) -> str | None:
    """Return the ending of a workbook of Excel or LibreOffice, which is a zip archive; None for other archives."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return None
    return next((ending for name, ending in WORKBOOKS.items() if name in names), None)


@cache
def _copied(path: Path, member: str | None, version: tuple[int, ...]) -> Path:
    """Return the temporary copy of a file in an archive, one for each version of the archive."""
    if path.suffix.lower() == ".zip":
        return _unzipped(path, member)
    return _decompressed(path, "xz", path.stem)


def _unzipped(path: Path, member: str | None) -> Path:
    try:
        with zipfile.ZipFile(path) as archive:
            chosen = _chosen(path, [each.filename for each in archive.infolist() if not each.is_dir()], member)
            entry = archive.getinfo(chosen)
            check_memory(entry.file_size, f"{chosen!r} in {path.name!r}, unpacked,", _UNPACK)
            copy = _folder() / Path(chosen).name
            with archive.open(entry) as inside, copy.open("wb") as file:
                _copy(inside, file, path.name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as failure:
        encrypted = "encrypt" in str(failure)
        raise DataError(
            f"{path.name!r} cannot be unpacked: {failure}. "
            + ("Unpack it with its password, and name the file." if encrypted else "Fetch the complete zip archive.")
        ) from None
    return _unpacked_again(copy)


def _unpacked_again(copy: Path) -> Path:
    """Return the file itself, or its contents if it is compressed as well."""
    return _decompressed(copy, "xz", copy.stem) if copy.suffix.lower() == ".xz" else copy


def _chosen(path: Path, files: list[str], member: str | None) -> str:
    """Return the named file of an archive, or the only one with data."""
    if member is not None:
        if member not in files:
            raise DataError(f"There is no file {member!r} in {path.name!r}. {did_you_mean(member, files)}")
        return member
    from mercer.data.readers.opening import is_data

    data = [name for name in files if not _is_hidden(name)]
    data = [name for name in data if is_data(Path(name))] or data
    if not data:
        raise EmptyDataError(f"{path.name!r} is an archive without files.")
    if len(data) > 1:
        example = f"{path.name}/{data[0]}"
        raise DataError(f"{path.name!r} has several files: {listed(data)}. Name one of them, as in {example!r}.")
    return data[0]


def _is_hidden(name: str) -> bool:
    """Return whether a file is one that operating systems add to archives."""
    parts = Path(name).parts
    return any(part.startswith(".") for part in parts) or parts[0] == "__MACOSX"


def _decompressed(path: Path, kind: str, name: str) -> Path:
    """Return a temporary file called `name` with the contents of a compressed file."""
    import pyarrow as pa

    if kind == "xz":
        lzma = require("lzma", purpose="Reading a file compressed by xz")  # missing in some builds of Python
        stream, failure_of_kind = lzma.open(path), lzma.LZMAError
    else:
        stream, failure_of_kind = pa.CompressedInputStream(pa.OSFile(str(path)), kind), pa.ArrowException
    copy = _folder() / name
    try:
        with stream as inside, copy.open("wb") as file:
            _copy(inside, file, path.name)
    except (failure_of_kind, EOFError, OSError) as failure:
        raise DataError(f"{path.name!r} cannot be decompressed: {failure}. Fetch the complete {kind} file.") from None
    return copy


#: the remedy for contents that do not fit into memory
_UNPACK = "unpack it, and name the file; `mercer fit --stream` reads files that do not fit into memory"


def _copy(stream: IO[bytes] | Any, file: io.BufferedIOBase | Any, name: str, *, bounded: bool = True) -> None:
    """Copy all bytes, and raise an error if they exceed memory; the declared size may be wrong."""
    copied = 0
    while block := stream.read(UNPACKED_BLOCK_BYTES):
        copied += len(block)
        if bounded:
            check_memory(copied, f"{name!r}, unpacked,", _UNPACK)
        try:
            file.write(block)
        except OSError as failure:
            raise DataError(
                f"{name!r} does not fit into {tempfile.gettempdir()!r}: {failure.strerror}. Free some space, or set "
                "TMPDIR."
            ) from None


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="mercer-", ignore_cleanup_errors=True)


def _folder() -> Path:
    """Return a new folder, so that a copy has the name of its file."""
    return Path(tempfile.mkdtemp(dir=_temporary().name))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)


def file_version(path: str | os.PathLike[str]) -> tuple[int, int, int, int]:
    """Return values that change with a file: its size, the times of modification and of status change, and the inode.

    The last two change if another file of the same size and modification time is moved to the path.
    """
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns
