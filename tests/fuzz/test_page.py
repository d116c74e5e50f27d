"""Tests of the page of counts: it describes a run without failures and has every estimator."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest

from tests.fuzz._page import PAGE, written
from tests.fuzz.conftest import Campaign
from tests.fuzz.test_estimators import SUBJECTS

LAW = "test_estimators.py::test_any_input_is_fitted_or_rejected[Ridge]"


def record(**outcomes: int) -> dict[str, Any]:
    return {"tests": {LAW: {"outcomes": outcomes, "slowest": 0.5, "seconds": 60}}}


def test_every_estimator_has_rows() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for subject in SUBJECTS:
        assert sum(line.startswith(f"| `{subject.name}` |") for line in lines) == 2, subject.name


def test_inputs_of_a_law_are_counted_by_outcome() -> None:
    page = written(record(fitted=1200, rejected=34))
    assert "1,234 random inputs in 1 minutes" in page
    assert "| `Ridge` | 1,234 | 1,200 | 34 | 0.50 |" in page


def test_certificates_of_all_estimators_have_one_row() -> None:
    tests = {
        f"test_certificates.py::test_no_lower_objective_is_found[{name}]": {
            "outcomes": {"held": held, "does not hold": 5, "rejected": 2},
            "slowest": held / 100,
            "seconds": 60,
        }
        for name, held in (("lasso", 10), ("svc", 30))
    }
    page = written({"tests": tests})
    assert "54 random inputs in 2 minutes" in page
    assert "| certificates: no lower objective is found | 54 | 40 | 4 | 0.30 |" in page


def test_forged_files_have_a_row() -> None:
    counts = {"outcomes": {"rejected": 60, "built": 38, "guarded": 2}, "slowest": 1.5, "seconds": 60}
    page = written({"tests": {"test_forged_files.py::test_forged_files_are_rejected_or_give_predictions": counts}})
    assert "| forged files: forged files are rejected or give predictions | 100 | 40 | 60 | 1.50 |" in page


@pytest.mark.parametrize("find", [AssertionError, pytest.fail.Exception])
def test_every_kind_of_failure_is_counted(find: type[BaseException]) -> None:
    def law(value: int) -> str:
        raise find("no")

    campaign = Campaign(0.0)
    with pytest.raises(find, match="no"):
        campaign(law, st.integers())
    assert campaign.outcomes == {"find": 1}


def test_open_failures_are_rejected_and_repeated_runs_replace_them() -> None:
    with pytest.raises(SystemExit, match="Ridge"):
        written(record(fitted=5, find=1))
    assert "| `Ridge` | 70 | 70 | 0 |" in written(record(fitted=5, find=1), record(fitted=70))
