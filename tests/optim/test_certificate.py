"""A certificate reads as a sentence, whether it holds or not."""

from __future__ import annotations

import numpy as np

from mercer.optim.certificate import Certificate


def test_a_formula_needs_no_tolerance() -> None:
    assert str(Certificate("closed form", 0.0, 0.0, "one pass")) == "closed form: one pass"


def test_the_value_is_compared_with_the_tolerance() -> None:
    assert str(Certificate("duality gap", 1e-5, 1e-3, "after 3 steps")) == "duality gap 1e-05 ≤ 0.001: after 3 steps"
    short = Certificate("duality gap", 1e-2, 1e-3, "after 3 steps")
    assert not short.holds
    assert str(short) == "duality gap 0.01 > 0.001: after 3 steps"


def test_holds_is_a_python_bool() -> None:
    assert Certificate("duality gap", np.float64(1e-5), 1e-3, "after 3 steps").holds is True
