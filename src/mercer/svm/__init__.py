"""Support vector machines for classification and regression, with kernels and linear ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.svm._linear_svc import LinearSVC
    from mercer.svm._linear_svr import LinearSVR
    from mercer.svm._svc import SVC
    from mercer.svm._svr import SVR

_MODULES = {
    "_linear_svc": ["LinearSVC"],
    "_linear_svr": ["LinearSVR"],
    "_svc": ["SVC"],
    "_svr": ["SVR"],
}
__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
