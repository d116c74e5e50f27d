"""scikit-learn's tests of metrics, displays and inspection, with our classes inside."""

from __future__ import annotations

import pytest

from tests.sklearn_suite._inside import load_inside

# scikit-learn divides by zero where it tests that it does
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")]

globals().update(
    load_inside(
        {
            "sklearn.inspection.tests.test_partial_dependence": {},
            "sklearn.inspection.tests.test_permutation_importance": {},
            "sklearn.inspection._plot.tests.test_boundary_decision_display": {},
            "sklearn.inspection._plot.tests.test_plot_partial_dependence": {},
            "sklearn.metrics.tests.test_classification": {},
            "sklearn.metrics.tests.test_ranking": {},
            "sklearn.metrics.tests.test_score_objects": {},
            "sklearn.metrics._plot.tests.test_common_curve_display": {},
            "sklearn.metrics._plot.tests.test_confusion_matrix_display": {},
            "sklearn.metrics._plot.tests.test_det_curve_display": {},
            "sklearn.metrics._plot.tests.test_precision_recall_display": {},
            "sklearn.metrics._plot.tests.test_predict_error_display": {},
            "sklearn.metrics._plot.tests.test_roc_curve_display": {
                "test_roc_curve_display_plotting_from_cv_results": "wants the spread of the AUC of fits that stopped "
                "before the optimum, to two digits; ours are scikit-learn's with tol=1e-12",
            },
        }
    )
)
