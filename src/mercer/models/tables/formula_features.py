"""Columns by a formula, as R writes them: `log(income) + C(region) * age`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mercer._errors import FormulaError, NonFiniteError
from mercer._optional import require
from mercer._suggest import did_you_mean
from mercer.data.table import Table
from mercer.models.tables._treatment import Unseen

Array = NDArray[Any]

INTERCEPT = "Intercept"


@dataclass(frozen=True)
class FormulaFeatures:
    """The right side of a formula, with the levels, knots and means of the rows it was fitted on.

    The intercept makes one level of each category superfluous, and is then left to the model.
    """

    formula: str
    spec: Any
    missing: str

    @classmethod
    def of(cls, formula: str, table: Table, *, missing: str) -> Self:
        """Learn levels, knots and means."""
        if "~" in formula:
            raise FormulaError(f"The formula {formula!r} has a left side; give y to fit, and here what follows the ~.")
        formulaic = require("formulaic", purpose="A formula", extra="formula")
        keep = "ignore" if missing == "keep" else "raise"
        with _explained(formula, table), np.errstate(all="ignore"):
            # no variables of whoever calls: a model has to mean the same wherever it is loaded
            made = formulaic.model_matrix(formula, table.to_pandas(), na_action=keep, context={}, output="numpy")
        fitted = cls(formula, made.model_spec, missing)
        fitted._refuse_unnamed(table)
        if not fitted.names:
            raise FormulaError(f"The formula {formula!r} has no column; name at least one.")
        fitted._without_intercept(made)
        return fitted

    @property
    def variables(self) -> tuple[str, ...]:
        """Columns that the formula reads."""
        return tuple(sorted(map(str, self.spec.required_variables)))

    @property
    def names(self) -> list[str]:
        """A name for each feature."""
        return [name for name in self.spec.column_names if name != INTERCEPT]

    def read(self, table: Table, unseen: Unseen) -> Array:
        """Features of rows."""
        from formulaic.errors import DataMismatchWarning

        self._refuse_unnamed(table)
        with _explained(self.formula, table), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = self.spec.get_model_matrix(table.to_pandas(), context={})
        for warning in caught:
            if issubclass(warning.category, DataMismatchWarning):
                level = re.search(r"\{(.*)\}", str(warning.message))
                unseen.tell_levels(level.group(1) if level else str(warning.message))
        return self._without_intercept(made)

    def _without_intercept(self, made: Any) -> Array:
        """The features, after a look whether all are finite or missing."""
        kept = [j for j, name in enumerate(self.spec.column_names) if name != INTERCEPT]
        features = np.asarray(made, dtype=np.float64)[:, kept]
        if (infinite := np.isinf(features)).any():
            row, position = np.argwhere(infinite)[0]
            raise NonFiniteError(
                f"In the formula {self.formula!r}, {self.names[position]!r} is {features[row, position]} in row {row}; "
                "write it so that it is finite, e.g. log(1 + x) instead of log(x)."
            )
        return features

    def _refuse_unnamed(self, table: Table) -> None:
        """A gap in a category would count as its first level."""
        for name in self.variables:
            if not table.kinds[position := table.position(name)].numeric:
                gaps = table.coded(position).codes < 0
                if gaps.any():
                    raise NonFiniteError(
                        f"Input X contains NaN. Column {name!r} has a missing value in row {int(np.argmax(gaps))}; "
                        'give missing values a level of their own, e.g. "unknown", or leave those rows out.'
                    )


@contextmanager
def _explained(formula: str, table: Table) -> Iterator[None]:
    """Errors of formulaic as ours."""
    try:
        yield
    except Exception as error:
        said = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).strip().splitlines()[0]
        if absent := re.search(r"`([^`]*)` is not present", said):
            guess = did_you_mean(absent.group(1), table.names)
            raise FormulaError(
                f"The formula {formula!r} reads {absent.group(1)!r}, which is no column. {guess}"
            ) from None
        if gap := re.search(r"`([^`]*)` contains null", said):
            raise NonFiniteError(
                f"Input X contains NaN. In the formula {formula!r}, {gap.group(1)!r} has missing values; fill them, or "
                "let them through with missing='keep'."
            ) from None
        raise FormulaError(f"The formula {formula!r} cannot be followed: {said.rstrip('.')}.") from error
