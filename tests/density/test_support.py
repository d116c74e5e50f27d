"""Bounds: what they may be, which data they exclude, and the maps that belong to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer._errors import BandwidthError, SupportError
from mercer.density._bounded import Support, support_from

INF = np.inf
NAMES = ["a", "b"]


@pytest.mark.parametrize(
    ("given_", "low", "high"),
    [
        ((0, 1), [0, 0], [1, 1]),
        ((0, None), [0, 0], [INF, INF]),
        ([(0, 1), None], [0, -INF], [1, INF]),
        ([None, (None, 3)], [-INF, -INF], [INF, 3]),
        ({"b": (0, INF)}, [-INF, 0], [INF, INF]),
        ({1: (0, 2)}, [-INF, 0], [INF, 2]),
    ],
)
def test_bounds_can_be_given_in_several_ways(given_: Any, low: list[float], high: list[float]) -> None:
    support = support_from(given_, 2, "reflect", NAMES)
    assert support is not None
    assert support.low.tolist() == low
    assert support.high.tolist() == high


@pytest.mark.parametrize("given_", [None, [None, None], (-INF, INF)])
def test_absent_bounds_give_none(given_: Any) -> None:
    assert support_from(given_, 2, "reflect", NAMES) is None


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ((1, 0), "'a'"),
        ((0, 0), "low < high"),
        ([(0, 1)], r"1 entries for 2 column"),
        ({"c": (0, 1)}, "'c'"),
        ([(0, 1), 3], "'b'"),
        ([(0, np.nan), None], "'a'"),
    ],
)
def test_invalid_bounds_are_rejected(given_: Any, message: str) -> None:
    with pytest.raises(SupportError, match=message):
        support_from(given_, 2, "reflect", NAMES)


def test_data_beyond_bounds_are_named() -> None:
    X = np.array([[0.5, 5.0], [0.0, 2.0], [0.5, -1.0]])
    reflect, transform = (support_from([(0, 1), (0, INF)], 2, kind, NAMES) for kind in ("reflect", "transform"))
    assert reflect is not None
    assert transform is not None
    with pytest.raises(SupportError, match=r"'b' is -1 in row 2.*outside the support \[0, inf\]"):
        reflect.check_inside(X, NAMES)
    with pytest.raises(SupportError, match=r"'a' is 0 in row 1.*not strictly inside.*reflect"):
        transform.check_inside(X, NAMES)


@pytest.mark.parametrize("bounds", [(-INF, INF), (1.0, INF), (-INF, 4.0), (1.0, 4.0)])
def test_transformations_are_undone_and_have_their_slope(bounds: tuple[float, float]) -> None:
    support = Support(np.array([bounds[0]]), np.array([bounds[1]]), "transform")
    X = np.linspace(1.01, 3.99, 20)[:, None]
    Y = support.forward(X)
    assert (np.diff(Y[:, 0]) > 0).all()
    np.testing.assert_allclose(support.backward(Y), X, rtol=1e-13)
    slope = (support.forward(X + 1e-6) - support.forward(X - 1e-6))[:, 0] / 2e-6
    np.testing.assert_allclose(np.exp(support.log_slope(X)), slope, rtol=1e-6)
    assert support.contains(support.backward(np.array([[-1e3], [1e2]]))).all()


@given(st.floats(-1e3, 1e3))
def test_reflection_stays_within_bounds_and_images_invert_it(x: float) -> None:
    for low, high in ((1.0, 4.0), (1.0, INF), (-INF, 4.0)):
        support = Support(np.array([low]), np.array([high]))
        folded = support.fold(np.array([[x]]))
        assert support.contains(folded).all()
        images = [float(sign[0] * folded[0, 0] + shift[0]) for sign, shift in support.images(np.array([1200.0]))]
        assert min(abs(image - x) for image in images) < 1e-9


def test_a_kernel_much_wider_than_the_support_is_rejected() -> None:
    with pytest.raises(BandwidthError, match="flat"):
        Support(np.array([0.0]), np.array([1.0])).images(np.array([1e6]))
