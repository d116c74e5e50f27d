"""scikit-learn's tests of what all linear models have in common, run on our least squares."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from mercer.models.linear.linear_regression import LinearRegression
from mercer.models.linear.ridge import Ridge
from mercer.models.linear.ridge_cv import RidgeCV
from tests.sklearn_suite._swap import load_swapped


def is_ours(case: Any) -> bool:
    """Whether a value of a parametrised test is a model of mercer, or starts with one."""
    values = getattr(case, "values", case)  # of a pytest.param
    first = values[0] if isinstance(values, tuple) else values
    return (first if inspect.isclass(first) else type(first)).__module__.startswith("mercer.")


def on_ours_only(test: Any) -> Any:
    """The test without the cases that run scikit-learn's own models."""
    for place, mark in enumerate(test.pytestmark):
        if mark.name == "parametrize" and any(map(is_ours, mark.args[1])):
            ours = list(filter(is_ours, mark.args[1]))
            test.pytestmark[place] = pytest.mark.parametrize(mark.args[0], ours, **mark.kwargs).mark
    return test


TESTS = load_swapped(
    "sklearn.linear_model.tests.test_common",
    {"LinearRegression": LinearRegression, "Ridge": Ridge, "RidgeCV": RidgeCV},
    exclude={"test_linear_model_classifier_coef_shape": "tests classifiers"},
)

globals().update({name: on_ours_only(test) for name, test in TESTS.items()})
