"""The most unusual rows of a table, with p-values, and what is unusual about them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import CalibrationWarning, ColumnMismatchError, DataError
from mercer._typing import Array
from mercer.application.shown import Shown, some_columns
from mercer.data import Kind, Table
from mercer.data.select import as_labels
from mercer.decision import DensityOutliers
from mercer.density import KernelDensity
from mercer.explanation.evidence import evidence_of
from mercer.naive_bayes import NaiveBayes

#: complete columns of numbers up to which one density describes all of them together, and rows that it takes
TOGETHER, ROWS_TOGETHER = 5, 50
#: rows that a kernel density, which compares each with all others, is asked about
MOST_TOGETHER = 20_000
#: columns that are named as odd, and how rare a value has to be in its column
MOST_ODD, RAREST = 3, 0.05
OWN_STANDARD = (
    "The rows are compared with each other: each half is scored by a density fitted to the other, p-values are ranks "
    "within a half, and no row is called an outlier."
)


@dataclass(frozen=True, eq=False)
class Unusual:
    """Rows from the most unusual on.

    Attributes
    ----------
    rows : array of shape (k,)
        Positions in the table.
    scores : array of shape (k,)
        Log densities.
    p_values : array of shape (k,)
        How often a usual row would be as odd.
    flagged : array of shape (k,)
        Whether the row is called an outlier.
    odd : list of list of str
        The columns in which each row is oddest.
    described : str
        By which density, and what the flags promise.
    """

    rows: Array
    scores: Array
    p_values: Array
    flagged: Array
    odd: list[list[str]]
    described: str


def unusual_rows(
    table: Table, *, reference: Table | None = None, fdr: float = 0.05, most: int | None = 20, seed: int = 0
) -> Unusual:
    """The most unusual rows of a table.

    Parameters
    ----------
    table : Table
        Rows with columns of any kind. Text, dates and identifiers are not looked at.
    reference : Table, default=None
        Usual rows with the same columns. Rows of the table are held against them, and of those flagged at most the
        share `fdr` is usual, on average. Without it rows are held against each other: they are ranked, and none is
        flagged, because rows that are their own standard cannot be unusual as a whole.
    fdr : float, default=0.05
        The share of usual rows that is allowed among the rows flagged.
    most : int or None, default=20
        Rows that are returned; None for all.
    seed : int, default=0
        Which rows are held out.

    Returns
    -------
    unusual : Unusual

    Examples
    --------
    >>> X = np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[9.0, 0.0]]])
    >>> found = unusual_rows(Table.of(X), most=1)
    >>> found.rows.tolist(), found.odd
    ([200], [['x0']])
    """
    usual = _described(table if reference is None else reference)
    asked = usual if reference is None else _like(table, usual)
    density, told = _density(usual)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # what flags promise is said in words
        detector = DensityOutliers(density, fdr=fdr, random_state=seed).fit(usual.native, np.zeros(usual.n_rows))
        rows, scores, p_values, flagged = _ranked(detector, None if reference is None else asked)
    kept = slice(0, most)
    of_flags = f"Of the rows flagged at most {100 * fdr:g}% are usual, on average."
    return Unusual(
        rows[kept],
        scores[kept],
        p_values[kept],
        flagged[kept],
        _odd_columns(usual, asked, rows[kept]),
        f"Scored by {told}. {OWN_STANDARD if reference is None else of_flags}",
    )


def _ranked(detector: DensityOutliers, asked: Table | None) -> tuple[Array, Array, Array, Array]:
    """Rows of lowest density first: those asked about, or those of the fit."""
    if asked is None:
        rows, scores, p_values = detector.ranking()
        flagged = np.zeros(len(rows), dtype=bool)
    else:
        rows, X = np.arange(asked.n_rows), asked.native
        scores, p_values, flagged = detector.score_samples(X), detector.p_values(X), detector.predict(X) < 0
    order = np.argsort(scores, kind="stable")
    return rows[order], scores[order], p_values[order], flagged[order]


def _described(table: Table) -> Table:
    """The columns that a density describes."""
    if table.library == "scipy":
        raise DataError("A sparse matrix has no density of its rows here; give its columns as an array.")
    shown = Shown.of(table)
    usual = shown.as_they_are()
    if usual is None:
        raise DataError("There is no column of numbers or categories, so that no row is more usual than others.")
    return usual


def _like(table: Table, usual: Table) -> Table:
    """Rows with the columns, as labels where these are labels."""
    if absent := [name for name in usual.names if name not in table.names]:
        raise ColumnMismatchError(f"The reference has column {absent[0]!r}, which the table lacks; give both the same.")
    labels = [name for name, kind in zip(usual.names, usual.kinds, strict=True) if kind is Kind.CATEGORY]
    return Table.of(as_labels(some_columns(table, usual.names), labels))


def _density(usual: Table) -> tuple[Any, str]:
    """A density of all columns together where they are few, complete and numbers; else a product over columns."""
    numeric = all(kind.numeric for kind in usual.kinds)
    if numeric and usual.n_columns <= TOGETHER and ROWS_TOGETHER <= usual.n_rows <= MOST_TOGETHER:
        numbers = usual.numbers()
        if np.isfinite(numbers).all() and (numbers != numbers[0]).any(axis=0).all():
            return KernelDensity(bandwidth="scott-scaled"), "a kernel density of all columns together"
    return NaiveBayes(), "naive Bayes: a density for each column"


def _odd_columns(usual: Table, asked: Table, rows: Array) -> list[list[str]]:
    """For each row the columns whose value has one of the lowest densities of that column."""
    model = NaiveBayes().fit(usual.native, np.zeros(usual.n_rows))
    names, every = _column_scores(model, usual)
    _, few = _column_scores(model, asked.take(rows))
    share = np.column_stack([_share_below(known, scores) for known, scores in zip(every.T, few.T, strict=True)])
    found = []
    for shares, scores in zip(share, few, strict=True):
        order = sorted(np.flatnonzero(shares <= RAREST).tolist(), key=lambda j: (shares[j], scores[j]))
        found.append([names[j] for j in order[:MOST_ODD]])
    return found


def _column_scores(model: NaiveBayes, table: Table) -> tuple[tuple[str, ...], Array]:
    """The log density of each value in its column; NaN where it is missing, which is neither odd nor usual."""
    told = evidence_of(model, table.native)
    missing = np.column_stack([table.coded(j).codes < 0 for j in range(table.n_columns)])
    return told.names, np.where(missing, np.nan, told.additive.contributions[:, :, 0])


def _share_below(known: Array, scores: Array) -> Array:
    """Which share of the scores that are known is no higher than each of these; NaN where there is none."""
    known = np.sort(known[~np.isnan(known)])
    below = np.searchsorted(known, scores, "right") / max(len(known), 1)
    return np.where(np.isnan(scores), np.nan, below)
