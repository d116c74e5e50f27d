"""The working set of a round of decomposition: some hundred rows, and their kernel matrix.

The rows are those that violate the conditions of the optimum most. Within the working set, `_smo_loops.descend_pairs`
chooses the pair of each step of sequential minimal optimisation.
"""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.kernels.gram import GivenMatrix, Gram
from mercer.svm._box_problem import BoxScores

#: least number of rows in a working set, half of them new in each round
MIN_WORKING_ROWS = 512
#: largest number of rows in a working set, whose kernel matrix has to stay in the cache
MAX_WORKING_ROWS = 1536
#: rows of a working set between these bounds, as a share of all rows
WORKING_SHARE = 0.1
#: rows up to which the working set is the whole problem
WHOLE_PROBLEM_ROWS = 1024


def working_size(n: int) -> int:
    """Return the number of rows in a working set for a problem of n rows."""
    return n if n <= WHOLE_PROBLEM_ROWS else max(MIN_WORKING_ROWS, min(MAX_WORKING_ROWS, int(WORKING_SHARE * n)))


def choose_working_set(scores: BoxScores, last: Array, size: int) -> tuple[Array, int]:
    """Return the newest half of the last working set with the rows that violate most, and how many are not new.

    Parameters
    ----------
    scores : BoxScores
        Scores of all rows.
    last : integer array
        The last working set, its newest rows last.
    size : int
        Rows in the working set; all rows are in it if they are not more.
    """
    n = len(scores.up)
    if n <= size:
        return np.arange(n), len(last)
    kept = last[-(size // 2) :]
    up, down = scores.up.copy(), scores.down.copy()
    if not scores.intercept:
        up, down = np.maximum(up, down), np.full(n, -np.inf)
    up[kept] = down[kept] = -np.inf
    count = (size - len(kept)) // (2 if scores.intercept else 1)
    rising = _find_largest(up, count)
    down[rising] = -np.inf
    return np.concatenate([kept, rising, _find_largest(down, count)]), len(kept)


def _find_largest(values: Array, count: int) -> Array:
    """Return the positions of the `count` largest values that are not −∞."""
    numbers = np.argpartition(values, len(values) - count)[len(values) - count :]
    return np.asarray(numbers[values[numbers] > -np.inf])


class WorkingTile:
    """The kernel matrix of a working set, which reuses the entries that it shares with the last one."""

    def __init__(self, gram: Gram | GivenMatrix, size: int) -> None:
        side = min(size, gram.shape[0])
        self._gram = gram
        # used in turn: allocating a tile takes as long as computing a tenth of it
        self._last, self._next = (np.empty(side * side, gram.dtype) for _ in range(2))
        self._side = 0

    def compute(self, numbers: Array, kept: int) -> Array:
        """Return the matrix of a working set, whose first `kept` rows were the last rows of the set before."""
        before, side = self._last[: self._side**2].reshape(self._side, self._side), len(numbers)
        tile, new = self._next[: side**2].reshape(side, side), np.arange(kept, side)
        tile[:kept, :kept] = before[self._side - kept :, self._side - kept :]
        if len(new):
            part = self._gram if side == self._gram.shape[0] else self._gram.part(numbers)
            part.put_rows(new, tile, new)
            tile[:kept, kept:] = tile[kept:, :kept].T
        self._last, self._next, self._side = self._next, self._last, side
        return tile
