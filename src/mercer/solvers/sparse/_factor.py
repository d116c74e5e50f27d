"""The Cholesky factor of a part of a large symmetric matrix, as rows and columns come and go."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from mercer._jit.solvers import triangle
from mercer._threads import blas_for
from mercer._typing import Array

#: columns that are appended at once
PANEL = 128
#: a column is linearly dependent on others if this portion of it, or less, is not
DEPENDENT = 1e-12
#: where more than this share has to leave, it is cheaper to begin anew
MOST_LEAVING = 1 / 3


class Factor:
    """UᵀU = G[ids, ids] + diag(ridge[ids]), where `ids` are asked for, less those that depend on others."""

    def __init__(self) -> None:
        self._U = np.zeros((0, 0))
        self._ridge = np.zeros(0)
        self.ids = np.zeros(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.ids)

    def changes(self, ids: Array, ridge: Array) -> int:
        """How many columns would have to come or go."""
        if not self._is_current(ridge):
            return len(ids)
        return int(np.setxor1d(ids, self.ids, assume_unique=True).size)

    def _is_current(self, ridge: Array) -> bool:
        return np.array_equal(self._ridge, ridge[self.ids])

    def drop(self, keep: Array, ridge: Array) -> None:
        """Keep only columns that are in the mask `keep`."""
        kept = keep[self.ids]
        if not self._is_current(ridge) or np.count_nonzero(~kept) > MOST_LEAVING * len(kept):
            self.ids = self.ids[:0]
        elif not kept.all():
            triangle.leave(self._U, len(self), kept)
            self.ids = self.ids[kept]
        self._ridge = ridge[self.ids]

    def extend(self, G: Array, ids: Array, ridge: Array) -> None:
        """Append columns that are not there yet."""
        new = np.setdiff1d(ids, self.ids, assume_unique=True)
        for first in range(0, len(new), PANEL):
            self._append(G, new[first : first + PANEL], ridge)

    def _append(self, G: Array, new: Array, ridge: Array) -> None:
        a, m = len(self), len(new)
        self._reserve(a + m)
        border = self._forward(G[np.ix_(self.ids, new)])
        corner = G[np.ix_(new, new)]
        corner[np.diag_indices(m)] += ridge[new]
        pivots = DEPENDENT * corner.diagonal()
        corner -= border.T @ border
        try:
            if (corner.diagonal() <= pivots).any():
                raise np.linalg.LinAlgError
            with blas_for(PANEL):
                lower = np.linalg.cholesky(corner)
            if (np.square(lower.diagonal()) <= pivots).any():
                raise np.linalg.LinAlgError
        except np.linalg.LinAlgError:
            if m > 1:  # one of them is to blame
                for half in np.array_split(new, 2):
                    self._append(G, half, ridge)
            return
        self._U[:a, a : a + m] = border
        self._U[a : a + m, a : a + m] = lower.T
        self.ids = np.append(self.ids, new)
        self._ridge = np.append(self._ridge, ridge[new])

    def _reserve(self, size: int) -> None:
        if size > len(self._U):
            larger = np.zeros((2 * size, 2 * size))
            larger[: len(self), : len(self)] = self._U[: len(self), : len(self)]
            self._U = larger

    def _forward(self, B: Array) -> Array:
        """U⁻ᵀ B, in panels, so that most of it is a product of matrices."""
        a, U = len(B), self._U
        for first in range(0, a, PANEL):
            last = min(first + PANEL, a)
            # on one thread: those of SciPy's BLAS would wait for NumPy's, which go on spinning after a product
            with blas_for(PANEL):
                B[first:last] = solve_triangular(U[first:last, first:last], B[first:last], trans=1, check_finite=False)
            B[last:] -= U[first:last, last:a].T @ B[first:last]
        return B

    def solve(self, b: Array) -> Array:
        """(UᵀU)⁻¹ b."""
        x = np.array(b)
        triangle.solve(self._U, len(self), x)
        return x
