"""A model as one SELECT."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mercer._errors import ExportError
from mercer.data.formats import THOUSANDS, DateFormat, NumberFormat
from mercer.export.dates import DAYS_TO_MARCH_0
from mercer.export.expression import (
    Arctangent,
    ColumnValue,
    Conditional,
    Exp,
    Expression,
    Floor,
    Greatest,
    KernelPoints,
    Label,
    Logarithm,
    Lookup,
    Named,
    Nearest,
    Quotient,
    Sine,
    TermSum,
    TextTerms,
    walk,
)
from mercer.export.formula import Formula
from mercer.export.lower import lower
from mercer.export.order import Group, check_size, group_of, groups_of, named_values, weights_of, written_in
from mercer.export.printer import Printer, split_cases
from mercer.text.analysis import shortest_word

Dialect = Literal["standard", "duckdb", "postgresql", "sqlite"]

#: the least exponent: e to a smaller power is 0, for which some databases raise an error
SMALLEST_POWER = "-700e0"
#: bound of finite numbers
LARGEST_NUMBER = "1e308"


def to_sql(
    model: Any,
    table: str | Sequence[str] = "data",
    *,
    keep: str | Sequence[str] = (),
    missing: bool | None = None,
    materialized: bool | None = None,
    dialect: Dialect = "standard",
) -> str:
    """Return a fitted model as a SELECT in standard SQL, which predicts the rows of a table.

    It runs in a database, without mercer. NULL, NaN and infinity are missing values; for a row for which the model
    raises an error, the prediction is NULL.

    Parameters
    ----------
    model : estimator
        A fitted linear model, naive Bayes, Gaussian discriminant or kernel machine of mercer, alone or in a `Pipeline`
        behind `TableFeatures`, `MonomialFeatures`, a vectorizer, or scikit-learn's `StandardScaler`.
    table : str or sequence of str, default="data"
        The table with the columns of the fit; if it is in a schema, both names: ("sales", "customers").
    keep : str or sequence of str, default=()
        Columns to select in addition to the predictions, such as the key of the table.
    missing : bool or None, default=None
        Treatment of rows with missing numbers. By default (None) the SQL treats them as the model does, except with a
        full covariance of more than 12 columns that was fitted to complete rows: the prediction for a row with a
        missing value is then NULL, as a comment at the top states. True raises an `ExportError` in this case. False
        means that no number is missing: rows with one have the prediction NULL, columns whose coefficients are all 0
        are not read, and the SQL is shorter for discriminants with full covariances.
    materialized : bool or None, default=None
        Whether stages are marked AS MATERIALIZED, which is not standard, but supported by PostgreSQL, SQLite and
        DuckDB. Without it the first two inline each stage into the next, and values that are used twice are computed
        twice. By default (None) stages are marked for these two.
    dialect : {"standard", "duckdb", "postgresql", "sqlite"}, default="standard"
        The database. Columns of text need "duckdb" or "postgresql", because splitting text into words is not standard.

    Returns
    -------
    sql : str
        The statement. Its result has the columns to keep, `prediction`, and `probability_…` (or `score_…`) of every
        class.

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
    check_formula(formula)
    tables, kept = ([each] if isinstance(each, str) else list(each) for each in (table, keep))
    if not tables:
        raise ExportError("There is no table to read from. Give its name, or (schema, table).")
    _check_dialect(formula, dialect, *tables, *kept)
    if materialized is None:
        # a stage with text is read twice, and its rows must have the same numbers
        materialized = _has_text(formula) or dialect in ("postgresql", "sqlite")
    return _Statement(formula, tables, kept, "AS MATERIALIZED" if materialized else "AS", dialect).text()


def least_dialect(model: Any) -> Dialect:
    """Return "standard" if all databases can run the SQL of a fitted model, else the name of one that can.

    Examples
    --------
    >>> from mercer import LinearRegression
    >>> least_dialect(LinearRegression().fit([[0.0], [2.0]], [1.0, 5.0]))
    'standard'
    """
    try:
        _check_dialect(lower(model), "standard")
    except ExportError:
        return "duckdb"
    return "standard"


def _has_text(formula: Formula) -> bool:
    return any(isinstance(value, TermSum) for value in walk(formula.output.outputs))


