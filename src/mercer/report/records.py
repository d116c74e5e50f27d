"""The contents of a page as plain records: notes, charts, costs, tables of rows, and sections.

Records are frozen. They store any sequence or array as a tuple of text or numbers, and raise `RecordError` if their
parts do not fit together. `report.page` renders them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mercer._errors import RecordError
from mercer.report.grid import Grid

#: numbers in a row, stored as a tuple of floats, with NaN for missing values
Numbers = Sequence[float] | NDArray[Any]
Table = Sequence[Numbers] | NDArray[Any]
Words = Sequence[str]


def _check(is_valid: bool, sentence: str) -> None:
    """Raise `RecordError` if the parts of a record do not fit together."""
    if not is_valid:
        raise RecordError(f"{sentence}.")


def has_names(side: Words | Numbers) -> bool:
    """Return whether a side of a table of cells has names, rather than edges."""
    return len(side) == 0 or isinstance(side[0], str)


def _set(record: object, name: str, value: object) -> None:
    """Set an attribute of a frozen record, in its `__post_init__`."""
    object.__setattr__(record, name, value)


def _set_words(record: object, name: str) -> None:
    """Convert an attribute to a tuple of strings."""
    if (given := getattr(record, name)) is not None:
        _set(record, name, tuple(map(str, given)))


def _set_numbers(record: object, *names: str) -> None:
    """Convert attributes to tuples of floats."""
    for name in names:
        if (given := getattr(record, name)) is not None:
            _set(record, name, tuple(np.asarray(given, dtype=float).ravel().tolist()))


def _set_table(record: object, name: str, rows: int, columns: int | None) -> None:
    """Convert an attribute to a tuple of tuples of floats."""
    if (given := getattr(record, name)) is not None:
        _set(record, name, _float_table(given, name, rows, columns))


def _float_table(given: Table, name: str, rows: int, columns: int | None) -> tuple[tuple[float, ...], ...]:
    """Return a table as tuples of floats, after checking its shape."""
    table = tuple(tuple(np.asarray(row, dtype=float).tolist()) for row in given)
    _check(len(table) == rows, f"{name!r} has {len(table)} rows, not {rows}")
    for row in table:
        _check(columns is None or len(row) == columns, f"{name!r} has {len(row)} columns, not {columns}")
    return table


def _check_lengths(record: object, *names: str) -> None:
    """Raise `RecordError` if the attributes differ in length."""
    lengths = {name: len(given) for name in names if (given := getattr(record, name)) is not None}
    listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
    _check(len(set(lengths.values())) == 1, f"A {type(record).__name__.lower()} has parts of unequal length: {listed}")


class Note(NamedTuple):
    """A paragraph with a level; for the finding of a check, also with its stable code and a remedy."""

    text: str
    level: Literal["info", "good", "warning", "bad"] = "info"
    code: str = ""
    remedy: str = ""


class Axis(NamedTuple):
    """An axis of a chart; a category axis has names, at 0, 1, 2, …. A limit of None is computed from the data."""

    label: str
    scale: Literal["linear", "log", "category"] = "linear"
    names: tuple[str, ...] = ()
    form: str = ".3g"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A line through points, with a band between `low` and `high`; a line without a name is not in the legend."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False

    def __post_init__(self) -> None:
        _set_numbers(self, "x", "y", "low", "high")
        _check_lengths(self, "x", "y", "low", "high")


@dataclass(frozen=True)
class PointCloud:
    """Points with error bars along y, each with a label that is shown at the pointer."""

    name: str
    x: Numbers
    y: Numbers
    labels: Words | None = None
    low: Numbers | None = None
    high: Numbers | None = None

    def __post_init__(self) -> None:
        _set_numbers(self, "x", "y", "low", "high")
        _set_words(self, "labels")
        _check_lengths(self, "x", "y", "labels", "low", "high")


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0, the first at the top, with intervals; several with the same names stand side by side."""

    name: str
    names: Words
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None

    def __post_init__(self) -> None:
        _set_words(self, "names")
        _set_numbers(self, "values", "low", "high")
        _check_lengths(self, "names", "values", "low", "high")


