"""Products of columns up to a degree as features of a linear model: interactions, squares, polynomials (lecture 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from mercer._errors import DataError, NonFiniteError, TooManyColumnsError
from mercer._memory import check_memory
from mercer._stored import length, part_of, stored, whole
from mercer._threads import ordered_map, row_blocks
from mercer._typing import Array
from mercer.base import traits
from mercer.base.fitted_fields import FITTED
from mercer.base.validation import column_names, find_first, is_sparse
from mercer.data.blocks import COPIED_BLOCK
from mercer.kernels.monomials import MonomialOrder
from mercer.preprocessing._numeric import NumericTransformer, largest

# Sparse rows have sparse features: for a row with m stored numbers only the monomials of these are computed, C(m + p,
# p) instead of C(d + p, p). Rows with equally many stored numbers have them at the same positions and are processed
# together.

#: number of monomials of sparse rows that are computed at a time
MONOMIALS_AT_ONCE = 1 << 16
#: maximum number of monomials, whose numbers are int64
MOST_MONOMIALS = int(np.iinfo(np.int64).max)


@stored(columns=length("d"), degree=whole(0, 1000))
@dataclass(frozen=True)
class MonomialMap:
    """Monomials up to a degree, or of it `exactly`, with coefficients 1, or those of (x·z + c)ᵖ if `constant` is c.

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
        """The monomials in their order."""
        lowest = self.degree if self.exactly else int(not self.one)
        return MonomialOrder(self.columns, lowest, self.degree, self.distinct)

    @property
    def n_features(self) -> int:
        """Number of monomials, computed by counting only."""
        return self.order.n_features

    def __call__(self, X: Any) -> Any:
        """Return the monomials of rows: an array, or a CSR matrix if X is one."""
        return self._sparse(X) if sp.issparse(X) else self._dense(X)

    def weights(self, order: MonomialOrder) -> Array | None:
        """Return the coefficients of monomials, which do not depend on the columns that are multiplied."""
        if self.constant is None:
            return None
        return order.weights(1.0, 0.0 if self.exactly else self.constant)

    def _dense(self, X: Array) -> Array:
        # besides the result, at least one row of lower degrees is in memory
        size = float(len(X) * self.n_features + self.order.n_computed) * X.itemsize
        self._check_memory(size, len(X), self.n_features)
        result = np.empty((len(X), self.n_features), X.dtype)
        self.order.write(X, result, self.weights(self.order))
        return result

    def _sparse(self, X: Any) -> Any:
        if self.order.n_computed > MOST_MONOMIALS:
            raise TooManyColumnsError(f"{self.n_features:,} monomials exceed the range of int64; {self._remedy}.")
        X = X if X.has_canonical_format else _canonical(X)
        stored = np.diff(X.indptr)
        sizes, group, counts = np.unique(stored, return_inverse=True, return_counts=True)
        orders = [self._order_of(size) for size in sizes.tolist()]
        lengths = [order.n_features for order in orders]
        total = sum(count * length for count, length in zip(counts.tolist(), lengths, strict=True))
        place = np.int32 if max(total, self.order.n_computed) <= np.iinfo(np.int32).max else np.int64
        most = total + max(order.n_computed for order in orders)
        self._check_memory(float(most) * (X.dtype.itemsize + np.dtype(place).itemsize), X.shape[0], max(lengths))
        indptr = np.append(0, np.cumsum(np.asarray(lengths, np.int64)[group], dtype=np.int64))
        data, indices = np.empty(total, X.dtype), np.empty(total, place)
        left = [counts.astype(place) for counts in self.order.left]

        def write(block: tuple[MonomialOrder, Array]) -> None:
            order, rows = block
            into = indptr[rows][:, None] + np.arange(order.n_features)
            values, columns = self._compute_rows(X, rows, order, left)
            data[into], indices[into] = values.T, columns.T

        alike = ((order, np.flatnonzero(group == g)) for g, order in enumerate(orders))
        ordered_map(write, [(order, rows) for order, every in alike for rows in _in_blocks(every, order)])
        made = (data, indices, indptr.astype(place, copy=False))
        return type(X)(made, shape=(X.shape[0], self.n_features))

    def _order_of(self, columns: int) -> MonomialOrder:
        return MonomialOrder(columns, self.order.lowest, self.order.highest, self.distinct)

    def _compute_rows(self, X: Any, rows: Array, order: MonomialOrder, left: list[Array]) -> tuple[Array, Array]:
        """Return monomials and their columns, for rows that store as many numbers as `order` has columns.

        Each row of X is a column of the results.
        """
        at = X.indptr[rows] + np.arange(order.columns)[:, None]
        values, columns = X.data[at], X.indices[at]
        every = [order.of_degree(t) for t in range(order.highest + 1)]
        made = [np.ones((count, len(rows)), X.dtype) for count in every]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            order.fill_degrees(values, made)
        result = np.concatenate([made[t] for t in order.degrees])
        if (weights := self.weights(order)) is not None:
            result *= weights[:, None].astype(X.dtype)
        return result, self._places(columns, order, left)

    def _places(self, columns: Array, order: MonomialOrder, left: list[Array]) -> Array:
        """Return the columns of monomials.

        The product of x_c and a monomial m is as far behind the first monomial that begins with c as m is behind its
        first.
        """
        dtype = left[0].dtype
        made = [np.zeros((1, columns.shape[1]), dtype)]
        for t in range(1, order.highest + 1):
            made.append(np.empty((order.of_degree(t), columns.shape[1]), dtype))
            begins, lower = left[t][0] - left[t], left[t - 1][0] - left[t - 1][int(self.distinct) :]
            for part in order.slices[t]:
                c = columns[part.first]
                np.add(made[t - 1][part.after :], begins[c] - lower[c], out=made[t][part.start : part.stop])
        return np.concatenate([made[t] + dtype.type(self.order.places[t].start) for t in order.degrees])

    def _check_memory(self, size: float, rows: int, features: int) -> None:
        check_memory(size, f"{rows:,} rows of {features:,} monomials", self._remedy)

    @property
    def _remedy(self) -> str:
        kernel = f"Polynomial(degree={self.degree}{', constant=0' if self.exactly else ''})"
        return (
            f"use the kernel, which computes none of them: KernelRidge(kernel={kernel}), SVC(kernel={kernel}), or "
            f"kernelize(model, {kernel})"
        )


