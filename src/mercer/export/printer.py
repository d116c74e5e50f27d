"""The base of the printers of SQL and Python: names, sums, products and quotients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from mercer.export.expression import (
    Above,
    ColumnValue,
    Condition,
    Conditional,
    Expression,
    Lacks,
    Named,
    NumberValue,
    ProductOf,
    Quotient,
    SumOf,
)
from mercer.export.formula import Formula

#: terms of a sum in one pair of parentheses, because languages limit the depth of expressions
MAX_TERMS_PER_SUM = 100


class Printer(ABC):
    """A printer of the expressions of a formula."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.columns = {column.name: f"c{j}" for j, column in enumerate(formula.columns, 1)}
        self.names: dict[Named, str] = {}

    @abstractmethod
    def number(self, value: float) -> str:
        """Return a number as text, with a minus sign if it is negative."""

    @abstractmethod
    def special(self, expression: Expression) -> str:
        """Return an expression that depends on the language."""

    @abstractmethod
    def lacks(self, written: str) -> str: ...

    def write(self, expression: Expression) -> str:
        match expression:
            case Named():
                return self.names[expression]
            case ColumnValue(name):
                return self.columns[name]
            case NumberValue(value):
                return self.number(value)
            case SumOf(terms, constant):
                return self._sum(terms, constant)
            case ProductOf(left, right):
                return f"{self.factor(left)} * {self.factor(right)}"
            case Quotient(left, NumberValue() as right):
                return f"{self.factor(left)} / {self.factor(right)}"
        return self.special(expression)

    def factor(self, expression: Expression) -> str:
        """Return an expression in parentheses if it needs them as a factor."""
        written = self.write(expression)
        plain = isinstance(expression, Named | ColumnValue) or (
            written[0].isdigit() and isinstance(expression, NumberValue)
        )
        return written if plain else f"({written})"

    def condition(self, condition: Condition) -> str:
        match condition:
            case Lacks(of):
                return self.lacks(self.factor(of))
            case Above(left, right):
                return f"{self.factor(left)} > {self.factor(right)}"

    def _sum(self, terms: Sequence[tuple[float, Expression]], constant: float) -> str:
        written = [self._term(weight, term) for weight, term in terms]
        if constant or not written:
            written.append(self.number(constant))
        while len(written) > MAX_TERMS_PER_SUM:
            starts = range(0, len(written), MAX_TERMS_PER_SUM)
            written = [f"({_join(written[start : start + MAX_TERMS_PER_SUM])})" for start in starts]
        return _join(written)

    def _term(self, weight: float, term: Expression) -> str:
        if abs(weight) == 1:
            return self.factor(term) if weight > 0 else f"-{self.factor(term)}"
        return f"{self.number(weight)} * {self.factor(term)}"


def _join(terms: Sequence[str]) -> str:
    """Return terms joined by plus and minus signs."""
    first, *others = terms
    return first + "".join(f" - {term[1:]}" if term.startswith("-") else f" + {term}" for term in others)


def split_cases(expression: Conditional) -> tuple[list[tuple[Condition, Expression]], Expression]:
    """Return the cases of nested conditionals, and the value of the last alternative."""
    cases, otherwise = [(expression.condition, expression.then)], expression.otherwise
    while isinstance(otherwise, Conditional):
        cases.append((otherwise.condition, otherwise.then))
        otherwise = otherwise.otherwise
    return cases, otherwise
