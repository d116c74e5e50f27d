"""Forged files of every kind of model: no process goes down or hangs, and methods answer or explain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.files._tags import classes_by_tag
from tests.fuzz.conftest import MINUTES, SEED
from tests.fuzz.forge import OUT_OF_BOUNDS

ROOT = Path(__file__).parents[2]
#: mutations in `make test`, and those that a process makes in a minute of `make fuzz`
FEW, EACH_MINUTE = 2_000, 2_000
#: outcomes of a file that count as failures
FINDS = ("foreign", "crashed", "hung")


#: storable classes that no example holds, by the reason
UNREACHED = {
    "holds pieces of a linear form, which no file holds": """
        LinearForm
        StatisticMap
    """,
    "holds a class, which is not a value of a file": """
        sklearn.model_selection.RepeatedKFold
        sklearn.model_selection.RepeatedStratifiedKFold
    """,
    "holds eigenvalues that no file holds": """
        TunedKernel
    """,
}


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked, and their memory is bounded as Linux has it")
def test_forged_files_are_rejected_or_give_predictions(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count = int(EACH_MINUTE * MINUTES / 4) if MINUTES else FEW
    seed = SEED if MINUTES else "0"
    record = tmp_path / "found.json"
    result = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.forge", str(count), "--seed", seed, "--workers", "2", "--json", str(record)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert record.exists(), result.stderr
    found = json.loads(record.read_text())
    outcomes: Counter[str] = sum(map(Counter, found["counts"].values()), Counter())
    for each in FINDS:
        outcomes["find"] += outcomes.pop(each, 0)
    counts = {"outcomes": dict(+outcomes), "slowest": found["slowest"], "seconds": found["seconds"]}
    request.node.user_properties.append(("fuzz", counts))  # as `campaign` has it
    assert found["finds"] == [], f"seed {seed}: {result.stdout}"
    assert found["mutations"] == count
    assert found["skipped"] == {}
    assert found["uncalled"] == []  # give their parameters arguments in `forge._arguments`
    listed = {name for several in UNREACHED.values() for name in several.split()}
    assert classes_by_tag().keys() - set(found["classes"]) == listed


def test_an_index_out_of_bounds_is_found_where_loops_check_them(tmp_path: Path) -> None:
    """`--bounds` relies on numba's variable and on the message of its error."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from mercer._jit import jit\n"
        "@jit\n"
        "def at(values, i):\n"
        "    return values[i]\n"
        "at(np.zeros(3), 10)\n"
    )
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, script], env=os.environ | checked, capture_output=True, text=True, check=False
    )
    assert ended.stderr.strip().endswith(f"IndexError: {OUT_OF_BOUNDS}")
