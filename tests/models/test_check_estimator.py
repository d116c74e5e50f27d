"""scikit-learn's own checks of the conventions, on every estimator there is."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import models


def estimators() -> list[Any]:
    """One of each, with default parameters."""
    public = [getattr(models, name) for name in models.__all__]
    return [made() for made in public if inspect.isclass(made) and issubclass(made, BaseEstimator)]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@parametrize_with_checks(estimators())
def test_follows_the_conventions_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", estimators(), ids=lambda estimator: type(estimator).__name__)
def test_every_parameter_and_attribute_is_documented(estimator: Any) -> None:
    documentation = inspect.getdoc(type(estimator)) or ""
    for name in estimator.get_params():
        assert f"\n{name} : " in documentation, f"{name} is not described"
    assert "\nExamples\n" in documentation
