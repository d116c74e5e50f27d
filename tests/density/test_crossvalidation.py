"""Cross-validation: closed forms are brute force, choices are statsmodels'; ties and isolated points are errors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from statsmodels.nonparametric.kernel_density import KDEMultivariate

from mercer._errors import BandwidthError
from mercer.density import (
    Bandwidth,
    Epanechnikov,
    Exponential,
    Gaussian,
    LeastSquaresCV,
    LikelihoodCV,
    Silverman,
    SmoothingKernel,
    Triangular,
    Triweight,
    Uniform,
    Windows,
)
from mercer.density.cross_validation import CrossValidation, integrate_square

RNG = np.random.default_rng(6)
LINE = np.concatenate([RNG.normal(size=25), RNG.normal(4, 0.5, size=15)])[:, None]
PLANE = RNG.normal(size=(50, 2)) * [1.0, 5.0] + (RNG.random(50) < 0.4)[:, None] * [3.0, 0.0]
KERNELS = [Gaussian(), Exponential(), Epanechnikov(), Epanechnikov("product"), Triweight(), Triangular("product")]
FORMS = [0.9, [0.8, 3.0], [[0.8, 0.5], [0.5, 9.0]]]


def refits(X: np.ndarray, weight: np.ndarray | None, kernel: SmoothingKernel, bandwidth: Bandwidth) -> np.ndarray:
    """log p̂₋ᵢ(x_i) by a density for every i."""
    logs = []
    for i in range(len(X)):
        others = None if weight is None else np.delete(weight, i)
        logs.append(Windows(kernel, bandwidth, np.delete(X, i, axis=0), others).log_density(X[i : i + 1])[0])
    return np.array(logs)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("value", FORMS, ids=["one", "axes", "matrix"])
@pytest.mark.parametrize("weighted", [False, True])
def test_closed_forms_agree_with_brute_force(kernel: SmoothingKernel, value: Any, weighted: bool) -> None:
    weight = RNG.uniform(0.5, 2, size=50) if weighted else None
    # wide enough that no point is isolated
    bandwidth = Bandwidth(value).scaled(3 if kernel.reach < 2 else 1)
    logs = refits(PLANE, weight, kernel, bandwidth)
    likelihood = -np.average(logs, weights=weight)
    assert LikelihoodCV().value(bandwidth, PLANE, weight, kernel) == pytest.approx(likelihood, rel=1e-10)
    square = integrate_square(Windows(kernel, bandwidth, PLANE, weight))
    squares = square - 2 * np.average(np.exp(logs), weights=weight)
    assert LeastSquaresCV().value(bandwidth, PLANE, weight, kernel) == pytest.approx(squares, rel=1e-10)


@pytest.mark.parametrize("kernel", [*KERNELS, Uniform()], ids=repr)
def test_the_integral_of_the_square_agrees_with_quadrature(kernel: SmoothingKernel) -> None:
    weight = RNG.uniform(0.5, 2, size=len(LINE))
    windows = Windows(kernel, Bandwidth(0.7), LINE, weight)
    breaks = np.unique(np.concatenate([LINE - 0.7, LINE, LINE + 0.7]))
    ends = np.concatenate([[breaks[0] - 30], breaks, [breaks[-1] + 30]])

    def square(x: float) -> float:
        return float(np.exp(2 * windows.log_density(np.array([[x]]))[0]))

    parts = [quad(square, *pair)[0] for pair in pairwise(ends)]
    assert integrate_square(windows) == pytest.approx(sum(parts), rel=1e-7)


@pytest.mark.parametrize(("rule", "theirs"), [(LikelihoodCV(), "cv_ml"), (LeastSquaresCV(), "cv_ls")])
@pytest.mark.parametrize("X", [LINE, PLANE], ids=["line", "plane"])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_choices_agree_with_statsmodels(rule: Any, theirs: str, X: np.ndarray) -> None:
    other = KDEMultivariate(X, "c" * X.shape[1], bw=theirs).bw
    chosen = rule.choose(X, None, Gaussian())
    np.testing.assert_allclose(np.ravel(chosen.value), other, rtol=2e-3)
    assert chosen.criterion.best <= rule.value(Bandwidth(other), X) + 1e-12


@pytest.mark.parametrize("rule", [LikelihoodCV, LeastSquaresCV])
@pytest.mark.parametrize("shape", ["one", "axes", "matrix"])
@pytest.mark.parametrize("kernel", [Gaussian(), Epanechnikov("product")], ids=repr)
def test_the_choice_is_a_local_minimum(rule: Any, shape: Any, kernel: SmoothingKernel) -> None:
    weight = RNG.uniform(0.5, 2, size=50)
    chosen = rule(shape).choose(PLANE, weight, kernel)
    at = rule().value(chosen, PLANE, weight, kernel)
    assert chosen.criterion.best == pytest.approx(at, rel=1e-9)
    tolerance = 1e-7 * abs(at)
    for factor in (0.3, 0.7, 0.97, 1.03, 1.5, 3.0):
        assert rule().value(chosen.scaled(factor), PLANE, weight, kernel) >= at - tolerance
    if shape == "axes" and isinstance(kernel, Gaussian):
        for factors in ([0.98, 1.0], [1.02, 1.0], [1.0, 0.98], [1.0, 1.02]):
            assert rule().value(Bandwidth(chosen.value * factors), PLANE, weight, kernel) >= at - tolerance


@pytest.mark.parametrize("rule", [LikelihoodCV(), LeastSquaresCV()], ids=repr)
def test_slopes_agree_with_finite_differences(rule: Any) -> None:
    weight, step = RNG.uniform(0.5, 2, size=50), 1e-5

    def at(logs: np.ndarray) -> Windows:
        return Windows(Gaussian(), Bandwidth(np.array([0.6, 2.0]) * np.exp(logs)), PLANE, weight)

    value, slope = rule._slope(at(np.zeros(2)))
    assert value == pytest.approx(rule._value(at(np.zeros(2))), rel=1e-12)
    for axis in range(2):
        e = step * np.eye(2)[axis]
        assert slope[axis] == pytest.approx((rule._value(at(e)) - rule._value(at(-e))) / (2 * step), rel=1e-6)


def test_widths_per_column_are_better_than_a_common_factor() -> None:
    X = np.column_stack([np.repeat([0.0, 50.0], 40) + RNG.normal(size=80), RNG.normal(size=80)])
    common, own = (LikelihoodCV(shape).choose(X, None, Gaussian()).criterion for shape in ("matrix", "axes"))
    assert own.best < common.best - 0.1  # type: ignore[union-attr, operator]


@pytest.mark.parametrize("rule", [LikelihoodCV(), LeastSquaresCV()], ids=repr)
def test_the_curve_has_all_evaluated_bandwidths(rule: Any) -> None:
    chosen = rule.choose(LINE, None, Gaussian())
    curve = chosen.criterion
    assert (np.diff(curve.widths) > 0).all()
    assert len(curve.widths) > 15
    assert curve.chosen == pytest.approx(chosen.value)
    assert curve.best == curve.values.min()
    for width, value in list(zip(curve.widths, curve.values, strict=True))[::5]:
        assert rule.value(Bandwidth(width), LINE) == pytest.approx(value, rel=1e-9)
    assert list(rule.choose(PLANE, None, Gaussian()).table()) == ["times silverman-scaled", rule.criterion]


def test_isolated_points_make_the_likelihood_of_compact_kernels_zero_not_nan() -> None:
    X = np.append(LINE, 500.0)[:, None]
    assert LikelihoodCV().value(Bandwidth(1.0), X, None, Epanechnikov()) == np.inf
    assert np.isfinite(LeastSquaresCV().value(Bandwidth(1.0), X, None, Epanechnikov()))
    chosen = LikelihoodCV().choose(X, None, Epanechnikov())
    assert chosen.value > 490  # type: ignore[operator]
    assert np.isinf(chosen.criterion.values[0])  # type: ignore[union-attr]
    assert LeastSquaresCV().choose(X, None, Epanechnikov()).value < 5  # type: ignore[operator]


@pytest.mark.parametrize("rule", [LikelihoodCV(), LeastSquaresCV()], ids=repr)
@pytest.mark.parametrize("kernel", [Gaussian(), Epanechnikov()], ids=repr)
def test_rounded_data_are_rejected_with_the_number_of_ties(rule: Any, kernel: SmoothingKernel) -> None:
    X = np.repeat(np.arange(10.0), 20)[:, None]
    with pytest.raises(
        BandwidthError, match=r"200 of 200 points are repeated, so that .*-cv would choose.*silverman-scaled"
    ):
        rule.choose(X, None, kernel)


@pytest.mark.parametrize("rule", [LikelihoodCV(), LeastSquaresCV()], ids=repr)
def test_a_few_repeated_points_are_accepted(rule: Any) -> None:
    X = np.vstack([LINE, LINE[:3]])
    assert rule.choose(X, None, Gaussian()).value == pytest.approx(rule.choose(LINE, None, Gaussian()).value, rel=0.3)


def test_least_squares_with_ties_are_rejected_exactly_if_the_minimum_is_at_zero() -> None:
    """The sign of the coefficient of 1/h decides; it is tried on both sides."""
    distinct, sides = RNG.normal(size=(40, 1)), set()
    for repeated in range(0, 40, 4):
        X = np.vstack([distinct, distinct[:repeated]])
        falls = bool(LeastSquaresCV().value(Bandwidth(1e-9), X) < 0)
        sides.add(falls)
        if falls:
            with pytest.raises(BandwidthError, match="repeated"):
                LeastSquaresCV().choose(X, None, Gaussian())
        else:
            LeastSquaresCV().choose(X, None, Gaussian())
    assert sides == {False, True}


def test_nearly_equal_points_are_an_error_too() -> None:
    X = np.concatenate([LINE, LINE + 1e-12])
    with pytest.raises(BandwidthError, match="keeps falling as kernels become narrower"):
        LikelihoodCV().choose(X, None, Gaussian())


def test_large_samples_get_a_nearly_optimal_bandwidth() -> None:
    X = RNG.normal(size=(1500, 1))
    best = (4 / (3 * 1500)) ** 0.2
    assert LikelihoodCV().choose(X, None, Gaussian()).value == pytest.approx(best, rel=0.35)
    assert Silverman().choose(X, None, Gaussian()).value == pytest.approx(best, rel=0.2)


def sampling(rule: type[CrossValidation], points: int) -> CrossValidation:
    """The rule with a sample of this number of points."""
    return type(rule.__name__, (rule,), {"sampled_points": points})()


@pytest.mark.parametrize("rule", [LikelihoodCV, LeastSquaresCV])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_of_many_points_are_evaluated_less_often_with_one_result(rule: Any, weighted: bool) -> None:
    X = RNG.normal(size=(900, 2)) * [1.0, 30.0] + (RNG.random(900) < 0.4)[:, None] * [4.0, 0.0]
    weight = RNG.uniform(0.5, 2, size=900) if weighted else None
    thorough = rule().choose(X, weight, Gaussian())
    quick = sampling(rule, 300).choose(X, weight, Gaussian())
    np.testing.assert_allclose(quick.value, thorough.value, rtol=5e-3)
    assert quick.criterion.best == pytest.approx(thorough.criterion.best, rel=1e-5)
    assert len(quick.criterion.widths) < len(thorough.criterion.widths)
    assert next(iter(quick.table())) == "times the choice of 300 points, narrowed"


@pytest.mark.parametrize("rule", [LikelihoodCV, LeastSquaresCV])
def test_kernels_without_slopes_choose_a_multiple_on_many_points(rule: Any) -> None:
    X = RNG.normal(size=(300, 2)) * [1.0, 30.0]
    thorough = rule().choose(X, None, Epanechnikov())
    quick = sampling(rule, 150).choose(X, None, Epanechnikov())
    assert thorough.criterion.best < thorough.criterion.values.min()  # refined axis by axis
    assert quick.criterion.best == quick.criterion.values.min()  # a multiple of the widths of the sample,
    ratio = Silverman().choose(X, None, Epanechnikov()).value / quick.value
    assert abs(ratio[1] / ratio[0] - 1) > 1e-6  # which was refined
    assert quick.criterion.best == pytest.approx(thorough.criterion.best, rel=0.02)


def test_all_points_are_searched_if_a_sample_has_no_minimum() -> None:
    X = np.concatenate([np.repeat(LINE, 4, axis=0), RNG.normal(20, 1, size=(40, 1))])
    thorough = LikelihoodCV().choose(X, None, Gaussian())
    quick = sampling(LikelihoodCV, 5).choose(X, None, Gaussian())
    assert quick.value == pytest.approx(thorough.value, rel=1e-3)


def test_the_likelihood_of_a_discontinuous_kernel_is_largest_where_it_reaches_another_pair() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = 20 * rng.standard_t(3, size=(int(rng.integers(5, 30)), 1))
        chosen = LikelihoodCV().choose(X, None, Uniform())
        apart = np.abs(X - X.T)[np.triu_indices(len(X), 1)]
        width = float(np.ravel(chosen.value)[0])
        near = apart[(apart > 0.2 * width) & (apart < 5 * width)] * (1 + 1e-9)
        least = min(LikelihoodCV().value(Bandwidth(np.array([each])), X, None, Uniform()) for each in near)
        assert LikelihoodCV().value(chosen, X, None, Uniform()) <= least + 1e-8


@pytest.mark.parametrize("kernel", [Uniform(), Epanechnikov(), Triangular()], ids=str)
@pytest.mark.parametrize("rule", [LikelihoodCV(), LeastSquaresCV()], ids=str)
def test_the_global_minimum_of_few_points_is_found(rule: Any, kernel: SmoothingKernel) -> None:
    """Up to the steps in which it is looked for, which a criterion that jumps may fall between."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = 20 * rng.standard_t(3, size=(int(rng.integers(5, 30)), 1))
        chosen = rule.choose(X, None, kernel)
        widths = float(np.ravel(chosen.value)[0]) * np.geomspace(0.2, 5, 120)
        least = min(rule.value(Bandwidth(np.array([width])), X, None, kernel) for width in widths)
        found = rule.value(chosen, X, None, kernel)
        scale = 1.0 if isinstance(rule, LikelihoodCV) else abs(found)
        assert found <= least + 0.03 * scale
