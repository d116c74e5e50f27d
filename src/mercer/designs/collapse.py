"""Equal rows as one row that weighs as much as all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._jit import distinct as loops
from mercer.designs._base import Design
from mercer.designs.codes import CodesDesign
from mercer.designs.dense import DenseDesign
from mercer.designs.mixed import MixedDesign
from mercer.designs.observations import Observations

Array = NDArray[Any]

#: rows per distinct row from which on it pays
WORTH = 4
#: rows that are tried first
SAMPLE = 1 << 13
#: columns of numbers, and the offset, that are compared
MOST_NUMBERS = 4
NO_CODES, NO_NUMBERS = np.zeros((0, 0), dtype=np.uint32), np.zeros((0, 0))


class _Columns(NamedTuple):
    """What makes rows equal: cells of codes from the position `start` on, and numbers."""

    cells: Array
    start: int
    numbers: list[Array]


def collapsed(observations: Observations) -> Observations:
    """One row for all that are equal in X and offset, with their total weight and their weighted mean response.

    For any response whose loss is linear in y but for a term without η. Those are all of a single η (their half unit
    deviance is c(y) + b(μ) − y a(μ)), but not classes of which there are more than two. The slopes, the curvature and
    hence the fit stay what they were; the loss becomes smaller by a constant. Where there are not at least four rows to
    each distinct one, or columns are sparse or hold more than a few numbers, the observations come back as they are.

    Examples
    --------
    >>> rows = Observations(CodesDesign.of([np.array([0, 1, 1, 1] * 2)], [2]), np.array([1.0, 0.0, 0.0, 3.0] * 2))
    >>> few = collapsed(rows)
    >>> few.y, few.weight
    (array([1., 1.]), array([2., 6.]))
    """
    columns = _columns(observations.design, observations.offset)
    if columns is None or not _repeat(_first_rows(columns, min(SAMPLE, len(observations)))):
        return observations
    found = _first_rows(columns, len(observations))
    return _joined(observations, *found) if _repeat(found) else observations


def _columns(design: Design, offset: Array | None) -> _Columns | None:
    """Columns to be compared; None if there are too many."""
    match design:
        case DenseDesign():
            numbers, codes = design.X.T, None
        case CodesDesign():
            numbers, codes = NO_NUMBERS, design
        case MixedDesign(sparse=None):
            numbers, codes = NO_NUMBERS if design.numbers is None else design.numbers.X.T, design.codes
        case _:
            return None
    if len(numbers) + (offset is not None) > MOST_NUMBERS:
        return None
    columns = [*numbers, *([] if offset is None else [offset])]
    return _Columns(NO_CODES, 0, columns) if codes is None else _Columns(codes.cell_of_row, codes.start, columns)


def _first_rows(columns: _Columns, n_rows: int) -> tuple[Array, Array]:
    """The first row of each distinct one, and which of them each of the first `n_rows` rows is; no rows if too many."""
    bits = np.empty((len(columns.numbers), n_rows))
    for row, column in zip(bits, columns.numbers, strict=True):
        row[:] = column[:n_rows]
    first, group = np.empty(n_rows // WORTH, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    found = loops.distinct(columns.cells, columns.start, bits.view(np.uint64), first, group)
    return first[: max(0, found)], group


def _repeat(found: tuple[Array, Array]) -> bool:
    return len(found[0]) > 0


def _joined(observations: Observations, first: Array, group: Array) -> Observations:
    design, y, weight, offset = (getattr(observations, name) for name in ("design", "y", "weight", "offset"))
    total = np.bincount(group, weight).astype(float)
    of_y = np.bincount(group, y if weight is None else weight * y)
    mean = np.divide(of_y, total, out=np.asarray(y, dtype=float)[first], where=total > 0)
    return replace(
        observations,
        design=design.take(first),
        y=mean,
        weight=total,
        offset=None if offset is None else offset[first],
    )
