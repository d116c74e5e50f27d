"""Checks of target leakage: columns that reveal the target, alone or together, and scores that are too good."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mercer._typing import Array
from mercer.application.training_table import AMOUNT_KINDS
from mercer.comparison._check_result import CheckResult
from mercer.comparison._checks_of_data import check_time_series
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, sample_rows
from mercer.data import Kind
from mercer.report.wording import join_words

#: kinds of columns that may be terms of a sum
TERM_KINDS = AMOUNT_KINDS | {Kind.CODE, Kind.BINARY}
#: rows with a value below which a column is not examined
MIN_LEAK_ROWS = 20
#: rows of a class, or of a side of a split, below which it is not examined
MIN_LEAK_ROWS_OF_CLASS = 10
#: rank correlation above which a column and the target order the rows equally
MIN_RANK_CORRELATION = 0.999
#: share of the variance explained, or of the mistakes of a constant prediction avoided, above which a column reveals
#: the target by itself
MIN_LEAK_SHARE = 0.985
#: the same share for a single value, or a gap
MIN_SHARE_OF_ONE_VALUE = 0.85
#: share of one class among the rows with, or without, the single value
MIN_PURITY = 0.995
#: rows per distinct value above which values are levels
ROWS_PER_LEAK_LEVEL = 5
#: distinct values of a column of numbers up to which a message refers to values instead of thresholds
MAX_NAMED_VALUES = 10
#: columns examined one by one: with more, those of the largest correlations with the target
MAX_EXAMINED_COLUMNS = 300
#: columns of a combination found by matching pursuit
MAX_LEAK_TERMS = 6
#: rows in which a combination is sought
MAX_COMBINATION_ROWS = 2_000
#: share of the variance that a combination may leave
MAX_LEFT_OVER = 1e-6
#: columns of a least-squares fit to all columns
MAX_FITTED_COLUMNS = 300
#: rows for each column of this fit
ROWS_PER_FITTED_COLUMN = 3
#: columns up to which this fit is tried without each of them
MAX_TRIED_COLUMNS = 60
#: columns listed in a sentence
MAX_NAMED_LEAKS = 12
#: columns of a score that separates two classes
MAX_SEPARATING_COLUMNS = 60
#: rows for each column of this score
ROWS_PER_SEPARATING_COLUMN = 10
#: folds in which this score is evaluated
SEPARATION_FOLDS = 5
#: share of the rows that may be on the wrong side of a threshold
MAX_WRONG_SHARE = 0.025
#: mistakes, as a share of those expected of normal distributions, up to which a separation is sharp
MAX_MISTAKE_RATIO = 0.25
#: number of mistakes by which they must be fewer than expected
MIN_FEWER_MISTAKES = 10
#: ratio of the distance of the nearest 5 % of the rows from the threshold to that of the nearest 20 %, below which rows
#: are frequent near the threshold
MAX_NEAR_RATIO = 0.45
#: share of the largest weight of a score below which a column is dropped from it
MIN_WEIGHT_SHARE = 0.1
#: share of the variance explained on held-out rows above which a score is too good
TOO_MUCH_EXPLAINED = 0.99
#: share of the baseline's mistakes avoided above which an accuracy may be too good
TOO_MUCH_AVOIDED = 0.95
#: accuracy above which it is too good without a sharp separation
TOO_ACCURATE = 0.995
LEAK_REMEDY = "Make sure that it is known when predictions are made; if it was recorded after the target, drop it."
COMBINATION_REMEDY = (
    "Make sure that they are known when predictions are made; if one was recorded after the target or computed from "
    "it, drop it."
)


class LeakEvidence(NamedTuple):
    """The share of the target (0 to 1) that a column explains by itself, and how, if it reveals the target."""

    name: str
    strength: float
    how: str = ""


def check_leakage(view: View) -> Iterator[CheckResult]:
    """Report columns that reveal the target by themselves; if there are any, also those that reveal almost as much."""
    trend = {column for evidence in check_time_series(view) for column in evidence.columns}
    certain = [evidence for evidence in _evidence(view) if evidence.how and evidence.name not in trend]
    for evidence in certain:
        yield CheckResult(
            f"Column {evidence.name!r} gives the target away: {evidence.how}.", LEAK_REMEDY, (evidence.name,)
        )
    if not certain:
        return
    what = "of the mistakes of a constant prediction avoided" if _is_classes(view) else "of the variance explained"
    for evidence in _evidence(view):
        if not evidence.how and evidence.strength > MIN_SHARE_OF_ONE_VALUE:
            share = f"{evidence.strength:.1%} {what}"
            sentence = f"Column {evidence.name!r} reveals almost as much of the target by itself: {share}."
            yield CheckResult(sentence, LEAK_REMEDY, (evidence.name,), "warning")


def check_combinations(view: View) -> Iterator[CheckResult]:
    """Report columns of numbers whose weighted sum or product is exactly the target, if none reveals it by itself.

    Classes are represented by their labels, if these are numbers, or by their ranks. Two classes may also be the two
    sides of a threshold on a sum.
    """
    if view not in _COMBINATION_CACHE:
        _COMBINATION_CACHE[view] = tuple(_find_combinations(view))
    yield from _COMBINATION_CACHE[view]


_COMBINATION_CACHE: WeakKeyDictionary[View, tuple[CheckResult, ...]] = WeakKeyDictionary()


def _find_combinations(view: View) -> Iterator[CheckResult]:
    alone = {evidence.name for evidence in _evidence(view) if evidence.how}
    kinds = {column.name: column.kind for column in view.schema}
    names = [name for name in view.table.names if kinds.get(name) in TERM_KINDS and name not in alone]
    if view.sparse or len(names) < 2:
        return
    columns = [view.table.position(name) for name in names]
    columns = [j for j in columns if view.table.kinds[j].numeric]
    names = [view.table.names[j] for j in columns]
    if len(names) < 2:
        return
    rows = sample_rows(len(view.target), MAX_COMBINATION_ROWS)
    numbers = view.table.numbers(columns).astype(float)[rows]
    target = _numeric_target(view)
    target = None if target is None else target[rows]
    # a missing term of a sum may stand for 0
    filled = np.nan_to_num(numbers)
    sums = {}
    if target is not None:
        sums = (
            _exact_terms(numbers, target)
            or _exact_terms(filled, target)
            or _exact_sum(numbers, target)
            or _exact_sum(filled, target)
        )
    if sums:
        how = f"the target is {_format_sum(sums, names)}, but for a constant"
    elif _is_classes(view):
        if len(view.labels) == 2:
            yield from _check_threshold(view, rows, numbers, names)
        return
    else:
        assert target is not None
        positive = np.asarray((np.nan_to_num(numbers, nan=1.0) > 0).all(axis=0))
        if not (target > 0).all() or positive.sum() < 2:
            return
        names = [name for name, is_positive in zip(names, positive.tolist(), strict=True) if is_positive]
        sums = _exact_terms(np.log(numbers[:, positive]), np.log(target))
        if not sums:
            return
        factors = " × ".join(_power(weight, names[j]) for j, weight in sums.items() if weight > 0) or "1"
        divisors = "".join(f" / {_power(-weight, names[j])}" for j, weight in sums.items() if weight < 0)
        how = f"the target is proportional to {factors}{divisors}"
    used = [names[j] for j in sums]
    yield CheckResult(
        f"Columns {join_words(used, MAX_NAMED_LEAKS)} together give the target away: {how}.",
        COMBINATION_REMEDY,
        tuple(used),
    )


def _numeric_target(view: View) -> Array | None:
    """Return the target as numbers: classes as labels, or as ranks if there are two or if they are ordered."""
    if not _is_classes(view):
        return view.target.astype(float)
    task = view.comparison.task
    try:
        labels = np.array([float(label) for label in task.labels.tolist()])  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        if len(view.labels) > 2 and task.name != "ordered":
            return None
        labels = np.arange(len(view.labels), dtype=float)
    return np.asarray(labels[view.target.astype(int)])


def _format_sum(sums: dict[int, float], names: list[str]) -> str:
    if len(sums) > MAX_NAMED_LEAKS:
        return f"a weighted sum of these {len(sums)} columns"
    return " ".join(_term(weight, names[j], first=not k) for k, (j, weight) in enumerate(sums.items()))


def _check_threshold(view: View, rows: Array, numbers: Array, names: list[str]) -> Iterator[CheckResult]:
    """Report two classes that are the two sides of a threshold on a sum of columns."""
    separating = _separating_terms(numbers, view.target[rows].astype(int))
    if separating is None:
        return
    sums, limit, mistakes, n = separating
    used = [names[j] for j in sums]
    right = "without a mistake" if not mistakes else f"correctly in {n - mistakes:,} of {n:,} rows"
    terms = _format_sum(sums, names)
    how = f"the target is {view.labels[1]!r} where {terms} is above {limit:.3g}, {right}"
    yield CheckResult(
        f"Columns {join_words(used, MAX_NAMED_LEAKS)} together give the target away: {how}.",
        COMBINATION_REMEDY,
        tuple(used),
    )


def check_too_good(view: View) -> Iterator[CheckResult]:
    """Report a held-out score that is almost perfect, if no other check explains it.

    Classes may be far apart without leakage. The score is doubtful if a single column explains much, or if rows are
    frequent near both sides of the decision boundary and almost none is on the wrong side.
    """
    comparison = view.comparison
    entries = [entry for entry in (*view.ranked, comparison.reference) if entry is not None and not entry.failed]
    classes = _is_classes(view)
    name = "accuracy" if classes else "explained"
    if name not in {metric.name for metric in comparison.task.metrics} or view.sparse:
        return
    entries = [entry for entry in entries if entry.kind != "baseline" and math.isfinite(entry.mean(name))]
    best = max(entries, key=lambda entry: entry.mean(name), default=None)
    if best is None:
        return
    reached, model, sharp = best.mean(name), best.name, False
    if classes:
        avoided = _share_avoided(reached, view.target.astype(int))
        sharp = avoided > TOO_MUCH_AVOIDED and _is_sharp(view, best)
        is_good = avoided > TOO_MUCH_AVOIDED and (sharp or reached >= TOO_ACCURATE)
    else:
        is_good = reached >= TOO_MUCH_EXPLAINED
    if not is_good or any(check_leakage(view)) or any(check_combinations(view)) or any(check_time_series(view)):
        return
    strongest = sorted(_evidence(view), key=lambda evidence: -evidence.strength)[:3]
    heading = "accuracy" if classes else "R²"
    named = [f"{evidence.name!r} ({evidence.strength:.2f})" for evidence in strongest if evidence.strength > 0]
    what = "share of mistakes avoided" if classes else "share of the variance explained"
    by_columns = f" The columns that explain most of the target by themselves are {join_words(named)}, by the {what}."
    columns = tuple(evidence.name for evidence in strongest)
    if not classes and len(view.amounts) > 1:
        rows = sample_rows(len(view.target), MAX_COMBINATION_ROWS)
        sums = _exact_terms(view.numbers[rows], view.target[rows].astype(float), 1 - TOO_MUCH_EXPLAINED)
        if sums:
            columns = tuple(view.amounts[j] for j in sums)
            named = [f"{name!r}" for name in columns]
            by_columns = (
                f" A sum of {join_words(named)} alone explains {TOO_MUCH_EXPLAINED:.0%} of its variance or more."
            )
    suspicious = not classes or sharp or (bool(strongest) and strongest[0].strength > MIN_SHARE_OF_ONE_VALUE)
    yield CheckResult(
        f"{model} reaches {heading} {reached:.4f} on rows that it was not fitted to, which is "
        f"{'too good to be trusted' if suspicious else 'very good'}.{by_columns if named else ''}",
        "Leave out columns that are not known when predictions are made (--drop), and rows that are in the table "
        "twice; keep rows of one unit (a patient, a country) together (--group).",
        columns,
        "warning" if suspicious else "note",
    )


def _is_classes(view: View) -> bool:
    return getattr(view.comparison.task, "labels", None) is not None


def _evidence(view: View) -> tuple[LeakEvidence, ...]:
    """Return the evidence of each column by itself, computed once for a view."""
    if view not in _EVIDENCE_CACHE:
        _EVIDENCE_CACHE[view] = tuple(_examine_columns(view))
    return _EVIDENCE_CACHE[view]


_EVIDENCE_CACHE: WeakKeyDictionary[View, tuple[LeakEvidence, ...]] = WeakKeyDictionary()


def _examine_columns(view: View) -> Iterator[LeakEvidence]:
    if view.sparse or len(np.unique(view.target)) < 2:
        return
    of_classes = _is_classes(view)
    if of_classes:
        counts = np.bincount(view.target.astype(int))
        if counts[counts > 0].min() < MIN_LEAK_ROWS_OF_CLASS and (counts >= MIN_LEAK_ROWS_OF_CLASS).sum() < 2:
            return
    columns = list(view.schema)
    if len(columns) > MAX_EXAMINED_COLUMNS:
        kept = _screen_columns(view)
        columns = [column for column in columns if column.name in kept or column.name not in view.amounts]
    for column in columns[: 2 * MAX_EXAMINED_COLUMNS]:
        j = view.table.names.index(column.name)
        codes = view.table.coded(j).codes
        numbers = view.table.kinds[j].numeric and column.kind is not Kind.DATE
        values = view.table.numbers([j])[:, 0].astype(float) if numbers else None
        named = column.kind in (Kind.IDENTIFIER, Kind.TEXT, Kind.DATE, Kind.CONSTANT)
        if of_classes:
            yield _evidence_for_classes(view, column.name, codes, values, only_gaps=named)
        elif not named:
            yield _evidence_for_numbers(view, column.name, codes, values)


def _screen_columns(view: View) -> set[str]:
    """Return the columns of numbers with the largest correlations with the target, computed in one product."""
    numbers = np.nan_to_num(view.numbers - np.nanmean(view.numbers, axis=0))
    spread = np.sqrt(np.square(numbers).sum(axis=0))
    target = view.target.astype(int)
    responses = np.eye(target.max() + 1)[target] if _is_classes(view) else view.target[:, None].astype(float)
    responses = responses - responses.mean(axis=0)
    responses /= np.maximum(np.sqrt(np.square(responses).sum(axis=0)), 1e-300)
    correlations = np.abs(numbers.T @ responses).max(axis=1) / np.where(spread > 0, spread, np.inf)
    return {view.amounts[j] for j in np.argsort(-correlations, kind="stable")[:MAX_EXAMINED_COLUMNS].tolist()}


def _evidence_for_numbers(view: View, name: str, codes: Array, values: Array | None) -> LeakEvidence:
    known = (codes >= 0) & (np.isfinite(values) if values is not None else True)
    if known.sum() < MIN_LEAK_ROWS or known.mean() < 0.5:
        return LeakEvidence(name, 0.0)
    codes, target = codes[known], view.target[known].astype(float)
    if target.std() == 0 or len(np.unique(codes)) < 2:
        return LeakEvidence(name, 0.0)
    order = 0.0
    if values is not None:
        order = _rank_correlation(values[known], target)
        correlation = abs(float(np.corrcoef(values[known], target)[0, 1]))
        if correlation > 0.9999:
            return LeakEvidence(name, 1.0, "its correlation with the target is 1")
        if abs(order) > MIN_RANK_CORRELATION:
            how = "in the same order as" if order > 0 else "in the opposite order of"
            return LeakEvidence(name, 1.0, f"it puts the rows {how} the target (rank correlation {order:.4f})")
    levels = len(np.unique(codes)) * ROWS_PER_LEAK_LEVEL <= len(codes)
    share = _explained_by_levels(codes, target) if levels else 0.0
    if share > MIN_LEAK_SHARE:
        how = f"its {len(np.unique(codes)):,} values explain {share:.1%} of the variance of the target"
        return LeakEvidence(name, share, how)
    return LeakEvidence(name, max(share, order * order))


def _rank_correlation(x: Array, y: Array) -> float:
    from scipy.stats import rankdata

    first, second = rankdata(x), rankdata(y)
    return float(np.corrcoef(first, second)[0, 1]) if first.std() > 0 and second.std() > 0 else 0.0


def _explained_by_levels(codes: Array, target: Array) -> float:
    """Return the share of the variance explained by means of levels, each row left out of its own."""
    _, levels = np.unique(codes, return_inverse=True)
    n = np.bincount(levels)
    residual = target - (np.bincount(levels, target) / n)[levels]
    # the distance from the mean of the other rows is larger by n / (n − 1)
    alone = n[levels] == 1
    residual = np.where(alone, target - target.mean(), residual * n[levels] / np.maximum(n[levels] - 1, 1))
    return float(max(0.0, 1 - np.square(residual).mean() / target.var()))


def _evidence_for_classes(
    view: View, name: str, codes: Array, values: Array | None, *, only_gaps: bool
) -> LeakEvidence:
    known, classes = codes >= 0, view.target.astype(int)
    labels = [str(label) for label in view.comparison.task.labels.tolist()]  # type: ignore[attr-defined]
    if (
        evidence := _evidence_of_one_value(
            name, ~known, classes, "it is missing", "it is known", labels, min_purity=0.0
        )
    ).how:
        return evidence
    if only_gaps or known.sum() < MIN_LEAK_ROWS or known.mean() < 0.5:
        return LeakEvidence(name, 0.0)
    codes, classes = codes[known], classes[known]
    levels = len(np.unique(codes)) * ROWS_PER_LEAK_LEVEL <= len(codes)
    share = _avoided_by_levels(codes, classes) if levels else 0.0
    if values is not None:
        numbers = values[known]
        by_levels, share = share, max(share, _avoided_by_thresholds(numbers, classes))
        if by_levels > MIN_LEAK_SHARE and len(np.unique(codes)) <= MAX_NAMED_VALUES:
            return LeakEvidence(
                name, by_levels, f"its value alone gives the class {_describe_accuracy(by_levels, classes)}"
            )
        if share > MIN_LEAK_SHARE:
            return LeakEvidence(
                name, share, f"thresholds on it separate the classes {_describe_accuracy(share, classes)}"
            )
        common = np.unique(codes)[np.argmax(np.unique(codes, return_counts=True)[1])]
        value = f"{numbers[codes == common][0]:g}"
        at = _evidence_of_one_value(
            name, codes == common, classes, f"it is {value}", f"it is not {value}", labels, min_purity=MIN_PURITY
        )
        if at.how:
            return at
    elif share > MIN_LEAK_SHARE:
        return LeakEvidence(name, share, f"its value alone gives the class {_describe_accuracy(share, classes)}")
    return LeakEvidence(name, share)


def _describe_accuracy(share: float, classes: Array) -> str:
    """Describe the share of correct rows, given the share of avoided mistakes of a constant prediction."""
    base = np.bincount(classes).max() / len(classes)
    return "without a mistake" if share >= 1 else f"correctly in {base + share * (1 - base):.2%} of the rows"


def _share_avoided(right: float, classes: Array) -> float:
    """Return the share of the mistakes of the most frequent class that are avoided."""
    base = np.bincount(classes).max() / len(classes)
    return float((right - base) / (1 - base)) if base < 1 else 0.0


def _avoided_by_levels(codes: Array, classes: Array) -> float:
    """Return the share of mistakes avoided by the most frequent class of each level among the other rows."""
    _, levels = np.unique(codes, return_inverse=True)
    counts = np.zeros((levels.max() + 1, classes.max() + 1))
    np.add.at(counts, (levels, classes), 1)
    others = counts[levels]
    others[np.arange(len(classes)), classes] -= 1
    usual = np.bincount(classes).argmax()
    decided = np.where(others.sum(axis=1) > 0, others.argmax(axis=1), usual)
    return max(0.0, _share_avoided(float((decided == classes).mean()), classes))


def _avoided_by_thresholds(values: Array, classes: Array) -> float:
    """Return the share of mistakes avoided by thresholds between classes in the order of their medians."""
    order = np.argsort(values, kind="stable")
    x, y = values[order], classes[order]
    medians = {k: np.median(x[y == k]) for k in np.unique(y).tolist()}
    ends = np.flatnonzero(np.append(np.diff(x) > 0, True)) + 1  # thresholds lie between distinct values
    right = np.full(len(ends) + 1, -np.inf)  # largest number of correct rows up to each threshold
    right[0] = 0.0
    for k in sorted(medians, key=medians.__getitem__):
        of_class = np.concatenate([[0], np.cumsum(y == k)[ends - 1]])
        right = np.maximum.accumulate(right - of_class) + of_class
    return max(0.0, _share_avoided(float(right[-1]) / len(y), classes))


def _evidence_of_one_value(
    name: str, at: Array, classes: Array, case: str, other_case: str, labels: list[str], *, min_purity: float
) -> LeakEvidence:
    """Return the evidence if one value, or a gap, reveals the class: one side has (almost) only one class."""
    if min(at.sum(), (~at).sum()) < MIN_LEAK_ROWS_OF_CLASS:
        return LeakEvidence(name, 0.0)
    sides = []
    for side in (at, ~at):
        counts = np.bincount(classes[side])
        sides.append((int(counts.argmax()), counts.max() / side.sum()))
    (first, share), (second, rest) = sides
    right = (share * at.sum() + rest * (~at).sum()) / len(at)
    strength = max(0.0, _share_avoided(float(right), classes))
    if first == second or strength < MIN_SHARE_OF_ONE_VALUE or max(share, rest) < min_purity:
        return LeakEvidence(name, strength)
    how = (
        f"where {case}, the target is {labels[first]!r} in {share:.1%} of {at.sum():,} rows, and where {other_case}, "
        f"{labels[second]!r} in {rest:.1%} of {(~at).sum():,}"
    )
    return LeakEvidence(name, strength, how)


def _exact_terms(numbers: Array, target: Array, left_over: float = MAX_LEFT_OVER) -> dict[int, float]:
    """Return the weights of a few columns whose sum is the target, by orthogonal matching pursuit.

    They leave at most the share `left_over` of the variance. The result is empty if there are no such columns.
    """
    rows, complete = _select_complete(numbers)
    X, y = numbers[rows][:, complete], target[rows]
    places = np.flatnonzero(complete)
    X, y = X - X.mean(axis=0), y - y.mean()
    scale = np.sqrt(np.square(X).sum(axis=0))
    keep = scale > 0
    X, places, scale = X[:, keep] / scale[keep], places[keep], scale[keep]
    total = float(y @ y)
    if total == 0 or not X.shape[1] or len(y) < MIN_LEAK_ROWS:
        return {}
    chosen: list[int] = []
    residual, weights = y, np.zeros(0)
    while len(chosen) < min(MAX_LEAK_TERMS, X.shape[1], len(y) // 5):
        correlations = np.abs(X.T @ residual)
        correlations[chosen] = -1.0
        chosen.append(int(correlations.argmax()))
        weights = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
        residual = y - X[:, chosen] @ weights
        if residual @ residual <= left_over * total:
            break
    else:
        return {}
    # drop columns that were chosen on the way and are not needed
    needed = [j for j, weight in zip(chosen, weights.tolist(), strict=True) if weight**2 > 1e-4 * total]
    weights = np.linalg.lstsq(X[:, needed], y, rcond=None)[0]
    left = y - X[:, needed] @ weights
    if len(needed) < 2 or left @ left > 2 * left_over * total:
        return {}
    terms = {int(places[j]): float(weight / scale[j]) for j, weight in zip(needed, weights.tolist(), strict=True)}
    return dict(sorted(terms.items(), key=lambda term: term[1] < 0))  # positive terms first


def _select_complete(numbers: Array) -> tuple[Array, Array]:
    """Return the rows and the columns without gaps: all columns, or all rows if most rows have gaps."""
    columns, rows = (np.asarray(np.isfinite(numbers).all(axis=axis)) for axis in (0, 1))
    if rows.sum() < max(MIN_LEAK_ROWS, 0.5 * len(rows)):
        return np.ones(len(rows), dtype=bool), columns
    return rows, np.ones(numbers.shape[1], dtype=bool)


def _exact_sum(numbers: Array, target: Array) -> dict[int, float]:
    """Return the weights of columns whose sum is the target, by least squares of all columns.

    With dependent columns the weights are not unique: only columns that others cannot replace are kept. The result is
    empty if there are too many columns for the number of rows, so that any target is a sum of them, or for the time.
    """
    rows, complete = _select_complete(numbers)
    X, y = numbers[rows][:, complete], target[rows]
    X, y = X - X.mean(axis=0), y - y.mean()
    scale = np.sqrt(np.square(X).sum(axis=0))
    keep = scale > 0
    X, places, scale = X[:, keep] / scale[keep], np.flatnonzero(complete)[keep], scale[keep]
    total, size = float(y @ y), X.shape[1]
    if (
        total == 0
        or size < 2
        or size > MAX_FITTED_COLUMNS
        or len(y) < max(MIN_LEAK_ROWS, ROWS_PER_FITTED_COLUMN * size)
    ):
        return {}
    Q, R = np.linalg.qr(X)
    z = Q.T @ y
    outside = max(total - float(z @ z), 0.0)  # the part that no weights explain

    def fit(columns: list[int]) -> tuple[Array, float]:
        weights = np.linalg.lstsq(R[:, columns], z, rcond=1e-10)[0]
        return weights, outside + float(np.square(z - R[:, columns] @ weights).sum())

    kept = list(range(size))
    weights, left = fit(kept)
    if left > MAX_LEFT_OVER * total:
        return {}
    needed = [j for j, weight in zip(kept, weights.tolist(), strict=True) if weight**2 > 1e-6 * total]
    kept = needed if fit(needed)[1] <= 2 * MAX_LEFT_OVER * total else kept
    if len(kept) <= MAX_TRIED_COLUMNS:
        weights, _ = fit(kept)
        for j in [kept[k] for k in np.argsort(np.abs(weights), kind="stable").tolist()]:
            fewer = [each for each in kept if each != j]
            if fewer and fit(fewer)[1] <= 2 * MAX_LEFT_OVER * total:
                kept = fewer
    weights, _ = fit(kept)
    terms = {int(places[j]): float(weight / scale[j]) for j, weight in zip(kept, weights.tolist(), strict=True)}
    return dict(sorted(terms.items(), key=lambda term: term[1] < 0)) if len(terms) > 1 else {}


def _separating_terms(numbers: Array, classes: Array) -> tuple[dict[int, float], float, int, int] | None:
    """Return the weights of a sum whose threshold separates two classes, the threshold, its mistakes, and the rows.

    Return None if there is no such sum, or if the classes are far apart, as happens without leakage: see
    `_separates_sharply`.
    """
    from sklearn.model_selection import StratifiedKFold

    rows, complete = _select_complete(numbers)
    X, y = numbers[rows][:, complete], classes[rows]
    places, spread = np.flatnonzero(complete), X.std(axis=0)
    X, places = X[:, spread > 0], places[spread > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if min(np.bincount(y, minlength=2)) < max(MIN_LEAK_ROWS_OF_CLASS, SEPARATION_FOLDS):
        return None
    most = min(MAX_SEPARATING_COLUMNS, len(y) // ROWS_PER_SEPARATING_COLUMN)
    if X.shape[1] > most:
        strongest = np.sort(np.argsort(-np.abs(X.T @ (y - y.mean())), kind="stable")[:most])
        X, places = X[:, strongest], places[strongest]
    if X.shape[1] < 2 or _count_mistakes(_distances(X, y, X), y) > MAX_WRONG_SHARE * len(y):
        return None
    held_out = np.zeros(len(y))
    for train, test in StratifiedKFold(SEPARATION_FOLDS, shuffle=True, random_state=0).split(X, y):
        held_out[test] = _distances(X[train], y[train], X[test])
    if not _separates_sharply(held_out, y):
        return None
    weights, _ = _separator(X, y)
    part = np.abs(weights) > MIN_WEIGHT_SHARE * np.abs(weights).max()
    if part.sum() < 2:
        return None
    weights, constant = _separator(X[:, part], y)
    mistakes = _count_mistakes(X[:, part] @ weights + constant, y)
    if mistakes > MAX_WRONG_SHARE * len(y):
        return None
    used = places[part]
    mean, scale = (getattr(numbers[rows][:, used], name)(axis=0) for name in ("mean", "std"))
    weights, constant = weights / scale, constant - float(weights @ (mean / scale))
    unit = float(np.abs(weights).min())
    sums = {int(j): float(weight / unit) for j, weight in zip(used, weights.tolist(), strict=True)}
    sums = dict(sorted(sums.items(), key=lambda term: term[1] < 0))
    return sums, -constant / unit, mistakes, len(y)


def _separator(X: Array, y: Array) -> tuple[Array, float]:
    """Return weights and constant of a logistic regression with a small penalty."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # separable classes have no optimum
        model = LogisticRegression(C=1e4, max_iter=300).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


