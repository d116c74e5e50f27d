"""Kernel ridge regression, and linear models with a kernel in place of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.kernel_ridge._kernelize import kernelize
    from mercer.kernel_ridge.kernel_ridge import KernelRidge

_MODULES = {
    "_kernelize": ["kernelize"],
    "kernel_ridge": ["KernelRidge"],
}
__all__ = ["KernelRidge", "kernelize"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
