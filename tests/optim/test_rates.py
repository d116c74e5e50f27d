"""Learning rates: the largest, the safe ones, and their decay."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose

from mercer.optim.learning_rules import LEARNING_RULES, choose_rate, largest_rate, safe_rate
from tests.linear_model._lessons import lesson_of, overlapping


@pytest.mark.parametrize("incremental", [True, False])
def test_safe_rates_are_half_of_the_largest(incremental: bool) -> None:
    lesson = lesson_of(*overlapping())
    size = lesson.largest_row if incremental else lesson.largest_eigenvalue
    assert_allclose(largest_rate(lesson, LEARNING_RULES["lms"], incremental=incremental), 2 / size)
    assert_allclose(safe_rate(lesson, LEARNING_RULES["lms"], incremental=incremental), 1 / size)
    assert_allclose(safe_rate(lesson, LEARNING_RULES["logistic"], incremental=incremental), 4 / size)
    assert safe_rate(lesson, LEARNING_RULES["perceptron"], incremental=incremental) == 1.0


def test_only_a_default_rate_decays_and_only_if_necessary() -> None:
    lesson, options = lesson_of(*overlapping()), {"start": None, "decay": None}
    assert choose_rate(lesson, LEARNING_RULES["lms"], incremental=True, **options).decay > 0
    assert choose_rate(lesson, LEARNING_RULES["lms"], incremental=False, **options).decay == 0
    assert choose_rate(lesson, LEARNING_RULES["perceptron"], incremental=True, **options).decay == 0
    assert choose_rate(lesson, LEARNING_RULES["lms"], incremental=True, start=0.1, decay=None) == (0.1, 0.0)
    assert choose_rate(lesson, LEARNING_RULES["lms"], incremental=True, start=0.1, decay=2.0).after(
        3.0
    ) == pytest.approx(0.1 / 7)
