"""A model as a Python module that imports nothing but math."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from mercer.export.expression import (
    Arctangent,
    Choice,
    Column,
    Exp,
    Expression,
    Greatest,
    Log,
    Lookup,
    Quotient,
)
from mercer.export.formula import Formula
from mercer.export.lower import lower
from mercer.export.order import named_values
from mercer.export.printer import Printer, choices

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


def _ratio(above, below):
    return above / below if below else math.nan


def _look_up(value, table, missing, other):
    if value is None or value != value:
        return missing
    return table.get(value, other)
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
    """The class with the greatest {of}; None for a row that the model refuses."""
    values = _values(row)
    if any(value != value for value in values):
        return None
    return CLASSES[max({order}, key=values.__getitem__)]
'''
PREDICT = '''
def predict(row):
    """What the model expects of a row: a dict from names of columns to values."""
    values = _values(row)
    return values[0] if len(values) == 1 else values
'''


def to_python(model: Any, *, missing: bool = True) -> str:
    """A fitted model as the source of a Python module with `predict(row)` and, for a classifier, `predict_proba(row)`.

    The module needs no packages. A row is a dict from names of columns to values; None and NaN are missing values. A
    row that the model would refuse has NaN for probabilities and None for a class. Infinite numbers, which the models
    refuse, are not refused.

    Parameters
    ----------
    model : estimator
        A fitted linear model, naive Bayes or Gaussian discriminant of mercer, alone or in a `Pipeline` behind
        `TableFeatures`, `MonomialFeatures` or scikit-learn's `StandardScaler`.
    missing : bool, default=True
        Whether rows with missing numbers are predicted, or refused, as the model does. False promises that there are
        none: columns whose coefficients are all 0 are not read.

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
    return _Module(lower(model, missing=missing)).text()


def check_formula(formula: Formula) -> None:
    """Raise an `ExportError` for a formula that Python cannot express: there is none."""


class _Module(Printer):
    """Statements of one function."""

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula)
        self.tables: dict[str, str] = {}

    def text(self) -> str:
        said = self.formula.said
        body = [f"    {short} = {self._read(column)}" for column, short in self._read_columns()]
        for j, value in enumerate(named_values(said.outputs), 1):
            body.append(f"    v{j} = {self.write(value.value)}")
            self.names[value] = f"v{j}"
        body.append(f"    return [{', '.join(map(self.write, said.outputs))}]")
        tables = [f"{name} = {table}" for table, name in self.tables.items()]
        classes = [f"CLASSES = {list(said.classes)!r}"] if said.classes else []
        return "\n".join(
            [
                f'"""The predictions of a {self.formula.model}, exported by mercer."""',
                "",
                "import math",
                "",
                *classes,
                *tables,
                "",
                HELPERS,
                "",
                "def _values(row):",
                *body,
                "",
                *self._functions(),
            ]
        )

    def _read_columns(self) -> Iterable[tuple[Column, str]]:
        return ((column, self.columns[column.name]) for column in self.formula.columns)

    def _functions(self) -> list[str]:
        said = self.formula.said
        if not said.classes:
            return [PREDICT]
        ask, of = (PROBABILITIES, "probability") if said.probabilities else (SCORES, "score")
        # the first of those that are as good
        order = "(1, 0)" if said.second_wins else "range(len(CLASSES))"
        return [ask, PREDICT_CLASS.format(of=of, order=order)]

    def _read(self, column: Column) -> str:
        value = f"row[{column.name!r}]"
        if column.kind == "number":
            return f"_number({value})"
        return f"_text({value}, {column.gaps!r})" if column.kind == "text" else value

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
            case Log(of):
                return f"_log({self.write(of)})"
            case Arctangent(of):
                return f"math.atan({self.write(of)})"
            case Greatest(several):
                return f"max([{', '.join(map(self.write, several))}])"
            case Choice():
                return self._choice(expression)
            case Lookup(of, table, missing, other):
                values = f"{self.write(of)}, {self._table(table)}"
                return f"_look_up({values}, {self.number(missing)}, {self.number(other)})"
        raise TypeError(f"{expression!r} is no expression")

    def _choice(self, expression: Choice) -> str:
        cases, otherwise = choices(expression)
        written = [f"{self.factor(then)} if {self.condition(condition)} else " for condition, then in cases]
        return "".join(written) + self.factor(otherwise)

    def _table(self, table: tuple[tuple[Any, float], ...]) -> str:
        written = "{" + ", ".join(f"{label!r}: {self.number(value)}" for label, value in table) + "}"
        return self.tables.setdefault(written, f"_T{len(self.tables) + 1}")
