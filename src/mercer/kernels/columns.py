"""A kernel of some of the columns: sums and products of such kernels compare each column in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from operator import index
from typing import TYPE_CHECKING, Any

from mercer._errors import ColumnMismatchError, KernelError
from mercer._stored import stored
from mercer.kernels._made_of import OfOne, written
from mercer.kernels.spectra import OnColumns
from mercer.kernels.views import Views

if TYPE_CHECKING:
    from mercer.kernels.explicit import FeatureMap


@stored(tag="ColumnsKernel")
@dataclass(frozen=True, repr=False)
class Columns(OfOne):
    """k of some columns, counted from 0; written `k.on([0, 2])`.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Columns(Linear(), (1,))([[1.0, 2.0]], [[3.0, 4.0]])
    array([[8.]])
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            columns = tuple(map(index, self.columns))
        except TypeError as error:
            raise KernelError(f"columns are numbered 0, 1, …; got {self.columns!r}, which are no numbers.") from error
        if any(isinstance(column, bool) for column in self.columns):  # which Python takes for 0 and 1
            raise KernelError(f"columns are numbered 0, 1, …; got a mask, {self.columns!r}.")
        if not columns or min(columns) < 0 or len(set(columns)) < len(columns):
            raise KernelError(f"columns must be different numbers of 0 or more, at least one; got {self.columns!r}.")
        object.__setattr__(self, "columns", columns)

    @property
    def reason(self) -> str | None:
        inner = self.kernel.reason
        return inner and f"{inner}; to leave out columns is a feature map (recursion)"

    def prepared(self, views: Views) -> Any:
        self.refuse_fewer(views.table.shape[1])
        return self.kernel.prepared(views.on(self.columns))

    def feature_map(self, columns: Any) -> FeatureMap:
        from mercer.kernels.explicit import After

        if isinstance(columns, Integral):
            self.refuse_fewer(int(columns))
            return After(self.kernel.feature_map(len(self.columns)), lambda X: X[:, list(self.columns)])

        def inner(X: Any) -> Any:
            views = Views(X)
            self.refuse_fewer(views.table.shape[1])
            return views.on(self.columns).matrix if self.kernel.numeric else views.on(self.columns).raw

        ours = inner(columns)
        return After(self.kernel.feature_map(ours.shape[1] if self.kernel.numeric else ours), inner, of_things=True)

    def spectrum(self, columns: int) -> OnColumns:
        self.refuse_fewer(columns)
        return OnColumns(columns, self.kernel.spectrum(len(self.columns)), self.columns)

    def refuse_fewer(self, columns: int) -> None:
        """An error where there are not as many columns as it needs."""
        if max(self.columns) >= columns:
            raise ColumnMismatchError(
                f"{self!r} needs column {max(self.columns)}, but there are {columns}, counted from 0; choose others."
            )

    def __repr__(self) -> str:
        return f"{written(self.kernel, 4)}.on({list(self.columns)})"