def _check_dialect(formula: Formula, dialect: Dialect, *names: str) -> None:
    """Raise an `ExportError` for a formula that needs another dialect."""
    if _has_text(formula) and dialect not in ("duckdb", "postgresql"):
        raise ExportError(
            f"{formula.model} reads text, which neither standard SQL nor SQLite can split into words. Export it for "
            "DuckDB or PostgreSQL, with dialect='duckdb' or 'postgresql' (on the command line --dialect duckdb)."
        )
    if dialect != "standard":
        return
    if (escaping := _with_backslash(formula, *names)) is not None:
        raise ExportError(
            f"{escaping!r} has a backslash, by which some databases end a text or a name too late. Name the database "
            "that is to read it: dialect='duckdb', 'postgresql' or 'sqlite' (on the command line --dialect duckdb)."
        )
    commas = [each.name for each in formula.columns if getattr(each.format, "decimal", ".") == ","]
    if commas:
        raise ExportError(
            f"Column {commas[0]!r} has decimal commas, and standard SQL cannot distinguish its texts from numbers. "
            "Name the database: dialect='duckdb', 'postgresql' or 'sqlite' (on the command line --dialect duckdb)."
        )


def check_formula(formula: Formula) -> None:
    """Raise an `ExportError` for a formula that SQL cannot express."""
    check_size(formula.model, "SQL", formula.output.outputs)
    for column in formula.columns:
        identifier(column.name)
    for value in walk(formula.output.outputs):
        if isinstance(value, Lookup):
            for label, _ in value.table:
                literal(label)
        if isinstance(value, TermSum):
            _check_terms(value.of)
    for label in formula.output.classes:
        literal(label)
        identifier(f"probability_{label}")


def _with_backslash(formula: Formula, *names: str) -> str | None:
    """Return the first name, class, level or word for a gap with a backslash, or None."""
    labels: list[Label] = [*names, *formula.output.classes]
    labels += [word for column in formula.columns for word in (column.name, *column.gaps)]
    labels += [label for value in walk(formula.output.outputs) if isinstance(value, Lookup) for label, _ in value.table]
    return next((label for label in labels if isinstance(label, str) and "\\" in label), None)


