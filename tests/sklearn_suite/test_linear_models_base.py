"""scikit-learn's tests of ordinary least squares, run on ours."""

from __future__ import annotations

from mercer.linear_model import LinearRegression
from tests.sklearn_suite._swap import load_swapped

PRIVATE = "tests scikit-learn's private preprocessing, not the estimator"

globals().update(
    load_swapped(
        "sklearn.linear_model.tests.test_base",
        {"LinearRegression": LinearRegression},
        exclude={
            "test_inplace_data_preprocessing": "copy_X=False is expected to spoil X, which ours never does",
            "test_linear_regression_sample_weight_consistency": "expects sparse X to fail where ours does not; the law "
            "is in tests/linear_model/test_linear_regression.py",
            "test_raises_value_error_if_positive_and_sparse": "ours takes sparse X; the law is in "
            "tests/linear_model/test_linear_regression.py",
            "test_preprocess_data": PRIVATE,
            "test_preprocess_data_multioutput": PRIVATE,
            "test_preprocess_data_weighted": PRIVATE,
            "test_sparse_preprocess_data_offsets": PRIVATE,
            "test_csr_preprocess_data": PRIVATE,
            "test_preprocess_copy_data_no_checks": PRIVATE,
            "test_dtype_preprocess_data": PRIVATE,
            "test_preprocess_data_integer_array_api_on_float32_only_device": PRIVATE,
            "test_rescale_data": PRIVATE,
            "test_fused_types_make_dataset": PRIVATE,
            "test_array_api_move_estimator_to": "tests a private class; arrays of other libraries are not accepted",
            "test_predict_proba_lr_large_values": "tests a private mixin of classifiers",
        },
    )
)
