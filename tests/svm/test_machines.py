"""Machines solved one after the other: stopped, left alone, or rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._errors import DataError
from mercer.optim.span.kernel_rows import KernelRows
from mercer.svm._base import solve_machines
from mercer.svm._box_problem import BoxProblem

LIMITS: dict[str, Any] = {"name": "a machine", "verbose": False, "tolerance": 1e-3, "max_iter": -1}


def problem() -> BoxProblem:
    classes = np.array([-1.0, 1.0, -1.0, 1.0])
    return BoxProblem(KernelRows.of_matrix(np.eye(4)), classes, np.full(4, -1.0), np.full(4, 1.0))


def test_once_stopped_the_remaining_machines_stay_at_zero() -> None:
    machines = solve_machines([(problem(), None)] * 3, callback=lambda progress: True, time_limit=None, **LIMITS)
    assert not machines.interrupted
    assert not machines.worst.holds
    assert [solution.coef.beta.any() for solution in machines.solutions[1:]] == [False, False]


@pytest.mark.parametrize("time_limit", [None, 60.0])
def test_without_an_interruption_all_machines_are_solved(time_limit: float | None) -> None:
    machines = solve_machines([(problem(), None)] * 3, callback=None, time_limit=time_limit, **LIMITS)
    assert machines.worst.holds
    assert len(machines.iterations) == 3


def test_a_callback_may_return_numpy_booleans() -> None:
    box = problem()
    machines = solve_machines(
        [(box, None), (box, None)], callback=lambda p: np.float64(p.gap) > 0, time_limit=None, **LIMITS
    )
    assert not machines.interrupted
    assert [s.certificate.holds for s in machines.solutions] == [False, False]
    machines = solve_machines([(box, None)], callback=lambda p: "no answer", time_limit=None, **LIMITS)
    assert machines.worst.holds


def test_a_kernel_that_overflows_is_rejected() -> None:
    rows = KernelRows.of_matrix(np.full((2, 2), np.inf))
    box = BoxProblem(rows, np.array([1.0, -1.0]), np.array([0.0, -1.0]), np.array([1.0, 0.0]))
    start = np.array([1.0, -1.0])
    with np.errstate(invalid="ignore"), pytest.raises(DataError, match="not finite"):
        solve_machines([(box, start)], callback=None, time_limit=None, **LIMITS)
