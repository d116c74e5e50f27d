"""scikit-learn's tests of pipelines, meta-estimators and utilities, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

globals().update(
    load_inside(
        {
            "sklearn.frozen.tests.test_frozen": {},
            "sklearn.semi_supervised.tests.test_self_training": {},
            "sklearn.tests.test_base": {},
            "sklearn.tests.test_calibration": {},
            "sklearn.tests.test_metadata_routing": {},
            "sklearn.tests.test_metaestimators": {},
            "sklearn.tests.test_metaestimators_metadata_routing": {},
            "sklearn.tests.test_multiclass": {},
            "sklearn.tests.test_multioutput": {},
            "sklearn.tests.test_pipeline": {},
            "sklearn.utils._repr_html.tests.test_estimator": {},
            "sklearn.utils._repr_html.tests.test_features": {},
            "sklearn.utils.tests.test_class_weight": {},
            "sklearn.utils.tests.test_estimator_checks": {},
            "sklearn.utils.tests.test_multiclass": {},
            "sklearn.utils.tests.test_plotting": {},
            "sklearn.utils.tests.test_pprint": {},
            "sklearn.utils.tests.test_response": {},
            "sklearn.utils.tests.test_testing": {},
            "sklearn.utils.tests.test_validation": {},
        }
    )
)
