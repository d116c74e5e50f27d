"""What a comparison asks of models, and what a class of models answers: which of them take part, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Self

#: folds within the training rows, by which a model chooses a parameter
INNER_FOLDS = 3
#: rows of the rarest class that are enough to choose a parameter by folds
ENOUGH_ROWS = 2 * INNER_FOLDS

#: what a model may need of the columns to make sense
Need = Literal["nothing", "complete columns", "dense columns", "columns of 0 and 1", "counts"]
#: how a model is shown the columns of a table
View = Literal["table", "features", "array", "numbers", "matrix", "described", "words"]


@dataclass(frozen=True)
class Question:
    """The task of a comparison and the table, as far as they decide which models take part.

    Parameters
    ----------
    task : {"classification", "ordered", "regression", "counts", "amounts"}, default="classification"
        What is predicted: classes, ordered classes, numbers, counts, or positive amounts.
    outputs : int, default=1
        How many functions are fitted.
    rarest : int
        How many rows the rarest class has. By default enough to choose parameters by folds.
    inner : splitter or None, default=None
        Folds to choose parameters by, where rows of one group, or later rows, must not be among those chosen from.
    positive : bool, default=True
        Whether every amount is above 0.
    order : tuple
        Ordered labels, lowest first.
    rows, columns : int
        The size of the table, without columns that identify rows.
    is_sparse : bool, default=False
        Whether the table is a sparse matrix.
    has_texts, has_gaps, has_formats : bool, default=False
        Whether there are columns of texts, missing values, and numbers or dates written as strings.
    is_numeric : bool, default=False
        Whether all columns can be read as numbers.
    is_plain : bool, default=False
        Whether all columns are numbers that are neither codes nor truth values nor dates.
    codes : sequence of str
        Columns of whole numbers that are names of levels.
    described : Schema or None
        The columns that have a distribution (no texts, dates or identifiers); None where there are none.
    """

    task: str = "classification"
    outputs: int = 1
    rarest: int = ENOUGH_ROWS
    inner: Any = None
    positive: bool = True
    order: tuple[Any, ...] = ()
    rows: int = 0
    columns: int = 0
    is_sparse: bool = False
    has_texts: bool = False
    has_gaps: bool = False
    has_formats: bool = False
    is_numeric: bool = False
    is_plain: bool = False
    codes: Sequence[str] = ()
    described: Any = None

    @classmethod
    def of(cls, task: Any, inner: Any) -> Self:
        """Return the question that a task poses, before anything is known of the columns."""
        positive = task.name != "amounts" or bool((task.y > 0).all())
        order = tuple(task.labels.tolist()) if task.name == "ordered" else ()
        return cls(task.name, task.outputs, task.rarest, inner, positive, order)

    @property
    def predicts_classes(self) -> bool:
        """Whether classes are predicted, ordered or not."""
        return self.task in ("classification", "ordered")

    @property
    def has_enough_rows(self) -> bool:
        """Whether every class has rows enough to choose a parameter by folds."""
        return self.rarest >= ENOUGH_ROWS

    @property
    def strengths(self) -> tuple[float, ...]:
        """The inverse penalties C of linear classifiers that are tried.

        Words have many coefficients, each of which has to be large to matter.
        """
        return (1.0, 10.0, 100.0) if self.has_texts else (0.01, 0.1, 1.0, 10.0, 100.0)

    @property
    def folds(self) -> Any:
        """The folds to choose a parameter by: a splitter, or their number."""
        return self.inner or INNER_FOLDS


@dataclass(frozen=True)
class Candidate:
    """A model that takes part in a comparison, and how it is shown the table.

    Parameters
    ----------
    model : estimator
        The model, not fitted.
    place : float
        Its position in the list of candidates, in which notes name them: 0 is the first. Those of mercer are between
        10 (naive Bayes) and 120 (kernel machines).
    view : str, default="features"
        How the model is shown the columns: the "table" as it is; "features" of columns of any kind (`TableFeatures`);
        the same as a dense "array"; all columns as "numbers" in standard units, gaps kept; a plain "matrix" of these
        numbers; the "described" columns as they are; counts of the "words" of texts alone. A sparse matrix is always
        shown as it is.
    need : str, default="complete columns"
        What the columns have to be.
    search : pair of str and tuple, or None, default=None
        A parameter and its values, safest first, of which each fit chooses one by folds of its own training rows.
    scale : bool, default=False
        Whether columns are divided by their standard deviations, and centred unless they are sparse.
    fill : bool, default=False
        For the view "numbers": whether missing values are replaced by means.
    products : bool, default=False
        For the view "numbers": whether the products of all pairs of columns are features, too.
    standardize_target : bool, default=False
        Whether the model is fitted to a target of mean 0 and variance 1.
    most_rows, most_columns : float
        The largest table that the model is fitted to; for a larger one, a note says that it was left out.
    """

    model: Any
    place: float
    view: View = "features"
    need: Need = "complete columns"
    search: tuple[str, tuple[Any, ...]] | None = None
    scale: bool = False
    fill: bool = False
    products: bool = False
    standardize_target: bool = False
    most_rows: float = inf
    most_columns: float = inf
