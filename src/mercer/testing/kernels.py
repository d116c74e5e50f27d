"""The laws of a kernel, checked on rows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import NoFeatureMapError
from mercer._typing import Array
from mercer.kernels import Gram, Kernel, check_on_sample
from mercer.kernels.views import Views
from mercer.testing._laws import assert_laws, assert_value, pickled

#: error of an entry, relative to the largest
KERNEL_TOLERANCE = 1e-12
#: numbers below this have lost digits
SMALLEST_NORMAL_VALUE = np.finfo(float).tiny
#: features beyond which ψ is not written out
MOST_FEATURES = 20_000


@dataclass(frozen=True)
class _KernelCase:
    kernel: Kernel
    X: Any
    K: Array

    @property
    def scale(self) -> float:
        return float(np.abs(self.K).max()) or 1.0

    def same(self, actual: Any, wanted: Any, what: str) -> None:
        off = float(np.abs(np.asarray(actual) - wanted).max(initial=0.0))
        assert off <= KERNEL_TOLERANCE * self.scale + SMALLEST_NORMAL_VALUE, (
            f"{what} is off by {off / self.scale:.2g} of the largest entry"
        )


def check_kernel(kernel: Kernel, X: Any) -> list[str]:
    """Check every law of a kernel on some rows; return the laws that were checked.

    Only for a kernel with a `reason`, its matrices are checked to be positive semidefinite.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> check_kernel(Linear(), [[1.0, 2.0], [3.0, 5.0]])[0]
    'a kernel is a value: equal to its copies, hashable, and readable'
    """
    case = _KernelCase(kernel, X, kernel(X))
    laws: list[Callable[[_KernelCase], None]] = [
        _is_a_value,
        _is_symmetric,
        _diagonal_is_the_diagonal,
        _pairs_are_entries,
        _tiles_make_the_matrix,
    ]
    if kernel.reason is not None:
        laws.append(_is_positive_semidefinite)
    if _map(case) is not None:
        laws.append(_features_give_the_kernel)
    return assert_laws(laws, case, repr(case.kernel))


def _is_a_value(case: _KernelCase) -> None:
    """a kernel is a value: equal to its copies, hashable, and readable."""
    copies = [case.kernel.replaced()]
    with suppress(pickle.PicklingError, AttributeError, TypeError):  # a function without a name of its own has no copy
        copies.append(pickled(case.kernel))
    assert_value(case.kernel, *copies)


def _is_symmetric(case: _KernelCase) -> None:
    """k(x, z) = k(z, x)."""
    case.same(case.K, case.K.T, "K − Kᵀ")


def _diagonal_is_the_diagonal(case: _KernelCase) -> None:
    """`diag` is the diagonal of the matrix."""
    case.same(case.kernel.diag(case.X), np.diagonal(case.K), "the diagonal")


def _pairs_are_entries(case: _KernelCase) -> None:
    """an entry of the matrix is the kernel of its two rows, whatever the other rows are."""
    n = len(case.K)
    for i, j in ((0, n - 1), (n // 2, n // 3), (n // 3, n // 3)):
        case.same(case.kernel(case.X[i : i + 1], case.X[j : j + 1]), case.K[i, j], f"the entry ({i}, {j})")
    case.same(case.kernel(case.X, case.X), case.K, "k(X, X) beside k(X)")


def _tiles_make_the_matrix(case: _KernelCase) -> None:
    """rows and products by tiles are those of the matrix."""
    gram, v = Gram(case.kernel, case.X), np.linspace(-1, 1, len(case.K))
    case.same(gram.rows(np.arange(len(v))[::2]), case.K[::2], "every other row")
    case.same(gram.matvec(v) / len(v), case.K @ v / len(v), "K v")


def _is_positive_semidefinite(case: _KernelCase) -> None:
    """the matrix is positive semidefinite."""
    evidence = check_on_sample(case.kernel, case.X)
    assert evidence.holds, evidence.sentence
    assert evidence.factor is not None
    off = float(np.abs(evidence.factor.T @ evidence.factor - case.K).max())
    assert off <= 1e-10 * case.scale + len(case.K) * SMALLEST_NORMAL_VALUE, f"RᵀR is off by {off}"


def _features_give_the_kernel(case: _KernelCase) -> None:
    """⟨ψ(x), ψ(z)⟩ is the kernel where ψ is finite."""
    feature_map = _map(case)
    assert feature_map is not None
    features = feature_map(case.X)
    assert features.shape[1] == feature_map.n_features, f"{features.shape[1]} features, not {feature_map.n_features}"
    products = features @ features.T
    case.same(products.toarray() if feature_map.sparse else products, case.K, "ΨΨᵀ")


def _map(case: _KernelCase) -> Any:
    """Return ψ for the number of columns or, if rows are not numeric, for the rows themselves."""
    rows = Views(case.X).rows if case.kernel.numeric else case.X
    if case.kernel.numeric and isinstance(rows, list):  # objects for a user's function
        return None
    try:
        features_map = case.kernel.feature_map(rows.shape[1] if case.kernel.numeric else rows)
    except NoFeatureMapError:
        return None
    return features_map if features_map.n_features <= MOST_FEATURES else None
