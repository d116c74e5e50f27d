"""A model as a Python module that needs only the standard library."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from mercer.data.formats import DATES_OF_DIGITS, DATES_WITH_MONTH_NAMES, DateFormat, NumberFormat
from mercer.export.expression import (
    Arctangent,
    ColumnValue,
    Conditional,
    Exp,
    Expression,
    Floor,
    Greatest,
    KernelPoints,
    Logarithm,
    Lookup,
    Named,
    Nearest,
    Quotient,
    Sine,
    TextTerms,
    walk,
)
from mercer.export.formula import Formula
from mercer.export.lower import lower
from mercer.export.order import Group, check_size, group_of, groups_of, named_values, weights_of
from mercer.export.printer import Printer, split_cases

HELPERS = """
def _number(value):
    return math.nan if value is None else float(value)


def _text(value, gaps):
    value = value.strip() if isinstance(value, str) else value
    return None if value in gaps else value


def _exp(power):
    return math.inf if power > 709.7 else math.exp(power)


def _log(value):
    return math.log(value) if value > 0 else math.nan


def _floor(value):
    return value // 1.0


def _ratio(above, below):
    return above / below if below else math.nan


def _look_up(value, table, missing, other):
    if value is None or value != value:
        return missing
    return table.get(value, other)
"""
NUMBER_HELPERS = """
def _spelled(value, decimal, unit):
    # a number that is written with separators between thousands, a unit, or parentheses where it is negative
    if not isinstance(value, str):
        return _number(value)
    negative = value.startswith("(") and value.endswith(")")
    value = value.strip("()").replace(unit, "") if negative else value.replace(unit, "")
    value = "".join(each for each in value if each.isdigit() or each in "+-\u2212eE" or each == decimal)
    number = float(value.replace(",", ".").replace("\u2212", "-"))
    return -number if negative else number
"""
WRITTEN_DATES = """
def _written(value, patterns):
    # a date in another order than that of ISO 8601, or with the name of a month, as a datetime
    if not isinstance(value, str):
        return value
    for pattern in patterns:
        found = re.fullmatch(pattern, value)
        month = found and found["m"].lower()
        if month and not month.isdecimal():
            names = "jan feb mar apr may jun jul aug sep oct nov dec".split()
            month = names.index(month[:3]) + 1 if month[:3] in names else 0
        if month:
            year, hour, half = int(found["y"]), int(found["hour"] or 0), (found["half"] or "").lower()
            year += 0 if len(found["y"]) > 2 else 1900 if year >= 69 else 2000
            hour = hour % 12 + 12 * (half == "pm") if half else hour
            try:
                day = datetime.datetime(year, int(month), int(found["d"]), hour, int(found["minute"] or 0))
            except ValueError:
                continue
            return day + datetime.timedelta(seconds=float(found["second"] or 0))
    raise ValueError(f"{value!r} is not a date as the model read them.")
"""
DAYS = """
_DATE = (
    r"(\\d{4}-\\d\\d-\\d\\d)"
    r"(?:[ T](\\d\\d:\\d\\d(?::\\d\\d)?)(?:\\.(\\d{1,9}))?(?:Z|[+-]\\d\\d:?\\d\\d)?)?"
)


def _days(value):
    # days since 1970 of a date, a datetime or an ISO 8601 string, by its own clock
    if value is None or value != value:
        return math.nan
    if isinstance(value, str):
        found = re.fullmatch(_DATE, value)
        if not found:
            raise ValueError(f"{value!r} is not a date such as 2024-05-31 or 2024-05-31 17:00.")
        day, time, fraction = found.groups()
        value = datetime.datetime.fromisoformat(f"{day} {time or '00:00'}")
        value += datetime.timedelta(microseconds=int(((fraction or "") + "000000")[:6]))
    if not hasattr(value, "toordinal"):
        return float(value)
    whole = (value.toordinal() - 719163) * 86_400_000_000
    if hasattr(value, "hour"):
        whole += ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return whole / 86_400_000_000
