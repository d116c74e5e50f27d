"""What a page says, as plain records: notes, charts, costs, rows to look at, and the sections they stand in.

Records are frozen, hold tuples of text and numbers (whatever sequences or arrays they were given), and refuse what
does not fit together. How they look is decided in `report.page`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from mercer._errors import RecordError
from mercer.report._kept import (
    Numbers,
    Table,
    Words,
    are_names,
    check,
    keep,
    keep_numbers,
    keep_table,
    keep_words,
    same_lengths,
    table_of,
)
from mercer.report.grid import Grid


class Note(NamedTuple):
    """A paragraph with a level, or what a check has found: its stable code, and what to do about it."""

    text: str
    level: Literal["info", "good", "warning", "bad"] = "info"
    code: str = ""
    remedy: str = ""


class Axis(NamedTuple):
    """An axis of a chart; a category axis has names, at 0, 1, 2, …. A limit that is None is found from the data."""

    label: str
    scale: Literal["linear", "log", "category"] = "linear"
    names: tuple[str, ...] = ()
    form: str = ".3g"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """A line through points, with a band between `low` and `high`; a nameless one is in no legend (a diagonal, say)."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False

    def __post_init__(self) -> None:
        keep_numbers(self, "x", "y", "low", "high")
        same_lengths(self, "x", "y", "low", "high")


@dataclass(frozen=True)
class PointCloud:
    """Points, each with a label for those who point at it, and with error bars along y."""

    name: str
    x: Numbers
    y: Numbers
    labels: Words | None = None
    low: Numbers | None = None
    high: Numbers | None = None

    def __post_init__(self) -> None:
        keep_numbers(self, "x", "y", "low", "high")
        keep_words(self, "labels")
        same_lengths(self, "x", "y", "labels", "low", "high")


@dataclass(frozen=True)
class Bars:
    """Horizontal bars from 0, the first at the top, with intervals; several with the same names stand side by side."""

    name: str
    names: Words
    values: Numbers
    low: Numbers | None = None
    high: Numbers | None = None

    def __post_init__(self) -> None:
        keep_words(self, "names")
        keep_numbers(self, "values", "low", "high")
        same_lengths(self, "names", "values", "low", "high")


@dataclass(frozen=True)
class Heat:
    """Cells in rows and columns, coloured by value.

    Parameters
    ----------
    name : str
        What a cell's value is: "rows", "probability of yes".
    rows, columns : names (one for each row or column), or increasing edges (one more) on the axes of the chart
        Named rows go from the top down; rows between edges lie where the axis says.
    values : table with rows × columns numbers
    form : str
        How a value is written; cells with names show it if there is room.
    classes : names
        If given, values are places in this list (decision regions), and cells have the colours of classes.
    shades : table like values, default=None
        Between 0 and 1: how strong a cell's colour is (the probability of its class, say).
    """

    name: str
    rows: Words | Numbers
    columns: Words | Numbers
    values: Table
    form: str = ".3g"
    classes: Words = ()
    shades: Table | None = None

    def __post_init__(self) -> None:
        keep_words(self, "classes")
        for side in ("rows", "columns"):
            given = getattr(self, side)
            keep_words(self, side) if are_names(given) else keep_numbers(self, side)
        keep_table(self, "values", self.n_rows, self.n_columns)
        keep_table(self, "shades", self.n_rows, self.n_columns)

    @property
    def n_rows(self) -> int:
        return len(self.rows) if are_names(self.rows) else max(len(self.rows) - 1, 0)

    @property
    def n_columns(self) -> int:
        return len(self.columns) if are_names(self.columns) else max(len(self.columns) - 1, 0)


Mark = Line | PointCloud | Bars | Heat


@dataclass(frozen=True)
class Chart:
    """Marks on two axes. A chart with bars, or with named cells, takes names from them where its axes have none.

    Small charts (one for each column of a table, say) stand closer together than others.
    """

    title: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    caption: str = ""
    small: bool = False

    def __post_init__(self) -> None:
        keep(self, "marks", tuple(self.marks))
        bars = {tuple(mark.names) for mark in self.marks if isinstance(mark, Bars)}
        check(len(bars) <= 1, f"Bars of the chart {self.title!r} have different names; give each its own chart")


