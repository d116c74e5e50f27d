"""Which columns of a kernel regression are numbers and which are categories, and rows read as such."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer._errors import ColumnTypeError, DataError, NonFiniteError
from mercer._stored import sequence, stored, whole
from mercer._suggest import quoted
from mercer._typing import Array
from mercer.data.kinds import Kind
from mercer.data.table import Table
from mercer.models._named_columns import position_of
from mercer.smoothing.mixed import Rows

#: what "auto" takes for a category
CATEGORIES = frozenset({Kind.CATEGORY, Kind.BOOLEAN})


@stored(names=sequence("d"), numbers=sequence(".", whole(0)), tag="SmootherColumns")
@dataclass(frozen=True)
class Columns:
    """Positions of both kinds, and for each category the codes of its levels."""

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    categories: tuple[int, ...] = ()
    levels: tuple[dict[Hashable, int], ...] = ()

    @classmethod
    def of(cls, table: Table, categorical: Any) -> Self:
        """Levels are those that occur."""
        if isinstance(categorical, str):
            if categorical != "auto":
                raise DataError(f'categorical is None, "auto", or a list of columns, not {quoted(categorical)}.')
            chosen = [j for j, kind in enumerate(table.kinds) if kind in CATEGORIES]
        else:
            chosen = sorted({position_of(key, table.names, "categorical") for key in categorical})
        numbers = tuple(j for j in range(table.n_columns) if j not in chosen)
        _refuse_text(table, numbers)
        levels = []
        for column in chosen:
            coded = table.coded(column)
            _refuse_gaps(table, column, coded.codes)
            seen = np.unique(coded.codes)
            levels.append({label: code for code, label in enumerate(coded.labels[seen].tolist())})
        return cls(table.names, numbers, tuple(chosen), tuple(levels))

    @property
    def number_names(self) -> list[str]:
        return [self.names[j] for j in self.numbers]

    @property
    def level_counts(self) -> Array | None:
        """How many levels each category has; None without categories."""
        return np.array([len(known) for known in self.levels]) if self.categories else None

    def seen(self, rows: Rows, where: Array) -> tuple[Self, Rows]:
        """With the levels of these rows only, and rows that know no others."""
        assert rows.codes is not None
        codes, levels = np.empty_like(rows.codes), []
        for place, known in enumerate(self.levels):
            new = np.full(len(known), -1)
            occurring = np.unique(rows.codes[where, place])
            new[occurring] = np.arange(len(occurring))
            codes[:, place] = new[rows.codes[:, place]]
            levels.append({label: int(new[code]) for label, code in known.items() if new[code] >= 0})
        return replace(self, levels=tuple(levels)), Rows(rows.numbers, codes)

    def read(self, table: Table, estimator: str) -> Rows:
        """Rows as numbers and codes, −1 for a level that was not there in the fit."""
        _refuse_text(table, self.numbers)
        numbers = table.numbers(self.numbers).astype(np.float64, copy=False)
        refuse_holes(numbers, self.number_names, estimator)
        codes = np.empty((table.n_rows, len(self.categories)), dtype=np.int64)
        for place, (column, known) in enumerate(zip(self.categories, self.levels, strict=True)):
            coded = table.coded(column)
            _refuse_gaps(table, column, coded.codes)
            own = np.array([known.get(label, -1) for label in coded.labels.tolist()], dtype=np.int64)
            codes[:, place] = own[coded.codes]
        return Rows(numbers, codes if self.categories else None)


def refuse_holes(numbers: Array, names: list[str], estimator: str) -> None:
    """Raise an error that names the first value that is missing or infinite."""
    if np.isfinite(numbers).all():
        return
    row, column = (int(place) for place in np.argwhere(~np.isfinite(numbers))[0])
    missing = np.isnan(numbers[row, column])
    what = "NaN" if missing else f"infinity or a value too large for {numbers.dtype!r}"
    raise NonFiniteError(
        f"Input X contains {what}. Column {names[column]!r} is {numbers[row, column]} in row {row}, and {estimator} "
        f"{'does not accept missing values encoded as NaN' if missing else 'measures distances'}; drop or impute such "
        "values."
    )


def refuse_wide(values: Array, names: Sequence[str]) -> None:
    """Raise an error that names the first column whose values have differences that are no numbers."""
    with np.errstate(over="ignore"):
        widths = values.max(axis=0) - values.min(axis=0)
    if (beyond := np.flatnonzero(np.isinf(widths))).size:
        raise NonFiniteError(
            f"{names[beyond[0]]} is so wide that differences of its values are too large for float64. Divide it by its "
            "scale."
        )


def _refuse_text(table: Table, numbers: tuple[int, ...]) -> None:
    for column in numbers:
        if not table.kinds[column].numeric:
            raise ColumnTypeError(
                f"Column {table.names[column]!r} holds text or categories and is not among the categorical ones; add "
                'it to `categorical`, or give categorical="auto".'
            )


def _refuse_gaps(table: Table, column: int, codes: Array) -> None:
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise NonFiniteError(
            f"Input X contains NaN. Column {table.names[column]!r} has no category in row {row}; make missing a level "
            "of its own, or leave such rows out."
        )
