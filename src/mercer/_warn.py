"""Warnings in the name of who called mercer, however deep inside it the reason was found."""

from __future__ import annotations

import sys
import warnings

#: packages that are passed through on the way out: a pipeline that calls our `fit` was called by somebody
INSIDE = ("mercer", "sklearn", "joblib", "numba", "contextlib", "functools")


def warn(message: str | Warning, category: type[Warning] | None = None) -> None:
    """`warnings.warn` that points to the nearest line outside of mercer and scikit-learn."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _is_inside(module: str) -> bool:
    return module.split(".", 1)[0] in INSIDE
