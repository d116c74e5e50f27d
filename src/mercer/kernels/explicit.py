"""Finite feature maps, computed explicitly: ⟨ψ(x), ψ(z)⟩ = k(x, z).

A map counts its features without computing any: (1 + x·z)⁸ of 40 columns has 377,348,994.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._errors import ColumnMismatchError, TooManyColumnsError
from mercer._stored import stored, whole
from mercer._typing import Array
from mercer.kernels.inputs import count, divide_rows, is_sparse, to_dense, to_matrix
from mercer.kernels.monomials import MonomialOrder

#: feature values that are computed at once; more would fill 2 GiB
MAX_FEATURE_VALUES = 1 << 28


class FeatureMap(ABC):
    """ψ, a map from rows to features, by calling it.

    Examples
    --------
    >>> from mercer.kernels import Quadratic
    >>> psi = Quadratic().feature_map(2)
    >>> psi.n_features
    5
    >>> psi([[1.0, 2.0]]).round(3)
    array([[1.   , 2.   , 1.   , 2.828, 4.   ]])
    """

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features, by counting only."""

    @abstractmethod
    def write(self, X: Any) -> Any:
        """Return ψ of validated rows."""

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        """The maps of which this one is made."""
        return ()

    @property
    def numeric(self) -> bool:
        """Return whether rows are numbers; texts and graphs are not validated."""
        return all(part.numeric for part in self.parts)

    @property
    def sparse(self) -> bool:
        """Return whether features are returned as a sparse matrix."""
        return False

    @property
    def n_stored(self) -> int:
        """Number of features that take memory in every row, even where they are 0."""
        return self.n_features

    def __call__(self, X: Any) -> Any:
        """Return ψ(x) for every row: an array, or a sparse matrix, with a row for each.

        Examples
        --------
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=2).feature_map(1)([[3.0]]).round(3)
        array([[1.   , 4.243, 9.   ]])
        """
        rows = to_matrix(X) if self.numeric else X
        if count(rows) * self.n_stored > MAX_FEATURE_VALUES:
            raise TooManyColumnsError(
                f"{self.n_stored:,} features of {count(rows):,} rows do not fit into memory; use the kernel, which "
                "needs none of them."
            )
        return self.write(rows)


@stored(tag="KernelCoordinates")
@dataclass(frozen=True)
class CoordinateMap(FeatureMap):
    """The row itself."""

    columns: int

    @property
    def n_features(self) -> int:
        return self.columns

    def write(self, X: Any) -> Array:
        _check_columns(X, self.columns)
        return to_dense(X)


@stored()
@dataclass(frozen=True)
class ConstantMap(FeatureMap):
    """One feature with the same value for every row of any kind."""

    value: float

    @property
    def n_features(self) -> int:
        return 1

    def write(self, X: Any) -> Array:
        return np.full((count(X), 1), self.value)


@stored(degree=whole(0, 1000))
@dataclass(frozen=True)
class MonomialFeatureMap(FeatureMap):
    """(γ x·z + c)ᵖ: every monomial of degree t ≤ p times √(C(p, t) cᵖ⁻ᵗ γᵗ t!/∏aⱼ!), where aⱼ are its exponents.

    Without a constant there are only monomials of degree p.
    """

    columns: int
    degree: int
    gamma: float
    constant: float

    @property
    def order(self) -> MonomialOrder:
        return MonomialOrder(self.columns, 0 if self.constant > 0 else self.degree, self.degree)

    @property
    def n_features(self) -> int:
        return self.order.n_features

    def write(self, X: Any) -> Array:
        _check_columns(X, self.columns)
        rows, order = to_dense(X), self.order
        result = np.empty((len(rows), order.n_features))
        order.write(rows, result, order.weights(self.gamma, self.constant))
        return result


@stored()
@dataclass(frozen=True)
class StackedMap(FeatureMap):
    """The features of a sum: those of each map, side by side."""

    maps: tuple[FeatureMap, ...]

    @property
    def n_features(self) -> int:
        return sum(each.n_features for each in self.maps)

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        return self.maps

    @property
    def sparse(self) -> bool:
        return any(each.sparse for each in self.maps)

    @property
    def n_stored(self) -> int:
        return sum(each.n_stored for each in self.maps)

    def write(self, X: Any) -> Any:
        written = [each.write(X) for each in self.maps]
        return sp.csr_array(sp.hstack(written)) if self.sparse else np.hstack(written)


@stored()
@dataclass(frozen=True)
class ProductMap(FeatureMap):
    """The features of a product: all products of a feature of one map and one of the other."""

    first: FeatureMap
    second: FeatureMap

    @property
    def n_features(self) -> int:
        return self.first.n_features * self.second.n_features

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        return self.first, self.second

    def write(self, X: Any) -> Array:
        first, second = to_dense(self.first.write(X)), to_dense(self.second.write(X))
        return np.asarray(np.einsum("ij,ik->ijk", first, second).reshape(len(first), self.n_features))


@dataclass(frozen=True)
class _WrappedMap(FeatureMap):
    """A map with as many features as the one inside it."""

    map: FeatureMap

    @property
    def n_features(self) -> int:
        return self.map.n_features

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        return (self.map,)

    @property
    def sparse(self) -> bool:
        return self.map.sparse

    @property
    def n_stored(self) -> int:
        return self.map.n_stored


@stored()
@dataclass(frozen=True)
class ScaledMap(_WrappedMap):
    """Features times a number."""

    factor: float

    def write(self, X: Any) -> Any:
        return self.factor * self.map.write(X)


@stored()
@dataclass(frozen=True)
class ComposedMap(_WrappedMap):
    """Features of features."""

    inner: Callable[[Any], Any]
    #: whether the inner map takes texts or graphs
    accepts_objects: bool = False

    @property
    def numeric(self) -> bool:
        return not self.accepts_objects

    def write(self, X: Any) -> Any:
        inner = self.inner.write if isinstance(self.inner, FeatureMap) else self.inner
        return self.map.write(inner(X))


@stored()
@dataclass(frozen=True)
class UnitMap(_WrappedMap):
    """Features divided by their length; 0 where that is 0."""

    def write(self, X: Any) -> Any:
        features = self.map.write(X)
        if is_sparse(features):
            return divide_rows(features, np.sqrt(np.asarray(features.multiply(features).sum(axis=1))))
        lengths = np.linalg.norm(features, axis=1)[:, None]
        return np.asarray(np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0))


def _check_columns(X: Any, columns: int) -> None:
    if X.shape[1] != columns:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} columns, but the feature map was made for {columns}; use "
            f"kernel.feature_map({X.shape[1]})."
        )
