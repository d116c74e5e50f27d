"""Checks of the rows and columns: MRC1xx."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.comparison.checking.found import Found
from mercer.comparison.measuring.duplicates import row_numbers
from mercer.comparison.view import View
from mercer.data import Kind
from mercer.report.wording import enumerated

Array = NDArray[Any]

#: rows of a class below which nothing much is learnt of it
FEW_OF_CLASS = 10
#: the share of rows that repeat others in training from which that is a finding
MANY_DUPLICATES = 0.01
#: how unlikely a difference between rows with and without a gap has to be by chance
SURELY = 0.001


def duplicates(view: View) -> Iterator[Found]:
    """Rows that a model is scored on and was fitted to as well, under another number."""
    kinds = row_numbers(view.telling)
    tested = seen = 0
    for train, test in view.comparison.splits:
        tested += len(test)
        seen += int(np.isin(kinds[test], kinds[train]).sum())
    if tested and seen / tested > MANY_DUPLICATES:
        yield Found(
            f"{seen / tested:.1%} of the rows that models were scored on have a twin, equal in all columns, among the "
            "rows they were fitted to, so that the scores are too good for new rows.",
            "Drop the repeats, or keep twins together with a group column (--group on the command line).",
        )


def rare_class(view: View) -> Iterator[Found]:
    if not view.classification:
        return
    counts = np.bincount(view.comparison.task.truth, minlength=len(view.labels))
    rare = [f"{view.labels[k]} ({counts[k]})" for k in np.flatnonzero(counts < FEW_OF_CLASS).tolist()]
    if rare:
        yield Found(
            f"There are fewer than {FEW_OF_CLASS} rows of {enumerated(rare)}.",
            "Collect more of them, put them together with a class that is like them, or leave them out.",
        )


def mostly_missing(view: View) -> Iterator[Found]:
    if view.sparse:
        return
    shares = {name: _missing(view, name).mean() for name in view.table.names}
    found = {name: share for name, share in shares.items() if 0.5 < share < 1}
    if found:
        yield Found(
            f"More than half of the values are missing in {enumerated([f'{n} ({s:.0%})' for n, s in found.items()])}.",
            "Consider leaving such columns out: they have a value in few rows.",
            tuple(found),
        )


def _missing(view: View, name: str) -> Array:
    return np.asarray(view.table.coded(view.table.names.index(name)).codes < 0)


def says_nothing(view: View) -> Iterator[Found]:
    idle = [c.name for c in view.schema if c.kind in (Kind.CONSTANT, Kind.IDENTIFIER)]
    if idle:
        verb = "is" if len(idle) == 1 else "are"
        yield Found(
            f"{enumerated(idle)} {verb} constant or an identifier, and {verb} not used.",
            "Drop such columns; if one is a code with a meaning, make categories of it.",
            tuple(idle),
        )


def contradictions(view: View) -> Iterator[Found]:
    """Rows that are equal in all columns and belong to different classes: nobody can get all of these right."""
    if not view.classification:
        return
    kinds, truth = row_numbers(view.telling), view.comparison.task.truth
    counts = np.zeros((kinds.max() + 1, len(view.labels)), dtype=int)
    np.add.at(counts, (kinds, truth), 1)
    wrong = int((counts.sum(axis=1) - counts.max(axis=1)).sum())
    if wrong:
        yield Found(
            f"Rows that equal others in all columns and have another class: {wrong:,}. No model can be right in more "
            f"than {len(truth) - wrong:,} of the {len(truth):,} rows.",
            "Look at these rows, or add a column that tells them apart.",
        )


def few_rows(view: View) -> Iterator[Found]:
    table = view.comparison.table
    if not view.sparse and table.n_columns >= table.n_rows:
        yield Found(
            f"Columns: {table.n_columns:,}, rows: {table.n_rows:,}, so that a linear model without a penalty fits any "
            "target.",
            "Trust models with a penalty or a prior only, and leave out columns that you would not ask for.",
        )


def missing_tells(view: View) -> Iterator[Found]:
    """Whether rows with a gap have another target than those without (χ² or t)."""
    if view.sparse:
        return
    gaps = {name: _missing(view, name) for name in view.table.names}
    some = {name: missing for name, missing in gaps.items() if 0 < missing.sum() < len(missing)}
    found = [name for name, missing in some.items() if _difference_by_chance(view, missing) * len(some) < SURELY]
    if found:
        yield Found(
            f"Where {enumerated(found, last='or')} is missing, the target differs from that of other rows.",
            "Let models see the gap (TableFeatures marks it), rather than fill it silently; ask why it is missing.",
            tuple(found),
        )


def _difference_by_chance(view: View, gaps: Array) -> float:
    from scipy.stats import chi2_contingency, ttest_ind

    if gaps.sum() < 5 or (~gaps).sum() < 5:
        return 1.0
    if not view.classification:
        return float(ttest_ind(view.target[gaps], view.target[~gaps], equal_var=False).pvalue)
    counts = np.array([np.bincount(view.target[rows], minlength=len(view.labels)) for rows in (gaps, ~gaps)])
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
