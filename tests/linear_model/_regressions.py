"""Data, containers and comparisons that tests of linear regressions share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from tests.base._layouts import read_only

Array = np.ndarray


def draw(n: int, d: int, targets: int | None = None, seed: int = 0) -> tuple[Array, Array]:
    """Return rows far from zero in some columns, and one or several noisy targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-1, 2, d) + rng.integers(-5, 5, d)
    shape = (d,) if targets is None else (d, targets)
    Y = X @ rng.normal(size=shape)
    return X, Y + rng.normal(size=Y.shape) + 7


def draw_wide(n: int, d: int) -> tuple[Any, Array, Any]:
    """Return sparse rows, a target, and the rows with empty columns up to a width that only iterations can solve."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, d), density=0.02, rng=rng, format="csr")
    empty = sparse.csr_array((n, 10_000_000 // n))
    return X, X @ rng.normal(size=d) + 1, sparse.csr_array(sparse.hstack([X, empty]))


def assert_same_attributes(ours: Any, theirs: Any, names: Iterable[str], *, rtol: float, atol: float) -> None:
    """Check that the attributes of two models have the same shapes and numbers."""
    for name in names:
        mine, expected = getattr(ours, name), getattr(theirs, name)
        assert np.shape(mine) == np.shape(expected), name
        np.testing.assert_allclose(mine, expected, rtol=rtol, atol=atol, err_msg=name)


CONTAINERS: dict[str, Any] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "read-only": read_only,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sparse.csr_array,
    "csc_matrix": sparse.csc_matrix,
    "coo": sparse.coo_array,
    "list": lambda X: X.tolist(),
    "longdouble": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
}