@dataclass(frozen=True)
class Heat:
    """Cells in rows and columns, coloured by value.

    Parameters
    ----------
    name : str
        The quantity in the cells: "rows", "probability of yes".
    rows, columns : names (one for each row or column), or increasing edges (one more) on the axes of the chart
        Named rows go from the top down; rows between edges lie at their positions on the axis.
    values : table with rows × columns numbers
    form : str
        Format specification of the values, which are written in named cells if they fit.
    classes : names
        If given, values are indices into this list (decision regions), and cells have the colours of classes.
    shades : table like values, default=None
        Strength of the colour of each cell, between 0 and 1, e.g. the probability of its class.
    """

    name: str
    rows: Words | Numbers
    columns: Words | Numbers
    values: Table
    form: str = ".3g"
    classes: Words = ()
    shades: Table | None = None

    def __post_init__(self) -> None:
        _set_words(self, "classes")
        for side in ("rows", "columns"):
            given = getattr(self, side)
            _set_words(self, side) if has_names(given) else _set_numbers(self, side)
        _set_table(self, "values", self.n_rows, self.n_columns)
        _set_table(self, "shades", self.n_rows, self.n_columns)

    @property
    def n_rows(self) -> int:
        return len(self.rows) if has_names(self.rows) else max(len(self.rows) - 1, 0)

    @property
    def n_columns(self) -> int:
        return len(self.columns) if has_names(self.columns) else max(len(self.columns) - 1, 0)


Mark = Line | PointCloud | Bars | Heat


@dataclass(frozen=True)
class Chart:
    """Marks on two axes. If the axes have no names, those of bars or named cells are used.

    Small charts, e.g. one for each column of a table, are placed closer together than others.
    """

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    caption: str = ""
    small: bool = False

    def __post_init__(self) -> None:
        _set(self, "marks", tuple(self.marks))
        bars = {tuple(mark.names) for mark in self.marks if isinstance(mark, Bars)}
        _check(len(bars) <= 1, f"Bars of the chart {self.title!r} have different names; give each its own chart")


@dataclass(frozen=True)
class CostTable:
    """Held-out probabilities of models, from which the page computes the costs of decisions.

    Parameters
    ----------
    classes : names
    models : mapping
        For each name, (probabilities, codes): a table of rows × classes, and the indices of the true classes. Rows
        with NaN were never held out, and are left out.
    costs : table of classes × classes, default=None
        The initial costs, with the truth in rows and the decision in columns; 1 for every mistake if not given.
    """

    classes: Words
    models: Mapping[str, tuple[Table, Numbers]]
    costs: Table | None = None

    def __post_init__(self) -> None:
        _set_words(self, "classes")
        size = len(self.classes)
        _set(self, "models", {str(name): self._model(str(name), *model) for name, model in self.models.items()})
        _set_table(self, "costs", size, size)

    def _model(self, name: str, probabilities: Table, codes: Numbers) -> tuple[Any, Any]:
        size = len(self.classes)
        kept, truth = (
            _float_table(probabilities, f"probabilities of {name!r}", len(codes), size),
            np.asarray(codes, dtype=int),
        )
        if truth.size and not (truth.min() >= 0 and truth.max() < size):
            raise RecordError(f"A code of {name!r} is not an index of its {size} classes; codes begin with 0.")
        return kept, tuple(truth.tolist())


@dataclass(frozen=True)
class EvidenceRecord:
    """The explanation of a model's predictions: the contribution of every feature to the log odds or the prediction.

    Parameters
    ----------
    model : str
        Name of the model. A model may occur several times, each time with another `of` (one for each class).
    of : str
        The explained quantity: "log odds of yes against no".
    base : float
        The value of this quantity without any feature.
    contributions : table of rows × features
        The contribution of each feature; 0 or NaN if it adds nothing.
    predicted : words, one for each row
        The prediction of each row: "yes".
    features : names
        Names of the columns of `contributions`; by default the columns of the rows.
    classes, probabilities : names, and a table of rows × classes, default=()
        Classes and their probabilities, if the model has them.
    """

    model: str
    of: str
    base: float
    contributions: Table
    predicted: Words
    features: Words = ()
    classes: Words = ()
    probabilities: Table = ()

    def __post_init__(self) -> None:
        for name in ("predicted", "features", "classes"):
            _set_words(self, name)
        _set(self, "base", float(self.base))
        _set_table(self, "contributions", len(self.predicted), len(self.features) or None)
        _set_table(self, "probabilities", len(self.predicted) if self.classes else 0, len(self.classes))


