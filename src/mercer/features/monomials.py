"""Products of columns as features of a linear model (lecture 1): interactions, squares, polynomials.

Rows that are sparse have sparse features: of a row with m numbers that are stored only the monomials of these are made,
C(m + p, p) instead of C(d + p, p). Rows with as many numbers have them at the same places, and are made together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._errors import TooManyColumnsError
from mercer._memory import refuse_beyond_memory
from mercer._stored import length, stored, whole
from mercer._threads import ordered_map
from mercer._typing import Array
from mercer.kernels.monomials import MonomialOrder

#: numbers of sparse rows that are made at once
BLOCK = 1 << 16
MOST_COLUMNS = int(np.iinfo(np.int64).max)


@stored(columns=length("d"), degree=whole(0, 1000))
@dataclass(frozen=True)
class MonomialMap:
    """Monomials up to a degree, or `exactly` of it, with coefficients 1, or those of (x·z + c)ᵖ where `constant` is c.

    Examples
    --------
    >>> MonomialMap(columns=2, degree=2)(np.array([[3.0, 5.0]]))
    array([[ 1.,  3.,  5.,  9., 15., 25.]])
    >>> MonomialMap(columns=2, degree=2, exactly=True, constant=0.0)(np.array([[3.0, 5.0]])).round(2)
    array([[ 9.  , 21.21, 25.  ]])
    """

    columns: int
    degree: int
    exactly: bool = False
    #: without squares and higher powers
    distinct: bool = False
    #: with the monomial 1
    one: bool = True
    #: None: all coefficients are 1
    constant: float | None = None

    @cached_property
    def order(self) -> MonomialOrder:
        """Which monomials there are."""
        lowest = self.degree if self.exactly else int(not self.one)
        return MonomialOrder(self.columns, lowest, self.degree, self.distinct)

    @property
    def n_features(self) -> int:
        """How many there are, by counting only."""
        return self.order.n_features

    def __call__(self, X: Any) -> Any:
        """Monomials of rows: an array, or a CSR matrix if X is one."""
        return self._sparse(X) if sp.issparse(X) else self._dense(X)

    def weights(self, order: MonomialOrder) -> Array | None:
        """The coefficients of monomials, which do not depend on which columns are multiplied."""
        if self.constant is None:
            return None
        return order.weights(1.0, 0.0 if self.exactly else self.constant)

    def _dense(self, X: Array) -> Array:
        # beside the result there is one row with lower degrees, at least, on the way
        size = float(len(X) * self.n_features + self.order.n_made) * X.itemsize
        self._refuse(size, len(X), self.n_features)
        result = np.empty((len(X), self.n_features), X.dtype)
        self.order.write(X, result, self.weights(self.order))
        return result

    def _sparse(self, X: Any) -> Any:
        if self.order.n_made > MOST_COLUMNS:
            raise TooManyColumnsError(f"{self.n_features:,} monomials cannot even be numbered; {self._instead}.")
        X = X if X.has_canonical_format else _canonical(X)
        stored = np.diff(X.indptr)
        sizes, group, counts = np.unique(stored, return_inverse=True, return_counts=True)
        orders = [self._order_of(size) for size in sizes.tolist()]
        lengths = [order.n_features for order in orders]
        total = sum(count * length for count, length in zip(counts.tolist(), lengths, strict=True))
        place = np.int32 if max(total, self.order.n_made) <= np.iinfo(np.int32).max else np.int64
        most = total + max(order.n_made for order in orders)
        self._refuse(float(most) * (X.dtype.itemsize + np.dtype(place).itemsize), X.shape[0], max(lengths))
        indptr = np.append(0, np.cumsum(np.asarray(lengths, np.int64)[group], dtype=np.int64))
        data, indices = np.empty(total, X.dtype), np.empty(total, place)
        left = [counts.astype(place) for counts in self.order.left]

        def write(block: tuple[MonomialOrder, Array]) -> None:
            order, rows = block
            into = indptr[rows][:, None] + np.arange(order.n_features)
            values, columns = self._some(X, rows, order, left)
            data[into], indices[into] = values.T, columns.T

        alike = ((order, np.flatnonzero(group == g)) for g, order in enumerate(orders))
        ordered_map(write, [(order, rows) for order, every in alike for rows in _in_blocks(every, order)])
        made = (data, indices, indptr.astype(place, copy=False))
        return type(X)(made, shape=(X.shape[0], self.n_features))

    def _order_of(self, columns: int) -> MonomialOrder:
        return MonomialOrder(columns, self.order.lowest, self.order.highest, self.distinct)

    def _some(self, X: Any, rows: Array, order: MonomialOrder, left: list[Array]) -> tuple[Array, Array]:
        """Monomials of rows that store as many numbers as `order` has columns, and their places; a column for each."""
        at = X.indptr[rows] + np.arange(order.columns)[:, None]
        values, columns = X.data[at], X.indices[at]
        every = [order.of_degree(t) for t in range(order.highest + 1)]
        made = [np.ones((count, len(rows)), X.dtype) for count in every]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            order.climb(values, made)
        result = np.concatenate([made[t] for t in order.degrees])
        if (weights := self.weights(order)) is not None:
            result *= weights[:, None].astype(X.dtype)
        return result, self._places(columns, order, left)

    def _places(self, columns: Array, order: MonomialOrder, left: list[Array]) -> Array:
        """x_c times a monomial is as far behind the first that begins with c as that one is behind its first."""
        dtype = left[0].dtype
        made = [np.zeros((1, columns.shape[1]), dtype)]
        for t in range(1, order.highest + 1):
            made.append(np.empty((order.of_degree(t), columns.shape[1]), dtype))
            begins, lower = left[t][0] - left[t], left[t - 1][0] - left[t - 1][int(self.distinct) :]
            for part in order.slices[t]:
                c = columns[part.first]
                np.add(made[t - 1][part.after :], begins[c] - lower[c], out=made[t][part.start : part.stop])
        return np.concatenate([made[t] + dtype.type(self.order.places[t].start) for t in order.degrees])

    def _refuse(self, size: float, rows: int, features: int) -> None:
        refuse_beyond_memory(size, f"{rows:,} rows of {features:,} monomials", self._instead)

    @property
    def _instead(self) -> str:
        kernel = f"Polynomial(degree={self.degree}{', constant=0' if self.exactly else ''})"
        return (
            f"use the kernel, which needs none of them: KernelRidge(kernel={kernel}), SVC(kernel={kernel}), or "
            f"kernelize(model, {kernel})"
        )


def _canonical(X: Any) -> Any:
    """A copy with the columns of each row in order, each once."""
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return X


def _in_blocks(rows: Array, order: MonomialOrder) -> Iterator[Array]:
    if not order.n_features:
        return iter(())
    size = max(1, BLOCK // order.n_made)
    return (rows[start : start + size] for start in range(0, len(rows), size))
