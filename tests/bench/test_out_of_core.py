"""Contenders that read a folder: three calls after a warm-up, of which the median counts, and peaks of processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench import out_of_core


def test_the_median_of_three_calls_counts_after_a_warm_up_on_the_first_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[Path] = []

    def contender(folder: Path) -> list[float]:
        read.append(folder)
        # of the warm-up, and of one call that something disturbed
        out_of_core.TOLD["seconds"] = [100.0, 2.0, 50.0, 3.0][len(read) - 1]
        return [7.0]

    monkeypatch.setitem(out_of_core.CONTENDERS, "counted", contender)
    result = out_of_core._in_this_process("counted", tmp_path, threads=1)
    assert read == [tmp_path / "part-0000.parquet", tmp_path, tmp_path, tmp_path]
    assert result["seconds"] == 3.0
    assert result["answer"] == [7.0]


def test_peaks_of_both_processes_are_reported_without_a_first_call() -> None:
    found: dict[str, Any] = {
        "ours": {"seconds": 1.0, "answer": [1.0], "peak": 5e8},
        "theirs": {"seconds": 2.0, "answer": [1.0], "peak": 7e8},
    }
    outcome = out_of_core.WORKLOAD._outcome(found, "fit", "ours", "theirs", "rival", 5, 1e-6)
    assert (outcome.memory, outcome.rival_memory, outcome.whole_process) == (5e8, 7e8, True)
    assert outcome.first_call is None
