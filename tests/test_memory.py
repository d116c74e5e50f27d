"""Tests of the available memory: the smallest limit of the machine and of the control groups of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mercer import _memory as memory
from mercer._errors import DataError, TooLargeError
from mercer._memory import available_bytes, check_memory


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with 1000 KiB left and no other limits."""
    monkeypatch.setattr(memory, "PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "CGROUPS", tmp_path / "cgroup")
    write(tmp_path, {"proc/meminfo": "MemTotal: 5000 kB\nMemAvailable: 1000 kB\n"})
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_the_available_memory_is_read_from_the_system(machine: Path) -> None:
    assert available_bytes() == 1000 * 1024


def test_the_tightest_limit_of_a_cgroup_counts_and_its_cache_does_not(machine: Path) -> None:
    files = {"memory.max": "5000\n", "memory.current": "4000\n", "memory.stat": "anon 100\ninactive_file 300\n"}
    write(machine, {f"cgroup/job/{name}": text for name, text in files.items()})
    write(machine, {"proc/self/cgroup": "0::/job/step\n", "cgroup/job/step/memory.max": "max\n"})
    assert available_bytes() == 1300


def test_version_1_of_cgroups_and_a_path_of_the_host(machine: Path) -> None:
    files = {"memory.limit_in_bytes": "900", "memory.usage_in_bytes": "200", "memory.stat": ""}
    write(machine, {f"cgroup/memory/{name}": text for name, text in files.items()})
    write(machine, {"proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/f00\n"})
    assert available_bytes() == 700


def test_without_proc_a_system_call_is_used(machine: Path) -> None:
    (machine / "proc/meminfo").unlink()
    assert available_bytes() > 2**20


def test_many_small_requests_share_one_reading(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading takes as long as a small fit, so that it is reused for a short time."""
    now = [100.0]
    monkeypatch.setattr(memory.time, "monotonic", lambda: now[0])
    assert available_bytes() == 1000 * 1024
    write(machine, {"proc/meminfo": "MemAvailable: 10 kB\n"})
    now[0] += 0.5 * memory.READING_SECONDS
    assert available_bytes() == 1000 * 1024
    now[0] += 0.6 * memory.READING_SECONDS
    assert available_bytes() == 10 * 1024


def test_a_request_that_does_not_fit_is_rejected_with_the_sizes(machine: Path) -> None:
    check_memory(900 * 1024, "a small thing", "")
    with pytest.raises(TooLargeError, match=r"a large thing needs 2 GB of memory, but 0.00102 GB are left; halve it\."):
        check_memory(2e9, "a large thing", "halve it")


def test_the_error_is_caught_as_either_kind() -> None:
    assert issubclass(TooLargeError, DataError)
    assert issubclass(TooLargeError, MemoryError)


LIMITED = """
import resource
import sys
from mercer._memory import available_bytes

size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(getattr(resource, sys.argv[1]), (size + 2**30, resource.RLIM_INFINITY))
print(available_bytes())
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="nothing tells how much the process has")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_counts(limit: str) -> None:
    result = subprocess.run([sys.executable, "-c", LIMITED, limit], check=True, capture_output=True, text=True)
    assert int(result.stdout) <= (2**30 if limit == "RLIMIT_AS" else 2**31)
