"""scikit-learn's tests of ridge regression, run on ours."""

from __future__ import annotations

import pytest

from mercer.linear_model import LinearRegression, Ridge, RidgeCV
from tests.sklearn_suite._swap import load_swapped

# some of the tests also run scikit-learn's classifiers, which warn
pytestmark = pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")

PRIVATE = "tests a private function of scikit-learn, not the estimators"
CLASSIFIER = "tests RidgeClassifier or RidgeClassifierCV, which are scikit-learn's own here"
ARRAYS = "arrays of other libraries are not accepted, and the tags do not promise it"


@pytest.fixture(params=[42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    """One seed: the suite is long."""
    return int(request.param)


TESTS = load_swapped(
    "sklearn.linear_model.tests.test_ridge",
    {"LinearRegression": LinearRegression, "Ridge": Ridge, "RidgeCV": RidgeCV},
    exclude={
        "test_primal_dual_relationship": PRIVATE,
        "test_ridge_regression_convergence_fail": PRIVATE,
        "test_X_CenterStackOp": PRIVATE,
        "test_compute_gram": PRIVATE,
        "test_compute_covariance": PRIVATE,
        "test_check_gcv_mode_choice": PRIVATE,
        "test_lbfgs_solver_consistency": PRIVATE,
        "test_ridge_regression_check_arguments_validity": PRIVATE,
        "test_regularization_limits_ridge_classifier_gcv": CLASSIFIER,
        "test_ridge_classifier_with_scoring": CLASSIFIER,
        "test_class_weights": CLASSIFIER,
        "test_class_weight_vs_sample_weight": CLASSIFIER,
        "test_class_weights_cv": CLASSIFIER,
        "test_ridge_classifier_cv_store_cv_results": CLASSIFIER,
        "test_ridgeclassifier_multilabel": CLASSIFIER,
        "test_ridge_array_api_compliance": ARRAYS,
        "test_ridge_classifier_multilabel_array_api": ARRAYS,
        "test_ridge_per_target_alpha_array_api": ARRAYS,
        "test_array_api_error_and_warnings_for_solver_parameter": ARRAYS,
        "test_array_api_numpy_namespace_no_warning": ARRAYS,
        "test_n_iter": "expects iterative solvers to stop at max_iter; here such data are solved directly",
        "test_ridge_fit_intercept_sparse_sag": "expects a warning that solver='sag' needs many steps, which ours does "
        "not; that sparse and dense X agree is in tests/linear_model/test_ridge.py",
    },
)

# many hundred times leaving one out, over and over
for name in ("test_ridge_gcv_vs_ridge_loo_cv", "test_ridge_gcv_sample_weights", "test_ridge_cv_results_predictions"):
    pytest.mark.slow(TESTS[name])

globals().update(TESTS)
