"""scikit-learn's tests of ensembles, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")]

globals().update(
    load_inside(
        {
            "sklearn.ensemble.tests.test_bagging": {},
            "sklearn.ensemble.tests.test_base": {},
            "sklearn.ensemble.tests.test_common": {},
            "sklearn.ensemble.tests.test_forest": {},
            "sklearn.ensemble.tests.test_gradient_boosting": {},
            "sklearn.ensemble.tests.test_stacking": {
                "test_stacking_classifier_error": "wants no probabilities without probability=True; there always are",
            },
            "sklearn.ensemble.tests.test_voting": {},
            "sklearn.ensemble.tests.test_weight_boosting": {},
        }
    )
)
