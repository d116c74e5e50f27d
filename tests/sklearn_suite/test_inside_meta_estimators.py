"""scikit-learn's tests of pipelines, meta-estimators and utilities, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

PROBABILITIES = "wants SVC to have no probabilities without probability=True; there always are"
DEFAULT = "looks at the default of scikit-learn's class, which is scikit-learn's"

globals().update(
    load_inside(
        {
            "sklearn.frozen.tests.test_frozen": {},
            "sklearn.semi_supervised.tests.test_self_training": dict.fromkeys(
                ("test_estimator_meta_estimator", "test_self_training_estimator_attribute_error"), PROBABILITIES
            ),
            "sklearn.tests.test_base": {"test_conditional_attrs_not_in_dir": PROBABILITIES},
            "sklearn.tests.test_calibration": {"test_calibration_default_estimator": DEFAULT},
            "sklearn.tests.test_metadata_routing": {},
            "sklearn.tests.test_metaestimators": {},
            "sklearn.tests.test_metaestimators_metadata_routing": {},
            "sklearn.tests.test_multiclass": {"test_ovr_multilabel_predict_proba": PROBABILITIES},
            "sklearn.tests.test_multioutput": {
                "test_multi_output_delegate_predict_proba": "wants the message of an attribute that is absent; ours "
                "says what to do instead",
                "test_multiclass_multioutput_estimator_predict_proba": "has seven digits of a fit that stopped 5e-5 "
                "from the optimum",
            },
            "sklearn.tests.test_pipeline": {
                "test_feature_union_array_api_support_tag": "arrays of other libraries are not accepted",
                "test_pipeline_memory": "pickles classes of the test module, which cannot be imported here",
            },
            "sklearn.utils._repr_html.tests.test_estimator": {
                "test_get_visual_block_transformed_target_regressor": DEFAULT,
            },
            "sklearn.utils._repr_html.tests.test_features": {},
            "sklearn.utils.tests.test_class_weight": {},
            "sklearn.utils.tests.test_estimator_checks": {
                "test_check_dataframe_column_names_consistency": "is about docstrings of scikit-learn's own modules",
                "test_check_estimator_pairwise": "takes any warning for a failure; ours says that the matrix is none "
                "of a kernel",
            },
            "sklearn.utils.tests.test_multiclass": {},
            "sklearn.utils.tests.test_plotting": {},
            "sklearn.utils.tests.test_pprint": {},
            "sklearn.utils.tests.test_response": {},
            "sklearn.utils.tests.test_testing": {},
            "sklearn.utils.tests.test_validation": {
                "test_check_array_links_to_imputer_doc_only_for_X": "wants a paragraph on imputers; ours names column "
                "and row, and one thing to do",
            },
        }
    )
)
