"""The laws of a smoothing kernel, checked in some dimension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

from mercer._typing import Array
from mercer.density import SmoothingKernel, sum_loops
from mercer.testing._laws import assert_laws, assert_value, pickled

#: error of an integral, relative
SMOOTHING_TOLERANCE = 1e-10
#: number of draws
SMOOTHING_DRAWS = 4000
#: largest deviation of their mean, in standard errors
SMOOTHING_STANDARD_ERRORS = 5.0
#: points at which the profile is evaluated, in units of a width beyond which the kernel is small
PROFILE_POINTS = np.concatenate([[0.0, 1e-9], np.linspace(0.05, 0.95, 10), [1 - 1e-9, 1.0]])


@dataclass(frozen=True)
class _SmoothingCase:
    kernel: SmoothingKernel
    columns: int

    @property
    def width(self) -> float:
        return min(self.kernel.reach, 30.0)

    @property
    def line(self) -> SmoothingKernel:
        """Points of one dimension, in which both forms are the same."""
        return replace(self.kernel, form="radial")

    @cached_property
    def draws(self) -> Array:
        return self.kernel.sample(SMOOTHING_DRAWS, self.columns, np.random.default_rng(0))

    def density(self, u: Array) -> Array:
        return np.exp(self.kernel.log_density(np.atleast_2d(u)))

    def integral(self, f: Callable[[Array], Array], power: int = 0) -> float:
        """Return ∫ f(‖u‖) ‖u‖^power du over the line (product form) or over space (radial form)."""
        d = 1 if self.kernel.form == "product" else self.columns
        sphere = np.exp(np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2))
        reach = self.kernel.reach
        ends = [0.0, reach, 2 * reach] if np.isfinite(reach) else [0.0, 1.0, 8.0, 64.0, 512.0]
        return float(
            sphere * sum(_quadrature(lambda r: f(r) * r ** (d - 1 + power), *piece) for piece in pairwise(ends))
        )

    def ray(self, r: Array) -> Array:
        """Return K at a distance; in the product form, that of one axis."""
        d = 1 if self.kernel.form == "product" else self.columns
        return np.asarray(self.line.profile(r) * np.exp(-self.line.log_constant(d)))


def check_smoothing_kernel(kernel: SmoothingKernel, columns: int = 2) -> list[str]:
    """Check every law of a smoothing kernel in `columns` dimensions; return the laws that were checked.

    Examples
    --------
    >>> from mercer.density import Epanechnikov
    >>> check_smoothing_kernel(Epanechnikov(), columns=3)[1]
    'K is even, K(u) = K(−u), falls from its middle and is 0 beyond its reach'
    """
    case = _SmoothingCase(kernel, columns)
    laws: list[Callable[[_SmoothingCase], None]] = [
        _is_a_value,
        _is_symmetric,
        _has_its_form,
        _integrates_to_one,
        _logs_are_logs,
        _compiles_to_itself,
        _has_its_moments,
        _adds_up_to_its_cdf,
        _draws_follow_it,
        _correlates_with_itself,
        _correlation_is_the_mean_over_draws,
    ]
    return assert_laws(laws, case, f"{case.kernel!r} in {case.columns} dimensions")


def _quadrature(f: Callable[[Array], Array], left: float, right: float) -> float:
    """Return ∫ f between two ends, without evaluating f at the ends."""
    value, _ = quad(lambda r: float(f(np.asarray(r))), left, right, epsabs=1e-14, epsrel=1e-12, limit=200)
    return float(value)


def _same(actual: Any, wanted: Any, what: str, tolerance: float = SMOOTHING_TOLERANCE) -> None:
    off = float(np.max(np.abs(np.asarray(actual) - wanted)))
    most = tolerance * max(float(np.max(np.abs(wanted))), np.finfo(float).tiny)
    assert off <= most, f"{what} is {actual}, not {wanted}"


def _mean_is(values: Array, wanted: float, what: str) -> None:
    error = SMOOTHING_STANDARD_ERRORS * float(values.std()) / np.sqrt(len(values)) + SMOOTHING_TOLERANCE * abs(wanted)
    assert abs(values.mean() - wanted) <= error, f"{what} is {values.mean():.5g} on average, not {wanted:.5g}"


def _is_a_value(case: _SmoothingCase) -> None:
    """a smoothing kernel is a value: equal to its copies, hashable, and readable."""
    assert_value(case.kernel, pickled(case.kernel))


def _is_symmetric(case: _SmoothingCase) -> None:
    """K is even, K(u) = K(−u), falls from its middle and is 0 beyond its reach."""
    u = np.random.default_rng(1).uniform(-1, 1, size=(50, case.columns)) * 2 / np.sqrt(case.columns)
    _same(case.density(-u), case.density(u), "K(−u)", 0.0)
    values = case.kernel.profile(case.width * PROFILE_POINTS)
    assert values[0] == 1, f"k(0) is {values[0]}"
    assert np.all(np.diff(values) <= 0), "k rises somewhere"
    assert np.all(values >= 0), "k is negative somewhere"
    if np.isfinite(case.kernel.reach):
        beyond = case.kernel.profile(case.kernel.reach * np.array([1 + 1e-9, 2.0, np.inf]))
        assert not beyond.any(), f"k is {beyond} beyond its reach"


def _has_its_form(case: _SmoothingCase) -> None:
    """K is a function of ‖u‖ in the radial form, a product over axes in the product form."""
    u = np.random.default_rng(2).uniform(-1, 1, size=(50, case.columns)) * 1.5 / np.sqrt(case.columns)
    if case.kernel.form == "radial":
        _same(case.density(u), case.ray(np.sqrt(np.square(u).sum(axis=1))), "K", 1e-12)
    else:
        _same(case.density(u), case.ray(np.abs(u)).prod(axis=1), "K", 1e-12)


def _integrates_to_one(case: _SmoothingCase) -> None:
    """∫K = 1."""
    _same(case.integral(case.ray), 1.0, "∫K")


def _logs_are_logs(case: _SmoothingCase) -> None:
    """`log_profile` is the logarithm of `profile`, also where that underflows."""
    r = case.width * PROFILE_POINTS
    with np.errstate(divide="ignore"):
        logs = np.log(case.kernel.profile(r))
    computed = case.kernel.log_profile(r)
    assert np.allclose(computed, logs, rtol=1e-12, atol=1e-12), f"log k is {computed}, not {logs}"
    if np.isinf(case.kernel.reach):
        assert np.isfinite(case.kernel.log_profile(np.array([1e100]))).all(), "log k is infinite far out"


def _compiles_to_itself(case: _SmoothingCase) -> None:
    """the profile in compiled loops is k."""
    r = case.width * np.concatenate([PROFILE_POINTS, [1.5]])
    values = [sum_loops.profile(case.kernel.lower(), float(s), 0.0) for s in np.square(r)]
    _same(values, case.kernel.profile(r), "the compiled k", 1e-13)


def _has_its_moments(case: _SmoothingCase) -> None:
    """`axis_variance` is ∫u_j²K and `roughness` is ∫K²."""
    product, d = case.kernel.form == "product", case.columns
    _same(case.kernel.axis_variance(d), case.integral(case.ray, power=2) / (1 if product else d), "the variance")
    squares = case.integral(lambda r: case.ray(r) ** 2)
    _same(case.kernel.roughness(d), squares ** (d if product else 1), "the roughness")


def _adds_up_to_its_cdf(case: _SmoothingCase) -> None:
    """`cdf` is ∫K up to u in one dimension: from 0 to 1, with F(u) + F(−u) = 1 and K as its derivative."""
    u = case.width * PROFILE_POINTS
    F, G = case.kernel.cdf(u), case.kernel.cdf(-u)
    _same(F + G, np.ones(len(u)), "F(u) + F(−u)", 1e-14)
    assert np.all(np.diff(F) >= 0), "F falls somewhere"
    _same(case.kernel.cdf(np.array([-1e9, 1e9])), np.array([0.0, 1.0]), "F far out", 0.0)
    one = float(np.exp(-case.line.log_constant(1)))
    steps = [_quadrature(lambda r: one * case.line.profile(r), a, b) for a, b in pairwise(u)]
    _same(0.5 + np.cumsum(steps), F[1:], "∫K up to u")


def _draws_follow_it(case: _SmoothingCase) -> None:
    """draws have the mean, the variance and the mean height of K, and on the line its cdf."""
    d = case.columns
    assert case.draws.shape == (SMOOTHING_DRAWS, d), (
        f"{SMOOTHING_DRAWS} draws in {d} dimensions have the shape {case.draws.shape}"
    )
    for j in range(d):
        _mean_is(case.draws[:, j], 0.0, f"axis {j} of draws")
        _mean_is(case.draws[:, j] ** 2, case.kernel.axis_variance(d), f"the square of axis {j} of draws")
    _mean_is(case.density(case.draws), case.kernel.roughness(d), "K at draws")
    ranks = np.sort(case.kernel.cdf(case.kernel.sample(SMOOTHING_DRAWS, 1, np.random.default_rng(3))[:, 0]))
    apart = float(np.abs(ranks - (np.arange(SMOOTHING_DRAWS) + 0.5) / SMOOTHING_DRAWS).max())
    assert apart <= 2.5 / np.sqrt(SMOOTHING_DRAWS), (
        f"the cdf of draws is {apart:.3g} from that of K"
    )  # once in 10⁵ for chance


def _correlates_with_itself(case: _SmoothingCase) -> None:
    """K∗K is ∫K² at 0, even, 0 beyond twice the reach, integrates to 1 and has twice the variance."""
    product, d = case.kernel.form == "product", case.columns
    correlation = case.kernel.autocorrelation(d)
    u = np.random.default_rng(4).uniform(-1, 1, size=(20, d))
    _same(correlation(np.zeros((1, d)))[0], case.kernel.roughness(d), "(K∗K)(0)")
    _same(correlation(-u), correlation(u), "(K∗K)(−u)", 0.0)
    if np.isfinite(case.kernel.reach):
        assert not correlation(2 * case.kernel.reach * np.eye(d)).any(), "K∗K is not 0 beyond twice the reach"
    _same(case.integral(correlation.profile), 1.0, "∫K∗K")
    variance = case.integral(correlation.profile, power=2) / (1 if product else d)
    _same(variance, 2 * case.kernel.axis_variance(d), "the variance of K∗K")


def _correlation_is_the_mean_over_draws(case: _SmoothingCase) -> None:
    """(K∗K)(u) is the mean of K(x − u) over draws x of K."""
    correlation = case.kernel.autocorrelation(case.columns)
    for step in (0.2, 0.7, 1.1):
        u = np.full(case.columns, step / np.sqrt(case.columns))
        _mean_is(case.density(case.draws - u), float(correlation(u)), f"K(x − u) for ‖u‖ = {step}")