"""
TERM_HELPERS = """
def _terms(text, table, size, pattern, lowercase, grams, stop_words, binary, sublinear, norm):
    # sums of weights over the terms of a text
    tokens = []
    if text is not None and text == text:
        tokens = re.findall(pattern, text.lower() if lowercase else text)
        tokens = [token for token in tokens if token not in stop_words]
    counts = {}
    for n in range(grams[0], grams[1] + 1):
        for start in range(len(tokens) - n + 1):
            term = " ".join(tokens[start : start + n])
            if term in table:
                counts[term] = counts.get(term, 0) + 1
    sums, length = [0.0] * size, 0.0
    for term, count in counts.items():
        factor, *weights = table[term]
        value = factor * (1.0 if binary else 1.0 + math.log(count) if sublinear else count)
        length += value * value if norm == "l2" else abs(value)
        for j, weight in enumerate(weights):
            sums[j] += weight * value
    scale = 1.0 if norm is None or not length else math.sqrt(length) if norm == "l2" else length
    return [total / scale for total in sums]
"""
POINTS = """
def _points(size, lines):
    # the weights and the coordinates of each point
    rows = [[float(number) for number in line.split()] for line in lines.split("\\n")]
    return [(row[:size], row[size:]) for row in rows]


def _sums(values, points):
    return [sum(k * weights[j] for k, (weights, _) in zip(values, points)) for j in range(len(points[0][0]))]


def _rbf(x, points, gamma):
    return _sums([math.exp(-gamma * math.dist(x, point) ** 2) for _, point in points], points)


def _polynomial(x, points, gamma, constant, degree):
    return _sums([(gamma * sum(map(operator.mul, x, point)) + constant) ** degree for _, point in points], points)


def _nearest(x, points, gamma):
    # relative to the nearest point, whose exponent follows the sums
    exponents = [-gamma * math.dist(x, point) ** 2 for _, point in points]
    top = max(exponents)
    return [*_sums([math.exp(exponent - top) for exponent in exponents], points), top]
