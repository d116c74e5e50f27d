"""scikit-learn's tests of what all linear models have in common, run on our least squares."""

from __future__ import annotations

from mercer.linear_model import LinearRegression, Ridge, RidgeCV
from tests.sklearn_suite._cases import on_ours_only
from tests.sklearn_suite._swap import load_swapped

TESTS = load_swapped(
    "sklearn.linear_model.tests.test_common",
    {"LinearRegression": LinearRegression, "Ridge": Ridge, "RidgeCV": RidgeCV},
    exclude={"test_linear_model_classifier_coef_shape": "tests classifiers"},
)

globals().update({name: on_ours_only(test) for name, test in TESTS.items()})
