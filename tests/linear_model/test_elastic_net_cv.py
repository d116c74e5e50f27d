"""The elastic net with its penalty chosen by cross-validation: scikit-learn's choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model

from mercer._errors import PenaltyError
from mercer.linear_model import ElasticNetCV, LassoCV
from tests.linear_model._regressions import assert_same_attributes, draw


@pytest.mark.parametrize(
    "options",
    [
        {"l1_ratio": 0.3, "alphas": 6},
        {"l1_ratio": [0.1, 0.9], "alphas": 6},
        {"l1_ratio": [0.1, 0.9], "alphas": [0.01, 1.0]},
        {"l1_ratio": 0.0, "alphas": [0.01, 1.0]},
    ],
    ids=str,
)
def test_paths_and_choices_agree_with_scikit_learn(options: dict[str, Any]) -> None:
    X, y = draw(40, 5)
    options = {**options, "tol": 1e-10, "max_iter": 100_000}
    ours, theirs = (kind(**options).fit(X, y) for kind in (ElasticNetCV, linear_model.ElasticNetCV))
    names = ("alphas_", "alpha_", "l1_ratio_", "mse_path_", "coef_", "intercept_")
    assert_same_attributes(ours, theirs, names, rtol=1e-5, atol=1e-7)
    assert ours.certificate_.holds


def test_parameters_agree_with_scikit_learn() -> None:
    for ours, theirs in ((ElasticNetCV, linear_model.ElasticNetCV), (LassoCV, linear_model.LassoCV)):
        assert ours().get_params() == theirs().get_params()
        assert ours._parameter_constraints.keys() == theirs._parameter_constraints.keys()


def test_without_absolute_values_there_is_no_largest_penalty() -> None:
    X, y = draw(20, 3)
    with pytest.raises(PenaltyError, match="Automatic alpha grid generation is not supported for l1_ratio=0"):
        ElasticNetCV(l1_ratio=0).fit(X, y)


def test_errors_of_folds_are_those_of_their_optimum() -> None:
    """Coefficients of zero are within the tolerance, which leaves errors of its square root."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 10))
    y = X[:, 0] - 2 * X[:, 3] + 0.5 * rng.normal(size=300)
    plain, tight = (ElasticNetCV(cv=3, alphas=30, tol=tol).fit(X, y) for tol in (1e-4, 1e-12))
    np.testing.assert_allclose(plain.mse_path_, tight.mse_path_, rtol=1e-5)