class _Statement(Printer):
    """A writer of stages, each of which depends only on the stages before it."""

    def __init__(
        self,
        formula: Formula,
        table: Sequence[str],
        keep: Sequence[str],
        as_clause: str = "AS",
        dialect: Dialect = "standard",
    ) -> None:
        super().__init__(formula)
        self.table, self.keep, self.as_clause, self.dialect = table, list(keep), as_clause, dialect
        self.values = named_values(formula.output.outputs)
        self.names = {value: f"v{j}" for j, value in enumerate(self.values, 1)}
        self.groups = groups_of(self.values)
        # a stage with the name of the table would refer to itself
        self.prefix = "s_" if table and re.fullmatch(r"[dsp]\d+", table[-1], re.IGNORECASE) else "s"
        #: whether rows are numbered, because joins with points or terms do not preserve their order
        self.numbered = bool(self.groups)

    def text(self) -> str:
        stages = self._stages()
        table = ".".join(map(identifier, self.table))
        parts = [self._table(group, members) for group, members in self.groups.items()]
        source = f"{table} AS t"
        if any(column.kind == "date" for column in self.formula.columns):
            texts = self.prefix.replace("s", "d") + "0"  # the stage in which dates are text
            parts.append(f"{texts} {self.as_clause} (\n  SELECT {_join_lines(self._source())}\n  FROM {source}\n)")
            parts.append(
                f"{self._stage(0)} {self.as_clause} (\n  SELECT {_join_lines(self._dated())}\n  FROM {texts}\n)"
            )
        else:
            parts.append(
                f"{self._stage(0)} {self.as_clause} (\n  SELECT {_join_lines(self._source())}\n  FROM {source}\n)"
            )
        for number, stage in enumerate(stages, 1):
            carried = self._carried(stages[number:], before=stages[: number - 1])
            group = group_of(stage[0])
            match group:
                case KernelPoints():
                    body = self._point_sums(number - 1, group, stage, carried)
                case TextTerms():
                    body = self._term_sums(number - 1, group, stage, carried)
                case None:
                    new = [f"{self.write(value.value)} AS {self.names[value]}" for value in stage]
                    body = f"SELECT {_join_lines([*carried, *new])}\n  FROM {self._stage(number - 1)}"
            parts.append(f"{self._stage(number)} {self.as_clause} (\n  {body}\n)")
        order = "\nORDER BY r" if self.numbered else ""
        remark = self.formula.remark and f"/* {self.formula.remark} Their predictions are NULL. */\n"
        results = f"SELECT {_join_lines(self._results())}\nFROM {self._stage(len(stages))}{order}"
        return f"{remark}WITH {', '.join(parts)}\n{results}"

    def _stage(self, number: int) -> str:
        return f"{self.prefix}{number}"

    def _stages(self) -> list[list[Named]]:
        """Return values that can be computed together: plain values of one level, or the sums of one group."""
        level: dict[Named, int] = {}
        for value in self.values:
            level[value] = 1 + max((level[need] for need in written_in(value.value, Named)), default=0)
        stages: dict[tuple[int, Group | None], list[Named]] = {}
        for value, at in sorted(level.items(), key=lambda pair: (pair[1], group_of(pair[0]) is not None)):
            stages.setdefault((at, group_of(value)), []).append(value)
        return list(stages.values())

    # Sums over points and terms, which are tables of their own.

    def _table(self, group: Group, members: Sequence[Named]) -> str:
        """Return a table of points or terms: weights w1, w2, … with coordinates x1, x2, …, or a term and its factor."""
        weights = weights_of(members)
        names = [f"w{j}" for j in range(1, len(weights) + 1)]
        if isinstance(group, KernelPoints):
            names += [f"x{j}" for j in range(1, group.points.shape[1] + 1)]
            rows = [", ".join(map(number, row)) for row in np.column_stack([*weights, group.points]).tolist()]
        else:
            names += ["factor", "term"]
            numbers = np.column_stack([*weights, group.factors]).tolist()
            rows = [
                ", ".join([*map(number, row), literal(term, self.dialect)])
                for row, term in zip(numbers, group.terms, strict=True)
            ]
        listed = ",\n    ".join(f"({row})" for row in rows)
        return f"{self._table_name(group)}({', '.join(names)}) {self.as_clause} (\n  VALUES\n    {listed}\n)"

    def _table_name(self, group: Group) -> str:
        return f"{self.prefix.replace('s', 'p')}{list(self.groups).index(group) + 1}"

    def _point_sums(self, before: int, group: KernelPoints, members: Sequence[Named], carried: Sequence[str]) -> str:
        """Join rows with points, compute k from exponents or products, and sum by row."""
        inputs = [f"s.{written}" if written.isidentifier() else written for written in map(self.write, group.inputs)]
        pairs = list(zip(inputs, (f"p.x{j}" for j in range(1, len(inputs) + 1)), strict=True))
        weights = [f"w{j}" for j in range(1, len(weights_of(members)) + 1)]
        kept = ", ".join([*carried, *weights])
        if group.kernel == "polynomial":
            products = self._add_terms([f"{x} * {z}" for x, z in pairs])
            base = f"({number(group.gamma)} * ({products}) + {number(group.constant)})"
            compared = " * ".join([base] * group.degree) or "1e0"
        else:
            squares = self._add_terms([f"({x} - {z}) * ({x} - {z})" for x, z in pairs])
            compared = f"{number(-group.gamma)} * ({squares})"
        joined = f"{self._stage(before)} AS s CROSS JOIN {self._table_name(group)} AS p"
        columns = ", ".join([*(f"s.{name}" for name in carried), *(f"p.{name}" for name in weights)])
        rows = f"SELECT {columns}, {compared} AS e\n    FROM {joined}"
        exponent, k = "e", "e"
        if group.kernel == "nearest":
            rows = f"SELECT {kept}, e, MAX(e) OVER (PARTITION BY r) AS top\n    FROM ({rows}) AS d"
            exponent = "e - top"
        if group.kernel != "polynomial":
            k = f"(CASE WHEN {exponent} < {SMALLEST_POWER} THEN 0e0 ELSE EXP({exponent}) END)"
        places = iter(weights)
        sums = [
            f"MAX(top) AS {self.names[member]}"
            if isinstance(member.value, Nearest)
            else f"SUM({next(places)} * {k}) AS {self.names[member]}"
            for member in members
        ]
        return f"SELECT {_join_lines([*carried, *sums])}\n  FROM ({rows}) AS c\n  GROUP BY {', '.join(carried)}"

    def _add_terms(self, terms: Sequence[str]) -> str:
        return self._sum([(1.0, SQLText(term)) for term in terms], 0.0)

    def _term_sums(self, before: int, group: TextTerms, members: Sequence[Named], carried: Sequence[str]) -> str:
        """Join the words of all rows with their weights, and sum by row, with 0 for a row without such words."""
        column = self.columns[group.column.name]
        text = f"LOWER({column})" if group.lowercase else column
        words = {
            "duckdb": f"UNNEST(REGEXP_EXTRACT_ALL({text}, '[\\p{{L}}\\p{{N}}_]+'))",
            "postgresql": f"REGEXP_SPLIT_TO_TABLE({text}, '[^[:alnum:]_]+')",
        }[self.dialect]
        weights = [f"p.w{j}" for j in range(1, len(members) + 1)]
        count = "CAST(COUNT(*) AS DOUBLE PRECISION)"
        worth = "1e0" if group.binary else f"(1e0 + LN({count}))" if group.sublinear else count
        by = ["t.r", "p.term", "p.factor", *weights]
        terms = (
            f"SELECT {', '.join(['t.r', *weights, f'p.factor * {worth} AS x'])}\n"
            f"      FROM (SELECT r, {words} AS word FROM {self._stage(before)}) AS t\n"
            f"      JOIN {self._table_name(group)} AS p ON p.term = t.word\n      GROUP BY {', '.join(by)}"
        )
        length = {"l1": "SUM(ABS(x))", "l2": "SQRT(SUM(x * x))", None: "1e0"}[group.norm]
        names = [self.names[member] for member in members]
        sums = [f"SUM({w} * x) / NULLIF({length}, 0e0) AS {v}" for w, v in zip(_bare(weights), names, strict=True)]
        by_row = f"SELECT {', '.join(['r', *sums])}\n    FROM ({terms}) AS f\n    GROUP BY r"
        kept = [*(f"s.{name}" for name in carried), *(f"COALESCE(u.{name}, 0e0) AS {name}" for name in names)]
        joined = f"{self._stage(before)} AS s LEFT JOIN ({by_row}) AS u ON u.r = s.r"
        return f"SELECT {_join_lines(kept)}\n  FROM {joined}"

    def _source(self) -> list[str]:
        read = [f"{_read(column, self.dialect)} AS {self.columns[column.name]}" for column in self.formula.columns]
        kept = [f"{_of_table(name)} AS k{j}" for j, name in enumerate(self.keep, 1)]
        rows = ["ROW_NUMBER() OVER () AS r"] * self.numbered
        return [*rows, *kept, *read] or ["1 AS one"]

    def _dated(self) -> list[str]:
        """Return the same columns, with dates as days since 1970."""
        days = []
        for column in self.formula.columns:
            short = self.columns[column.name]
            days.append(f"{_days(short, column, self.dialect)} AS {short}" if column.kind == "date" else short)
        return [*["r"] * self.numbered, *(f"k{j}" for j in range(1, len(self.keep) + 1)), *days]

    def _carried(self, later: list[list[Named]], before: list[list[Named]]) -> list[str]:
        """Return the values of earlier stages that are needed after this one."""
        to_come = [*(value.value for stage in later for value in stage), *self.formula.output.outputs]
        wanted = {value for expression in to_come for value in written_in(expression, Named)}
        columns = {column.name for expression in to_come for column in written_in(expression, ColumnValue)}
        available = [value for stage in before for value in stage]
        return [
            *["r"] * self.numbered,
            *(f"k{j}" for j in range(1, len(self.keep) + 1)),
            *(short for name, short in self.columns.items() if name in columns),
            *(self.names[value] for value in available if value in wanted),
        ]

    def _results(self) -> list[str]:
        output = self.formula.output
        kept = [(f"k{j}", name) for j, name in enumerate(self.keep, 1)]
        if not output.classes:
            several = len(output.predictions) > 1
            names = [f"prediction_{j}" if several else "prediction" for j in range(1, len(output.predictions) + 1)]
            pairs = [(self.write(each), name) for each, name in zip(output.predictions, names, strict=True)]
        else:
            scores = [self.write(each) for each in output.of_classes]
            decisive = [self.write(each) for each in output.decisive]
            word = "probability" if output.probabilities else "score"
            names = [f"{word}_{label}" for label in output.classes]
            order = (1, 0) if output.second_wins else range(len(scores))  # the first of several equally good classes
            best = _greatest([decisive[k] for k in order], [literal(output.classes[k], self.dialect) for k in order])
            pairs = [(best, "prediction")]
            pairs += zip(scores, _distinct(names), strict=True)
        self._check_distinct([name for _, name in (*kept, *pairs)])
        return [f"{value} AS {identifier(name)}" for value, name in (*kept, *pairs)]

    def _check_distinct(self, names: list[str]) -> None:
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
            case Logarithm(of):
                written = self.write(of)
                return f"CASE WHEN {written} > 0e0 THEN LN({written}) END"
            case Arctangent(of):
                return f"ATAN({self.write(of)})"
            case Floor(of):
                return f"FLOOR({self.write(of)})"
            case Sine(of):
                return f"SIN({self.write(of)})"
            case SQLText(text):
                return text
            case Greatest(several):
                values = [self.factor(each) for each in several]
                return _greatest(values, values)
            case Conditional():
                cases, otherwise = split_cases(expression)
                whens = [f"WHEN {self.condition(condition)} THEN {self.write(then)}" for condition, then in cases]
                return f"CASE {' '.join(whens)} ELSE {self.write(otherwise)} END"
            case Lookup():
                return self._lookup(expression)
        raise TypeError(f"{expression!r} is not an expression")

    def _lookup(self, lookup: Lookup) -> str:
        of = self.factor(lookup.of)
        cases = [f"WHEN {of} IS NULL THEN {number(lookup.missing)}"]
        cases += [
            f"WHEN {of} = {literal(label, self.dialect)} THEN {number(value)}"
            for label, value in lookup.table
            if value != lookup.other
        ]
        return f"CASE {' '.join(cases)} ELSE {number(lookup.other)} END"


