"""Loops compile in spite of any damage to the files of the cache, and damaged code is never run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests._jit._process import RUN, printed

SPOIL = """
import json, os, signal, sys
from pathlib import Path
import mercer._jit.caller
from mercer._jit.caller import caller
import numba

files = sorted(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb?"))
contents = {path: path.read_bytes() for path in files}
ways = {
    "empty": lambda content, other: b"",
    "cut off": lambda content, other: content[: len(content) // 2],
    "one bit": lambda content, other: content[:-20] + bytes([content[-20] ^ 1]) + content[-19:],
    "zeros": lambda content, other: bytes(len(content)),
    "that of another loop": lambda content, other: other,
    "a program": lambda content, other: b"cos\\n_exit\\n(I9\\ntR.",
}
reported = {}
for suffix in (".nbi", ".nbc"):
    for way, spoil in ways.items():
        chosen = [path for path in files if path.suffix == suffix]
        for path, other in zip(chosen, chosen[1:] + chosen[:1]):
            path.write_bytes(spoil(contents[path], contents[other]))
        if (child := os.fork()) == 0:
            signal.alarm(60)
            os._exit(0 if caller(1.0) == 20.0 else 3)
        reported[f"{way} {suffix}"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb?"):
            path.unlink()
        for path, content in contents.items():
            path.write_bytes(content)
print(json.dumps([len(files), reported]))
"""


def environment(package: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(package / "cache")}


def hits_after(package: Path) -> int:
    value, hits = json.loads(printed(RUN, **environment(package)))
    assert value == 20.0
    return int(hits)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each damage is tried in a forked process")
def test_damaged_files_are_not_read(package: Path) -> None:
    hits_after(package)
    count, reported = json.loads(printed(SPOIL, **environment(package)))
    assert count == 4  # an index and machine code of both loops
    assert set(reported.values()) == {0}, reported


def test_a_damaged_cache_is_mended(package: Path) -> None:
    hits_after(package)
    for path in (package / "cache").rglob("*.nb?"):
        path.write_bytes(path.read_bytes()[:-1])
    assert [hits_after(package), hits_after(package)] == [0, 1]
    assert len(list((package / "cache").rglob("*.nbc"))) == 2  # what nothing refers to is removed


FULL = """
import resource, signal, warnings
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
from mercer._jit.caller import caller
with warnings.catch_warnings(record=True) as reported:
    warnings.simplefilter("always")
    value = caller(1.0)
import json
print(json.dumps([value, [str(each.message) for each in reported]]))
"""


def test_a_full_disk_costs_a_warning(package: Path) -> None:
    pytest.importorskip("resource")
    value, reported = json.loads(printed(FULL, **environment(package)))
    assert value == 20.0
    assert [("cannot be kept" in each, "file too large" in each) for each in reported] == [(True, True)]
    assert not [path for path in (package / "cache").rglob("*") if path.is_file()]


OPEN = """
import json, warnings
from mercer._jit.caller import caller
with warnings.catch_warnings(record=True) as reported:
    warnings.simplefilter("always")
    caller(1.0)
print(json.dumps([str(each.message) for each in reported]))
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
def test_a_folder_that_others_write_to_is_named(package: Path) -> None:
    folder = package / "cache"
    folder.mkdir(mode=0o755)
    assert json.loads(printed(OPEN, **environment(package))) == []
    folder.chmod(0o777)
    (reported,) = json.loads(printed(OPEN, **environment(package)))
    assert f"Other users can write to {str(folder)!r}" in reported
