"""Expressions: what depends on one column is one table, and what may be missing is known beforehand."""

from __future__ import annotations

import math

from mercer.export.expression import (
    ONE_VALUE,
    ZERO_VALUE,
    ColumnValue,
    Conditional,
    Lacks,
    Logarithm,
    Lookup,
    Named,
    NumberValue,
    ProductOf,
    SumOf,
    fill_gap,
    may_be_missing,
    name_value,
    numbers_in,
    softmax,
    weighted_sum,
)
from mercer.export.order import named_values

CITY = ColumnValue("city", "text")
AGE = ColumnValue("age")


def test_tables_of_one_column_add_up() -> None:
    ulm, bonn = Lookup(CITY, (("Ulm", 1.0),), 0.0, 0.0), Lookup(CITY, (("Bonn", 1.0),), 5.0, 0.5)
    (pair,) = weighted_sum([2.0, 3.0], [ulm, bonn], 7.0).terms  # type: ignore[attr-defined]
    assert pair == (1.0, Lookup(CITY, (("Ulm", 3.5), ("Bonn", 3.0)), 15.0, 1.5))


def test_weights_of_zero_and_constants_vanish() -> None:
    assert weighted_sum([0.0, 2.0], [ColumnValue("age", complete=True), NumberValue(3.0)], 1.0) == SumOf((), 7.0)
    assert weighted_sum([0.0], [fill_gap(AGE, ZERO_VALUE, AGE)]) == SumOf((), 0.0)


def test_a_term_of_weight_zero_keeps_its_columns_that_may_be_missing_once() -> None:
    size, city = ColumnValue("size"), Lookup(CITY, (("Ulm", 1.0),), math.nan, 0.0)
    square = name_value(ProductOf(AGE, AGE))
    assert weighted_sum([0.0, 0.0], [square, AGE]) == SumOf(((0.0, AGE),))
    assert weighted_sum([0.0, 2.0], [ProductOf(AGE, size), square]) == SumOf(((2.0, square), (0.0, size)))
    ((weight, table),) = weighted_sum([0.0], [city]).terms  # type: ignore[attr-defined]
    assert (weight, table.table, table.other, math.isnan(table.missing)) == (1.0, (("Ulm", 0.0),), 0.0, True)


def test_values_that_may_be_missing_are_recognised() -> None:
    assert may_be_missing(AGE)
    assert not may_be_missing(ColumnValue("age", complete=True))
    assert not may_be_missing(fill_gap(AGE, ZERO_VALUE, ProductOf(AGE, AGE)))
    assert may_be_missing(Conditional(Lacks(AGE), ZERO_VALUE, ColumnValue("size")))
    assert may_be_missing(Lookup(CITY, (), math.nan, 0.0))
    assert not may_be_missing(Lookup(CITY, (), 1.0, 0.0))
    assert may_be_missing(NumberValue(math.nan))
    assert may_be_missing(Logarithm(ColumnValue("age", complete=True)))  # where it is not above 0


def test_values_come_after_their_inputs() -> None:
    a = Named(ProductOf(AGE, AGE))
    b = Named(ProductOf(a, a))
    c = Named(SumOf(((1.0, a), (1.0, b))))
    assert named_values([c, b]) == [a, b, c]
    assert name_value(a) is a
    assert name_value(ONE_VALUE) is ONE_VALUE


def test_shared_values_are_visited_once() -> None:
    """Otherwise a chain of values, each used twice, would take exponential time."""
    value = name_value(SumOf(((1.0, AGE),), 2.0))
    for _ in range(200):
        value = name_value(ProductOf(value, value))
    assert list(numbers_in([value])) == [2.0, 1.0]
    assert len(named_values(softmax([value, ZERO_VALUE]))) > 200
