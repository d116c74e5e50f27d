"""Where the bins of a histogram are: by a rule, so many, so wide, or given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from mercer._errors import BinsError, DataError
from mercer._stored import stored
from mercer.families._axis import Axis, Lattice, refuse_too_many
from mercer.families._bin_rules import Sample, number_of_bins, rule_named
from mercer.report.wording import counted

__all__ = ["Axis", "Sample", "Width", "axis_from", "bins_in_words", "bins_per_column", "refuse_too_many"]

#: beyond these sizes and differences, sums and quotients of them may leave float64
LARGEST, LEAST = 1e300, 1e-300


@stored()
@dataclass(frozen=True)
class Width:
    """Bins of this width with an edge at `origin`, as many as the data need.

    The edges do not depend on the data, so that histograms of any two data sets can be merged. A bin holds its left
    edge and not its right one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.families import Histogram, Width
    >>> Histogram(bins=Width(0.5)).with_edges_from(np.array([1.2, 2.1])).edges
    array([1. , 1.5, 2. , 2.5])
    """

    width: float
    origin: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.width < math.inf and math.isfinite(self.origin)):
            raise BinsError(f"the width of bins must be positive and finite, their origin finite; got {self!r}.")

    def axis(self, lowest: float, highest: float) -> Axis:
        """The bins from the least to the greatest of some values."""
        lattice = Lattice(float(self.origin), float(self.width))
        first = lattice.below(lowest)
        return Axis(lattice.between(first, first + 1), lattice=lattice, first=first).covering(lowest, highest)


def axis_from(bins: Any, sample: Sample) -> Axis:
    """Bins for some values: `bins` is the name of a rule, a number, a `Width`, or the edges.

    A column without spread gets bins around its value, wide enough to be told apart in floating point.
    """
    lowest, highest = sample.lowest, sample.highest
    if max(abs(lowest), abs(highest)) > LARGEST:
        raise DataError(
            f"values from {lowest:g} to {highest:g} leave no room in float64; divide the column by a number."
        )
    if isinstance(bins, Width):
        return bins.axis(lowest, highest)
    constant = highest - lowest < LEAST
    if isinstance(bins, str):
        rule = rule_named(bins)
        bins = 1 if constant else number_of_bins(rule, sample)
    elif not isinstance(bins, Integral):
        return Axis.given(bins)
    if bins < 1:
        raise BinsError(f"a histogram needs at least one bin; got bins={bins}.")
    margin = max(0.5, abs(lowest) * 1e-6) if constant else 0.0
    return Axis.even(lowest - margin, highest + margin, int(bins))


def bins_in_words(bins: Any) -> str:
    """How bins were asked for."""
    if isinstance(bins, Width):
        return f"width {bins.width:g}"
    if isinstance(bins, str):
        return rule_named(bins)
    return "number given" if isinstance(bins, Integral) else "edges given"


def bins_per_column(bins: Any, columns: int) -> list[Any]:
    """What was asked for on each axis."""
    if isinstance(bins, str | Integral | Width) and not isinstance(bins, bool):
        return [bins] * columns
    if isinstance(bins, Mapping):
        raise BinsError(
            f"bins={bins!r} is a mapping; give a sequence in the order of the columns, e.g. {list(bins.values())!r}."
        )
    try:
        entries = list(bins)
    except TypeError:
        raise BinsError(f"bins={bins!r} is no rule, number, Width or sequence of edges.") from None
    numbers = all(isinstance(entry, Real) for entry in entries)
    if columns == 1 and numbers and len(entries) > 1:
        return [bins]
    if len(entries) != columns or (numbers and not all(isinstance(entry, Integral) for entry in entries)):
        raise BinsError(
            f"bins has {len(entries)} entries for {counted(columns, 'column')}; give one rule, number, Width or "
            "sequence of edges per column, e.g. bins=[10, [0.0, 0.5, 2.0]]."
        )
    return entries