def _canonical(X: Any) -> Any:
    """Return a copy with ascending, distinct columns in each row."""
    X = X.tocsr(copy=True)
    X.sum_duplicates()
    return X


def _in_blocks(rows: Array, order: MonomialOrder) -> Iterator[Array]:
    if not order.n_features:
        return iter(())
    size = max(1, MONOMIALS_AT_ONCE // order.n_computed)
    return (rows[start : start + size] for start in range(0, len(rows), size))


@traits(
    "features",
    makes="products",
    export="mercer.export.tables.monomials",
)
@stored(**FITTED, _map=part_of(MonomialMap, d="d"), n_output_features_=whole(0))
class MonomialFeatures(NumericTransformer):
    """Products of up to `degree` columns, in the order of scikit-learn's `PolynomialFeatures`.

    With `scaled=True` monomials have the coefficients of the polynomial kernel's map: inner products of features are
    (x·z + c)ᵖ, or (x·z)ᵖ with `exactly=True`. `count` returns the number of features. Features that do not fit into
    memory raise an error, since the kernel needs none of them: `KernelRidge(kernel=Polynomial(8))`, `kernelize(model,
    kernel)`.

    Sparse rows have sparse features, computed from the stored numbers. Missing values stay missing.

    Parameters
    ----------
    degree : int, default=2
        The highest degree p.
    exactly : bool, default=False
        Whether to use only monomials of degree p, without those of lower degrees.
    scaled : bool, default=False
        Whether monomials have the coefficients √(C(p, t) cᵖ⁻ᵗ t!/∏aⱼ!) instead of 1.
    constant : float, default=1.0
        c > 0 of the polynomial kernel; only used if `scaled` and not `exactly`.
    interaction_only : bool, default=False
        Whether no column is multiplied by itself.
    include_bias : bool, default=True
        Whether the monomial 1 is among the features, unless they are `exactly` of a degree.

    Attributes
    ----------
    n_output_features_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the columns, if all are strings.
    plan_ : Plan
        Number of monomials and columns.

    Examples
    --------
    >>> from mercer import MonomialFeatures
    >>> features = MonomialFeatures(degree=2).fit([[3.0, 5.0]])
    >>> features.transform([[3.0, 5.0]])
    array([[ 1.,  3.,  5.,  9., 15., 25.]])
    >>> features.get_feature_names_out(["height", "weight"]).tolist()
    ['1', 'height', 'weight', 'height^2', 'height weight', 'weight^2']
    >>> MonomialFeatures(degree=8, exactly=True).count(40)
    314457495
    """

    _takes_sparse = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "degree": [Interval(Integral, 0, None, closed="left")],
        "exactly": ["boolean"],
        "scaled": ["boolean"],
        "constant": [Interval(Real, 0, None, closed="neither")],
        "interaction_only": ["boolean"],
        "include_bias": ["boolean"],
    }

    def __init__(
        self,
        degree: int = 2,
        exactly: bool = False,
        scaled: bool = False,
        *,
        constant: float = 1.0,
        interaction_only: bool = False,
        include_bias: bool = True,
    ) -> None:
        self.degree = degree
        self.exactly = exactly
        self.scaled = scaled
        self.constant = constant
        self.interaction_only = interaction_only
        self.include_bias = include_bias

    def count(self, columns: int) -> int:
        """Return the number of features for a number of columns, without computing any; no fit is needed.

        Parameters
        ----------
        columns : int
            Number of columns.

        Returns
        -------
        features : int
            Number of features.
        """
        self._validate_params()
        return self._map_of(columns).n_features

    def powers(self) -> Array:
        """Return the exponent of every column in every feature, scikit-learn's `powers_`.

        Returns
        -------
        powers : ndarray of shape (`n_output_features_`, `n_features_in_`)
            Whole numbers.
        """
        check_is_fitted(self)  # a method, since printing a model reads all its attributes
        what = f"a table of {self.n_output_features_:,} monomials"
        check_memory(16.0 * self.n_output_features_ * self.n_features_in_, what, "give a lower degree")
        return self._map.order.exponents()

    def _learn(self, X: Any) -> str:
        self._map = self._map_of(X.shape[1])
        self.n_output_features_ = self._map.n_features
        if self.n_output_features_ == 0:
            raise DataError(
                f"there are no monomials of degree {self.degree} in {X.shape[1]} columns without powers and without "
                "1; give a degree of at most the number of columns, or include_bias=True."
            )
        return f"{self.n_output_features_:,} monomials of {X.shape[1]:,} columns"

    def _mapped(self, X: Any) -> Any:
        features = self._map(X)
        if self._may_overflow(X):
            self._check_overflow(X, features)
        return features

    def _check_mappable(self, X: Any) -> None:
        if self._may_overflow(X):
            for rows in row_blocks(X.shape[0], max(1, COPIED_BLOCK // (8 * self.n_output_features_))):
                self._check_overflow(X, self._map(X[rows]), rows.start)

    def _names(self, columns: list[str]) -> list[str]:
        # approximate size of a name
        what = f"a list of {self.n_output_features_:,} names"
        check_memory(250.0 * self.n_output_features_, what, "give a lower degree")
        return self._map.order.names(columns)

    def _map_of(self, columns: int) -> MonomialMap:
        if self.scaled and self.interaction_only:
            raise DataError(
                "scaled=True makes the map of the polynomial kernel, which has powers of columns; leave out "
                "scaled=True or interaction_only=True."
            )
        if self.scaled and not self.exactly and not self.include_bias:
            raise DataError(
                "scaled=True makes the map of the polynomial kernel (x·z + c)ᵖ, which has a constant feature; leave "
                "out include_bias=False, or give exactly=True."
            )
        constant = float(self.constant) if self.scaled else None
        return MonomialMap(columns, int(self.degree), self.exactly, self.interaction_only, self.include_bias, constant)

    def _may_overflow(self, X: Any) -> bool:
        """Return whether numbers are so large that a product of them may overflow."""
        constant = float(self.constant) if self.scaled else 1.0
        # coefficients are at most √(2ᵖ p! cᵖ): four bits per factor and half of the bits of c suffice
        bits = np.log2(max(_largest_of_any(X), 1.0)) + np.log2(max(constant, 1.0)) / 2 + 4
        return bool(self.degree * bits >= np.finfo(X.dtype).maxexp)

    def _check_overflow(self, X: Any, features: Any, first: int = 0) -> None:
        """Raise an error if a product overflowed; the rows of X are counted from `first`."""
        if (overflow := find_first(features, np.isinf)) is not None:
            row, feature, _ = overflow
            names = column_names(self)
            product = " ".join(names[j] for j in self._map.order.factors(feature))
            raise NonFiniteError(
                f"The product {product!r} of row {first + row} is beyond {X.dtype}: numbers are up to "
                f"{_largest_of_any(X):.3g}. Standardise the columns first, or give a lower degree."
            )


def _largest_of_any(X: Any) -> float:
    """Return the largest absolute value, ignoring missing values."""
    if np.isnan(most := largest(X)):
        return float(np.nanmax(np.abs(X.data if is_sparse(X) else X), initial=0.0))
    return most
