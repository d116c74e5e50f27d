"""Features by a formula in the notation of R, such as `log(income) + C(region) * age`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from threading import Lock
from typing import Any, Self

import numpy as np

from mercer._errors import FormulaError, NonFiniteError
from mercer._optional import require
from mercer._stored import stored
from mercer._suggest import did_you_mean
from mercer._typing import Array
from mercer.data.table import Table
from mercer.preprocessing.treatments import UnseenValues

#: formulaic's name of the intercept
FORMULA_INTERCEPT = "Intercept"
#: formulaic reports unseen levels by warnings, which are caught for all threads at once
WARNINGS_LOCK = Lock()


@stored(unsafe="mercer.files._formulas.unsafe_terms")
@dataclass(frozen=True)
class FormulaFeatures:
    """The right side of a formula, with the levels, knots and means of the rows of the fit.

    The intercept makes one level of each category redundant and is left to the model. All fields are plain values, so
    that a file can hold them; formulaic's own record of a fit is recreated from them when rows are read.
    """

    formula: str
    missing: str
    #: columns that the formula reads
    variables: tuple[str, ...]
    #: products of factors, each given by its text and how it is evaluated: "lookup", "python" or "literal"
    terms: tuple[tuple[tuple[str, str], ...], ...]
    #: parameters learned by functions: {call: {name: value}}
    state: dict[str, Any]
    #: {factor: its levels}
    levels: dict[str, list[Any]]
    #: names of formulaic's features, with the intercept
    columns: tuple[str, ...]

    @classmethod
    def of(cls, formula: str, table: Table, *, missing: str) -> Self:
        """Learn levels, knots and means from a table."""
        if "~" in formula:
            raise FormulaError(f"The formula {formula!r} has a left side; give y to fit, and here what follows the ~.")
        formulaic = require("formulaic", purpose="A formula", extra="formula")
        with _formula_errors(formula, table), np.errstate(all="ignore"):
            # no variables of the caller: a model must not depend on where it is loaded
            matrix = formulaic.model_matrix(
                formula, table.to_pandas(), na_action=_missing_action(missing), context={}, output="numpy"
            )
            spec = matrix.model_spec
            fitted = cls(
                formula,
                missing,
                variables=tuple(sorted(map(str, spec.required_variables))),
                terms=tuple(tuple((each.expr, each.eval_method.value) for each in term.factors) for term in spec.terms),
                state=spec.transform_state,
                levels={
                    expr: list(state["categories"])
                    for expr, (_, state) in spec.encoder_state.items()
                    if "categories" in state
                },
                columns=tuple(spec.column_names),
            )
        fitted._check_gaps(table)
        if not fitted.names:
            raise FormulaError(f"The formula {formula!r} has no column; name at least one.")
        fitted._drop_intercept(matrix)
        return fitted

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [name for name in self.columns if name != FORMULA_INTERCEPT]

    def read(self, table: Table, unseen: UnseenValues) -> Array:
        """Compute the features of rows."""
        require("formulaic", purpose="A formula", extra="formula")
        from formulaic.errors import DataMismatchWarning

        self._check_gaps(table)
        with _formula_errors(self.formula, table), WARNINGS_LOCK, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            matrix = self._spec().get_model_matrix(table.to_pandas(), context={})
        for warning in caught:
            if issubclass(warning.category, DataMismatchWarning):
                level = re.search(r"\{(.*)\}", str(warning.message))
                unseen.report_levels(level.group(1) if level else str(warning.message))
        self._check_columns(matrix.model_spec.column_names)
        return self._drop_intercept(matrix)

    def _spec(self) -> Any:
        """Return formulaic's record of the fit; its states are copies, since formulaic writes to them."""
        from formulaic import ModelSpec, SimpleFormula
        from formulaic.parser.types import Factor, Term

        terms = [Term([Factor(expr, eval_method=how) for expr, how in term]) for term in self.terms]
        return ModelSpec(
            SimpleFormula(terms, _ordering="none"),
            na_action=_missing_action(self.missing),
            output="numpy",
            transform_state=deepcopy(self.state),
            encoder_state={
                expr: (Factor.Kind.CATEGORICAL, {"categories": list(levels)}) for expr, levels in self.levels.items()
            },
        )

    def _check_columns(self, columns: Sequence[str]) -> None:
        """Raise an error if the features differ from the fit: a category given as numbers, or numbers as text."""
        if tuple(columns) != self.columns:
            other = sorted(set(self.columns) ^ set(columns))
            raise FormulaError(
                f"The formula {self.formula!r} gives other features here than in the fit, e.g. {other[0]!r}: give its "
                "columns the types that they had in the fit, text as text and numbers as numbers."
            )

    def _drop_intercept(self, matrix: Any) -> Array:
        """Return the features without the intercept; raise an error if one is infinite."""
        kept = [j for j, name in enumerate(self.columns) if name != FORMULA_INTERCEPT]
        features = np.asarray(matrix, dtype=np.float64)[:, kept]
        if (infinite := np.isinf(features)).any():
            row, position = np.argwhere(infinite)[0]
            raise NonFiniteError(
                f"In the formula {self.formula!r}, {self.names[position]!r} is {features[row, position]} in row {row}; "
                "write it so that it is finite, e.g. log(1 + x) instead of log(x)."
            )
        return features

    def _check_gaps(self, table: Table) -> None:
        """Raise an error if a category has missing values, which formulaic would count as its first level."""
        for name in self.variables:
            if not table.kinds[position := table.position(name)].numeric:
                gaps = table.coded(position).codes < 0
                if gaps.any():
                    raise NonFiniteError(
                        f"Input X contains NaN. Column {name!r} has a missing value in row {int(np.argmax(gaps))}; "
                        'give missing values a level of their own, e.g. "unknown", or leave those rows out.'
                    )


def _missing_action(missing: str) -> str:
    """Return formulaic's name of the treatment of missing values."""
    return "ignore" if missing == "keep" else "raise"


@contextmanager
def _formula_errors(formula: str, table: Table) -> Iterator[None]:
    """Convert the errors of formulaic to those of mercer."""
    try:
        yield
    except Exception as error:
        lines = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).strip().splitlines()
        message = lines[0] if lines else type(error).__name__
        if absent := re.search(r"`([^`]*)` is not present", message):
            guess = did_you_mean(absent.group(1), table.names)
            raise FormulaError(
                f"The formula {formula!r} reads {absent.group(1)!r}, which is not a column. {guess}"
            ) from None
        if gap := re.search(r"`([^`]*)` contains null", message):
            raise NonFiniteError(
                f"Input X contains NaN. In the formula {formula!r}, {gap.group(1)!r} has missing values; fill them, or "
                "keep them with missing='keep'."
            ) from None
        raise FormulaError(f"The formula {formula!r} cannot be evaluated: {message.rstrip('.')}.") from error
