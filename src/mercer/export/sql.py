"""A model as one SELECT."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mercer._errors import ExportError
from mercer.export.expression import (
    Arctangent,
    Choice,
    Column,
    Exp,
    Expression,
    Greatest,
    Label,
    Log,
    Lookup,
    Named,
    Quotient,
    walk,
)
from mercer.export.formula import Formula
from mercer.export.lower import lower
from mercer.export.order import named_values, written_in
from mercer.export.printer import Printer, choices

#: e to a smaller power is 0, and some databases refuse to say so
SMALLEST_POWER = "-700e0"
#: numbers are smaller than this, but for infinity
LARGEST = "1e308"


def to_sql(
    model: Any,
    table: str | Sequence[str] = "data",
    *,
    keep: str | Sequence[str] = (),
    missing: bool = True,
    materialized: bool = False,
) -> str:
    """A fitted model as a SELECT in standard SQL, which gives the model's predictions for the rows of a table.

    Nothing of the model is needed to run it but a database. NULL, NaN and infinity are missing values; a row that
    the model would refuse has NULL for a prediction.

    Parameters
    ----------
    model : estimator
        A fitted linear model, naive Bayes or Gaussian discriminant of mercer, alone or in a `Pipeline` behind
        `TableFeatures`, `MonomialFeatures` or scikit-learn's `StandardScaler`.
    table : str or sequence of str, default="data"
        The table with the columns of the fit; in parts where it has a schema: ("sales", "customers").
    keep : str or sequence of str, default=()
        Columns to have beside the predictions, such as the key of the table.
    missing : bool, default=True
        Whether rows with missing numbers are predicted, or refused, as the model does. False promises that no number
        that counts is missing: such rows have NULL, columns whose coefficients are all 0 are not read, and the SQL is
        shorter for discriminants with full covariances.
    materialized : bool, default=False
        Whether stages are marked AS MATERIALIZED, which is not standard but known to PostgreSQL, SQLite and DuckDB: the
        first two else write each stage into the next, where values that are used twice are computed twice.

    Returns
    -------
    sql : str
        Its columns are those to keep, `prediction`, and `probability_…` (or `score_…`) of every class.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> from mercer.export import to_sql
    >>> print(to_sql(LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]), "points"))
    WITH s0 AS (
      SELECT CASE WHEN ABS(CAST(t."x0" AS DOUBLE PRECISION)) < 1e308 THEN CAST(t."x0" AS DOUBLE PRECISION) END AS c1
      FROM "points" AS t
    ), s1 AS (
      SELECT 2.0...e0 * c1 + ...e0 AS v1
      FROM s0
    )
    SELECT v1 AS "prediction"
    FROM s1
    """
    formula = lower(model, missing=missing)
    tables, kept = ([each] if isinstance(each, str) else list(each) for each in (table, keep))
    if not tables:
        raise ExportError("There is no table to read from. Give its name, or (schema, table).")
    return _Statement(formula, tables, kept, "AS MATERIALIZED" if materialized else "AS").text()


def check_formula(formula: Formula) -> None:
    """Raise an `ExportError` for a formula that SQL cannot express."""
    for column in formula.columns:
        identifier(column.name)
    for value in walk(formula.said.outputs):
        if isinstance(value, Lookup):
            for label, _ in value.table:
                literal(label)
    for label in formula.said.classes:
        literal(label)
        identifier(f"probability_{label}")


class _Statement(Printer):
    """Stages, each of which computes what needs nothing but the stages before it."""

    def __init__(self, formula: Formula, table: Sequence[str], keep: Sequence[str], means: str = "AS") -> None:
        super().__init__(formula)
        self.table, self.keep, self.means = table, list(keep), means
        self.values = named_values(formula.said.outputs)
        self.names = {value: f"v{j}" for j, value in enumerate(self.values, 1)}

    def text(self) -> str:
        stages = self._stages()
        table = ".".join(map(identifier, self.table))
        parts = [f"s0 {self.means} (\n  SELECT {_listed(self._source())}\n  FROM {table} AS t\n)"]
        for number, stage in enumerate(stages, 1):
            carried = self._carried(stages[number:], before=stages[: number - 1])
            new = [f"{self.write(value.value)} AS {self.names[value]}" for value in stage]
            parts.append(f"s{number} {self.means} (\n  SELECT {_listed([*carried, *new])}\n  FROM s{number - 1}\n)")
        return f"WITH {', '.join(parts)}\nSELECT {_listed(self._results())}\nFROM s{len(stages)}"

    def _stages(self) -> list[list[Named]]:
        level: dict[Named, int] = {}
        for value in self.values:
            level[value] = 1 + max((level[need] for need in written_in(value.value, Named)), default=0)
        stages: list[list[Named]] = [[] for _ in range(max(level.values(), default=0))]
        for value, at in level.items():
            stages[at - 1].append(value)
        return stages

    def _source(self) -> list[str]:
        read = [f"{_read(column)} AS {self.columns[column.name]}" for column in self.formula.columns]
        kept = [f"{_of_table(name)} AS k{j}" for j, name in enumerate(self.keep, 1)]
        return [*kept, *read] or ["1 AS one"]

    def _carried(self, later: list[list[Named]], before: list[list[Named]]) -> list[str]:
        """What was there before this stage and is still needed after it."""
        to_come = [*(value.value for stage in later for value in stage), *self.formula.said.outputs]
        wanted = {value for expression in to_come for value in written_in(expression, Named)}
        columns = {column.name for expression in to_come for column in written_in(expression, Column)}
        there = [value for stage in before for value in stage]
        return [
            *(f"k{j}" for j in range(1, len(self.keep) + 1)),
            *(short for name, short in self.columns.items() if name in columns),
            *(self.names[value] for value in there if value in wanted),
        ]

    def _results(self) -> list[str]:
        said = self.formula.said
        kept = [(f"k{j}", name) for j, name in enumerate(self.keep, 1)]
        if not said.classes:
            several = len(said.predictions) > 1
            names = [f"prediction_{j}" if several else "prediction" for j in range(1, len(said.predictions) + 1)]
            pairs = [(self.write(each), name) for each, name in zip(said.predictions, names, strict=True)]
        else:
            scores = [self.write(each) for each in said.decisive]
            word = "probability" if said.probabilities else "score"
            names = [f"{word}_{label}" for label in said.classes]
            order = (1, 0) if said.second_wins else range(len(scores))  # the first of those that are as good
            best = _greatest([scores[k] for k in order], [literal(said.classes[k]) for k in order])
            pairs = [(best, "prediction")]
            pairs += zip(scores, _distinct(names), strict=True)
        self._refuse_twice([name for _, name in (*kept, *pairs)])
        return [f"{value} AS {identifier(name)}" for value, name in (*kept, *pairs)]

    def _refuse_twice(self, names: list[str]) -> None:
        name, times = Counter(name.casefold() for name in names).most_common(1)[0]
        if times > 1:
            raise ExportError(f"{name!r} would be the name of {times} columns of the result. Leave it out of `keep`.")

    def number(self, value: float) -> str:
        return number(value)

    def lacks(self, written: str) -> str:
        return f"{written} IS NULL"

    def special(self, expression: Expression) -> str:
        match expression:
            case Quotient(left, right):
                return f"{self.factor(left)} / NULLIF({self.write(right)}, 0e0)"
            case Exp(power):
                written = self.write(power)
                return f"CASE WHEN {written} < {SMALLEST_POWER} THEN 0e0 ELSE EXP({written}) END"
            case Log(of):
                written = self.write(of)
                return f"CASE WHEN {written} > 0e0 THEN LN({written}) END"
            case Arctangent(of):
                return f"ATAN({self.write(of)})"
            case Greatest(several):
                values = [self.factor(each) for each in several]
                return _greatest(values, values)
            case Choice():
                cases, otherwise = choices(expression)
                whens = [f"WHEN {self.condition(condition)} THEN {self.write(then)}" for condition, then in cases]
                return f"CASE {' '.join(whens)} ELSE {self.write(otherwise)} END"
            case Lookup():
                return self._lookup(expression)
        raise TypeError(f"{expression!r} is no expression")

    def _lookup(self, lookup: Lookup) -> str:
        of = self.factor(lookup.of)
        cases = [f"WHEN {of} IS NULL THEN {number(lookup.missing)}"]
        cases += [
            f"WHEN {of} = {literal(label)} THEN {number(value)}"
            for label, value in lookup.table
            if value != lookup.other
        ]
        return f"CASE {' '.join(cases)} ELSE {number(lookup.other)} END"


def _read(column: Column) -> str:
    name = _of_table(column.name)
    if column.kind == "text":
        gaps = ", ".join(map(literal, column.gaps))
        return f"CASE WHEN TRIM({name}) NOT IN ({gaps}) THEN TRIM({name}) END"
    if column.kind == "boolean":
        return name
    number = f"CAST({name} AS DOUBLE PRECISION)"
    # databases take NaN for a number that equals itself and is above all others
    return f"CASE WHEN ABS({number}) < {LARGEST} THEN {number} END"


def _of_table(name: str) -> str:
    """A column, which has to be there: a bare name could be that of another value (DuckDB) or a text (SQLite)."""
    return f"t.{identifier(name)}"


def _listed(items: Sequence[str]) -> str:
    return ",\n    ".join(items)


def _greatest(values: Sequence[str], results: Sequence[str]) -> str:
    """The result that belongs to the greatest value; NULL where they are."""
    cases = []
    for k, value in enumerate(values):
        others = [f"{value} >= {other}" for j, other in enumerate(values) if j != k] or [f"{value} IS NOT NULL"]
        cases.append(f"WHEN {' AND '.join(others)} THEN {results[k]}")
    return f"CASE {' '.join(cases)} END"


def _distinct(names: list[str]) -> list[str]:
    """Names that differ in more than upper and lower case."""
    times: Counter[str] = Counter()
    result = []
    for name in names:
        times[name.casefold()] += 1
        seen = times[name.casefold()]
        result.append(name if seen == 1 else f"{name}_{seen}")
    return result


def identifier(name: str) -> str:
    """A name in quotes, whatever is in it."""
    if not name or "\0" in name:
        raise ExportError(f"{name!r} cannot be the name of a column or table in SQL. Rename it and fit again.")
    return '"' + name.replace('"', '""') + '"'


def literal(label: Label) -> str:
    """A value as it is written in SQL."""
    match label:
        case bool():
            return "TRUE" if label else "FALSE"
        case int():
            return str(label)
        case float():
            return number(label)
    if "\0" in label:
        raise ExportError(f"The value {label!r} cannot be written in SQL. Replace it and fit again.")
    return "'" + label.replace("'", "''") + "'"


def number(value: float) -> str:
    """With an exponent, which makes it a double and no decimal."""
    if math.isnan(value):
        return "NULL"
    written = repr(float(value))
    return written if "e" in written else f"{written}e0"
