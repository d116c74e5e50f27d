"""exp, log and the logistic function, against arithmetic with more digits, over all floats."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer._jit import jit, scalar

ANY = st.floats(allow_nan=True, allow_infinity=True)
EPS = np.finfo(float).eps
ENOUGH_DIGITS = pytest.mark.skipif(np.finfo(np.longdouble).eps >= EPS, reason="long double is double here")


@jit
def exps(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = scalar.exp(x[i])


@jit
def logs(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = scalar.log(x[i])


@jit
def logistics(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i, 0], out[i, 1], out[i, 2] = scalar.logistic(x[i])


@jit
def deviances(x, mean, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        out[i] = scalar.deviance(x[i], mean[i], scalar.log(x[i]) - scalar.log(mean[i]))


def test_exp_at_the_ends_of_its_range() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 709.782712893384, 709.79, -745.13, -745.14, 1e308, -1e308])
    out = np.empty(len(x))
    exps(x, out)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, np.exp(x), rtol=4 * EPS)


def test_log_at_the_ends_of_its_range() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 5e-324, 1e-310, 2.3e-308, 1.0, 1.8e308])
    out = np.empty(len(x))
    logs(x, out)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, np.log(x), rtol=4 * EPS)


@ENOUGH_DIGITS
@settings(max_examples=200)
@given(x=st.lists(st.one_of(ANY, st.floats(-750, 750), st.floats(-1, 1)), min_size=1, max_size=40))
def test_exp_has_all_digits(x: list[float]) -> None:
    values, out = np.array(x), np.empty(len(x))
    exps(values, out)
    with np.errstate(all="ignore"):
        expected = np.exp(values.astype(np.longdouble))
        np.testing.assert_allclose(out, expected.astype(float), rtol=1.5 * EPS, atol=5e-324)


@ENOUGH_DIGITS
@settings(max_examples=200)
@given(x=st.lists(st.one_of(ANY, st.floats(0, 10), st.floats(0.99, 1.01)), min_size=1, max_size=40))
def test_log_has_all_digits(x: list[float]) -> None:
    values, out = np.array(x), np.empty(len(x))
    logs(values, out)
    with np.errstate(all="ignore"):
        expected = np.log(values.astype(np.longdouble))
        np.testing.assert_allclose(out, expected.astype(float), rtol=3 * EPS)


@ENOUGH_DIGITS
@settings(max_examples=100)
@given(x=st.lists(st.one_of(st.floats(0, 800), st.floats(0, 2)), min_size=1, max_size=40))
def test_the_logistic_function_and_its_logarithm(x: list[float]) -> None:
    values, out = np.array(x), np.empty((len(x), 3))
    logistics(values, out)
    with np.errstate(all="ignore"):
        e = np.exp(-values.astype(np.longdouble))
        expected = np.stack([1 / (1 + e), e / (1 + e), np.log1p(e)], axis=1)
        np.testing.assert_allclose(out, expected.astype(float), rtol=5 * EPS, atol=1e-307)


def test_deviances_are_accurate_near_the_mean_and_far_from_it() -> None:
    x = np.array([0.0, 0.0, 3.0, 1e8, 1e8, 5.0, 5.0])
    mean = np.array([2.0, 0.0, 3.0, 1e8 + 1.0, 2e8, 7.0, 7.2])
    out = np.empty(len(x))
    deviances(x, mean, out)
    np.testing.assert_allclose(out[[0, 2]], [2.0, 0.0])
    assert out[3] == pytest.approx(0.5e-8 * (1 - 2 / 3e8), rel=1e-12)
    np.testing.assert_allclose(out[4:], x[4:] * np.log(x[4:] / mean[4:]) + mean[4:] - x[4:], rtol=1e-13)


def test_without_compilation_the_functions_are_the_same() -> None:
    for x in (-3.5, 0.0, 2.25, 700.0, -720.0):
        with np.errstate(all="ignore"):
            assert scalar.exp.plain(np.float64(x)) == pytest.approx(np.exp(x), rel=1e-15)
    for x in (1e-310, 0.5, 1.0, 2.25, 1e300):
        assert scalar.log.plain(np.float64(x)) == pytest.approx(np.log(x), rel=1e-15)
