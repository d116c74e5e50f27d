"""The laws that families, kernels of both kinds and statistics obey, as checks to run on your own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.testing.families import check_family
    from mercer.testing.kernels import check_kernel
    from mercer.testing.smoothing import check_smoothing_kernel
    from mercer.testing.statistics import check_statistic

__all__ = ["check_family", "check_kernel", "check_smoothing_kernel", "check_statistic"]

_HOMES = {
    "check_family": "mercer.testing.families",
    "check_kernel": "mercer.testing.kernels",
    "check_smoothing_kernel": "mercer.testing.smoothing",
    "check_statistic": "mercer.testing.statistics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer.testing' has no attribute {name!r}; it has {', '.join(__all__)}.")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
