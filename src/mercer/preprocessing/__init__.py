"""Features of tables and numbers: encodings, monomials, buckets, splines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import lazy_names

if TYPE_CHECKING:
    from mercer.preprocessing._buckets import BucketFeatures
    from mercer.preprocessing._categories import CategoryFeatures
    from mercer.preprocessing._logarithms import LogFeatures
    from mercer.preprocessing._monomials import MonomialFeatures
    from mercer.preprocessing._splines import SplineFeatures
    from mercer.preprocessing._table import TableFeatures

_MODULES = {
    "_buckets": ["BucketFeatures"],
    "_categories": ["CategoryFeatures"],
    "_logarithms": ["LogFeatures"],
    "_monomials": ["MonomialFeatures"],
    "_splines": ["SplineFeatures"],
    "_table": ["TableFeatures"],
}
__all__ = ["BucketFeatures", "CategoryFeatures", "LogFeatures", "MonomialFeatures", "SplineFeatures", "TableFeatures"]
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