@dataclass(frozen=True)
class SQLText(Expression):
    """A term of a sum as text."""

    text: str


def _bare(columns: Sequence[str]) -> list[str]:
    """Return names without their table."""
    return [column.rpartition(".")[2] for column in columns]


def _check_terms(terms: TextTerms) -> None:
    shortest = shortest_word(terms.pattern)
    if terms.grams != (1, 1) or terms.stop_words or shortest is None or min(map(len, terms.terms)) < shortest:
        raise ExportError(
            f"Column {terms.column.name!r} cannot be exported to SQL: its terms are not single words of letters and "
            "digits. Export to Python, or fit with the token_pattern and ngram_range that vectorizers have by default."
        )


def _read(column: ColumnValue, dialect: Dialect) -> str:
    """Return the expression with which a stage reads a column of the table."""
    name = _of_table(column.name)
    gaps = ", ".join(literal(word, dialect) for word in column.gaps)
    if column.kind == "date":
        return f"TRIM(CAST({name} AS VARCHAR(40)))"
    if column.kind == "text":
        return f"CASE WHEN TRIM({name}) NOT IN ({gaps}) THEN TRIM({name}) END"
    if column.kind == "boolean":
        return name
    number = f"CAST({name} AS DOUBLE PRECISION)"
    if isinstance(column.format, NumberFormat):
        number = _spelled_number(name, gaps, column.format, dialect)
    # databases order NaN above all other numbers
    return f"CASE WHEN ABS({number}) < {LARGEST_NUMBER} THEN {number} END"


