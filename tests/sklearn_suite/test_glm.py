"""scikit-learn's tests of its GLM regressors, run on ours.

The tests compute reference solutions from the loss of each model, `_get_loss()`, which ours do not have: here they get
scikit-learn's, and the private base class, of which the tests derive models, gets the response that its loss describes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn._loss import HalfBinomialLoss, HalfGammaLoss, HalfPoissonLoss, HalfTweedieLoss, HalfTweedieLossIdentity
from sklearn._loss.loss import HalfSquaredError

import mercer
from mercer.families import IDENTITY, LOGIT, Bernoulli, Gaussian
from mercer.families.response import Response
from mercer.linear_model.glm_regressors import GLMRegressor
from tests.sklearn_suite._swap import load_swapped


class PoissonRegressor(mercer.PoissonRegressor):
    def _get_loss(self) -> Any:
        return HalfPoissonLoss()


class GammaRegressor(mercer.GammaRegressor):
    def _get_loss(self) -> Any:
        return HalfGammaLoss()


class TweedieRegressor(mercer.TweedieRegressor):
    def _get_loss(self) -> Any:
        return (HalfTweedieLoss if self._is_log() else HalfTweedieLossIdentity)(power=self.power)


class _GeneralizedLinearRegressor(GLMRegressor):
    def _get_loss(self) -> Any:
        return HalfSquaredError()

    def _response(self) -> Response:
        binomial = isinstance(self._get_loss(), HalfBinomialLoss)
        return Response(Bernoulli(), LOGIT) if binomial else Response(Gaussian(), IDENTITY)

    def _loss_name(self) -> str:
        return type(self._get_loss()).__name__

    def _out_of_range(self, y: Any) -> Any:
        return np.zeros(np.shape(y), dtype=bool)


globals().update(
    load_swapped(
        "sklearn.linear_model._glm.tests.test_glm",
        {
            made.__name__: made
            for made in (PoissonRegressor, GammaRegressor, TweedieRegressor, _GeneralizedLinearRegressor)
        },
        exclude={
            "test_newton_solver_verbosity": "tests what scikit-learn's private solver prints",
            "test_poisson_regressor_array_api_compliance": "arrays of other libraries are not accepted",
            "test_poisson_regressor_array_api_warm_start": "arrays of other libraries are not accepted",
            "test_tweedie_link_argument": "looks at the private loss; see tests/linear_model/test_regressors.py",
            "test_tweedie_link_auto": "looks at the private loss; see tests/linear_model/test_regressors.py",
            "test_convergence_warning": "least squares are solved in one step, so that max_iter=1 is enough",
        },
    )
)
