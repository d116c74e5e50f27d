"""The decorator: lazy, cached under the stamp of all sources, and never in the way."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mercer._jit
from mercer._jit import jit, wide_vectors
from mercer.families import Multinomial, Poisson
from mercer.stats import ColumnMoments, ColumnSums, ScatterMoments, ValueCounts, VectorSums
from tests._jit._process import HELPER, RUN, printed

WIDE = """
from mercer._jit import jit, wide_vectors

@jit
def caller(x):
    wide_vectors()
    return 20 * x
"""


def test_an_edit_in_one_file_reaches_the_cached_loops_of_others(package: Path) -> None:
    environment = {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(package / "cache")}
    assert json.loads(printed(RUN, **environment)) == [20.0, 0]
    assert json.loads(printed(RUN, **environment)) == [20.0, 1]  # the second process finds it in the cache
    (package / "mercer" / "_jit" / "helper.py").write_text(HELPER.format(constant=2.0))
    assert json.loads(printed(RUN, **environment)) == [30.0, 0]


def test_loops_compile_without_a_cache_folder(package: Path) -> None:
    no_place = "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []\n"
    assert json.loads(printed(no_place + RUN, PYTHONPATH=str(package))) == [20.0, 0]


def test_the_stamp_hashes_every_source(package: Path) -> None:
    stamp = "from mercer._jit import source_stamp; print(source_stamp())"
    stamps = [printed(stamp, PYTHONPATH=str(package))]
    folder = package / "mercer" / "_jit" / "folder"
    folder.mkdir()
    for new in (folder.parent / "new.py", folder / "new.py"):
        new.write_text("# a new file\n")
        stamps.append(printed(stamp, PYTHONPATH=str(package)))
    assert len({*stamps}) == 3


def printed_without_compilation(script: str) -> str:
    """Run a script without compilation, in a process that also finds this file."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "src"), *sys.path])
    return printed(script, NUMBA_DISABLE_JIT="1", PYTHONPATH=path)


def results() -> list[list[float]]:
    """Statistics that run through every loop for them, as plain numbers."""
    rng = np.random.default_rng(0)
    x, groups, weight = rng.poisson(3.0, (60, 3)) + 0.0, rng.integers(0, 2, 60).astype(np.int32), rng.uniform(size=60)
    gaps = np.where(x == 2, np.nan, x)
    return [
        np.ravel(array).tolist()
        for w in (None, weight)
        for array in (
            ColumnMoments.zero(2, 3).update(x, groups, w).variance,
            ColumnMoments.zero(2, 3).update(gaps, groups, w).variance,
            ScatterMoments.zero(2, 3).update(x, groups, w).covariance,
            ColumnSums.zero(Poisson(), 2, 3).update(gaps, groups, w).mean,
            ColumnSums.zero(Poisson(), 2, 3).update(sparse.csr_array(x), groups, w).mean,
            VectorSums.zero(Multinomial(), 2, 3).update(sparse.csr_array(x), groups, w).total,
            ValueCounts.zero(2, 3).update(gaps, groups, w).counts,
        )
    ]


def test_plain_python_gives_the_same_numbers() -> None:
    script = "import json; from tests._jit.test_jit import results; print(json.dumps(results()))"
    plain = json.loads(printed_without_compilation(script))
    for value, expected in zip(plain, results(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_statistics_are_imported_without_numba() -> None:
    path = os.pathsep.join([str(Path(mercer._jit.__file__).parents[2]), *sys.path])
    script = "import sys, mercer.stats, mercer.engines; print('numba' in sys.modules)"
    assert printed(script, PYTHONPATH=path).strip() == "False"


def test_the_plain_function_stays_available() -> None:
    @jit
    def twice(x: float) -> float:
        """Two of it."""
        return 2 * x

    assert twice.plain(3.0) == twice(3.0) == 6.0
    assert twice.__name__ == "twice"
    assert twice.__doc__ == "Two of it."


def test_sums_keep_nan_and_infinity() -> None:
    @jit
    def total(x: np.ndarray) -> float:
        result = 0.0
        for value in x:
            result += value
        return result

    assert np.isnan(total(np.array([1.0, np.nan] * 50)))
    assert np.isinf(total(np.array([1.0] * 99 + [np.inf])))


def dot(x: np.ndarray, y: np.ndarray) -> float:
    wide_vectors()
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


def test_wide_vectors_do_nothing_in_python() -> None:
    loop, x = jit(dot), np.arange(40.0)
    assert loop.plain(x, x) == loop(x, x) == x @ x


def test_wide_vectors_do_nothing_without_compilation() -> None:
    script = "from tests._jit.test_jit import dot, jit, np; print(jit(dot)(np.arange(4.0), np.ones(4)))"
    assert printed_without_compilation(script).strip() == "6.0"


def test_wide_vectors_use_the_full_width_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite import binding
    from numba.core.caching import CacheImpl

    if not binding.get_host_cpu_features().get("avx512f", False):
        pytest.skip("this machine has no vectors of 512 bits")
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])  # code from the cache cannot be inspected
    loop, x = jit(dot), np.arange(40.0)
    assert loop(x, x) == x @ x
    assert any("zmm" in code for code in loop.dispatcher.inspect_asm().values())


def test_loops_with_wide_vectors_are_cached(package: Path) -> None:
    shutil.copy(Path(mercer._jit.__file__).parent / "_wide.py", package / "mercer" / "_jit" / "_wide.py")
    (package / "mercer" / "_jit" / "caller.py").write_text(WIDE)
    environment = {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(package / "cache")}
    assert json.loads(printed(RUN, **environment)) == [20.0, 0]
    assert json.loads(printed(RUN, **environment)) == [20.0, 1]


FORKS = """
import os, signal, threading, time
from mercer._jit.caller import caller
from mercer._jit.helper import helper

helper(0.0)
compiling = threading.Thread(target=lambda: [caller(x) for x in (1.0, 1, 1j, True)])
compiling.start()
children = []
while compiling.is_alive():
    time.sleep(0.05)
    if (child := os.fork()) == 0:
        signal.alarm(20)
        os._exit(0 if helper(2.0) == 3.0 and helper(1j) == 1 + 1j else 3)
    children.append(child)
print({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children})
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only forked processes find locks of other threads")
def test_a_process_forked_while_a_thread_compiles_can_compile(package: Path) -> None:
    assert printed(FORKS, PYTHONPATH=str(package), NUMBA_CACHE_DIR=str(package / "cache")).strip() == "{0}"
