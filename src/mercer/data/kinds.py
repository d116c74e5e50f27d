"""Kinds of columns."""

from __future__ import annotations

from enum import Enum

from mercer._stored import stored


@stored()
class Kind(Enum):
    """The kind of a column. The first six follow from the type of a column; the others require all its values.

    Examples
    --------
    >>> import mercer
    >>> import pyarrow
    >>> visits = pyarrow.table({"age": [23.5, 31.0, 58.5], "city": ["Rome", "Oslo", "Rome"]})
    >>> [column.kind.value for column in mercer.Schema.infer(visits)]
    ['number', 'category']
    """

    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    #: a column of a sparse matrix: vectorized text, one-hot codes
    COUNTS = "counts"
    #: a point in time, or a day: read as days since 1970, if dates are allowed
    DATE = "date"

    #: few distinct integers: names written as numbers
    CODE = "code"
    #: many distinct whole numbers, counted from 0 or 1
    COUNT = "count"
    #: two distinct whole numbers
    BINARY = "binary"
    #: strings of several words, most of them different
    TEXT = "text"
    #: a name for each row, which is not informative about other rows
    IDENTIFIER = "identifier"
    #: a single value, or none
    CONSTANT = "constant"

    @property
    def numeric(self) -> bool:
        """True if the column can be read as numbers."""
        return self not in (Kind.CATEGORY, Kind.TEXT)
