"""scikit-learn's tests of searches, cross-validation and thresholds, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

globals().update(
    load_inside(
        {
            "sklearn.model_selection.tests.test_classification_threshold": {},
            "sklearn.model_selection.tests.test_search": {
                "test_predict_proba_disabled": "wants SVC to have no probabilities without probability=True; there "
                "always are",
                "test_search_cv_sample_weight_equivalence": "wants weights to be repetitions to seven digits at the "
                "default tol, where two ways to the optimum stop apart",
            },
            "sklearn.model_selection.tests.test_split": {},
            "sklearn.model_selection.tests.test_successive_halving": {},
            "sklearn.model_selection.tests.test_validation": {},
        }
    )
)
