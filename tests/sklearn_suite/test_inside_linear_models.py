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
            "sklearn.linear_model.tests.test_ransac": dict.fromkeys(
                (
                    "test_perfect_horizontal_line",
                    "test_ransac_exceed_max_skips",
                    "test_ransac_min_n_samples",
                    "test_ransac_no_valid_data",
                    "test_ransac_no_valid_model",
                    "test_ransac_warn_exceed_max_skips",
                ),
                "RANSACRegressor asks for min_samples unless its model is of scikit-learn's own class",
            ),
            "sklearn.linear_model.tests.test_sag": {
                **dict.fromkeys(
                    (
                        "test_binary_classifier_class_weight",
                        "test_sag_classifier_computed_correctly",
                        "test_sag_multiclass_computed_correctly",
                    ),
                    "compares with where stochastic steps on sparse rows are when they stop, far from the optimum",
                ),
                "test_sag_classifier_raises_error": "wants another message about a warm start from NaN",
                "test_step_size_alpha_error": "wants a private step size to divide by zero; nothing is stepped here",
            },
            "sklearn.linear_model.tests.test_sgd": {},
            "sklearn.linear_model.tests.test_theil_sen": {},
            "sklearn.neural_network.tests.test_mlp": {},
            "sklearn.svm.tests.test_bounds": {},
        }
    )
)
