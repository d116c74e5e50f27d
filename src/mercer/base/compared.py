"""The interface between classes of models and `compare`: the trait `candidates` maps a `Question` to `Candidate`s."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, Self

#: folds of the training rows on which a model chooses a parameter
INNER_FOLDS = 3
#: rows of the rarest class from which parameters are chosen by folds
ENOUGH_ROWS_FOR_FOLDS = 2 * INNER_FOLDS

#: what a model requires of the columns
Need = Literal["nothing", "complete columns", "dense columns", "columns of 0 and 1", "counts"]
#: the form in which the columns of a table are passed to a model
View = Literal["table", "features", "array", "numbers", "matrix", "described", "words"]


@dataclass(frozen=True)
class Question:
    """The properties of a task and a table on which it depends which models take part in a comparison.

    Parameters
    ----------
    task : {"classification", "ordered", "regression", "counts", "amounts"}, default="classification"
        What is predicted: classes, ordered classes, numbers, counts, or positive amounts.
    outputs : int, default=1
        Number of functions that are fitted: 1, or one for each class.
    rarest : int
        Number of rows of the rarest class. By default enough to choose parameters by folds.
    inner : splitter or None, default=None
        Folds for the choice of parameters, where rows have groups or an order in time. By default plain folds.
    positive : bool, default=True
        Whether every amount is above 0.
    order : tuple
        Ordered labels, lowest first.
    rows, columns : int
        The size of the table, without columns that identify rows.
    is_sparse : bool, default=False
        Whether the table is a sparse matrix.
    has_texts, has_gaps, has_formats : bool, default=False
        Whether there are text columns, missing values, and numbers or dates written as strings.
    is_numeric : bool, default=False
        Whether all columns can be read as numbers.
    is_plain : bool, default=False
        Whether all columns are numbers that are neither codes nor truth values nor dates.
    codes : sequence of str
        Columns of whole numbers that are labels of levels, such as postal codes.
    described : Schema or None
        The columns that have a distribution (no texts, dates or identifiers); None where there are none.
    """

    task: str = "classification"
    outputs: int = 1
    rarest: int = ENOUGH_ROWS_FOR_FOLDS
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
        """Return the question of a task, without the properties of the columns."""
        positive = task.name != "amounts" or bool((task.y > 0).all())
        order = tuple(task.labels.tolist()) if task.name == "ordered" else ()
        return cls(task.name, task.outputs, task.rarest, inner, positive, order)

    @property
    def predicts_classes(self) -> bool:
        """True if classes are predicted, ordered or not."""
        return self.task in ("classification", "ordered")

    @property
    def has_enough_rows(self) -> bool:
        """True if every class has enough rows to choose a parameter by folds."""
        return self.rarest >= ENOUGH_ROWS_FOR_FOLDS

    @property
    def strengths(self) -> tuple[float, ...]:
        """The inverse penalties C that linear classifiers try.

        They are larger for texts: words have many coefficients, each of which has to be large to matter.
        """
        return (1.0, 10.0, 100.0) if self.has_texts else (0.01, 0.1, 1.0, 10.0, 100.0)

    @property
    def folds(self) -> Any:
        """The folds for the choice of a parameter: a splitter, or their number."""
        return self.inner or INNER_FOLDS


@dataclass(frozen=True)
class Candidate:
    """A model that takes part in a comparison, and how the table is passed to it.

    Parameters
    ----------
    model : estimator
        The model, not fitted.
    place : float
        Sorts the candidates, also in notes: the lowest comes first. Those of mercer are between 10 (naive Bayes) and
        120 (kernel machines).
    view : str, default="features"
        What is passed to the model: the "table" without any change; "features" of columns of any kind
        (`TableFeatures`); the same as a dense "array"; all columns as "numbers" in standard units, with their gaps; a
        plain "matrix" of these numbers; the "described" columns (see `Question`) without any change; or counts of the
        "words" of texts alone. A sparse matrix is always passed without any change.
    need : str, default="complete columns"
        What the columns have to be; for other columns the model is left out.
    search : pair of str and tuple, or None, default=None
        A parameter and the values that each fit tries on folds of its training rows. Of values that are equally good,
        the first is chosen.
    scale : bool, default=False
        Whether columns are divided by their standard deviations, and centred unless they are sparse.
    fill : bool, default=False
        For the view "numbers": whether missing values are replaced by means.
    products : bool, default=False
        For the view "numbers": whether products of pairs of columns are added as features.
    standardize_target : bool, default=False
        Whether the target is scaled to mean 0 and variance 1 for the fit.
    most_rows, most_columns : float
        The largest table for which the model takes part. For larger ones a note says that it was left out.
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
