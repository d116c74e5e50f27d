"""Memory is needed for the matrix, the terms and a few blocks; not for the documents, nor for a second matrix."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

#: the peak memory of a process is available on Linux alone, and only if it may be reset
FORGET_PEAK = Path("/proc/self/clear_refs")

#: runs in its own process, in which no freed memory could be used again
MEASURED = """
import ctypes, gc, json, re
from pathlib import Path
import numpy as np
import mercer
from mercer.text import _compiled, _scanner

for function in (_scanner.in_blocks, _compiled.learn, _compiled._scan_blocks, _compiled.KnownTerms.matrix):
    defaults = tuple(1 << 19 if value == _scanner.BLOCK_BYTES else value for value in function.__defaults__)
    function.__defaults__ = defaults
_scanner.BUFFER_ENTRIES = 1 << 18
rng = np.random.default_rng(0)
letters = np.array(list("etaoinshrdlucmfwypvbgkqé"))
drawn = enumerate(rng.choice(letters, (20_000, 8)))
words = np.array(["".join(row[: 2 + place % 7]) for place, row in drawn], dtype=object)
ranks = np.exp(rng.random((80_000, 60)) * np.log(len(words))).astype(int) - 1
documents = [" ".join(words[row].tolist()) for row in ranks]
del ranks

def now(name):
    return 1024 * int(re.search(rf"{name}:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

def size(*arrays):
    return sum(array.nbytes for array in arrays)

def taken(call):
    call(documents[:2000])  # loops are loaded, tables of characters are made
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that is free already would be used first, and not be measured
    Path("/proc/self/clear_refs").write_text("5")
    before = now("VmRSS")
    X = call(documents)
    return {"taken": now("VmHWM") - before, "matrix": size(X.data, X.indices, X.indptr), "terms": X.shape[1]}

known = mercer.CountVectorizer().fit(documents[:2000])
calls = {
    "count": lambda given: mercer.CountVectorizer().fit_transform(given),
    "hash": lambda given: mercer.HashingVectorizer().transform(given),
    "known": lambda given: known.transform(given),
    "pairs": lambda given: mercer.CountVectorizer(ngram_range=(1, 2)).fit_transform(given[:20_000]),
}
with mercer.engine(threads=2):
    print(json.dumps({name: taken(call) for name, call in calls.items()}))
"""


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    try:
        FORGET_PEAK.write_text("5")
        assert ctypes.CDLL(None).malloc_trim(0) in (0, 1)
    except (OSError, AttributeError, TypeError):
        pytest.skip("this system does not measure peak memory")
    # pyarrow's own allocator keeps a few megabytes of freed memory for a while, whatever the number of documents
    settings = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    call = [sys.executable, "-c", MEASURED]
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=settings)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


#: for blocks, and what allocators keep
FEW_BLOCKS = 16 << 20


@pytest.mark.parametrize("name", ["count", "hash", "known"])
def test_a_matrix_takes_no_more_than_itself_and_a_few_blocks(measured: dict[str, Any], name: str) -> None:
    one = measured[name]
    assert one["matrix"] > 40 << 20
    assert one["taken"] < one["matrix"] + FEW_BLOCKS


def test_pairs_take_less_than_a_hundred_bytes_each_besides_their_matrix(measured: dict[str, Any]) -> None:
    """About 40 bytes remain for each: its letters, their offset, documents and occurrences."""
    one = measured["pairs"]
    assert one["taken"] < one["matrix"] + 100 * one["terms"] + FEW_BLOCKS
