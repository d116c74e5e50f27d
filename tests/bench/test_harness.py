"""Tests of races: measured calls, ratios, and the comparison of answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from bench import memory
from bench.__main__ import WORKLOADS
from bench.harness import Contender, Options, Race, Workload, largest_difference, measure

RIVALS = ("KDEpy", "celer", "glum", "grakel", "skglm", "sklearnex", "statsmodels")


class Numbers(NamedTuple):
    X: np.ndarray[Any, Any]


def toy_workload(error: float) -> Workload:
    ours = Contender("mercer", lambda data: lambda: data.X.sum())
    rival = Contender("rival", lambda data: lambda: data.X.sum() + error, reach=2)
    race = Race("sum", ours, (rival,), lambda total, data: {"total": np.asarray(total)})
    return Workload("toy", "1", 10, lambda rows: Numbers(np.arange(rows)), (race,))


def test_one_warm_up_call_and_five_measured_calls() -> None:
    calls: list[int] = []
    measured = measure(Contender("counted", lambda data: lambda: calls.append(1)), None)
    assert len(calls) == 6
    assert measured.seconds >= 0


def test_preparation_happens_once() -> None:
    prepared: list[int] = []

    def prepare(data: Any) -> Any:
        prepared.append(1)
        return lambda: None

    measure(Contender("counted", prepare), None)
    assert prepared == [1]


@pytest.mark.parametrize(("error", "counts"), [(0.0, True), (1e-3, False)])
def test_a_ratio_counts_only_if_the_answers_agree(error: float, counts: bool) -> None:
    (outcome,) = toy_workload(error).run(Options(threads=1, memory=False)).outcomes
    assert (outcome.ratio is not None) == counts
    assert outcome.rival == "rival"
    assert outcome.reach == 2


def test_rows_can_be_fewer_than_the_workload_has() -> None:
    assert toy_workload(0.0).run(Options(threads=1, rows=3, memory=False)).size == "3 × 1"


def test_differences_are_relative_for_large_numbers_and_absolute_for_small_ones() -> None:
    ours, theirs = {"a": np.array([1e6 + 1, 0.5])}, {"a": np.array([1e6, 0.5 + 1e-7])}
    assert largest_difference(ours, theirs) == pytest.approx(1e-6)


def test_a_missing_number_is_a_difference() -> None:
    ours, theirs = {"a": np.ones(2), "b": np.array([1.0, np.nan])}, {"a": np.ones(2), "b": np.ones(2)}
    assert not largest_difference(ours, theirs) <= 1e-8


def test_results_of_different_names_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="different results"):
        largest_difference({"a": np.zeros(1)}, {"b": np.zeros(1)})


@pytest.mark.skipif(not memory.CLEAR.exists(), reason="the system has no high-water mark that can be reset")
def test_peak_memory_includes_what_is_freed_later() -> None:
    megabytes = 64
    peak = memory.peak_of(lambda: np.ones(megabytes << 17).sum())
    assert peak == pytest.approx(megabytes << 20, rel=0.2)


def test_memory_is_not_measured_if_a_race_names_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def peak(workload: str, task: str, contender: str, rows: int, threads: int) -> float:
        measured.append(f"{task} {contender} {rows}")
        return 0.5

    monkeypatch.setattr("bench.harness.peak_beyond_input", peak)
    workload = toy_workload(0.0)
    (outcome,) = workload.run(Options(threads=1)).outcomes
    (unseen,) = replace(workload, races=(replace(workload.races[0], given=None),)).run(Options(threads=1)).outcomes
    assert measured == ["sum mercer 10", "sum rival 10"]
    assert (outcome.memory, unseen.memory, unseen.rival_memory) == (0.5, None, None)


def test_text_is_as_large_as_its_bytes() -> None:
    assert memory.bytes_of(["four", "é", "é"]) == 8
    assert memory.bytes_of(np.zeros(3)) == 24


def test_the_process_that_measures_memory_finds_the_race_of_a_size() -> None:
    pytest.importorskip("sklearnex", reason="a rival is not installed: the extra `bench` has it")
    from bench.svc_scaling import WORKLOAD

    race = WORKLOAD.race("fit 2,000 rows")
    assert [race.contender(name).name for name in ("mercer", "scikit-learn (libsvm)")]
    assert race.given is not None
    assert race.given(WORKLOAD.make_arrays(20)).shape == (20, 40)


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_has_a_file(name: str) -> None:
    import importlib

    try:
        workload = importlib.import_module(f"bench.{name}").WORKLOAD
    except ModuleNotFoundError as missing:
        if missing.name not in RIVALS:
            raise
        pytest.skip(f"a rival is not installed: {missing.name} (the extra `bench` has it)")
    assert workload.name == name
