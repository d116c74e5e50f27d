"""A function of a user as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import KernelError
from mercer._typing import Array
from mercer.kernels._user_functions import evaluate_pairs, get_function_name, takes_pairs_of_matrices
from mercer.kernels.base import Kernel
from mercer.kernels.inputs import count, is_sparse
from mercer.kernels.views import Memo, Views

#: rows at once for the diagonal of a function of matrices
DIAGONAL_BLOCK = 16


@dataclass(frozen=True, eq=False)
class FunctionRows:
    """Rows, or a list of objects, and whether the function takes single rows."""

    rows: Any
    by_rows: bool

    def __len__(self) -> int:
        return count(self.rows)

    def take(self, rows: Any) -> Self:
        if isinstance(self.rows, list):
            return replace(self, rows=[self.rows[i] for i in np.arange(len(self.rows))[rows]])
        return replace(self, rows=self.rows[rows])


@dataclass(frozen=True, repr=False)
class FromFunction(Kernel):
    """k(x, z) of two rows, or k(X, Z) of two matrices of rows, as a kernel.

    Symmetry is checked whenever a matrix k(X) is computed; `check_positive_definite` searches for points that prove
    that it is not positive definite.

    Parameters
    ----------
    function : callable
        Function of two rows (arrays of one dimension, or objects of any kind) or of two matrices.
    by_rows : bool or None, default=None
        Whether it takes two rows; None means to try.

    Examples
    --------
    >>> FromFunction(lambda x, z: min(x[0], z[0]))([[1.0], [2.0]])
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]
    by_rows: bool | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise KernelError(f"a kernel from a function needs one, k(x, z); got {self.function!r}.")
        if isinstance(self.function, type) and issubclass(self.function, Kernel):
            name = self.function.__name__
            raise KernelError(f"{name} is a kind of kernel; write {name}(…), with its parameters, for a kernel.")

    @property
    def reason(self) -> None:
        return None

    @property
    def symmetric(self) -> bool:
        return False

    def prepared(self, views: Views) -> FunctionRows:
        rows = views.rows
        by_rows = not takes_pairs_of_matrices(self.function, rows) if self.by_rows is None else self.by_rows
        return FunctionRows(rows.toarray() if by_rows and is_sparse(rows) else rows, by_rows)

    def tile(self, left: FunctionRows, right: FunctionRows, memo: Memo) -> Array:
        return evaluate_pairs(self.function, left.rows, right.rows, by_rows=right.by_rows)

    def diagonal(self, side: FunctionRows) -> Array:
        if side.by_rows:
            return np.array(
                [evaluate_pairs(self.function, [x], [x], by_rows=True).item() for x in side.rows], dtype=float
            )
        blocks = [side.take(slice(start, start + DIAGONAL_BLOCK)) for start in range(0, len(side), DIAGONAL_BLOCK)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self.tile(block, block, None)) for block in blocks)])

    def __repr__(self) -> str:
        return f"FromFunction({get_function_name(self.function)})"