def _distances(X: Array, y: Array, others: Array) -> Array:
    """Return the distances of other rows from the boundary between two classes, those of the first below 0."""
    weights, constant = _separator(X, y)
    return np.asarray((others @ weights + constant) / np.linalg.norm(weights))


def _count_mistakes(distances: Array, classes: Array) -> int:
    return int(((distances > 0) != (classes == 1)).sum())


def _separates_sharply(distances: Array, classes: Array) -> bool:
    """Return whether rows are frequent near both sides of a threshold and almost none is on the wrong side.

    If classes overlap a little, few rows are near the threshold, and there are about as many mistakes as for normal
    distributions of the same means and variances. If the classes are the two sides of a threshold on the columns, rows
    are as frequent near it as elsewhere, and there are far fewer mistakes than that.
    """
    from scipy.stats import norm

    mistakes, expected, near = _count_mistakes(distances, classes), 0.0, []
    for side in (0, 1):
        own = distances[classes == side] * (1 if side else -1)
        if len(own) < MIN_LEAK_ROWS_OF_CLASS or own.std() == 0:
            return False
        expected += len(own) * float(norm.sf(own.mean() / own.std()))
        nearest, others = np.quantile(np.maximum(own, 0.0), [0.05, 0.2]).tolist()
        near.append(nearest / others if others > 0 else 1.0)
    has_few_mistakes = mistakes <= min(MAX_WRONG_SHARE * len(classes), MAX_MISTAKE_RATIO * expected)
    return has_few_mistakes and expected - mistakes >= MIN_FEWER_MISTAKES and float(np.mean(near)) < MAX_NEAR_RATIO


def _is_sharp(view: View, entry: Entry) -> bool:
    """Return whether the held-out probabilities of two classes separate them sharply."""
    if len(view.labels) != 2 or not entry.probabilistic:
        return False
    proba, truth = view.probabilities(entry)
    positive = np.clip(proba[:, -1], 1e-12, 1 - 1e-12)
    return _separates_sharply(np.log(positive) - np.log1p(-positive), truth.astype(int))


def _term(weight: float, name: str, *, first: bool) -> str:
    sign = "−" if weight < 0 else "" if first else "+"
    size = "" if abs(abs(weight) - 1) < 0.005 else f"{abs(weight):.3g} × "
    return f"{sign}{'' if first else ' '}{size}{name}"


def _power(weight: float, name: str) -> str:
    return name if abs(weight - 1) < 0.005 else f"{name}^{weight:.3g}"
