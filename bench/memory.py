"""Peak memory of one contender beyond its input, measured in a process of its own.

The process makes the arrays, runs once on few rows so that libraries and compiled loops are loaded, resets the
kernel's high-water mark of resident memory, and runs. What the call returns counts; the input does not.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

WARM_UP_ROWS = 20_000
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_beyond_input(workload: str, task: str, contender: str, rows: int, threads: int) -> float | None:
    """Peak memory as a share of the bytes that are given; None where the system has no mark that can be reset."""
    if not CLEAR.exists():
        return None
    command = [sys.executable, "-m", "bench.memory", workload, task, contender, str(rows), str(threads)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peak_of(call: Callable[[], Any]) -> int:
    """Bytes by which resident memory rises at most while `call` runs, what it returns included."""
    _release_freed_memory()
    CLEAR.write_text("5")
    before = kilobytes("VmRSS")
    returned = call()
    beyond = kilobytes("VmHWM") - before
    del returned  # held until the mark was read
    return 1024 * beyond


def _share_of_input(workload_name: str, task: str, contender_name: str, rows: int, threads: int) -> float:
    import mercer

    workload = importlib.import_module(f"bench.{workload_name}").WORKLOAD
    race = workload.race(task)
    contender = race.contender(contender_name)
    with threadpool_limits(threads), mercer.engine(threads=threads):
        contender.prepare(workload.make_arrays(min(rows, WARM_UP_ROWS)))()
        arrays = workload.make_arrays(rows)
        return peak_of(contender.prepare(arrays)) / bytes_of(race.given(arrays))


def bytes_of(X: Any) -> float:
    """Size of an array, a sparse matrix, a frame, or the text of a list of strings, which may hold one many times."""
    if isinstance(X, list):
        return float(sum(len(text.encode()) for text in X))
    if hasattr(X, "indptr"):
        return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return float(X.memory_usage(deep=True).sum() if hasattr(X, "memory_usage") else X.nbytes)


def _release_freed_memory() -> None:
    """What the allocator holds from before would be used again without showing in the peak."""
    gc.collect()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):  # glibc
        trim(0)


def kilobytes(field: str) -> int:
    """What the kernel says of this process: VmRSS, or VmHWM for the most so far."""
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    name, task, contender, rows, threads = sys.argv[1:]
    print(_share_of_input(name, task, contender, int(rows), int(threads)))
