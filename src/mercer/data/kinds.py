"""What a column holds."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """The first five follow from a column's type alone; the last three need a look at the whole column."""

    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    #: a column of a sparse matrix: vectorised text, one-hot codes
    COUNTS = "counts"

    #: integers of which there are few: names written as numbers
    CODE = "code"
    #: whole numbers of which there are many, counted from 0 or 1
    COUNT = "count"
    #: whole numbers of which there are two
    BINARY = "binary"

    @property
    def numeric(self) -> bool:
        """Whether the column can be read as numbers."""
        return self is not Kind.CATEGORY
