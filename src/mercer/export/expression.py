"""The computation of a model from a row, as a small tree that can be written in any language.

Every expression is a number; unknown numbers are NaN (in SQL: NULL). `Named` marks a value that is used more than once,
which each language computes once, under a name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mercer._typing import Array
from mercer.data.formats import Format

Label = str | bool | int | float
#: a column of dates is a number, the days since 1970
ColumnKind = Literal["number", "text", "boolean", "date"]

#: number in place of the logarithm of 0, which not every language can write
IMPOSSIBLE = -1e200
#: bound below which scores belong to impossible rows
IMPOSSIBLE_BOUND = -1e150


class Expression:
    """A number that depends on the row."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class NumberValue(Expression):
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class ColumnValue(Expression):
    """A column of the table; columns of strings and booleans occur only in lookups."""

    name: str
    kind: ColumnKind = "number"
    #: whether it is assumed to have a value in every row; without one, the prediction for the row is unknown
    complete: bool = False
    #: words that stand for a missing value in a column of text, whose values are read without the spaces around them
    gaps: tuple[str, ...] = ("",)
    #: format of its numbers or dates if they were strings in the fit
    format: Format | None = None


@dataclass(frozen=True, slots=True)
class Lookup(Expression):
    """A number for each of the listed values, one for a missing value, and one for all other values."""

    of: Expression
    table: tuple[tuple[Label, float], ...]
    missing: float
    other: float


@dataclass(frozen=True, slots=True)
class SumOf(Expression):
    """constant + Σ weight · term."""

    terms: tuple[tuple[float, Expression], ...]
    constant: float = 0.0


@dataclass(frozen=True, slots=True)
class ProductOf(Expression):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Quotient(Expression):
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Exp(Expression):
    """The exponential, 0 if it underflows."""

    power: Expression


@dataclass(frozen=True, slots=True)
class Logarithm(Expression):
    """The natural logarithm; NaN unless `of` is above 0."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Arctangent(Expression):
    of: Expression


@dataclass(frozen=True, slots=True)
class Floor(Expression):
    """The largest integer that is not above `of`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Sine(Expression):
    of: Expression


