"""scikit-learn's tests of what all linear models have in common, run on our logistic regressions."""

from __future__ import annotations

from typing import Any

import pytest

from mercer.linear_model import LogisticRegression, LogisticRegressionCV
from tests.sklearn_suite._cases import on_ours_only
from tests.sklearn_suite._swap import load_swapped


def without_marks(test: Any) -> Any:
    """scikit-learn expects saga to fail at weights, which ours must not."""
    for place, mark in enumerate(test.pytestmark):
        if mark.name == "parametrize":
            values = [case.values[0] if hasattr(case, "marks") else case for case in mark.args[1]]
            test.pytestmark[place] = pytest.mark.parametrize(mark.args[0], values, **mark.kwargs).mark
    return test


TESTS = load_swapped(
    "sklearn.linear_model.tests.test_common",
    {model.__name__: model for model in (LogisticRegression, LogisticRegressionCV)},
    exclude={
        "test_linear_model_regressor_coef_shape": "tests regressors",
        "test_model_pipeline_same_dense_and_sparse": "tests regressors and ridge classifiers",
    },
)

globals().update({name: without_marks(on_ours_only(test)) for name, test in TESTS.items()})