"""
PROBABILITIES = '''
def predict_proba(row):
    """The probability of every class, by class, for a row: a dict from names of columns to values."""
    return dict(zip(CLASSES, _values(row)))
'''
SCORES = '''
def decision_function(row):
    """The score of every class, by class, for a row: a dict from names of columns to values."""
    return dict(zip(CLASSES, _values(row)))
'''
PREDICT_CLASS = '''
def predict(row):
    """The class with the greatest {of}; None for a row without a prediction."""
    values = _values(row){votes}
    if any(value != value for value in values):
        return None
    return CLASSES[max({order}, key=values.__getitem__)]
'''
PREDICT = '''
def predict(row):
    """The prediction for a row: a dict from names of columns to values."""
    values = _values(row)
    return values[0] if len(values) == 1 else values
'''


def to_python(model: Any, *, missing: bool | None = None) -> str:
    """Return a fitted model as a Python module with `predict(row)` and, for a classifier, `predict_proba(row)`.

    The module needs no packages. A row is a dict from names of columns to values; None and NaN are missing values. A
    date is a datetime, a date or a string such as 2024-05-31 or 2024-05-31T17:00, by its own clock. A row for
    which the model raises an error has the probabilities NaN and the class None. Infinite numbers, for which models
    raise errors, are accepted.

    Parameters
    ----------
    model : estimator
        A fitted linear model, naive Bayes, Gaussian discriminant or kernel machine of mercer, alone or in a `Pipeline`
        behind `TableFeatures`, `MonomialFeatures`, a vectorizer, or scikit-learn's `StandardScaler`.
    missing : bool or None, default=None
        Treatment of rows with missing numbers. By default (None) the module treats them as the model does, except with
        a full covariance of more than 12 columns that was fitted to complete rows: a row with a missing value then has
        the probabilities NaN and the class None, as the module's docstring states. True raises an `ExportError` in this
        case. False means that no number is missing: columns whose coefficients are all 0 are not read.

    Returns
    -------
    source : str
        The text of the module.

    Examples
    --------
    >>> from mercer import LogisticRegression
    >>> from mercer.export import to_python
    >>> module = {}
    >>> exec(to_python(LogisticRegression().fit([[0.0], [2.0]], ["no", "yes"])), module)
    >>> module["predict"]({"x0": 3.0})
    'yes'
    """
    formula = lower(model, missing=missing)
    check_formula(formula)
    return _Module(formula).text()


def check_formula(formula: Formula) -> None:
    """Raise an `ExportError` for a formula whose text would be too long."""
    check_size(formula.model, "Python", formula.output.outputs)


class _Module(Printer):
    """A writer of the statements of a module."""

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula)
        self.tables: dict[str, str] = {}

    def text(self) -> str:
        output = self.formula.output
        body = [f"    {short} = {self._read(column)}" for column, short in self._read_columns()]
        values = named_values(output.outputs)
        groups = groups_of(values)
        for j, value in enumerate(values, 1):
            if value in self.names:
                continue
            if (group := group_of(value)) is not None:
                body.append(f"    g{j} = {self._sums(group, groups[group])}")
                places = iter(range(len(groups[group])))
                # the exponent of the nearest point follows the sums
                self.names |= {
                    each: f"g{j}[{-1 if isinstance(each.value, Nearest) else next(places)}]" for each in groups[group]
                }
                continue
            body.append(f"    v{j} = {self.write(value.value)}")
            self.names[value] = f"v{j}"
        body.append(f"    return [{', '.join(map(self.write, output.outputs))}]")
        tables = [f"{name} = {table}" for table, name in self.tables.items()]
        classes = [f"CLASSES = {list(output.classes)!r}"] if output.classes else []
        has_dates = any(column.kind == "date" for column in self.formula.columns)
        has_terms = any(isinstance(group, TextTerms) for group in groups)
        has_points = any(isinstance(group, KernelPoints) for group in groups)
        imports = ["import datetime"] * has_dates + ["import math"] + ["import operator"] * has_points
        imports += ["import re"] * (has_dates or has_terms)
        formats = [column.format for column in self.formula.columns]
        helpers = [HELPERS] + [NUMBER_HELPERS] * any(isinstance(form, NumberFormat) for form in formats)
        helpers += [WRITTEN_DATES] * any(isinstance(form, DateFormat) for form in formats)
        helpers += [DAYS] * has_dates + [TERM_HELPERS] * has_terms + [POINTS] * has_points
        return "\n".join(
            [
                self._docstring(),
                "",
                *imports,
                "",
                "\n".join(helpers),
                *classes,
                *tables,
                "",
                "",
                "def _values(row):",
                *body,
                "",
                *self._functions(),
            ]
        )

    def _docstring(self) -> str:
        first = f'"""The predictions of a {self.formula.model}, exported by mercer.'
        if not self.formula.remark:
            return f'{first}"""'
        return f'{first}\n\n{self.formula.remark}\nTheir probabilities are NaN and their class is None.\n"""'

    def _sums(self, group: Group, members: list[Named]) -> str:
        """Return a call that computes the sums of all members over their points or terms."""
        weights = weights_of(members)
        if isinstance(group, TextTerms):
            numbers = np.column_stack([group.factors, *weights]).tolist()
            rows = [f"{term!r}: ({', '.join(map(repr, row))})" for term, row in zip(group.terms, numbers, strict=True)]
            table = self._constant("{" + ", ".join(rows) + "}")
            options = (group.pattern, group.lowercase, group.grams, set(group.stop_words), group.binary)
            column = self.columns[group.column.name]
            more = ", ".join(map(repr, (*options, group.sublinear, group.norm)))
            return f"_terms({column}, {table}, {len(weights)}, {more})"
        numbers = np.column_stack([*weights, group.points]).tolist()
        lines = "\\n".join(" ".join(map(repr, row)) for row in numbers)
        table = self._constant(f'_points({len(weights)}, "{lines}")')
        arguments = f"[{', '.join(map(self.write, group.inputs))}], {table}, {group.gamma!r}"
        more = f", {group.constant!r}, {group.degree!r}" if group.kernel == "polynomial" else ""
        return f"_{group.kernel}({arguments}{more})"

    def _read_columns(self) -> Iterable[tuple[ColumnValue, str]]:
        read = {part for part in walk(self.formula.output.outputs) if isinstance(part, ColumnValue)}
        return ((column, self.columns[column.name]) for column in self.formula.columns if column in read)

    def _functions(self) -> list[str]:
        output = self.formula.output
        if not output.classes:
            return [PREDICT]
        function, of = (PROBABILITIES, "probability") if output.probabilities else (SCORES, "score")
        # the first of several equally good classes
        order = "(1, 0)" if output.second_wins else "range(len(CLASSES))"
        votes = "[len(CLASSES) :]" if output.votes else ""
        return [function, PREDICT_CLASS.format(of="number of votes" if votes else of, order=order, votes=votes)]

    def _read(self, column: ColumnValue) -> str:
        value = f"row[{column.name!r}]"
        match column.kind:
            case "number" if isinstance(column.format, NumberFormat):
                return f"_spelled(_text({value}, {column.gaps!r}), {column.format.decimal!r}, {column.format.unit!r})"
            case "number":
                return f"_number({value})"
            case "date" if isinstance(column.format, DateFormat):
                patterns = [DATES_OF_DIGITS[column.format.order], DATES_OF_DIGITS["ymd"], *DATES_WITH_MONTH_NAMES]
                table = self._constant(repr([pattern.pattern for pattern in patterns]))
                return f"_days(_written(_text({value}, {column.gaps!r}), {table}))"
            case "date":
                return f"_days(_text({value}, {column.gaps!r}))"
            case "text":
                return f"_text({value}, {column.gaps!r})"
        return value

    def number(self, value: float) -> str:
        return "math.nan" if math.isnan(value) else repr(float(value))

    def lacks(self, written: str) -> str:
        return f"math.isnan({written})"

    def special(self, expression: Expression) -> str:
        match expression:
            case Quotient(left, right):
                return f"_ratio({self.write(left)}, {self.write(right)})"
            case Exp(power):
                return f"_exp({self.write(power)})"
            case Logarithm(of):
                return f"_log({self.write(of)})"
            case Arctangent(of):
                return f"math.atan({self.write(of)})"
            case Floor(of):
                return f"_floor({self.write(of)})"
            case Sine(of):
                return f"math.sin({self.write(of)})"
            case Greatest(several):
                return f"max([{', '.join(map(self.write, several))}])"
            case Conditional():
                return self._choice(expression)
            case Lookup(of, table, missing, other):
                values = f"{self.write(of)}, {self._table(table)}"
                return f"_look_up({values}, {self.number(missing)}, {self.number(other)})"
        raise TypeError(f"{expression!r} is not an expression")

    def _choice(self, expression: Conditional) -> str:
        cases, otherwise = split_cases(expression)
        written = [f"{self.factor(then)} if {self.condition(condition)} else " for condition, then in cases]
        return "".join(written) + self.factor(otherwise)

    def _table(self, table: tuple[tuple[Any, float], ...]) -> str:
        return self._constant("{" + ", ".join(f"{label!r}: {self.number(value)}" for label, value in table) + "}")

    def _constant(self, written: str) -> str:
        """Return the name of a table, after adding it if it does not exist yet."""
        return self.tables.setdefault(written, f"_T{len(self.tables) + 1}")
