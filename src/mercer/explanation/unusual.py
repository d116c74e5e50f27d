"""Find the most unusual rows of a table, with p-values and the columns in which they are unusual."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._errors import CalibrationWarning, ColumnMismatchError, DataError
from mercer._typing import Array
from mercer.application.training_table import TrainingTable, select_columns
from mercer.data import Kind, Table
from mercer.data.select import as_labels
from mercer.decision import DensityOutliers
from mercer.density import KernelDensity
from mercer.explanation.evidence import evidence_of
from mercer.naive_bayes import NaiveBayes

#: complete numeric columns up to which a joint density is estimated
MAX_JOINT_COLUMNS = 5
#: rows that a joint density requires
MIN_JOINT_ROWS = 50
#: rows up to which a kernel density, quadratic in the rows, is used
MAX_JOINT_ROWS = 20_000
#: unusual columns that are named for a row
MAX_ODD_COLUMNS = 3
#: share of the values of a column that may be as rare as an unusual one
MAX_ODD_SHARE = 0.05
NO_REFERENCE = (
    "The rows are compared with each other: each half is scored by a density fitted to the other, p-values are ranks "
    "within a half, and no row is called an outlier."
)


@dataclass(frozen=True, eq=False)
class UnusualRows:
    """The most unusual rows of a table, in decreasing order.

    Attributes
    ----------
    rows : array of shape (k,)
        Positions in the table.
    scores : array of shape (k,)
        Log densities.
    p_values : array of shape (k,)
        Probability that a usual row has such a low density.
    flagged : array of shape (k,)
        Whether the row is reported as an outlier.
    odd : list of list of str
        The columns in which each row is most unusual.
    description : str
        The density, and the guarantee of the flags.
    """

    rows: Array
    scores: Array
    p_values: Array
    flagged: Array
    odd: list[list[str]]
    description: str


def unusual_rows(
    table: Table, *, reference: Table | None = None, fdr: float = 0.05, most: int | None = 20, seed: int = 0
) -> UnusualRows:
    """Find the most unusual rows of a table.

    Parameters
    ----------
    table : Table
        Rows with columns of any kind. Text, dates and identifiers are not used.
    reference : Table, default=None
        Usual rows with the same columns. Rows of the table are compared with them, and of the rows flagged at most the
        share `fdr` is usual, on average. By default the rows of the table are compared with each other: they are
        ranked, and none is flagged, since rows cannot be unusual as a whole relative to themselves.
    fdr : float, default=0.05
        Allowed share of usual rows among the rows flagged.
    most : int or None, default=20
        Number of rows to return; None for all.
    seed : int, default=0
        Seed of the held-out rows.

    Returns
    -------
    unusual : UnusualRows

    Examples
    --------
    >>> X = np.vstack([np.random.default_rng(0).normal(size=(200, 2)), [[9.0, 0.0]]])
    >>> found = unusual_rows(Table.of(X), most=1)
    >>> found.rows.tolist(), found.odd
    ([200], [['x0']])
    """
    usual = _select_described(table if reference is None else reference)
    scored = usual if reference is None else _select_like(table, usual)
    density, name = _choose_density(usual)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # the description states the guarantee of the flags
        detector = DensityOutliers(density, fdr=fdr, random_state=seed).fit(usual.native, np.zeros(usual.n_rows))
        rows, scores, p_values, flagged = _rank(detector, None if reference is None else scored)
    kept = slice(0, most)
    guarantee = f"Of the rows flagged at most {100 * fdr:g}% are usual, on average."
    return UnusualRows(
        rows[kept],
        scores[kept],
        p_values[kept],
        flagged[kept],
        _find_odd_columns(usual, scored, rows[kept]),
        f"Scored by {name}. {NO_REFERENCE if reference is None else guarantee}",
    )


def _rank(detector: DensityOutliers, scored: Table | None) -> tuple[Array, Array, Array, Array]:
    """Return rows in increasing order of their density: those of a table, or those of the fit."""
    if scored is None:
        rows, scores, p_values = detector.ranking()
        flagged = np.zeros(len(rows), dtype=bool)
    else:
        rows, X = np.arange(scored.n_rows), scored.native
        scores, p_values, flagged = detector.score_samples(X), detector.p_values(X), detector.predict(X) < 0
    order = np.argsort(scores, kind="stable")
    return rows[order], scores[order], p_values[order], flagged[order]


def _select_described(table: Table) -> Table:
    """Select the columns that have a distribution."""
    if table.library == "scipy":
        raise DataError("A sparse matrix has no density of its rows here; give its columns as an array.")
    usual = TrainingTable.of(table).select_described()
    if usual is None:
        raise DataError("There is no column of numbers or categories, so that no row is more usual than others.")
    return usual


def _select_like(table: Table, usual: Table) -> Table:
    """Select the columns of `usual` in a table, with labels where these are labels."""
    if absent := [name for name in usual.names if name not in table.names]:
        raise ColumnMismatchError(f"The reference has column {absent[0]!r}, which the table lacks; give both the same.")
    labels = [name for name, kind in zip(usual.names, usual.kinds, strict=True) if kind is Kind.CATEGORY]
    return Table.of(as_labels(select_columns(table, usual.names), labels))


def _choose_density(usual: Table) -> tuple[Any, str]:
    """Choose a joint density if columns are few, numeric and complete; otherwise a product of densities."""
    numeric = all(kind.numeric for kind in usual.kinds)
    if numeric and usual.n_columns <= MAX_JOINT_COLUMNS and MIN_JOINT_ROWS <= usual.n_rows <= MAX_JOINT_ROWS:
        numbers = usual.numbers()
        if np.isfinite(numbers).all() and (numbers != numbers[0]).any(axis=0).all():
            return KernelDensity(bandwidth="scott-scaled"), "a kernel density of all columns together"
    return NaiveBayes(), "naive Bayes: a density for each column"


def _find_odd_columns(usual: Table, scored: Table, rows: Array) -> list[list[str]]:
    """Return for each row the columns whose value has one of the lowest densities of the column."""
    model = NaiveBayes().fit(usual.native, np.zeros(usual.n_rows))
    names, reference = _score_columns(model, usual)
    _, of_rows = _score_columns(model, scored.take(rows))
    share = np.column_stack([_share_below(known, scores) for known, scores in zip(reference.T, of_rows.T, strict=True)])
    odd = []
    for shares, scores in zip(share, of_rows, strict=True):
        order = sorted(np.flatnonzero(shares <= MAX_ODD_SHARE).tolist(), key=lambda j: (shares[j], scores[j]))
        odd.append([names[j] for j in order[:MAX_ODD_COLUMNS]])
    return odd


def _score_columns(model: NaiveBayes, table: Table) -> tuple[tuple[str, ...], Array]:
    """Return the log density of each value in its column, NaN if the value is missing."""
    evidence = evidence_of(model, table.native)
    missing = np.column_stack([table.coded(j).codes < 0 for j in range(table.n_columns)])
    return evidence.names, np.where(missing, np.nan, evidence.additive.contributions[:, :, 0])


def _share_below(known: Array, scores: Array) -> Array:
    """Return the share of the known scores that are not larger than each score; NaN for a missing score."""
    known = np.sort(known[~np.isnan(known)])
    below = np.searchsorted(known, scores, "right") / max(len(known), 1)
    return np.where(np.isnan(scores), np.nan, below)
