"""scikit-learn's tests of its logistic regressions, run on ours."""

from __future__ import annotations

from mercer.linear_model import LogisticRegression, LogisticRegressionCV
from tests.sklearn_suite._swap import load_swapped

PRIVATE = "tests a private function of scikit-learn's, not the estimators"
OTHER_ARRAYS = "arrays of other libraries are not accepted"

globals().update(
    load_swapped(
        "sklearn.linear_model.tests.test_logistic",
        {model.__name__: model for model in (LogisticRegression, LogisticRegressionCV)},
        exclude={
            "test_consistency_path": PRIVATE,
            "test_logistic_regression_path_convergence_fail": PRIVATE,
            "test_logistic_cv_multinomial_score": PRIVATE,
            "test_logistic_regression_path_coefs_multinomial": PRIVATE,
            "test_logistic_regression_path_init_coefs": PRIVATE,
            "test_logistic_regression_array_api_compliance": OTHER_ARRAYS,
            "test_logistic_regression_array_api_warm_start": OTHER_ARRAYS,
            "test_liblinear_dual_random_state": "wants another seed to give other coefficients; here nothing is drawn, "
            "and there is but one optimum",
            "test_logreg_predict_proba_multinomial": "calls the private _predict_proba_lr; what it says of softmax is "
            "in tests/linear_model/test_logistic_regression.py",
            "test_newton_cholesky_fallback_to_lbfgs": "counts the steps of scikit-learn's private fallback from "
            "Newton's method to L-BFGS; ours needs none",
        },
    )
)
