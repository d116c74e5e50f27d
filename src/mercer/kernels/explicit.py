"""Feature maps that are finite, written out: ⟨ψ(x), ψ(z)⟩ = k(x, z).

A map knows how many features it has without making any: (1 + x·z)⁸ of 40 columns has 377,348,994.
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
from mercer.kernels.inputs import count, dense, is_sparse, matrix_of, scaled_rows
from mercer.kernels.monomials import MonomialOrder

#: numbers that are written out; more would fill 2 GiB
MOST_NUMBERS = 1 << 28


class FeatureMap(ABC):
    """ψ: rows to features, by calling it.

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
        """How many there are, by counting only."""

    @abstractmethod
    def write(self, X: Any) -> Any:
        """ψ of rows that have been checked."""

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        """The maps this one is made of."""
        return ()

    @property
    def numeric(self) -> bool:
        """Whether rows are numbers; texts and graphs are taken as they come."""
        return all(part.numeric for part in self.parts)

    @property
    def sparse(self) -> bool:
        """Whether features are written as a sparse matrix."""
        return False

    @property
    def written_out(self) -> int:
        """How many features take memory in every row, even where they are 0."""
        return self.n_features

    def __call__(self, X: Any) -> Any:
        """ψ(x) for every row: an array, or a sparse matrix, with a row for each.

        Examples
        --------
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=2).feature_map(1)([[3.0]]).round(3)
        array([[1.   , 4.243, 9.   ]])
        """
        rows = matrix_of(X) if self.numeric else X
        if count(rows) * self.written_out > MOST_NUMBERS:
            raise TooManyColumnsError(
                f"{self.written_out:,} features of {count(rows):,} rows do not fit into memory; use the kernel, which "
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
        _refuse_other(X, self.columns)
        return dense(X)


@stored()
@dataclass(frozen=True)
class ConstantMap(FeatureMap):
    """One feature that is the same for every row, whatever rows are."""

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

    Without a constant there are only those of degree p.
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
        _refuse_other(X, self.columns)
        rows, order = dense(X), self.order
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
    def written_out(self) -> int:
        return sum(each.written_out for each in self.maps)

    def write(self, X: Any) -> Any:
        written = [each.write(X) for each in self.maps]
        return sp.csr_array(sp.hstack(written)) if self.sparse else np.hstack(written)


@stored()
@dataclass(frozen=True)
class ProductMap(FeatureMap):
    """The features of a product: each of one map times each of the other."""

    first: FeatureMap
    second: FeatureMap

    @property
    def n_features(self) -> int:
        return self.first.n_features * self.second.n_features

    @property
    def parts(self) -> tuple[FeatureMap, ...]:
        return self.first, self.second

    def write(self, X: Any) -> Array:
        first, second = dense(self.first.write(X)), dense(self.second.write(X))
        return np.asarray(np.einsum("ij,ik->ijk", first, second).reshape(len(first), self.n_features))


@dataclass(frozen=True)
class _Changed(FeatureMap):
    """A map that has as many features as the one inside it."""

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
    def written_out(self) -> int:
        return self.map.written_out


@stored()
@dataclass(frozen=True)
class ScaledMap(_Changed):
    """Features times a number."""

    factor: float

    def write(self, X: Any) -> Any:
        return self.factor * self.map.write(X)


@stored()
@dataclass(frozen=True)
class ComposedMap(_Changed):
    """Features of features."""

    inner: Callable[[Any], Any]
    #: whether the inner one takes texts or graphs
    of_things: bool = False

    @property
    def numeric(self) -> bool:
        return not self.of_things

    def write(self, X: Any) -> Any:
        inner = self.inner.write if isinstance(self.inner, FeatureMap) else self.inner
        return self.map.write(inner(X))


@stored()
@dataclass(frozen=True)
class UnitMap(_Changed):
    """Features divided by their length; 0 where that is."""

    def write(self, X: Any) -> Any:
        features = self.map.write(X)
        if is_sparse(features):
            return scaled_rows(features, np.sqrt(np.asarray(features.multiply(features).sum(axis=1))))
        lengths = np.linalg.norm(features, axis=1)[:, None]
        return np.asarray(np.divide(features, lengths, out=np.zeros_like(features), where=lengths > 0))


def _refuse_other(X: Any, columns: int) -> None:
    if X.shape[1] != columns:
        raise ColumnMismatchError(
            f"X has {X.shape[1]} columns, but the feature map was made for {columns}; ask the kernel for "
            f"feature_map({X.shape[1]})."
        )