@dataclass(frozen=True)
class CostTable:
    """Probabilities that models gave to rows they had not seen: what decisions cost is found from them on the page.

    Parameters
    ----------
    classes : names
    models : mapping
        For each name, (probabilities, codes): a table of rows × classes, and the place in `classes` that was true.
        Rows with NaN were never held out; they are left out.
    costs : table of classes × classes, default=None
        What the page begins with: row the truth, column the decision; 1 for every mistake if not given.
    """

    classes: Words
    models: Mapping[str, tuple[Table, Numbers]]
    costs: Table | None = None

    def __post_init__(self) -> None:
        keep_words(self, "classes")
        size = len(self.classes)
        keep(self, "models", {str(name): self._model(str(name), *model) for name, model in self.models.items()})
        keep_table(self, "costs", size, size)

    def _model(self, name: str, probabilities: Table, codes: Numbers) -> tuple[Any, Any]:
        size = len(self.classes)
        kept, truth = (
            table_of(probabilities, f"probabilities of {name!r}", len(codes), size),
            np.asarray(codes, dtype=int),
        )
        if truth.size and not (truth.min() >= 0 and truth.max() < size):
            raise RecordError(f"A code of {name!r} is no place among its {size} classes; codes begin with 0.")
        return kept, tuple(truth.tolist())


@dataclass(frozen=True)
class EvidenceRecord:
    """Why a model says what it says of each row: what every feature adds to the log odds (or to the prediction).

    Parameters
    ----------
    model : str
        Its name. A model may come several times, with another `of` each (one for each class).
    of : str
        What is explained: "log odds of yes against no".
    base : float
        What it is before any feature is seen.
    contributions : table of rows × features
        What each adds; 0 or NaN where it says nothing.
    predicted : words, one for each row
        What the model says of the row: "yes".
    features : names
        Of the columns of `contributions`; the columns of the rows where not given.
    classes, probabilities : names, and a table of rows × classes, default=()
        Where the model has them.
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
            keep_words(self, name)
        keep(self, "base", float(self.base))
        keep_table(self, "contributions", len(self.predicted), len(self.features) or None)
        keep_table(self, "probabilities", len(self.predicted) if self.classes else 0, len(self.classes))


@dataclass(frozen=True)
class RowTable:
    """Rows to look at one by one: their values as text, and why models say what they say of them.

    Parameters
    ----------
    columns : names
    rows : one sequence of texts for each row, with a text for each column
    models : evidence, the same rows in the same order
    names : of the rows; "row 1", "row 2", … if not given
    truth : what was true of each row, where it is known
    """

    columns: Words
    rows: Sequence[Words]
    models: Sequence[EvidenceRecord]
    names: Words = ()
    truth: Words = ()

    def __post_init__(self) -> None:
        keep_words(self, "columns")
        keep(self, "rows", tuple(tuple(map(str, row)) for row in self.rows))
        keep(self, "models", tuple(self.models))
        keep(self, "names", tuple(map(str, self.names)) or tuple(f"row {i + 1}" for i in range(len(self.rows))))
        keep_words(self, "truth")
        same_lengths(self, "rows", "names", *(("truth",) if self.truth else ()))
        for row in self.rows:
            check(len(row) == len(self.columns), f"A row has {len(row)} texts for {len(self.columns)} columns")
        for told in self.models:
            check(
                len(told.predicted) == len(self.rows),
                f"{told.model!r} speaks of {len(told.predicted)} rows of {len(self.rows)}",
            )
            width = len(told.contributions[0]) if len(told.contributions) else 0
            fits = not len(told.contributions) or width == len(told.features or self.columns)
            check(fits, f"{told.model!r} has {width} contributions to a row, which is not the number of its features")


Block = str | Note | Grid | Chart | CostTable | RowTable


@dataclass(frozen=True)
class Section:
    """A part of a page, with an id for links to it, a sentence or two that say what it shows, and its blocks."""

    id: str
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""

    def __post_init__(self) -> None:
        keep(self, "blocks", tuple(self.blocks))
        fits = re.fullmatch(r"[a-z][a-z0-9-]*", self.id) is not None
        check(fits, f"The id {self.id!r} of a section must be lower-case letters, digits and hyphens")


class Influence(NamedTuple):
    """A column that moves predictions: in which direction, and how far."""

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
        What it means, in a sentence or two.
    facts : sentences
        The reasons, one fact each.
    chart : Chart, default=None
        The scores.
    influences : Influence, the strongest first
        What moves the predictions.
    about_influences : str
        How these were found.
    problems : Note
        What makes the answer doubtful.
    more, more_in : str
        A sentence about what else was found, and the id of the section that says more.
    steps : NextStep
        What to do next.
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
            keep(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class Page:
    """A whole page; its footer says how to reproduce it, a line of code or text each.

    With an `answer`, that is the first screen, and the sections below it are folded.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = field(default=())
    answer: FirstScreen | None = None

    def __post_init__(self) -> None:
        keep(self, "sections", tuple(self.sections))
        keep(self, "footer", tuple(self.footer))
        ids = [section.id for section in self.sections]
        check(len(set(ids)) == len(ids), f"Two sections have the same id among {ids}")