def _spelled_number(name: str, gaps: str, form: NumberFormat, dialect: Dialect) -> str:
    """Return a number from a column of text with units or separators; a column of numbers is read as it is."""
    text = f"TRIM(CAST({name} AS VARCHAR(80)))"
    digits = text
    for mark in dict.fromkeys([form.unit, "." if form.decimal == "," else ",", *THOUSANDS, "(", ")"]):
        digits = f"REPLACE({digits}, {literal(mark)}, '')" if mark else digits
    digits = f"REPLACE(REPLACE({digits}, ',', '.'), '\u2212', '-')"
    sign = f"CASE WHEN {text} LIKE '(%' THEN -1e0 ELSE 1e0 END"
    spelled = f"CASE WHEN {text} NOT IN ({gaps}) THEN {sign} * CAST({digits} AS DOUBLE PRECISION) END"
    if form.decimal == ".":  # as in numbers
        return spelled
    kind = f"CAST(PG_TYPEOF({name}) AS VARCHAR(40))" if dialect == "postgresql" else f"TYPEOF({name})"
    texts = "'VARCHAR', 'text', 'character varying', 'character'"
    return f"CASE WHEN {kind} IN ({texts}) THEN {spelled} ELSE CAST({name} AS DOUBLE PRECISION) END"


