"""scikit-learn's tests of its discriminant analyses, run on ours."""

from __future__ import annotations

from mercer.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tests.sklearn_suite._swap import load_swapped

REPLACEMENTS = {
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
}

globals().update(
    load_swapped(
        "sklearn.tests.test_discriminant_analysis",
        REPLACEMENTS,
        exclude={"test_covariance": "tests scikit-learn's private function _cov, not the estimators"},
    )
)
