"""The search for the least criterion: a line with known minima, edges, plateaus and infinities; axes."""

from __future__ import annotations

import numpy as np
import pytest

from mercer._errors import BandwidthError
from mercer.density.cross_validation import TRIAL_MULTIPLES, refine_by_simplex, refine_by_slope, search_line


@pytest.mark.parametrize("least", [0.003, 0.11, 0.7, 2.9, 40.0])
def test_a_parabola_is_found_wherever_it_is(least: float) -> None:
    curve = search_line(lambda width: (np.log(width / least)) ** 2 + 1)
    assert curve.widths[curve.best] == pytest.approx(least, rel=1e-5)
    assert (np.diff(curve.widths) > 0).all()


def test_the_deeper_of_two_minima_is_taken() -> None:
    curve = search_line(lambda w: -np.exp(-20 * np.log(w / 0.2) ** 2) - 1.5 * np.exp(-20 * np.log(w / 1.5) ** 2))
    assert curve.widths[curve.best] == pytest.approx(1.5, rel=1e-4)


def test_infinite_values_are_skipped_without_a_warning() -> None:
    curve = search_line(lambda width: np.inf if width < 20 else float(np.log(width)))
    assert curve.widths[curve.best] == pytest.approx(20, rel=0.05)


def test_a_plateau_ends_the_search() -> None:
    curve = search_line(lambda width: float(max(abs(np.log(width)), 1.0)))
    assert curve.values[curve.best] == 1.0


@pytest.mark.parametrize(("sign", "side"), [(1, "narrower"), (-1, "wider")])
def test_a_missing_minimum_is_an_error_that_names_the_end(sign: int, side: str) -> None:
    with pytest.raises(BandwidthError, match=f"keeps falling as kernels become {side}"):
        search_line(lambda width: sign * float(np.log(width)))


def test_each_value_is_computed_once() -> None:
    evaluated: list[float] = []

    def criterion(width: float) -> float:
        evaluated.append(width)
        return float(np.log(width / 0.5) ** 2)

    curve = search_line(criterion)
    assert len(evaluated) == len(set(evaluated)) == len(curve.widths) < len(TRIAL_MULTIPLES) + 15


def test_axes_are_refined_with_and_without_slopes() -> None:
    target, metric = np.array([0.3, -0.5, 0.1]), np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 3.0]])

    def value(logs: np.ndarray) -> float:
        return float((logs - target) @ metric @ (logs - target))

    by_slope = refine_by_slope(lambda logs: (value(logs), 2 * metric @ (logs - target)), 3)
    np.testing.assert_allclose(by_slope, target, atol=1e-6)
    np.testing.assert_allclose(refine_by_simplex(value, 3), target, atol=1e-4)
