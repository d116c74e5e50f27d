"""Available memory, so that too large requests raise an error before the allocation instead of being killed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mercer._errors import TooLargeError

#: the information about processes on Linux
PROC = Path("/proc")
#: the control groups on Linux
CGROUPS = Path("/sys/fs/cgroup")
#: names of the limit, the used memory and the part of it that is only cache, for both versions of cgroups
VERSIONS = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
#: the share of the available memory that one request may take, because the process needs some for everything else
MAX_MEMORY_SHARE = 0.95
#: seconds for which a reading is reused, because it takes a good part of the time of a small fit
READING_SECONDS = 0.1


class _MemoryReading(NamedTuple):
    """The available memory with the time of the reading and the folders that were read."""

    left: int
    at: float
    places: tuple[Path, Path]


_last: _MemoryReading | None = None


def available_bytes() -> int:
    """Return the bytes that this process can still allocate within the limits of machine, container and process."""
    global _last
    now, last = time.monotonic(), _last
    if last is None or now - last.at > READING_SECONDS or last.places != (PROC, CGROUPS):
        _last = last = _MemoryReading(min([_of_machine(), *_of_groups(), *_of_limits()]), now, (PROC, CGROUPS))
    return last.left


def check_memory(needed: float, what: str, instead: str) -> None:
    """Raise `TooLargeError` if the needed bytes are not available; `what` needs them, `instead` is the remedy.

    Examples
    --------
    >>> check_memory(1e18, "a kernel matrix of 350,000,000 rows", "use the Nyström method")
    Traceback (most recent call last):
        ...
    mercer._errors.TooLargeError: a kernel matrix of 350,000,000 rows needs 1e+09 GB of memory, but ... GB are left; use the Nyström method.
    """  # noqa: E501
    left = available_bytes()
    if needed > MAX_MEMORY_SHARE * left:
        raise TooLargeError(f"{what} needs {gigabytes(needed)} of memory, but {gigabytes(left)} are left; {instead}.")


def gigabytes(size: float) -> str:
    """Return a number of bytes as text, in units of 10⁹."""
    return f"{size / 1e9:.3g} GB"


def _of_machine() -> int:
    for line in _lines(PROC / "meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf, macOS no such name
        return sys.maxsize


def _of_groups() -> Iterator[int]:
    """Yield the available memory of each control group of this process: its own and its parents."""
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers in VERSIONS:
            own = CGROUPS / controllers / path.lstrip("/")
            # in a container, the path is that of the host, and the group of the container is the visible root
            for folder in (own, *(parent for parent in own.parents if CGROUPS in (parent, *parent.parents))):
                yield from _of_group(folder, *VERSIONS[controllers])


def _of_group(folder: Path, limit: str, used: str, cache: str) -> Iterator[int]:
    most, now = _number(folder / limit), _number(folder / used)
    if most is not None and now is not None:
        spare = [int(line.split()[1]) for line in _lines(folder / "memory.stat") if line.startswith(f"{cache} ")]
        yield max(0, most - now + sum(spare))


def _of_limits() -> Iterator[int]:
    """Yield the rest of the address space and of the data segment of the process (`ulimit -v`, `ulimit -d`)."""
    try:
        import resource
    except ImportError:  # on Windows
        return
    # in pages: size, resident, shared, text, lib, data
    pages = [int(field) for line in _lines(PROC / "self" / "statm") for field in line.split()]
    for limit, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY and len(pages) > field:
            yield max(0, most - pages[field] * resource.getpagesize())


def _number(file: Path) -> int | None:
    text = "".join(_lines(file)).strip()
    return int(text) if text.isdigit() else None  # "max" means that there is no limit


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
