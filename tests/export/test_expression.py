"""Expressions: what depends on one column is one table, and what may be missing is known beforehand."""

from __future__ import annotations

import math

from mercer.export.expression import (
    ONE,
    ZERO,
    ColumnValue,
    Conditional,
    Lacks,
    Logarithm,
    Lookup,
    Named,
    NumberValue,
    ProductOf,
    SumOf,
    filled,
    may_lack,
    named,
    numbers_in,
    softmax,
    weighted,
)
from mercer.export.order import named_values

CITY = ColumnValue("city", "text")
AGE = ColumnValue("age")


def test_tables_of_one_column_add_up() -> None:
    ulm, bonn = Lookup(CITY, (("Ulm", 1.0),), 0.0, 0.0), Lookup(CITY, (("Bonn", 1.0),), 5.0, 0.5)
    (pair,) = weighted([2.0, 3.0], [ulm, bonn], 7.0).terms  # type: ignore[attr-defined]
    assert pair == (1.0, Lookup(CITY, (("Ulm", 3.5), ("Bonn", 3.0)), 15.0, 1.5))


def test_weights_of_zero_and_constants_vanish() -> None:
    assert weighted([0.0, 2.0], [ColumnValue("age", complete=True), NumberValue(3.0)], 1.0) == SumOf((), 7.0)
    assert weighted([0.0], [filled(AGE, ZERO, AGE)]) == SumOf((), 0.0)


def test_what_a_term_of_weight_zero_may_lack_is_left_once() -> None:
    size, city = ColumnValue("size"), Lookup(CITY, (("Ulm", 1.0),), math.nan, 0.0)
    square = named(ProductOf(AGE, AGE))
    assert weighted([0.0, 0.0], [square, AGE]) == SumOf(((0.0, AGE),))
    assert weighted([0.0, 2.0], [ProductOf(AGE, size), square]) == SumOf(((2.0, square), (0.0, size)))
    ((weight, table),) = weighted([0.0], [city]).terms  # type: ignore[attr-defined]
    assert (weight, table.table, table.other, math.isnan(table.missing)) == (1.0, (("Ulm", 0.0),), 0.0, True)


def test_what_may_be_missing() -> None:
    assert may_lack(AGE)
    assert not may_lack(ColumnValue("age", complete=True))
    assert not may_lack(filled(AGE, ZERO, ProductOf(AGE, AGE)))
    assert may_lack(Conditional(Lacks(AGE), ZERO, ColumnValue("size")))
    assert may_lack(Lookup(CITY, (), math.nan, 0.0))
    assert not may_lack(Lookup(CITY, (), 1.0, 0.0))
    assert may_lack(NumberValue(math.nan))
    assert may_lack(Logarithm(ColumnValue("age", complete=True)))  # where it is not above 0


def test_values_come_after_those_they_need() -> None:
    a = Named(ProductOf(AGE, AGE))
    b = Named(ProductOf(a, a))
    c = Named(SumOf(((1.0, a), (1.0, b))))
    assert named_values([c, b]) == [a, b, c]
    assert named(a) is a
    assert named(ONE) is ONE


def test_shared_values_are_looked_at_once() -> None:
    """Else a chain of values, each used twice, would take forever."""
    value = named(SumOf(((1.0, AGE),), 2.0))
    for _ in range(200):
        value = named(ProductOf(value, value))
    assert list(numbers_in([value])) == [2.0, 1.0]
    assert len(named_values(softmax([value, ZERO]))) > 200
