"""Checks of the rows and columns: MRC1xx."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np
from scipy.stats import rankdata

from mercer._typing import Array
from mercer.comparison._check_result import CheckResult
from mercer.comparison._splits import row_numbers
from mercer.comparison._view import View
from mercer.data import Kind
from mercer.data.dates import days_of_labels
from mercer.report.wording import join_words, shorten

#: rows of a class below which it is reported as rare
MIN_CLASS_ROWS = 10
#: characters of a label in a sentence
MAX_LABEL_LENGTH = 40
#: share of scored rows with a copy among the training rows above which it is reported
MAX_DUPLICATE_SHARE = 0.01
#: share of scored rows of classes absent from training above which it is reported
MAX_ABSENT_SHARE = 0.05
#: rows below which a table is not checked for a time series
MIN_TIMES = 20
#: correlation between the targets of neighbouring rows above which a time series is reported
MIN_NEIGHBOUR_CORRELATION = 0.3
#: level of the tests of a difference between rows with and without a gap
GAP_LEVEL = 0.001


def check_duplicates(view: View) -> Iterator[CheckResult]:
    """Report scored rows that have a copy among the training rows."""
    kinds = row_numbers(view.without_identifiers)
    targets = np.unique(view.comparison.task.truth, return_inverse=True)[1].reshape(-1)
    kinds = kinds * (targets.max(initial=0) + 1) + targets  # a copy of a row has its target, too
    tested = repeated = 0
    for train, test in view.comparison.splits:
        tested += len(test)
        repeated += int(np.isin(kinds[test], kinds[train]).sum())
    if tested and repeated / tested > MAX_DUPLICATE_SHARE:
        yield CheckResult(
            f"{repeated / tested:.1%} of the rows that models were scored on have a twin, equal in all columns and the "
            "target, among the rows they were fitted to. If these are copies of one case, the scores are too good for "
            "new rows.",
            "Drop copies, or keep them together with a group column (--group on the command line). Different cases "
            "that are alike, as where a few columns have a few values each, may stay.",
        )


def check_rare_classes(view: View) -> Iterator[CheckResult]:
    """Report classes with very few rows."""
    if not view.classification:
        return
    counts = np.bincount(view.comparison.task.truth, minlength=len(view.labels))
    rare = [
        f"{shorten(view.labels[k], MAX_LABEL_LENGTH)!r} ({counts[k]})"
        for k in np.flatnonzero(counts < MIN_CLASS_ROWS).tolist()
    ]
    if rare:
        yield CheckResult(
            f"There are fewer than {MIN_CLASS_ROWS} rows of {join_words(rare)}.",
            "Collect more of them, put them together with a class that is like them, or leave them out.",
        )


def check_absent_classes(view: View) -> Iterator[CheckResult]:
    """Report scored rows whose class is absent from the training rows of their fold."""
    if not view.classification:
        return
    truth = view.comparison.task.truth
    tested = sum(len(test) for _, test in view.comparison.splits)
    absent = sum(int((~np.isin(truth[test], truth[train])).sum()) for train, test in view.comparison.splits)
    if tested and absent / tested > MAX_ABSENT_SHARE:
        yield CheckResult(
            f"{absent / tested:.0%} of the scored rows belong to classes that are absent from the training rows of "
            "their fold. No model can predict them there, and probabilities are scored on the other rows only.",
            "Put rare classes together, or leave them out.",
        )


def check_time_series(view: View) -> Iterator[CheckResult]:
    """Report rows that follow each other in time and have similar targets, if the splits are random."""
    name = find_time_column(view)
    if name is None or view.comparison.settings.get("splits", "random") != "random":
        return
    alike = _neighbour_correlation(view, _time_values(view, name))
    if alike > max(MIN_NEIGHBOUR_CORRELATION, 3 / np.sqrt(len(view.rows))):
        yield CheckResult(
            f"Rows that follow each other in {name!r} have similar targets (correlation {alike:.2f}), and random folds "
            "score a row between its neighbours of the training rows. Scores are too good for rows of the future.",
            f"Compare again with --time {shlex.quote(name)} (in Python times=).",
            (name,),
        )


def find_time_column(view: View) -> str | None:
    """Return the column that places the rows in time: distinct dates, or evenly spaced numbers in file order."""
    if view.sparse or len(view.rows) < MIN_TIMES:
        return None
    dates = [column.name for column in view.schema if column.kind is Kind.DATE]
    numbers = [column.name for column in view.schema if column.kind in (Kind.INTEGER, Kind.NUMBER)]
    distinct = (name for name in dates if len(np.unique(_time_values(view, name))) == len(view.rows))
    even = (name for name in numbers if _evenly_spaced(_time_values(view, name)))
    return next(distinct, None) or next(even, None)


def _time_values(view: View, name: str) -> Array:
    """Return the values of a column of dates, in days, or of numbers; dates may be strings."""
    table, position = view.table, view.table.positions[name]
    if table.kinds[position] is Kind.DATE:
        return np.asarray(table.days(position), dtype=float)
    if not table.kinds[position].numeric:
        return np.asarray(days_of_labels(table.coded(position)), dtype=float)
    return np.asarray(table.numbers([position])[:, 0], dtype=float)


def _evenly_spaced(times: Array) -> bool:
    """Return whether times increase in steps of the same size."""
    steps = np.diff(times)
    return bool(steps[0] > 0 and np.allclose(steps, steps[0], rtol=0.01))


def _neighbour_correlation(view: View, times: Array) -> float:
    """Return the rank correlation of the targets of neighbouring rows; for classes, their agreement beyond chance."""
    target = view.target[np.argsort(times, kind="stable")]
    earlier, later = target[:-1], target[1:]
    if view.classification:
        shares = np.bincount(target) / len(target)
        by_chance = float(shares @ shares)
        return (float((earlier == later).mean()) - by_chance) / (1 - by_chance) if by_chance < 1 else 0.0
    ranks = rankdata(target)
    return float(np.corrcoef(ranks[:-1], ranks[1:])[0, 1]) if np.ptp(target) > 0 else 0.0


def check_mostly_missing(view: View) -> Iterator[CheckResult]:
    """Report columns of which more than half of the values are missing."""
    if view.sparse:
        return
    shares = {name: _missing_rows(view, name).mean() for name in view.table.names}
    mostly_missing = {name: share for name, share in shares.items() if 0.5 < share < 1}
    if mostly_missing:
        named = [f"{name} ({share:.0%})" for name, share in mostly_missing.items()]
        yield CheckResult(
            f"More than half of the values are missing in {join_words(named)}.",
            "Consider leaving such columns out: they have a value in few rows.",
            tuple(mostly_missing),
        )


def _missing_rows(view: View, name: str) -> Array:
    return np.asarray(view.table.coded(view.table.names.index(name)).codes < 0)


def check_uninformative_columns(view: View) -> Iterator[CheckResult]:
    """Report constant columns and identifiers."""
    constant = [c.name for c in view.schema if c.kind is Kind.CONSTANT]
    identifiers = [c.name for c in view.schema if c.kind is Kind.IDENTIFIER]
    if not constant and not identifiers:
        return
    parts = []
    if identifiers:
        parts.append(f"{join_words(identifiers)} {'is an identifier' if len(identifiers) == 1 else 'are identifiers'}")
    if constant:
        parts.append(f"{join_words(constant)} {'is' if len(constant) == 1 else 'are'} constant")
    several = len(constant) + len(identifiers) > 1
    yield CheckResult(
        f"{'; '.join(parts)}{'; they are' if len(parts) > 1 else ', and are' if several else ', and is'} not used.",
        "Drop such columns; if one is a code with a meaning, make categories of it.",
        (*identifiers, *constant),
    )


def check_contradictions(view: View) -> Iterator[CheckResult]:
    """Report rows of different classes that are equal in all columns, of which no model can predict all correctly."""
    if not view.classification:
        return
    kinds, truth = row_numbers(view.without_identifiers), view.comparison.task.truth
    counts = np.zeros((kinds.max() + 1, len(view.labels)), dtype=int)
    np.add.at(counts, (kinds, truth), 1)
    wrong = int((counts.sum(axis=1) - counts.max(axis=1)).sum())
    if wrong:
        yield CheckResult(
            f"Rows that equal others in all columns and have another class: {wrong:,}. No model can be right in more "
            f"than {len(truth) - wrong:,} of the {len(truth):,} rows.",
            "Check these rows, or add a column that distinguishes them.",
        )


def check_few_rows(view: View) -> Iterator[CheckResult]:
    """Report tables with at least as many columns as rows."""
    table = view.comparison.table
    if not view.sparse and table.n_columns >= table.n_rows:
        yield CheckResult(
            f"Columns: {table.n_columns:,}, rows: {table.n_rows:,}, so that a linear model without a penalty fits any "
            "target.",
            "Trust only models with a penalty or a prior, and leave out columns that are not needed.",
        )


def check_informative_gaps(view: View) -> Iterator[CheckResult]:
    """Report columns whose missing values are related to the target (χ² or t test)."""
    if view.sparse:
        return
    gaps = {name: _missing_rows(view, name) for name in view.table.names}
    some = {name: missing for name, missing in gaps.items() if 0 < missing.sum() < len(missing)}
    related = [name for name, missing in some.items() if _gap_p_value(view, missing) * len(some) < GAP_LEVEL]
    if related:
        yield CheckResult(
            f"Where {join_words(related, last='or')} is missing, the target differs from that of other rows.",
            "Let models use the gap (TableFeatures marks it) instead of filling it silently; find out why values are "
            "missing.",
            tuple(related),
        )


def _gap_p_value(view: View, gaps: Array) -> float:
    """Return the p-value of equal targets of rows with and without a gap."""
    from scipy.stats import chi2_contingency, ttest_ind

    if gaps.sum() < 5 or (~gaps).sum() < 5:
        return 1.0
    if not view.classification:
        return float(ttest_ind(view.target[gaps], view.target[~gaps], equal_var=False).pvalue)
    counts = np.array([np.bincount(view.target[rows], minlength=len(view.labels)) for rows in (gaps, ~gaps)])
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)
