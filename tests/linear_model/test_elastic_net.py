"""The elastic net: scikit-learn's numbers, with a proof."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.linear_model import ElasticNet, Lasso, Ridge
from tests.linear_model._regressions import draw


@pytest.mark.parametrize("shape", [(40, 5), (7, 20)], ids=str)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"positive": True}], ids=str)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csc_array])
def test_coefficients_agree_with_scikit_learn(
    shape: tuple[int, int], l1_ratio: float, options: dict[str, Any], wrap: Any
) -> None:
    X, y = draw(*shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = linear_model.ElasticNet(0.3, l1_ratio=l1_ratio, tol=1e-13, max_iter=100_000, **options).fit(X, y)
    ours = ElasticNet(0.3, l1_ratio=l1_ratio, **options).fit(wrap(X), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)
    assert ours.certificate_.holds


def test_the_limits_are_the_lasso_and_ridge_regression() -> None:
    X, y = draw(40, 5)
    np.testing.assert_allclose(ElasticNet(0.2, l1_ratio=1.0).fit(X, y).coef_, Lasso(0.2).fit(X, y).coef_)
    ridge = ElasticNet(0.2, l1_ratio=0.0).fit(X, y)
    np.testing.assert_allclose(ridge.coef_, Ridge(0.2 * 40).fit(X, y).coef_, rtol=1e-10)
    assert ridge.plan_.path == "normal equations by Cholesky"
    assert ridge.dual_gap_ < 1e-12


def test_parameters_agree_with_scikit_learn() -> None:
    for ours, theirs in ((ElasticNet, linear_model.ElasticNet), (Lasso, linear_model.Lasso)):
        assert ours().get_params() == theirs().get_params()
        assert ours._parameter_constraints.keys() == theirs._parameter_constraints.keys()
        assert clone(ours(alpha=2.0)).alpha == 2.0


def test_the_path_is_a_method() -> None:
    X, y = draw(40, 5)
    alphas, coefs, _ = ElasticNet.path(X, y, alphas=[0.1, 0.5], l1_ratio=0.7, tol=1e-10)
    expected = ElasticNet(0.5, l1_ratio=0.7, fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(coefs[:, 0], expected, rtol=1e-6)
    np.testing.assert_array_equal(alphas, [0.5, 0.1])
