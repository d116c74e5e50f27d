"""A certificate reads as a sentence, whether it holds or not."""

from __future__ import annotations

import numpy as np

from mercer.optim.certificate import Certificate, gradient_certificate


def test_a_formula_needs_no_tolerance() -> None:
    assert str(Certificate("closed form", 0.0, 0.0, "one pass")) == "closed form: one pass"


def test_the_value_is_compared_with_the_tolerance() -> None:
    assert str(Certificate("duality gap", 1e-5, 1e-3, "after 3 steps")) == "duality gap 1e-05 ≤ 0.001: after 3 steps"
    short = Certificate("duality gap", 1e-2, 1e-3, "after 3 steps")
    assert not short.holds
    assert str(short) == "duality gap 0.01 > 0.001: after 3 steps"


def test_holds_is_a_python_bool() -> None:
    assert Certificate("duality gap", np.float64(1e-5), 1e-3, "after 3 steps").holds is True


def test_claims_after_rounding_are_about_the_rounded_coefficients() -> None:
    """A bound on the objective before rounding does not hold for what is returned."""
    exact = gradient_certificate(1e-9, 1e-8, "after 5 steps", is_convex=True, fall=1e-16)
    rounded = exact.after_rounding("float32", lambda length: length + 1e-5)
    before, _, after = exact.sentence.partition("; the objective is within ")
    assert after == "1e-16 of its minimum"
    assert rounded.sentence == (
        f"{before}; before the coefficients were rounded to float32 it was 1e-09, and the objective within 1e-16 of "
        "its minimum"
    )
    solved = Certificate("closed form", 1e-16, 1e-10, "they hold to 1e-16 of what is added up in them")
    assert solved.after_rounding("float32", lambda left: left + 3e-7).sentence == (
        "they hold to 1e-16 of what is added up in them before the coefficients were rounded to float32, and to 3e-07 "
        "after that"
    )
