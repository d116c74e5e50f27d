"""A growing set of columns with all products between them: coefficients move without looking at the data."""

from __future__ import annotations

import numpy as np

from mercer._typing import Array
from mercer.solvers.sparse._columns import COPIED, Columns, DenseColumns
from mercer.solvers.sparse._penalised_quadratic import PenalisedQuadratic
from mercer.solvers.sparse.duality import Penalty


class GramSet:
    """Columns `ids`, and the quadratic Σ h (r − X w)² of their coefficients."""

    def __init__(self, columns: Columns, h: Array) -> None:
        self._columns, self._h = columns, h
        self.ids = np.zeros(0, dtype=np.intp)
        self.member = np.zeros(columns.n_columns, dtype=bool)
        self.quadratic = PenalisedQuadratic(np.zeros((0, 0)))
        #: the columns times √h, as long as they are few
        self._kept: Array | None = np.zeros((0, columns.n_rows)) if isinstance(columns, DenseColumns) else None

    @classmethod
    def of_gram(cls, columns: Columns, G: Array) -> GramSet:
        """All columns, with products that are known."""
        made = cls(columns, np.zeros(0))
        made.ids, made.quadratic = columns.all_ids(), PenalisedQuadratic(np.require(G, np.float64, ["C", "W"]))
        made.member[:] = True
        return made

    def __len__(self) -> int:
        return len(self.ids)

    def grow(self, new: Array) -> None:
        """Take in columns; coefficients have to be loaded afterwards."""
        if not len(new):
            return
        k, size = len(self), len(self) + len(new)
        ids = np.append(self.ids, new)
        products = self._products(new, ids)
        G = self.quadratic.G
        if size > len(G):
            larger = np.zeros((max(2 * k, size), max(2 * k, size)))
            larger[:k, :k] = G[:k, :k]
            self.quadratic.G = G = larger
        G[k:size, :size] = products
        G[:k, k:size] = products[:, :k].T
        self.ids = ids
        self.member[new] = True

    def _products(self, new: Array, ids: Array) -> Array:
        """Of new columns with all."""
        n, k, columns = self._columns.n_rows, len(self), self._columns
        if self._kept is None or not isinstance(columns, DenseColumns) or 8 * n * len(ids) > COPIED:
            self._kept = None
            return columns.gram(new, ids, self._h)
        if len(ids) > len(self._kept):
            larger = np.empty((min(2 * len(ids), COPIED // (8 * max(1, n)) + 1), n))
            larger[:k] = self._kept[:k]
            self._kept = larger
        self._kept[k : len(ids)] = columns.gather(new)
        self._kept[k : len(ids)] *= np.sqrt(self._h)
        return np.asarray(self._kept[k : len(ids)] @ self._kept[: len(ids)].T)

    def load(self, w: Array, c: Array, squares: float) -> None:
        """Begin at coefficients of all columns, with their exact slopes and Σ h r²."""
        self.quadratic.load(w[self.ids], c[self.ids], squares)

    def solve(self, penalty: Penalty, target: float, most: int) -> int:
        """Move until the gap, as if there were no other columns, is at most `target`; returns the steps made."""
        return self.quadratic.solve(penalty.of(self.ids), target, most)
