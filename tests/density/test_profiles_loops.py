"""Smoothing kernels as compiled functions of squared distances: all their digits, and where they end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mercer._jit import jit
from mercer.density import sum_loops

S = np.concatenate([np.linspace(0, 2, 2001), 1 - np.logspace(-15, -1, 57), np.logspace(-300, -1, 57)])
LONG = np.longdouble


def _cosine(s: np.ndarray) -> np.ndarray:
    """Compute the cosine as the sine of the complement, which does not cancel near s = 1."""
    half_pi = 2 * np.arctan(LONG(1))
    return np.sin(half_pi * (1 - s) / (1 + np.sqrt(s)))


EXPECTED: dict[type, Callable[[np.ndarray], np.ndarray]] = {
    sum_loops.GaussianProfile: lambda s: np.exp(-s / 2),
    sum_loops.ExponentialProfile: lambda s: np.exp(-np.sqrt(s)),
    sum_loops.LaplaceProfile: lambda s: np.exp(-s),
    sum_loops.UniformProfile: lambda s: np.where(s <= 1, LONG(1), LONG(0)),
    sum_loops.EpanechnikovProfile: lambda s: np.where(s < 1, 1 - s, 0),
    sum_loops.TriangularProfile: lambda s: np.where(s < 1, (1 - s) / (1 + np.sqrt(s)), 0),
    sum_loops.BiweightProfile: lambda s: np.where(s < 1, (1 - s) ** 2, 0),
    sum_loops.TriweightProfile: lambda s: np.where(s < 1, (1 - s) ** 3, 0),
    sum_loops.CosineProfile: lambda s: np.where(s < 1, _cosine(s), 0),
}
ENDLESS = (sum_loops.GaussianProfile, sum_loops.ExponentialProfile, sum_loops.LaplaceProfile)
every_kernel = pytest.mark.parametrize("kind", EXPECTED, ids=lambda kind: kind.__name__)


@jit
def total(kernel, s):  # type: ignore[no-untyped-def]
    value = 0.0
    for i in range(len(s)):
        value += sum_loops.profile(kernel, s[i], 0.0)
    return value


def each(kernel: object, s: np.ndarray) -> np.ndarray:
    return np.array([sum_loops.profile(kernel, float(x), 0.0) for x in s])


def test_every_kernel_has_its_profile() -> None:
    assert set(EXPECTED) == set(sum_loops.PROFILES)


@every_kernel
def test_profiles_have_all_digits(kind: type) -> None:
    expected = EXPECTED[kind](S.astype(LONG)).astype(float)
    np.testing.assert_allclose(each(kind(), S), expected, rtol=0, atol=5e-14 if kind in ENDLESS else 5e-16)


@pytest.mark.parametrize(
    "kind",
    [sum_loops.EpanechnikovProfile, sum_loops.BiweightProfile, sum_loops.TriweightProfile, sum_loops.CosineProfile],
    ids=lambda kind: kind.__name__,
)
def test_near_the_edge_no_digits_cancel(kind: type) -> None:
    """A function of s itself; the triangular kernel takes a root first, which rounds."""
    s = 1 - np.logspace(-15, -1, 57)
    expected = EXPECTED[kind](s.astype(LONG)).astype(float)
    np.testing.assert_allclose(each(kind(), s), expected, rtol=3e-15)


@pytest.mark.parametrize("kind", ENDLESS, ids=lambda kind: kind.__name__)
def test_values_in_the_far_tail_have_all_digits_until_they_underflow(kind: type) -> None:
    s = np.array([100.0, 400.0, 700.0])
    np.testing.assert_allclose(each(kind(), s), EXPECTED[kind](s), rtol=1e-12)
    assert sum_loops.profile(kind(), 1e300, 0.0) == 0


@pytest.mark.parametrize("kind", ENDLESS, ids=lambda kind: kind.__name__)
def test_a_lift_prevents_underflow_far_away(kind: type) -> None:
    far, further = (float(-np.log2(EXPECTED[kind](LONG(s)))) for s in (1e3, 1.1e3))
    lifted = [sum_loops.profile(kind(), s, far) for s in (1e3, 1.1e3)]
    np.testing.assert_allclose(lifted, [1.0, 2.0 ** (far - further)], rtol=1e-12)
    assert sum_loops.profile(kind(), 0.0, far) == 1, "more than 1 is what rounding makes of 1"


@every_kernel
def test_profiles_at_the_ends_of_their_range(kind: type) -> None:
    """The uniform kernel is supported on the closed ball; the others are 0 at its edge."""
    kernel = kind()
    assert sum_loops.profile(kernel, 0.0, 0.0) == pytest.approx(1, rel=3e-16)
    if kind not in ENDLESS:
        assert sum_loops.profile(kernel, 1.0, 0.0) == (kind is sum_loops.UniformProfile)
        assert sum_loops.profile(kernel, np.nextafter(1, 2), 0.0) == 0


@every_kernel
def test_a_compiled_loop_dispatches_on_the_type(kind: type) -> None:
    s = np.linspace(0, 1.5, 40)
    assert total(kind(), s) == pytest.approx(each(kind(), s).sum(), rel=1e-14)