@dataclass(frozen=True)
class RowTable:
    """Rows that are shown one by one, with their values as text and the explanations of their predictions.

    Parameters
    ----------
    columns : names
    rows : one sequence of texts for each row, with a text for each column
    models : explanations of the same rows in the same order
    names : names of the rows; "row 1", "row 2", … if not given
    truth : the true value of each row, if known
    """

    columns: Words
    rows: Sequence[Words]
    models: Sequence[EvidenceRecord]
    names: Words = ()
    truth: Words = ()

    def __post_init__(self) -> None:
        _set_words(self, "columns")
        _set(self, "rows", tuple(tuple(map(str, row)) for row in self.rows))
        _set(self, "models", tuple(self.models))
        _set(self, "names", tuple(map(str, self.names)) or tuple(f"row {i + 1}" for i in range(len(self.rows))))
        _set_words(self, "truth")
        _check_lengths(self, "rows", "names", *(("truth",) if self.truth else ()))
        for row in self.rows:
            _check(len(row) == len(self.columns), f"A row has {len(row)} texts for {len(self.columns)} columns")
        for record in self.models:
            n_predicted, n_features = len(record.predicted), len(record.features or self.columns)
            _check(
                n_predicted == len(self.rows),
                f"{record.model!r} has {n_predicted} predictions for {len(self.rows)} rows",
            )
            width = len(record.contributions[0]) if len(record.contributions) else n_features
            _check(width == n_features, f"{record.model!r} has {width} contributions per row for {n_features} features")


Block = str | Note | Grid | Chart | CostTable | RowTable


@dataclass(frozen=True)
class Section:
    """A part of a page, with an id for links, a short introduction, and its blocks."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""

    def __post_init__(self) -> None:
        _set(self, "blocks", tuple(self.blocks))
        is_valid = re.fullmatch(r"[a-z][a-z0-9-]*", self.id) is not None
        _check(is_valid, f"The id {self.id!r} of a section must be lower-case letters, digits and hyphens")


class Influence(NamedTuple):
    """The direction and the size of a column's influence on predictions."""

    name: str
    direction: str
    size: float


class NextStep(NamedTuple):
    """A next step for the reader, with the command or the code that does it."""

    text: str
    command: str


@dataclass(frozen=True)
class FirstScreen:
    """The first screen of a page, which can be read without the rest.

    Parameters
    ----------
    headline : str
        The answer in a few words.
    summary : str
        Its meaning, in a sentence or two.
    facts : sentences
        The reasons, one per sentence.
    chart : Chart, default=None
        The scores.
    influences : Influence, the strongest first
        The columns with the most influence on the predictions.
    about_influences : str
        The method by which the influences were computed.
    problems : Note
        Reasons to doubt the answer.
    more, more_in : str
        A sentence about further results, and the id of their section.
    steps : NextStep
        The next steps.
    """

    headline: str
    summary: str = ""
    facts: tuple[str, ...] = ()
    chart: Chart | None = None
    influences: tuple[Influence, ...] = ()
    about_influences: str = ""
    problems: tuple[Note, ...] = ()
    more: str = ""
    more_in: str = ""
    steps: tuple[NextStep, ...] = ()

    def __post_init__(self) -> None:
        for name in ("facts", "influences", "problems", "steps"):
            _set(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class Page:
    """A whole page; the lines of its footer say how to reproduce it.

    An `answer` becomes the first screen, and the sections below it are folded.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = field(default=())
    answer: FirstScreen | None = None

    def __post_init__(self) -> None:
        _set(self, "sections", tuple(self.sections))
        _set(self, "footer", tuple(self.footer))
        ids = [section.id for section in self.sections]
        _check(len(set(ids)) == len(ids), f"Two sections have the same id among {ids}")
