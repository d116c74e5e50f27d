"""The estimators that there are."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator

from mercer import models


def estimator_classes() -> list[Any]:
    """Every public one, whatever it estimates."""
    public = [getattr(models, name) for name in models.__all__]
    return [made for made in public if inspect.isclass(made) and issubclass(made, BaseEstimator)]
