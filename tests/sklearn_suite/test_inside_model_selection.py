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
            "sklearn.model_selection.tests.test_search": {},
            "sklearn.model_selection.tests.test_split": {},
            "sklearn.model_selection.tests.test_successive_halving": {},
            "sklearn.model_selection.tests.test_validation": {},
        }
    )
)
