"""What a column holds."""

from __future__ import annotations

from enum import Enum

from mercer._stored import stored


@stored()
class Kind(Enum):
    """The first six follow from a column's type alone; the others need a look at the whole column.

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
    #: a column of a sparse matrix: vectorised text, one-hot codes
    COUNTS = "counts"
    #: a point in time, or a day: read as days since 1970; only by those who ask for dates
    DATE = "date"

    #: integers of which there are few: names written as numbers
    CODE = "code"
    #: whole numbers of which there are many, counted from 0 or 1
    COUNT = "count"
    #: whole numbers of which there are two
    BINARY = "binary"
    #: strings of several words, most of them different
    TEXT = "text"
    #: a name for each row, which tells nothing about others
    IDENTIFIER = "identifier"
    #: a single value, or none
    CONSTANT = "constant"

    @property
    def numeric(self) -> bool:
        """Whether the column can be read as numbers."""
        return self not in (Kind.CATEGORY, Kind.TEXT)
