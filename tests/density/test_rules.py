"""Laws of every rule: data times c give the bandwidth times c, and data without spread raise typed errors."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from mercer._errors import BandwidthError
from mercer.density import (
    Adaptive,
    Bandwidth,
    Epanechnikov,
    Gaussian,
    ImprovedSheatherJones,
    LeastSquaresCV,
    LikelihoodCV,
    PlugIn,
    Rule,
    Scott,
    Silverman,
    SmoothingKernel,
    bandwidth_from,
)
from mercer.density.named_rules import BANDWIDTH_RULES

SCALED = [name for name in BANDWIDTH_RULES if name not in ("scott", "silverman")]
GAUSSIAN = Gaussian()
RNG = np.random.default_rng(3)
LINE = np.concatenate([RNG.normal(size=60), RNG.normal(5, 0.5, size=40)])[:, None]
SPACE = RNG.normal(size=(60, 3)) @ np.array([[1.0, 0.4, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.5]])
SHAPED: list[Any] = [
    rule(shape=shape) for rule in (Scott, Silverman, PlugIn, LikelihoodCV, LeastSquaresCV)
    for shape in ("one", "axes", "matrix")
]  # fmt: skip
WEIGHT = RNG.uniform(0.5, 2.0, size=100)


def chosen(rule: Any, X: np.ndarray, weight: Any = None, kernel: SmoothingKernel = GAUSSIAN, **more: Any) -> Bandwidth:
    return bandwidth_from(rule, X, weight, kernel, **more)


def covariance(bandwidth: Bandwidth, columns: int) -> np.ndarray:
    L = bandwidth.coloured(np.eye(columns)).T
    return np.asarray(L @ L.T)


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("c", [3.0, 1e-150, 1e150])
def test_a_bandwidth_of_one_column_is_equivariant_to_scale_and_shift(name: str, c: float) -> None:
    base = chosen(name, LINE, WEIGHT).value
    assert chosen(name, c * LINE, WEIGHT).value == pytest.approx(c * base, rel=1e-5)
    assert chosen(name, LINE + 1e8, WEIGHT).value == pytest.approx(base, rel=1e-5)


@pytest.mark.parametrize("rule", SHAPED, ids=repr)
@pytest.mark.parametrize("c", [3.0, 1e-150, 1e150])
def test_a_bandwidth_of_several_columns_scales_with_the_data(rule: Rule, c: float) -> None:
    base, other = chosen(rule, SPACE), chosen(rule, c * SPACE)
    np.testing.assert_allclose(covariance(other, 3) / c**2, covariance(base, 3), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("rule", [Scott, Silverman, PlugIn, LikelihoodCV, LeastSquaresCV])
def test_an_unknown_shape_is_rejected(rule: Any) -> None:
    with pytest.raises(BandwidthError, match=r"cannot have shape 'axis'\. Did you mean 'axes'"):
        rule(shape="axis")


@pytest.mark.parametrize("rule", [rule for rule in SHAPED if rule.shape == "axes"], ids=repr)
def test_each_axis_scales_by_itself(rule: Rule) -> None:
    scales = np.array([1e-3, 1.0, 1e4])
    np.testing.assert_allclose(chosen(rule, SPACE * scales).value, chosen(rule, SPACE).value * scales, rtol=1e-4)


@pytest.mark.parametrize("rule", [rule for rule in SHAPED if rule.shape == "matrix"], ids=repr)
def test_a_matrix_rotates_with_the_data(rule: Rule) -> None:
    A = np.array([[1.0, 2.0, 0.0], [-1.0, 1.0, 0.5], [0.0, 0.3, 3.0]])
    base, other = chosen(rule, SPACE).value, chosen(rule, SPACE @ A.T).value
    np.testing.assert_allclose(other, A @ base @ A.T, rtol=1e-3)


@pytest.mark.parametrize("rule", [*SCALED, *SHAPED], ids=repr)
def test_equal_weights_have_no_effect_and_zero_weights_remove_points(rule: Any) -> None:
    X = LINE if rule == "isj" else SPACE
    base = chosen(rule, X)
    same = chosen(rule, X, np.full(len(X), 2.5))
    with_more = chosen(rule, np.vstack([X, 1e6 + X[:5]]), np.repeat([1.0, 0.0], [len(X), 5]))
    for other in (same, with_more):
        np.testing.assert_allclose(other.value, base.value, rtol=1e-5)


@pytest.mark.parametrize("rule", [*SCALED, *SHAPED], ids=repr)
def test_fewer_than_two_points_of_positive_weight_are_rejected(rule: Any) -> None:
    for X, weight in ((np.ones((1, 1)), None), (np.arange(3.0)[:, None], np.array([0.0, 1.0, 0.0]))):
        with pytest.raises(BandwidthError, match=r"1 point .*as a number"):
            chosen(rule, X, weight)


@pytest.mark.parametrize("rule", [rule for rule in [*SCALED, *SHAPED] if rule != "isj"], ids=repr)
def test_a_constant_column_is_named(rule: Any) -> None:
    X = SPACE.copy()
    X[:, 1] = 1e8 + 0.1
    with pytest.raises(BandwidthError, match="column 1 is constant"):
        chosen(rule, X)
    with pytest.raises(BandwidthError, match="column 'age' is constant"):
        chosen(rule, X, names=["size", "age", "mass"])


@pytest.mark.parametrize("rule", [rule for rule in SHAPED if rule.shape == "matrix"], ids=repr)
def test_a_full_matrix_needs_points_and_independent_columns(rule: Rule) -> None:
    with pytest.raises(BandwidthError, match="3 points in 3 dimensions lie in a plane"):
        chosen(rule, SPACE[:3])
    collinear = np.column_stack([SPACE, 2 * SPACE[:, 1]])
    with pytest.raises(BandwidthError, match=r"column '[bd]' is a linear combination"):
        chosen(rule, collinear, names=["a", "b", "c", "d"])


@pytest.mark.parametrize(
    "rule", [*(BANDWIDTH_RULES[name] for name in SCALED), PlugIn("matrix"), LikelihoodCV("one")], ids=repr
)
def test_other_kernels_smooth_about_as_much(rule: Rule) -> None:
    """Canonical widths: an Epanechnikov kernel is 2.214 times as wide as a Gaussian that smooths as much."""
    gaussian = chosen(rule, LINE)
    other = chosen(rule, LINE, kernel=Epanechnikov())
    ratio = np.sqrt(covariance(other, 1) / covariance(gaussian, 1)).item()
    assert ratio == pytest.approx(2.214, rel=0.15 if "cv" in gaussian.method else 1e-3)


@pytest.mark.parametrize("make", [lambda X: np.asfortranarray(X), lambda X: X.astype(np.float32), lambda X: X[::-1]])
@pytest.mark.parametrize("rule", [PlugIn(), LikelihoodCV(), Silverman("matrix")], ids=repr)
def test_layout_and_order_do_not_matter(rule: Rule, make: Any) -> None:
    X = make(SPACE)
    X.flags.writeable = False
    np.testing.assert_allclose(chosen(rule, X).value, chosen(rule, SPACE).value, rtol=1e-4)


@pytest.mark.parametrize("rule", [Scott(), PlugIn(), LikelihoodCV(), ImprovedSheatherJones(), Adaptive()], ids=repr)
def test_rules_are_frozen_values(rule: Rule) -> None:
    with pytest.raises((FrozenInstanceError, TypeError)):
        rule.shape = "one"  # type: ignore[attr-defined]
    assert hash(rule) == hash(type(rule)())
    assert rule == type(rule)()
