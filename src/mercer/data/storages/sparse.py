"""Tables over SciPy sparse matrices: counts of words, one-hot codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mercer._errors import ColumnTypeError
from mercer._typing import Array
from mercer.data.coding import Coded, code_array
from mercer.data.storages.base import MatrixStorage
from mercer.data.storages.dense import float_type


@dataclass(frozen=True, eq=False)
class SparseStorage(MatrixStorage):
    """A matrix in CSR format, in which rows can be sliced fast."""

    @classmethod
    def of(cls, X: Any) -> Self:
        if X.dtype.kind not in "fiub":
            raise ColumnTypeError(
                f"A sparse matrix of type {X.dtype} does not hold real numbers. Convert it to float64."
            )
        return cls(X.tocsr())

    @property
    def library(self) -> str:
        return "scipy"

    def rows(self, start: int, stop: int) -> Self:
        is_all = start == 0 and stop == self.n_rows
        return self if is_all else type(self)(self.values[start:stop])

    def numbers(self, columns: list[int]) -> Array:
        dense: Array = self._columns(columns).toarray(order="C")
        return dense.astype(float_type(dense.dtype), copy=False)

    def days(self, column: int, zone: str) -> Array:
        return self.numbers([column])[:, 0]

    def coded(self, column: int) -> Coded:
        return code_array(self.values[:, [column]].toarray()[:, 0])
