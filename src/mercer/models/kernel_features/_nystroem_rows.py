"""How `Nystroem` compares rows: by a kernel, by a function of two rows as scikit-learn does, or by a given matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from mercer._errors import DataError
from mercer._stored import stored
from mercer._typing import Array
from mercer.features.landmarks import Landmarks, choose, choose_from
from mercer.features.nystroem import NystroemMap
from mercer.kernels import Gram, Kernel
from mercer.kernels.given import GivenMatrix
from mercer.kernels.inputs import is_table
from mercer.kernels.named import KERNELS
from mercer.models._kernel_choice import is_precomputed, kernel_of_function, named_kernel
from mercer.models.base import is_sparse
from mercer.models.comparisons import refuse_no_kernel_matrix


class Comparing(Protocol):
    """What `Nystroem` asks about rows."""

    @property
    def kernel(self) -> Kernel | None:
        """What compares rows, where it is known."""

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        """The landmarks among the rows of a fit."""

    def matrix(self, components: Any, numbers: Array) -> Array:
        """k of the landmarks with each other."""

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        """k of rows with the landmarks."""

    def diagonal(self, X: Any, numbers: Array) -> Array:
        """k(x, x) of rows of the fit, which have these numbers there."""

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        """k of rows with the landmarks, times B."""


@stored(tag="NystroemByKernel")
@dataclass(frozen=True)
class ByKernel:
    """By a kernel, tile by tile."""

    kernel: Kernel

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, components).matrix()

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        return Gram(self.kernel, X, components).matrix()

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return self.kernel.diag(X)

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(NystroemMap(self.kernel, components, back)(X))


@dataclass(frozen=True)
class ByPairs:
    """By a function of two rows, which scikit-learn calls once for each pair."""

    function: Callable[..., Any]
    params: dict[str, Any]
    n_jobs: int | None

    @property
    def kernel(self) -> Kernel:
        return kernel_of_function(self.function, self.params)

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose(self.kernel, X, most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return self._pairs(components, None)

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        return self._pairs(X, components)

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return self.kernel.diag(X)

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(self._pairs(X, components) @ back.astype(X.dtype, copy=False))

    def _pairs(self, X: Any, Z: Any) -> Array:
        return np.asarray(pairwise_kernels(X, Z, metric=self.function, n_jobs=self.n_jobs, **self.params))


@stored()
@dataclass(frozen=True)
class ByMatrix:
    """By a matrix with a row and a column for each row of the fit; of other rows a column for each."""

    kernel: Kernel | None = None

    def chosen(self, X: Any, most: int, rule: str, random: np.random.RandomState, tol: float) -> Landmarks:
        return choose_from(GivenMatrix(X), most, rule, random, tol=tol)

    def matrix(self, components: Any, numbers: Array) -> Array:
        return np.asarray(components[:, numbers])

    def across(self, X: Any, components: Any, numbers: Array) -> Array:
        return np.asarray(X[:, numbers])

    def diagonal(self, X: Any, numbers: Array) -> Array:
        return np.asarray(X[np.arange(len(X)), numbers])

    def features(self, X: Any, components: Any, numbers: Array, back: Array) -> Array:
        return np.asarray(X[:, numbers] @ back.astype(X.dtype, copy=False))


def comparing(model: Any, X: Any) -> Comparing:
    """What the parameters of a model stand for, for rows that are checked."""
    own = {name: value for name in ("gamma", "coef0", "degree") if (value := getattr(model, name)) is not None}
    if callable(model.kernel) or is_precomputed(model.kernel):
        if own:
            raise DataError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel. A Kernel has "
                "parameters of its own, RBF(gamma=…), and kernel_params are those of a function."
            )
        if is_precomputed(model.kernel):
            refuse_no_kernel_matrix(X, "the kernel matrix")
            return ByMatrix()
        if isinstance(model.kernel, Kernel):
            return ByKernel(model.kernel)
        params = dict(model.kernel_params or {})
        if is_table(X):
            return ByPairs(model.kernel, params, model.n_jobs)
        return ByKernel(kernel_of_function(model.kernel, params))
    known = {field.name for field in fields(KERNELS[model.kernel])} | {"gamma", "coef0", "degree"}
    given = {name: value for name, value in ((model.kernel_params or {}) | own).items() if name in known}
    return ByKernel(named_kernel(model.kernel, X, **given))


def dense_if_matrix(model: Any, X: Any) -> Any:
    """A kernel matrix written out; rows as they are."""
    return X.toarray() if is_precomputed(model.kernel) and is_sparse(X) else X
