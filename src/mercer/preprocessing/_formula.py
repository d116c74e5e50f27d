"""Columns by a formula, as R writes them: `log(income) + C(region) * age`."""

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
from mercer.preprocessing.treatments import Unseen

INTERCEPT = "Intercept"
#: formulaic tells of unseen levels by a warning, and warnings are caught for all threads at once
ONE_AT_A_TIME = Lock()


@stored(unsafe="mercer.files._formulas.unsafe_terms")
@dataclass(frozen=True)
class FormulaFeatures:
    """The right side of a formula, with the levels, knots and means of the rows it was fitted on.

    The intercept makes one level of each category superfluous, and is then left to the model. All parts are plain
    values, so that a file can hold them; formulaic's own record of a fit is made of them when rows are read.
    """

    formula: str
    missing: str
    #: columns that the formula reads
    variables: tuple[str, ...]
    #: products of factors, each as it is written and how it is evaluated: "lookup", "python" or "literal"
    terms: tuple[tuple[tuple[str, str], ...], ...]
    #: what functions learnt: {call: {name: value}}
    state: dict[str, Any]
    #: {factor: its levels}
    levels: dict[str, list[Any]]
    #: names of what formulaic makes, with the intercept
    columns: tuple[str, ...]

    @classmethod
    def of(cls, formula: str, table: Table, *, missing: str) -> Self:
        """Learn levels, knots and means."""
        if "~" in formula:
            raise FormulaError(f"The formula {formula!r} has a left side; give y to fit, and here what follows the ~.")
        formulaic = require("formulaic", purpose="A formula", extra="formula")
        with _explained(formula, table), np.errstate(all="ignore"):
            # no variables of whoever calls: a model has to mean the same wherever it is loaded
            made = formulaic.model_matrix(
                formula, table.to_pandas(), na_action=_with_gaps(missing), context={}, output="numpy"
            )
            spec = made.model_spec
            fitted = cls(
                formula,
                missing,
                variables=tuple(sorted(map(str, spec.required_variables))),
                terms=tuple(tuple((each.expr, each.eval_method.value) for each in term.factors) for term in spec.terms),
                state=spec.transform_state,
                levels={
                    expr: list(learnt["categories"])
                    for expr, (_, learnt) in spec.encoder_state.items()
                    if "categories" in learnt
                },
                columns=tuple(spec.column_names),
            )
        fitted._refuse_unnamed(table)
        if not fitted.names:
            raise FormulaError(f"The formula {formula!r} has no column; name at least one.")
        fitted._without_intercept(made)
        return fitted

    @property
    def names(self) -> list[str]:
        """A name for each feature."""
        return [name for name in self.columns if name != INTERCEPT]

    def read(self, table: Table, unseen: Unseen) -> Array:
        """Features of rows."""
        require("formulaic", purpose="A formula", extra="formula")
        from formulaic.errors import DataMismatchWarning

        self._refuse_unnamed(table)
        with _explained(self.formula, table), ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made = self._spec().get_model_matrix(table.to_pandas(), context={})
        for warning in caught:
            if issubclass(warning.category, DataMismatchWarning):
                level = re.search(r"\{(.*)\}", str(warning.message))
                unseen.tell_levels(level.group(1) if level else str(warning.message))
        self._refuse_other_columns(made.model_spec.column_names)
        return self._without_intercept(made)

    def _spec(self) -> Any:
        """What formulaic would remember of the fit; it writes to what it is given, which is therefore a copy."""
        from formulaic import ModelSpec, SimpleFormula
        from formulaic.parser.types import Factor, Term

        terms = [Term([Factor(expr, eval_method=how) for expr, how in term]) for term in self.terms]
        return ModelSpec(
            SimpleFormula(terms, _ordering="none"),
            na_action=_with_gaps(self.missing),
            output="numpy",
            transform_state=deepcopy(self.state),
            encoder_state={
                expr: (Factor.Kind.CATEGORICAL, {"categories": list(levels)}) for expr, levels in self.levels.items()
            },
        )

    def _refuse_other_columns(self, columns: Sequence[str]) -> None:
        """A category that comes as numbers, or numbers as text, would be other features."""
        if tuple(columns) != self.columns:
            other = sorted(set(self.columns) ^ set(columns))
            raise FormulaError(
                f"The formula {self.formula!r} gives other features here than in the fit, e.g. {other[0]!r}: give its "
                "columns the types that they had there, text as text and numbers as numbers."
            )

    def _without_intercept(self, made: Any) -> Array:
        """The features, after a look whether all are finite or missing."""
        kept = [j for j, name in enumerate(self.columns) if name != INTERCEPT]
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


def _with_gaps(missing: str) -> str:
    """What formulaic does with missing values."""
    return "ignore" if missing == "keep" else "raise"


@contextmanager
def _explained(formula: str, table: Table) -> Iterator[None]:
    """Errors of formulaic as ours."""
    try:
        yield
    except Exception as error:
        lines = re.sub(r"\x1b\[[0-9;]*m|[⧛⧚]", "", str(error)).strip().splitlines()
        said = lines[0] if lines else type(error).__name__
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