@dataclass(frozen=True, slots=True)
class Greatest(Expression):
    """The greatest of several numbers, which are all known or all unknown."""

    of: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Lacks:
    """Condition that an expression is NaN."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Above:
    """Condition that the left expression is greater than the right one; false if either is NaN."""

    left: Expression
    right: Expression


Condition = Lacks | Above


@dataclass(frozen=True, slots=True)
class Conditional(Expression):
    """One of two expressions."""

    condition: Condition
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True, eq=False)
class Named(Expression):
    """A value that is used more than once."""

    value: Expression


@dataclass(frozen=True, slots=True, eq=False)
class TextTerms:
    """The terms of a column of text that are features, with their factors.

    Tokens are the matches of `pattern`, in lower case if `lowercase`; terms are runs of `grams[0]` to `grams[1]` of
    them, without `stop_words`. A feature is its count (1 if `binary`, 1 + log count if `sublinear`) times its factor,
    over the `norm` of all features of the text.
    """

    column: ColumnValue
    terms: tuple[str, ...]
    factors: Array
    lowercase: bool = True
    pattern: str = r"(?u)\b\w\w+\b"
    grams: tuple[int, int] = (1, 1)
    stop_words: frozenset[str] = frozenset()
    binary: bool = False
    sublinear: bool = False
    norm: Literal["l1", "l2"] | None = None


@dataclass(frozen=True, slots=True)
class Term(Expression):
    """The feature of one term; `weighted_sum` combines the terms of a column into one `TermSum`."""

    of: TextTerms
    index: int


@dataclass(frozen=True, slots=True, eq=False)
class TermSum(Expression):
    """Σ weight · feature over the terms of a text; 0 if the text is missing."""

    of: TextTerms
    weights: Array


@dataclass(frozen=True, slots=True, eq=False)
class KernelPoints:
    """Rows z of a fit, of shape (points, inputs), with the kernel that compares a row x with them.

    "rbf": e^(−γ‖x − z‖²). "polynomial": (γ x·z + c)^degree. "nearest": e^(−γ(‖x − z‖² − the least of these)), which is
    1 for the nearest point, however far it is away.
    """

    inputs: tuple[Expression, ...]
    points: Array
    kernel: Literal["rbf", "polynomial", "nearest"]
    gamma: float
    constant: float = 0.0
    degree: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class PointSum(Expression):
    """Σ weight · k(x, z) over points; always the whole of a `Named` value."""

    of: KernelPoints
    weights: Array


@dataclass(frozen=True, slots=True, eq=False)
class Nearest(Expression):
    """−γ times the least squared distance to points; always the whole of a `Named` value."""

    of: KernelPoints


ZERO_VALUE = NumberValue(0.0)
ONE_VALUE = NumberValue(1.0)
#: missing value
UNKNOWN = NumberValue(math.nan)


def name_value(value: Expression) -> Expression:
    """Return a named value, unless a name is not worthwhile."""
    return value if isinstance(value, NumberValue | ColumnValue | Named) else Named(value)


def subtract(left: Expression, right: float) -> Expression:
    """Return left − right."""
    return left if right == 0 else SumOf(((1.0, left),), -right)


def fill_gap(of: Expression, gap: Expression, value: Expression) -> Expression:
    """Return `value`, which depends on `of`, or `gap` if `of` is missing."""
    return Conditional(Lacks(of), gap, value) if may_be_missing(of) else value


def clip_to(ends: tuple[float, float] | None, value: Expression) -> Expression:
    """Return a value clipped to an interval, or the value itself if there is no interval."""
    if ends is None:
        return value
    low, high = map(NumberValue, map(float, ends))
    return name_value(Conditional(Above(value, high), high, Conditional(Above(low, value), low, value)))


def weighted_sum(weights: Iterable[float], terms: Iterable[Expression], constant: float = 0.0) -> Expression:
    """Return constant + Σ weight · term, with all lookups of one column combined into one table.

    A term of weight 0 does not change the sum, but makes it unknown if the term is: the values on which it depends are
    kept.
    """
    tables: dict[Expression, Lookup] = {}
    texts: dict[TextTerms, Array] = {}
    rest: list[tuple[float, Expression]] = []
    for weight, term in _worth_writing(list(zip(weights, terms, strict=True))):
        if isinstance(term, NumberValue):
            constant += weight * term.value
        elif isinstance(term, Lookup):
            scaled = _scale(term, weight)
            tables[term.of] = _add_tables(tables[term.of], scaled) if term.of in tables else scaled
        elif isinstance(term, Term):
            texts.setdefault(term.of, np.zeros(len(term.of.terms)))[term.index] += weight
        elif isinstance(term, SumOf):
            constant += weight * term.constant
            rest += [(weight * inner, part) for inner, part in term.terms]
        else:
            rest.append((weight, term))
    words = [name_value(TermSum(terms, of_terms)) for terms, of_terms in texts.items()]
    return SumOf((*rest, *((1.0, part) for part in (*tables.values(), *words))), constant)


def _worth_writing(pairs: Sequence[tuple[float, Expression]]) -> list[tuple[float, Expression]]:
    """Return the terms of nonzero weight, then the values on which only terms of weight 0 depend."""
    written = [(weight, term) for weight, term in pairs if weight]
    if silent := list(decisive_values(term for weight, term in pairs if not weight)):
        known = set(decisive_values(term for _, term in written))
        written += [(0.0, value) for value in dict.fromkeys(silent) if value not in known]
    return written


def softmax(scores: Sequence[Expression]) -> list[Expression]:
    """Return probabilities in proportion to e^score, after subtracting the greatest score."""
    top = name_value(Greatest(tuple(scores)))
    shares = [name_value(Exp(SumOf(((1.0, score), (-1.0, top))))) for score in scores]
    total = name_value(SumOf(tuple((1.0, share) for share in shares)))
    return [name_value(Quotient(share, total)) for share in shares]


def may_be_missing(expression: Expression, known: frozenset[Expression] = frozenset()) -> bool:
    """Return whether a value may be missing in a row in which the `known` values are not."""
    if expression in known:
        return False
    match expression:
        case ColumnValue():
            return not expression.complete
        case NumberValue(value):
            return math.isnan(value)
        case Lookup(of, table, missing, other):
            values = [other, *(value for _, value in table), *([missing] if may_be_missing(of, known) else [])]
            return any(map(math.isnan, values))
        case Conditional(Lacks(of), then, otherwise):
            return may_be_missing(then, known) or may_be_missing(otherwise, known | {of})
        case Logarithm():
            return True
        case Term() | TermSum():
            return False
        case _:
            return any(may_be_missing(part, known) for part in parts(expression))


def decisive_values(expressions: Iterable[Expression]) -> Iterator[Expression]:
    """Return the values that must all be known for the expressions to be known."""
    # kinds of expressions that are NaN if one of their parts is
    arithmetic = (Named, SumOf, ProductOf, Quotient, Exp, Arctangent, Floor, Sine, PointSum, Nearest)
    reached = walk(expressions, through=arithmetic)
    return (each for each in reached if not isinstance(each, arithmetic) and may_be_missing(each))


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield the direct parts of an expression."""
    match expression:
        case Lookup(of) | Logarithm(of) | Arctangent(of) | Exp(of) | Named(of) | Floor(of) | Sine(of):
            yield of
        case Term(terms) | TermSum(terms):
            yield terms.column
        case PointSum(points) | Nearest(points):
            yield from points.inputs
        case SumOf(summands):
            yield from (term for _, term in summands)
        case ProductOf(left, right) | Quotient(left, right):
            yield from (left, right)
        case Greatest(several):
            yield from several
        case Conditional(Lacks(of), then, otherwise):
            yield from (of, then, otherwise)
        case Conditional(Above(left, right), then, otherwise):
            yield from (left, right, then, otherwise)


