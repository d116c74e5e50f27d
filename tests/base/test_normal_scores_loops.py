"""Centring before, and squares after, the products of BLAS."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.base import score_loops


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_centred_in_double_precision(dtype: type) -> None:
    X = np.random.default_rng(0).normal(size=(9, 4)).astype(dtype)
    centre, out = np.full(4, 0.1), np.full((5, 4), np.nan)
    score_loops.centre_rows(X, 3, 7, centre, out)
    np.testing.assert_array_equal(out[:4], X[3:7].astype(float) - 0.1)
    assert np.isnan(out[4]).all()


def test_scores_are_constants_less_half_the_squared_distances() -> None:
    rng = np.random.default_rng(0)
    Z, shift, constant = rng.normal(size=(6, 8)), rng.normal(size=(2, 4)), np.array([1.0, -np.inf])
    Z[2, 1] = np.nan
    out = np.empty((6, 2))
    score_loops.quadratic_scores(Z, shift, constant, out)
    expected = 1.0 - 0.5 * np.square(Z[:, :4] - shift[0]).sum(axis=1)
    np.testing.assert_allclose(out[:, 0], expected, rtol=1e-12)
    assert np.isneginf(out[:, 1]).all()
