"""Mergeable sufficient statistics: all that a model keeps of the data and needs for a fit.

See `mercer.stats.base.Statistic` for their methods: `update`, `merge`, `subtract`, `remove`, `regroup`.
"""

from __future__ import annotations

from typing import Any

from mercer.stats.base import Statistic
from mercer.stats.bins import BinCounts, GridCounts
from mercer.stats.by_class import ByClass
from mercer.stats.centred import ColumnMoments, ScatterMoments
from mercer.stats.fourth import FourthMoments
from mercer.stats.patterns import PatternMoments
from mercer.stats.rows import StoredRows
from mercer.stats.sums import ColumnSums, VectorSums
from mercer.stats.tally import LevelCounts, ValueCounts

__all__ = [
    "BinCounts",
    "ByClass",
    "ColumnMoments",
    "ColumnSums",
    "FourthMoments",
    "GridCounts",
    "LevelCounts",
    "PatternMoments",
    "ScatterMoments",
    "Statistic",
    "StoredRows",
    "ValueCounts",
    "VectorSums",
    "statistic_for",
]


def statistic_for(family: Any, groups: int, columns: int) -> Statistic:
    """Return the empty statistic from which `family` is fitted to a number of columns.

    >>> from mercer.families.gaussian import Gaussian
    >>> statistic_for(Gaussian(), groups=2, columns=3).mean.shape
    (2, 3)
    """
    match family.statistic:
        case "moments":
            return ColumnMoments.zero(groups, columns, family.transform)
        case "scatter":
            return PatternMoments.zero(groups, columns)
        case "levels":
            return LevelCounts.zero(groups)
        case "values":
            return ValueCounts.zero(groups, columns)
        case "rows":
            return StoredRows.zero(groups, columns)
        case "bins":
            return BinCounts.zero(groups, columns, edges=family.edges)
        case "sums" if family.vector:
            return VectorSums.zero(family, groups, columns)
        case "sums":
            return ColumnSums.zero(family, groups, columns)
    raise ValueError(f"there is no statistic {family.statistic!r}, which {family!r} requires.")