def walk(
    expressions: Iterable[Expression], through: tuple[type[Expression], ...] = (Expression,)
) -> Iterator[Expression]:
    """Yield expressions and all their parts, each once; only expressions of the kinds `through` are taken apart."""
    visited: set[int] = set()
    waiting = list(reversed(list(expressions)))
    while waiting:
        expression = waiting.pop()
        if id(expression) not in visited:
            visited.add(id(expression))
            yield expression
            if isinstance(expression, through):
                waiting.extend(reversed(list(parts(expression))))


def numbers_in(expressions: Iterable[Expression]) -> Iterator[float]:
    """Yield all numbers in expressions; for arrays, the least and the largest."""
    for part in walk(expressions):
        match part:
            case NumberValue(value):
                yield value
            case Lookup(_, table, missing, other):
                yield from (*(value for _, value in table), missing, other)
            case SumOf(terms, constant):
                yield from (constant, *(weight for weight, _ in terms))
            case TermSum(text, weights):
                yield from _ends(weights, text.factors)
            case PointSum(points, weights):
                yield from _ends(weights, points.points)


def _ends(*arrays: Array) -> Iterator[float]:
    for array in arrays:
        yield from (float(array.min()), float(array.max()))


def _scale(lookup: Lookup, weight: float) -> Lookup:
    table = tuple((label, weight * value) for label, value in lookup.table)
    return Lookup(lookup.of, table, weight * lookup.missing, weight * lookup.other)


def _add_tables(one: Lookup, two: Lookup) -> Lookup:
    """Return the sum of two tables of one column."""
    first, second = ({_key(label): (label, value) for label, value in each.table} for each in (one, two))
    table = tuple(
        (
            first.get(key, second.get(key, ("", 0.0)))[0],
            first.get(key, ("", one.other))[1] + second.get(key, ("", two.other))[1],
        )
        for key in {**first, **second}
    )
    return Lookup(one.of, table, one.missing + two.missing, one.other + two.other)


def _key(label: Label) -> tuple[bool, Label]:
    """Return a key that is equal for equal labels, but differs between texts and numbers."""
    return isinstance(label, str), label
