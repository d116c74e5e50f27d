"""A warning points to the line that called mercer."""

from __future__ import annotations

from typing import Any

import pytest

from mercer._errors import MercerWarning
from mercer._warn import warn


def calling(inner: Any, module: str) -> Any:
    """A function of another module that calls one."""
    inside = {"__name__": module, "inner": inner}
    exec("def outer():\n    inner()", inside)
    return inside["outer"]


@pytest.mark.parametrize("around", ["mercer.linear_model.ridge", "sklearn.pipeline", "joblib.parallel", "numba.core"])
def test_lines_of_mercer_and_of_packages_that_call_it_are_skipped(around: str) -> None:
    fit = calling(_warning_of("mercer.optim"), around)
    with pytest.warns(MercerWarning, match="careful") as caught:
        fit()
    assert caught[0].filename == __file__


def test_a_name_that_only_begins_alike_is_outside() -> None:
    with pytest.warns(MercerWarning, match="careful") as caught:
        calling(_warning_of("mercer.optim"), "mercerised")()
    assert caught[0].filename == "<string>"


def _warning_of(module: str) -> Any:
    inside: dict[str, Any] = {"__name__": module, "warn": warn, "MercerWarning": MercerWarning}
    exec("def deep():\n    warn('careful', MercerWarning)", inside)
    return inside["deep"]
