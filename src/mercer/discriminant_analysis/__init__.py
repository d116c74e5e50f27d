"""Discriminant analysis: classes with normal densities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.discriminant_analysis._gaussian import GaussianDiscriminant
    from mercer.discriminant_analysis._linear import LinearDiscriminantAnalysis
    from mercer.discriminant_analysis._quadratic import QuadraticDiscriminantAnalysis

_MODULES = {
    "_gaussian": ["GaussianDiscriminant"],
    "_linear": ["LinearDiscriminantAnalysis"],
    "_quadratic": ["QuadraticDiscriminantAnalysis"],
}
__all__ = ["GaussianDiscriminant", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
