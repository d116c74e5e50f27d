"""Tests of the time limit of a comparison."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from mercer import KernelRidge, Ridge
from mercer._errors import DataError, FitInterrupted
from mercer.comparison import compare, time_limit
from mercer.comparison.time_limit import Budget, OutOfTime, estimate_seconds

X, Y = load_iris(return_X_y=True)
timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that rings")


class Clock:
    """Clock that advances during fits."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class Taking(GaussianNB):  # type: ignore[misc]
    """Model whose fit takes the given number of seconds."""

    clock = Clock()

    def __init__(self, seconds: float = 1.0) -> None:
        super().__init__()
        self.seconds = seconds

    def fit(self, X: Any, y: Any) -> Any:
        Taking.clock.now += self.seconds
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    Taking.clock = Clock()
    monkeypatch.setattr(time_limit, "now", Taking.clock)
    monkeypatch.setattr("mercer.comparison._cross_validation.now", Taking.clock)


def test_models_that_would_exceed_the_limit_are_left_out_and_noted() -> None:
    models = {"quick": Taking(1.0), "long": Taking(10.0), "late": Taking(1.0)}
    comparison = compare(X, Y, models=models, cv=5, time_limit=20)
    assert comparison.names == ["quick", "late"]
    assert "Left out to keep the time limit of 20 s: long (1 of 5 splits done; the others would take 40 s more)." in (
        comparison.notes
    )
    assert comparison.seconds == 20.0


class Compiling(Taking):
    """Takes thirty seconds more for the first fit of all."""

    compiled = False

    def fit(self, X: Any, y: Any) -> Any:
        Taking.clock.now += 0.0 if Compiling.compiled else 30.0
        Compiling.compiled = True
        return super().fit(X, y)


def test_compilation_in_the_first_fit_does_not_count_for_later_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Compiling, "compiled", False)
    comparison = compare(X, Y, models={"first": Compiling(1.0)}, cv=5, time_limit=100)
    assert comparison.names == ["first"]
    assert comparison.seconds == 35.0


def test_a_second_split_as_slow_as_the_first_ends_the_fits_of_a_model() -> None:
    comparison = compare(X, Y, models={"long": Taking(20.0), "late": Taking(1.0)}, cv=5, time_limit=60)
    assert comparison.names == ["late"]
    assert "long (2 of 5 splits done; the others would take 60 s more)" in comparison.notes[-1]


def test_models_that_were_not_begun_are_noted() -> None:
    comparison = compare(X, Y, models={"all": Taking(2.0), "none": Taking(1.0)}, cv=5, time_limit=10)
    assert comparison.names == ["all"]
    assert "none (not begun)" in comparison.notes[-1]


def test_without_a_limit_every_model_is_fitted() -> None:
    assert compare(X, Y, models={"a": Taking(1e6)}, cv=2).names == ["a"]


def test_no_finished_model_is_an_error_with_a_remedy() -> None:
    with pytest.raises(DataError, match=r"no model was done within 5 s.*time_limit"):
        compare(X, Y, models={"a": Taking(100.0)}, cv=2, time_limit=5)


class Overrun(Taking):
    """Is still being fitted when the alarm rings, which a solver turns into an interruption of its own."""

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        try:
            signal.raise_signal(signal.SIGALRM)
        except KeyboardInterrupt:
            raise FitInterrupted("stopped by the user; the best so far is kept.") from None


@timers
def test_a_fit_that_exceeds_the_limit_is_stopped_and_noted() -> None:
    models = {"quick": Taking(1.0), "long": Overrun(30.0), "late": Taking(1.0)}
    comparison = compare(X, Y, models=models, cv=2, time_limit=20)
    assert comparison.names == ["quick"]
    note = "long (cut short when the time was up), late (not begun)"
    assert f"Left out to keep the time limit of 20 s: {note}." in comparison.notes
    assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


def test_a_share_of_the_limit_can_be_reserved() -> None:
    half = Budget(20, kept=0.5)
    comparison = compare(X, Y, models={"a": Taking(3.0), "b": Taking(3.0)}, cv=2, time_limit=half)
    assert comparison.names == ["a"]
    assert "time limit of 20 s" in comparison.notes[-1]
    assert (half.left, half.whole().left) == (1.0, 11.0)


def test_a_fit_expected_to_be_long_is_not_begun() -> None:
    from mercer.data import Table

    X = np.zeros((20_000, 3))
    seconds = estimate_seconds(KernelRidge(kernel="rbf"), X)
    assert seconds > 0
    split = (np.arange(20_000), np.arange(2))
    with pytest.raises(OutOfTime, match=r"^not begun: its 1 fit would take (about \d+ s|less than a second)$"):
        Budget(seconds / 100).check_cost(KernelRidge(kernel="rbf"), Table.of(X), [split])
    short = (np.arange(20), np.arange(2))
    with pytest.raises(OutOfTime, match=r"^not begun: its 2 fits would take less than a second$"):
        Budget(1e-9).check_cost(Ridge(), Table.of(X), [short, short])
    assert estimate_seconds(object(), X) == 0.0


def test_the_default_budget_counts_work_and_not_waiting() -> None:
    patient = Budget.of(None, patience=20)
    Taking.clock.now += 1_000.0  # on the wall
    assert 0 < patient.left <= 20
    assert "a time limit of your own allows more" in patient.name
    assert Budget.of(None).left == float("inf")
    assert Budget.of(5, patience=20).seconds == Budget.of(Budget(5), patience=20).seconds == 5
