"""scikit-learn's tests of its perceptron, run on ours."""

from __future__ import annotations

from mercer.linear_model import Perceptron
from tests.sklearn_suite._swap import load_swapped

globals().update(load_swapped("sklearn.linear_model.tests.test_perceptron", {"Perceptron": Perceptron}))