def _days(text: str, column: ColumnValue, dialect: Dialect) -> str:
    """Return the days since 1970 of a date, a timestamp or a text, read as text, which works in all databases.

    A text has the form of ISO 8601, or two digits each of day and month in the order of the column. Any other text is
    an error of the database, except in SQLite, where the result is NULL.
    """
    gaps = ", ".join(literal(word, dialect) for word in column.gaps)

    def part(start: int, length: int) -> str:
        return f"CAST(SUBSTR({text}, {start}, {length}) AS INTEGER)"

    def days(y: int, m: int, d: int) -> str:
        # years begin in March, so that leap days are at their end
        year = f"({part(y, 4)} - CASE WHEN {part(m, 2)} > 2 THEN 0 ELSE 1 END)"
        month = f"({part(m, 2)} + CASE WHEN {part(m, 2)} > 2 THEN -3 ELSE 9 END)"
        leap_days = f"FLOOR({year} / 4e0) - FLOOR({year} / 100e0) + FLOOR({year} / 400e0)"
        of_year = f"FLOOR((153 * {month} + 2) / 5e0) + {part(d, 2)}"
        return f"365e0 * {year} + {leap_days} + {of_year} - {DAYS_TO_MARCH_0 + 1}e0 + {time}"

    seconds = f"CASE WHEN SUBSTR({text}, 17, 1) = ':' THEN {part(18, 2)} ELSE 0 END"
    of_day = f"({part(12, 2)} * 3600 + {part(15, 2)} * 60 + {seconds}) / 86400e0"
    time = f"CASE WHEN LENGTH({text}) > 15 THEN {of_day} ELSE 0e0 END"
    cases = [f"WHEN {text} LIKE '____-__-__%' THEN {days(1, 6, 9)}"]
    if isinstance(column.format, DateFormat) and column.format.order != "ymd":
        places = (7, 4, 1) if column.format.order == "dmy" else (7, 1, 4)
        marks = f"SUBSTR({text}, 3, 1) IN ('/', '.', '-') AND SUBSTR({text}, 6, 1) IN ('/', '.', '-')"
        cases.append(f"WHEN {marks} THEN {days(*places)}")
    cases.append(f"WHEN {text} NOT IN ({gaps}) THEN NULLIF(CAST('no date: ' || {text} AS INTEGER), 0)")
    return f"CASE {' '.join(cases)} END"


def _of_table(name: str) -> str:
    """Return a qualified column: a bare name could be that of another value (DuckDB) or a text (SQLite)."""
    return f"t.{identifier(name)}"


def _join_lines(items: Sequence[str]) -> str:
    return ",\n    ".join(items)


def _greatest(values: Sequence[str], results: Sequence[str]) -> str:
    """Return the result that belongs to the greatest value; NULL if the values are NULL."""
    cases = []
    for k, value in enumerate(values):
        others = [f"{value} >= {other}" for j, other in enumerate(values) if j != k] or [f"{value} IS NOT NULL"]
        cases.append(f"WHEN {' AND '.join(others)} THEN {results[k]}")
    return f"CASE {' '.join(cases)} END"


def _distinct(names: list[str]) -> list[str]:
    """Return names that differ in more than upper and lower case, numbered if necessary."""
    times: Counter[str] = Counter()
    result = []
    for name in names:
        times[name.casefold()] += 1
        number = times[name.casefold()]
        result.append(name if number == 1 else f"{name}_{number}")
    return result


def identifier(name: str) -> str:
    """Return a name in quotes."""
    if not name or "\0" in name:
        raise ExportError(f"{name!r} cannot be the name of a column or table in SQL. Rename it and fit again.")
    return '"' + name.replace('"', '""') + '"'


def literal(label: Label, dialect: Dialect = "standard") -> str:
    """Return a value in SQL; for PostgreSQL, backslashes do not depend on `standard_conforming_strings`."""
    match label:
        case bool():
            return "TRUE" if label else "FALSE"
        case int():
            return str(label)
        case float():
            return number(label)
    if "\0" in label:
        raise ExportError(f"The value {label!r} cannot be written in SQL. Replace it and fit again.")
    written = "'" + label.replace("'", "''") + "'"
    return "E" + written.replace("\\", "\\\\") if dialect == "postgresql" and "\\" in label else written


def number(value: float) -> str:
    """Return a number with an exponent, which makes it a double instead of a decimal."""
    if math.isnan(value):
        return "NULL"
    written = repr(float(value))
    return written if "e" in written else f"{written}e0"
