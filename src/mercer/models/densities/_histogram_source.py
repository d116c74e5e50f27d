"""A histogram of a source: one pass for the ends of the axes, one to count."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._errors import EmptyDataError
from mercer._threads import thread_count
from mercer._typing import Array
from mercer.data.sources.base import Chunk, Source
from mercer.engines.folding import fold
from mercer.engines.running import current_run
from mercer.families.bins import bins_per_column
from mercer.models.base import Plan
from mercer.models.densities._histogram_questions import corners
from mercer.stats.grid import GridCounts

Ends = tuple[Array, Array]


def count_source(model: Any, source: Source) -> GridCounts | None:
    """The counts of all rows; None where a rule has to see all rows to choose the bins."""
    opened = clone(model)
    columns = opened._checked_rows(source.head().X, None, reset=True)[0].shape[1]
    if any(isinstance(bins, str) for bins in bins_per_column(model.bins, columns)):
        return None
    lowest, highest = fold(functools.partial(_ends, opened), source, _wider)
    if not (np.isfinite(lowest).all() or np.isfinite(highest).all()):
        raise EmptyDataError("no row has a weight above 0, so that there is nothing to learn from.")
    grid = opened._empty_grid(np.array([lowest, highest]), None)
    counts = fold(functools.partial(_counts, opened, grid), source, GridCounts.merge)
    vars(model).update(vars(opened))
    model.plan_ = Plan("one pass for the ends, one of counts", "float64", current_run().pieces, thread_count())
    return counts


def _ends(opened: Any, chunk: Chunk) -> Ends:
    """The least and the greatest value of each column; infinite the wrong way round where no row weighs anything."""
    X, weight = copy.copy(opened)._checked_rows(chunk.X, chunk.weight, reset=False, part=True)
    if weight is not None and not weight.any():
        return np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    ends = corners(X, weight)
    opened._refuse_unless_finite(X, ends)
    return ends


def _wider(mine: Ends, theirs: Ends) -> Ends:
    return np.minimum(mine[0], theirs[0]), np.maximum(mine[1], theirs[1])


def _counts(opened: Any, grid: GridCounts, chunk: Chunk) -> GridCounts:
    model = copy.copy(opened)
    counts: GridCounts = model._counted(grid, *model._checked_rows(chunk.X, chunk.weight, reset=False, part=True))
    return counts
