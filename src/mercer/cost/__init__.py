"""Estimates of the time and the memory of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.cost._estimate import estimate_cost

_MODULES = {
    "_estimate": ["estimate_cost"],
}
__all__ = ["estimate_cost"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
