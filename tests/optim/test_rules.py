"""The four learning rules in compiled loops: the lecture's formulas, and slopes of losses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.optim import _online_loops as loops
from mercer.optim.learning_rules import LEARNING_RULES
from tests.linear_model._lessons import judged

U = np.linspace(-9.0, 9.0, 181)


def compiled(name: str, u: Any, y: float) -> tuple[Any, Any]:
    """Return errors and losses."""
    return tuple(np.array([loops.error_and_loss(LEARNING_RULES[name].code, float(each), y == 1.0) for each in u]).T)


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("name", LEARNING_RULES)
def test_formulas_of_lecture_2(name: str, y: float) -> None:
    u = np.array([*U, 0.0, -0.0, 800.0, -800.0, 1e-300])
    error, loss = compiled(name, u, y)
    assert_allclose(error, judged(name, u, y).error, rtol=1e-13)
    assert_allclose(loss, judged(name, u, y).loss, rtol=1e-13)


@pytest.mark.parametrize("y", [0.0, 1.0])
@pytest.mark.parametrize("name", ["lms", "logistic", "sigmoid"])
def test_the_error_is_minus_the_slope_of_the_loss(name: str, y: float) -> None:
    step = 1e-5
    slope = (compiled(name, U + step, y)[1] - compiled(name, U - step, y)[1]) / (2 * step)
    assert_allclose(compiled(name, U, y)[0], -slope, atol=1e-9)


@pytest.mark.parametrize("name", ["lms", "logistic", "sigmoid"])
def test_the_curvature_of_losses_is_bounded_as_declared(name: str) -> None:
    step, largest = 1e-4, LEARNING_RULES[name].curvature
    curvature = np.concatenate(
        [-(compiled(name, U + step, y)[0] - compiled(name, U - step, y)[0]) / (2 * step) for y in (0.0, 1.0)]
    )
    assert 0.99 * largest <= curvature.max() <= largest + 1e-7


def test_the_output_of_a_unit_at_its_threshold_is_1() -> None:
    """u = 0 goes to class 1, as in lecture 2."""
    assert_array_equal(compiled("perceptron", np.zeros(1), 0.0)[0], [-1.0])
    assert_array_equal(compiled("perceptron", np.zeros(1), 1.0)[0], [0.0])


@pytest.mark.parametrize("name", LEARNING_RULES)
def test_the_loss_of_a_row_without_information(name: str) -> None:
    for y in (0.0, 1.0):
        assert_allclose(compiled(name, np.zeros(1), y)[1], LEARNING_RULES[name].ignorance)


def test_rules_with_gradients_and_probabilities() -> None:
    assert [name for name, rule in LEARNING_RULES.items() if rule.has_gradient] == ["lms", "logistic", "sigmoid"]
    assert [name for name, rule in LEARNING_RULES.items() if rule.has_probabilities] == ["logistic", "sigmoid"]
