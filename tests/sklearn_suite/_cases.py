"""Select the cases of scikit-learn's tests that concern classes of mercer."""

from __future__ import annotations

import inspect
from typing import Any

import pytest


def on_ours_only(test: Any) -> Any:
    """The test without the cases that run scikit-learn's own models."""
    for place, mark in enumerate(test.pytestmark):
        if mark.name == "parametrize" and any(map(_is_ours, mark.args[1])):
            ours = list(filter(_is_ours, mark.args[1]))
            test.pytestmark[place] = pytest.mark.parametrize(mark.args[0], ours, **mark.kwargs).mark
    return test


def _is_ours(case: Any) -> bool:
    """Return whether a value of a parametrised test is a model of mercer, or starts with one."""
    values = getattr(case, "values", case)  # of a pytest.param
    first = values[0] if isinstance(values, tuple) else values
    return (first if inspect.isclass(first) else type(first)).__module__.startswith("mercer.")
