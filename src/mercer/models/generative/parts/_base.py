"""What a part of a model is, before and after it is fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import ColumnTypeError, DataError, FitInterrupted, NonFiniteError, SupportError
from mercer._stored import stored
from mercer._typing import Array
from mercer.data.table import Table
from mercer.families import Family, Parameters
from mercer.models.linear_forms.pieces import LinearPiece
from mercer.solvers.certificate import Certificate
from mercer.stats import Statistic, statistic_for

CLOSED_FORM = Certificate.closed_form("the parameters are a formula of the statistics of the data")

#: names of columns that a message lists
MOST_NAMES = 5


@stored()
class Smoothing(NamedTuple):
    """How far fits are drawn away from what the data alone say."""

    #: pseudo-count of each level
    counts: float
    #: portion of a variance of all classes together that is added to those of each
    variance: float


@dataclass(frozen=True)
class Part(ABC):
    """Some columns, by position and name, and the family that describes them."""

    columns: tuple[int, ...]
    names: tuple[str, ...]
    family: Family

    def __str__(self) -> str:
        return f"{self.family!r} of {list(self.names[:MOST_NAMES])}"

    def zero(self, groups: int, table: Table) -> Statistic:
        """The statistic that `fit` needs, having seen nothing."""
        return statistic_for(self.family, groups, len(self.columns))

    def read(self, table: Table) -> Any:
        """These columns of a table, as the statistic's `update` and `Conditional.score` take them."""
        if all(table.kinds[column].numeric for column in self.columns):
            return table.numbers(self.columns)
        return np.column_stack([_as_numbers(table, column) for column in self.columns])

    @abstractmethod
    def fit(self, statistic: Any, smoothing: Smoothing) -> Conditional:
        """The factor p(x_S|y) for each class, from a statistic of these columns."""

    def missing(self, block: Any) -> Array:
        """Where a value is missing: (rows, columns)."""
        return np.asarray(np.isnan(block))

    def outside(self, block: Any) -> Array:
        """Where a value lies outside the family's support: (rows, columns), or (rows,) where rows are judged whole."""
        return self.family.outside(block)

    def refuse_missing(self, block: Any, first_row: int) -> None:
        """Raise if a value is missing."""
        if (missing := self.missing(block)).any():
            row, column = np.argwhere(missing)[0]
            raise NonFiniteError(
                f"Input X contains NaN. Column {self.names[column]!r} has a missing value in row {first_row + row}; "
                'drop or impute it, or integrate it out with missing="integrate".'
            )

    def refuse_outside(self, block: Any, first_row: int) -> None:
        """Raise if a value lies outside the support; row 0 of the block is row `first_row` of the data."""
        if (outside := self.outside(block)).any():
            row, *columns = np.argwhere(outside)[0]
            value = block[row, columns[0]] if columns else block[row]
            raise self.refusal(first_row + row, columns[0] if columns else None, value)

    def refusal(self, row: int, column: int | None, value: Any) -> DataError:
        """What to raise about a value in a column, or about a whole row."""
        whole = f"The row of columns {', '.join(map(repr, self.names[:MOST_NAMES]))}"
        where = whole if column is None else f"Column {self.names[column]!r}"
        if np.isnan(value).any():
            return NonFiniteError(
                f"Input X contains NaN. {where} is missing in row {row}, and the {self.family.name} family knows no "
                "missing counts; write 0 for a word that is absent."
            )
        if np.isinf(value).any():
            return NonFiniteError(
                f"Input X contains infinity or a value too large for float64. {where} is {value} in row {row}; "
                "replace it by a number, or by NaN if it is unknown."
            )
        return SupportError(
            f"{where} is {value} in row {row}, but the {self.family.name} family describes {self.family.support}. "
            "Correct the value, make it missing, or choose another family for the column."
        )


@dataclass(frozen=True)
class Conditional(ABC):
    """A fitted part: the density p(x_S|y), its parameters with one entry per class."""

    part: Part
    parameters: Parameters
    #: how we know that the parameters are the best ones
    certificate: Certificate = field(default=CLOSED_FORM, kw_only=True)
    #: if the user stopped the search for them
    interruption: FitInterrupted | None = field(default=None, kw_only=True)

    @abstractmethod
    def score(self, block: Any) -> Array:
        """log p(x_S|y) of every row and class; 0 where nothing was observed."""

    @abstractmethod
    def sample(self, codes: Array, rng: np.random.Generator, *, length: Any = None) -> Any:
        """One draw for each class code, (codes, columns), sparse if the data was; `length` is for rows of counts."""

    @abstractmethod
    def linear_piece(self, n_rows: int) -> LinearPiece:
        """What this part adds to the linear form of a model that has seen so many rows."""

    @abstractmethod
    def by_column(self) -> dict[Any, Parameters]:
        """Parameters by the name of the column, or the names of the columns where they are described together."""

    def tables(self, classes: list[Any]) -> dict[Any, dict[Any, dict[Any, Any]]]:
        """Column -> class -> name of a parameter -> its value."""
        return {
            name: {label: _plain(of_class(parameters, c)) for c, label in enumerate(classes)}
            for name, parameters in self.by_column().items()
        }


def _as_numbers(table: Table, column: int) -> Array:
    """A column as numbers even where its type does not say so: a batch of a frame may hold nothing but None."""
    if table.kinds[column].numeric:
        return table.numbers([column])[:, 0]
    codes, labels = table.coded(column)
    if labels.size and labels.dtype.kind not in "biuf":
        raise ColumnTypeError(
            f"Column {table.names[column]!r} held numbers when the model was fitted, and now {labels[0]!r}; convert it "
            "to numbers, or describe it by Categorical() when fitting."
        )
    return np.append(labels.astype(float), np.nan)[codes]  # code −1, the last entry, is a missing value


def of_class(parameters: Parameters, c: int) -> Parameters:
    """The parameters of one class."""
    return type(parameters)(*(values[c] for values in parameters))


def _plain(parameters: Parameters) -> dict[str, Any]:
    """Parameters as numbers and lists by their names."""
    return {name: np.asarray(value).tolist() for name, value in parameters._asdict().items()}


def sample_by_class(family: Family, parameters: Parameters, codes: Array, rng: np.random.Generator) -> Array:
    """One draw from the parameters of each class code: shape (codes, columns)."""
    draws = [family.sample(of_class(parameters, c), int(n), rng) for c, n in enumerate(np.bincount(codes, minlength=1))]
    together = np.concatenate(draws)
    result = np.empty_like(together)
    result[np.argsort(codes, kind="stable")] = together
    return result
