"""scikit-learn's tests of transformers and selections of columns, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

globals().update(
    load_inside(
        {
            "sklearn.compose.tests.test_target": {},
            "sklearn.cross_decomposition.tests.test_pls": {},
            "sklearn.decomposition.tests.test_kernel_pca": {},
            "sklearn.feature_selection.tests.test_from_model": {},
            "sklearn.feature_selection.tests.test_rfe": {},
            "sklearn.feature_selection.tests.test_sequential": {},
            "sklearn.impute.tests.test_impute": {},
            "sklearn.preprocessing.tests.test_data": {},
            "sklearn.preprocessing.tests.test_polynomial": {},
            "sklearn.preprocessing.tests.test_target_encoder": {},
        }
    )
)
