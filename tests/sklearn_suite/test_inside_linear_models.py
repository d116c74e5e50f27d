"""scikit-learn's tests of its other linear models and networks, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

globals().update(
    load_inside(
        {
            "sklearn.linear_model.tests.test_bayes": {},
            "sklearn.linear_model.tests.test_huber": {},
            "sklearn.linear_model.tests.test_least_angle": {},
            "sklearn.linear_model.tests.test_omp": {},
            "sklearn.linear_model.tests.test_ransac": {},
            "sklearn.linear_model.tests.test_sag": {},
            "sklearn.linear_model.tests.test_sgd": {},
            "sklearn.linear_model.tests.test_theil_sen": {},
            "sklearn.neural_network.tests.test_mlp": {},
            "sklearn.svm.tests.test_bounds": {},
        }
    )
)
