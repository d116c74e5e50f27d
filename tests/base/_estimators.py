"""All public estimators."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import BaseEstimator

import mercer


def estimator_classes() -> list[Any]:
    """Every public one, whatever it estimates."""
    public = [getattr(mercer, name) for name in mercer.__all__ if name not in mercer.decision.__all__]
    return [made for made in public if inspect.isclass(made) and issubclass(made, BaseEstimator)]
