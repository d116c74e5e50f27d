"""Fits of a file that is five times larger than the permitted memory."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

COLUMNS, GROUPS, GROUP_ROWS = 20, 110, 1 << 15
#: bytes of the file, and what the process may take beyond what libraries and compiled loops have
SIZE = COLUMNS * GROUPS * GROUP_ROWS * 8
BOUND = SIZE // 5

FIT = """
import resource, sys
import numpy as np
import mercer, mercer.data
from mercer.data.sources.memory import MemorySource

model = getattr(mercer, sys.argv[1])
rows = 4096
with mercer.engine(threads=2):
    few = mercer.data.open(sys.argv[2], target="y", rows=rows)
    model().fit(MemorySource(few.head().X, few.head().y, rows=1000))  # libraries are loaded, loops compiled
    status = dict(line.split(":") for line in open("/proc/self/status"))
    taken = 1024 * int(status["VmData"].split()[0])
    resource.setrlimit(resource.RLIMIT_DATA, (taken + int(sys.argv[3]),) * 2)
    fitted = model().fit(few)
    try:
        np.ones(int(sys.argv[4]) // 8)  # the bound is one
    except MemoryError:
        print(fitted.plan_.passes, "passes")
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "rows.parquet"
    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(GROUPS):
            X = rng.standard_normal((GROUP_ROWS, COLUMNS))
            y = (X[:, 0] + rng.standard_normal(GROUP_ROWS) > 0).astype(float)
            writer.write_table(pa.table([*X.T, y], schema=schema))
    yield path
    path.unlink()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such bound")
@pytest.mark.parametrize("name", ["GaussianNB", "LogisticRegression"])
def test_memory_stays_below_a_bound(file, name):
    assert file.stat().st_size > 5 * BOUND
    arguments = [sys.executable, "-c", FIT, name, str(file), str(BOUND), str(SIZE)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.endswith("passes\n")
