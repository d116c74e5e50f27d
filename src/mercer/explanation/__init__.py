"""Explanations of fitted models and of their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.explanation.column_drivers import drivers
    from mercer.explanation.explanation import explain_rows

_MODULES = {
    "column_drivers": ["drivers"],
    "explanation": ["explain_rows"],
}
__all__ = ["drivers", "explain_rows"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
