"""Geometric means over workloads of equal weight, the fastest rival of each task, and the names of missed targets."""

from __future__ import annotations

import pytest

from bench.overall import hardest, is_scikit_learn, lines, ratios, sentence
from bench.results import Outcome, Report, Timing


def outcome(task: str, rival: str, faster: float, *, reach: float | None = None, difference: float = 0.0) -> Outcome:
    return Outcome(task, rival, 1.0, 1.0, faster, reach, difference, None, None)


RACES = [
    Report(
        "ridge",
        "10 × 2",
        "somewhere",
        (
            outcome("fit", "scikit-learn svd", 8.0, reach=5),
            outcome("fit", "scikit-learn lsqr", 4.0),
            outcome("fit", "scikit-learn-intelex", 2.0, reach=3),
            outcome("fit", "wrong", 0.5, difference=1.0),
            outcome("predict", "scikit-learn svd", 16.0),
        ),
    ),
    Report("kde", "10 × 2", "somewhere", (outcome("fit", "scikit-learn", 27.0), outcome("fit", "KDEpy", 8.0))),
]


def test_the_strongest_rival_is_the_fastest_with_the_same_answer() -> None:
    assert [one.rival for one in hardest(RACES[0].outcomes)] == ["scikit-learn-intelex", "scikit-learn svd"]
    assert [one.rival for one in hardest(RACES[0].outcomes, is_scikit_learn)] == [
        "scikit-learn lsqr",
        "scikit-learn svd",
    ]


def test_a_workload_counts_once_however_many_tasks_it_has() -> None:
    assert ratios(RACES, is_scikit_learn) == pytest.approx({"ridge": 8.0, "kde": 27.0})  # √(4·16), 27


def test_the_mean_of_workloads_and_the_minimum_of_tasks_are_reported() -> None:
    ours, best = lines(RACES)
    assert ours[1:] == ("2", "14.7×", "4.0× (ridge: fit)")  # √(8·27)
    assert best[1:] == ("2", "6.7×", "2.0× (ridge: fit)")  # √(√(2·16)·8)


def test_missed_targets_are_named() -> None:
    assert sentence(RACES) == "1 of 2 targets were met; missed: ridge: fit (scikit-learn-intelex)."


def test_exceeded_limits_are_named() -> None:
    timings = (Timing("cold start", 0.2, 0.3), Timing("on two workers", 5.0, 4.0), Timing("reading", 3.0))
    text = sentence([Report("startup", "1 × 1", "a machine", timings=timings)])
    assert text.endswith("1 of 2 limits were met; exceeded: startup: on two workers.")
