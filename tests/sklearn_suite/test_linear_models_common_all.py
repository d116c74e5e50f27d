"""scikit-learn's tests of what all linear models have in common, run on those of ours that no other suite has."""

from __future__ import annotations

import pytest

import mercer
from tests.sklearn_suite._cases import on_ours_only
from tests.sklearn_suite._swap import load_swapped

pytestmark = pytest.mark.slow

NAMES = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearSVC",
    "LinearSVR",
    "Perceptron",
    "PoissonRegressor",
    "GammaRegressor",
    "TweedieRegressor",
]

TESTS = load_swapped("sklearn.linear_model.tests.test_common", {name: getattr(mercer, name) for name in NAMES})

globals().update({name: on_ours_only(test) for name, test in TESTS.items()})
