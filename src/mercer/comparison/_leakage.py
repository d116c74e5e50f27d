"""Checks of columns that give the target away, alone or together, and of scores that are too good to be true."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mercer._typing import Array
from mercer.application.shown import AMOUNTS
from mercer.comparison._check_result import CheckResult
from mercer.comparison._checks_of_data import time_series
from mercer.comparison._entry import Entry
from mercer.comparison._view import View, some_rows
from mercer.data import Kind
from mercer.report.wording import join_words

#: kinds of columns that may be terms of a sum
SUMMED = AMOUNTS | {Kind.CODE, Kind.BINARY}
#: rows of which a value is known, at least, and rows of the rarest class
FEWEST_ROWS, FEWEST_OF_CLASS = 20, 10
#: rank correlation from which a column orders the rows as the target does
SAME_ORDER = 0.999
#: share of the variance, or of the mistakes of a constant answer, that a column takes away: from here it gives the
#: target away by itself
GIVES_AWAY = 0.985
#: the same where a single value, or a gap, is all that matters, and how pure one side has to be
BY_ONE_VALUE, ONE_SIDED = 0.85, 0.995
#: values that recur at least so often on average are levels
ROWS_PER_LEVEL = 5
#: values of a column of numbers that are called values, not thresholds
FEW_VALUES = 10
#: columns that are looked at one by one: of more, those that differ most between rows of different targets
MOST_COLUMNS = 300
#: columns of a combination, rows that it is sought in, and the share of the variance that it leaves at most
MOST_TERMS, MOST_ROWS, LEFT_OVER = 6, 2_000, 1e-6
#: columns of a least-squares fit to all of them, rows for each, and columns that are left out of it one by one
MOST_FITTED, ROWS_PER_FITTED, MOST_TRIED = 300, 3, 60
#: columns that a sentence names
MOST_NAMED = 12
#: columns of a score that separates two classes, rows for each, and folds in which it is scored
MOST_SEPARATING, ROWS_PER_SEPARATING, FOLDS = 60, 10, 5
#: share of the rows on the wrong side of a threshold at most; share of the mistakes of normal distributions at most,
#: and how many fewer at least; how near to the threshold the nearest 5 % are beside the nearest 20 %, at most
WRONG_SIDE, FEWER_MISTAKES, MANY_FEWER, NEAR = 0.025, 0.25, 10, 0.45
#: share of the largest weight of a score below which a column has no part in it
NO_PART = 0.1
#: share of the variance explained on held-out rows from which a comparison is too good to be taken as it is; of
#: classes, the share of the baseline's mistakes that is avoided, and an accuracy where no more is known
TOO_MUCH_EXPLAINED, TOO_MUCH_AVOIDED, TOO_ACCURATE = 0.99, 0.95, 0.995
REMEDY = "Make sure that it is known when predictions are made; if it was recorded after the target, drop it."
REMEDY_OF_SEVERAL = (
    "Make sure that they are known when predictions are made; if one was recorded after the target or computed from "
    "it, drop it."
)


class ColumnEvidence(NamedTuple):
    """How much of the target a column tells by itself (0 to 1), and how, where it gives the target away."""

    name: str
    strength: float
    how: str = ""


def leakage(view: View) -> Iterator[CheckResult]:
    """Columns whose value alone gives the target away, and then others that tell almost as much."""
    trend = {column for found in time_series(view) for column in found.columns}
    certain = [found for found in _evidence(view) if found.how and found.name not in trend]
    for found in certain:
        yield CheckResult(f"Column {found.name!r} gives the target away: {found.how}.", REMEDY, (found.name,))
    if not certain:
        return
    what = "of the mistakes of a constant answer avoided" if _is_classes(view) else "of the variance explained"
    for found in _evidence(view):
        if not found.how and found.strength > BY_ONE_VALUE:
            sentence = (
                f"Column {found.name!r} tells almost as much of the target by itself: {found.strength:.1%} {what}."
            )
            yield CheckResult(sentence, REMEDY, (found.name,), "warning")


def combined(view: View) -> Iterator[CheckResult]:
    """Columns of numbers that add or multiply up to the target exactly, where none does so by itself.

    Classes are their labels, if these are numbers, or their ranks. Two classes may also be the two sides of a threshold
    on a sum.
    """
    if view not in _COMBINED:
        _COMBINED[view] = tuple(_combined(view))
    yield from _COMBINED[view]


_COMBINED: WeakKeyDictionary[View, tuple[CheckResult, ...]] = WeakKeyDictionary()


def _combined(view: View) -> Iterator[CheckResult]:
    alone = {found.name for found in _evidence(view) if found.how}
    kinds = {column.name: column.kind for column in view.schema}
    names = [name for name in view.table.names if kinds.get(name) in SUMMED and name not in alone]
    if view.sparse or len(names) < 2:
        return
    columns = [view.table.position(name) for name in names]
    columns = [j for j in columns if view.table.kinds[j].numeric]
    names = [view.table.names[j] for j in columns]
    if len(names) < 2:
        return
    rows = some_rows(len(view.target), MOST_ROWS)
    numbers = view.table.numbers(columns).astype(float)[rows]
    target = _numeric_target(view)
    target = None if target is None else target[rows]
    # of parts that add up, those that did not occur may be missing
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
        how = f"the target is {_written(sums, names)}, but for a constant"
    elif _is_classes(view):
        if len(view.labels) == 2:
            yield from _threshold(view, rows, numbers, names)
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
        f"Columns {join_words(used, MOST_NAMED)} together give the target away: {how}.", REMEDY_OF_SEVERAL, tuple(used)
    )


def _numeric_target(view: View) -> Array | None:
    """Return the numbers of the target: of classes their labels, or their ranks where there are two or an order."""
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


def _written(sums: dict[int, float], names: list[str]) -> str:
    if len(sums) > MOST_NAMED:
        return f"a weighted sum of these {len(sums)} columns"
    return " ".join(_term(weight, names[j], first=not k) for k, (j, weight) in enumerate(sums.items()))


def _threshold(view: View, rows: Array, numbers: Array, names: list[str]) -> Iterator[CheckResult]:
    """Two classes that are the two sides of a threshold on a sum of columns."""
    found = _separating_terms(numbers, view.target[rows].astype(int))
    if found is None:
        return
    sums, limit, mistakes, n = found
    used = [names[j] for j in sums]
    right = "without a mistake" if not mistakes else f"correctly in {n - mistakes:,} of {n:,} rows"
    terms = _written(sums, names)
    how = f"the target is {view.labels[1]!r} where {terms} is above {limit:.3g}, {right}"
    yield CheckResult(
        f"Columns {join_words(used, MOST_NAMED)} together give the target away: {how}.", REMEDY_OF_SEVERAL, tuple(used)
    )


def too_good(view: View) -> Iterator[CheckResult]:
    """A held-out score that is almost perfect, where no other check says why.

    Classes may be far apart in honest data. The score is doubtful where a single column tells much, or where rows are
    frequent on both sides of the decision and hardly one is on the wrong side.
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
        avoided = _avoided(reached, view.target.astype(int))
        sharp = avoided > TOO_MUCH_AVOIDED and _is_sharp(view, best)
        is_good = avoided > TOO_MUCH_AVOIDED and (sharp or reached >= TOO_ACCURATE)
    else:
        is_good = reached >= TOO_MUCH_EXPLAINED
    if not is_good or any(leakage(view)) or any(combined(view)) or any(time_series(view)):
        return
    strongest = sorted(_evidence(view), key=lambda found: -found.strength)[:3]
    heading = "accuracy" if classes else "R²"
    named = [f"{found.name!r} ({found.strength:.2f})" for found in strongest if found.strength > 0]
    what = "share of mistakes avoided" if classes else "share of the variance explained"
    by_columns = f" The columns that tell most of the target by themselves are {join_words(named)}, by the {what}."
    columns = tuple(found.name for found in strongest)
    if not classes and len(view.amounts) > 1:
        rows = some_rows(len(view.target), MOST_ROWS)
        sums = _exact_terms(view.numbers[rows], view.target[rows].astype(float), 1 - TOO_MUCH_EXPLAINED)
        if sums:
            columns = tuple(view.amounts[j] for j in sums)
            named = [f"{name!r}" for name in columns]
            by_columns = (
                f" A sum of {join_words(named)} alone explains {TOO_MUCH_EXPLAINED:.0%} of its variance or more."
            )
    suspicious = not classes or sharp or (bool(strongest) and strongest[0].strength > BY_ONE_VALUE)
    yield CheckResult(
        f"{model} reaches {heading} {reached:.4f} on rows that it was not fitted to, which is "
        f"{'too good to be taken as it is' if suspicious else 'very good'}.{by_columns if named else ''}",
        "Leave out columns that are not known when predictions are made (--drop), and rows that are in the table "
        "twice; keep rows of one thing (a patient, a country) together (--group).",
        columns,
        "warning" if suspicious else "note",
    )


def _is_classes(view: View) -> bool:
    return getattr(view.comparison.task, "labels", None) is not None


def _evidence(view: View) -> tuple[ColumnEvidence, ...]:
    """Return what each column tells of the target by itself; computed once for a view."""
    if view not in _FOUND:
        _FOUND[view] = tuple(_examined(view))
    return _FOUND[view]


_FOUND: WeakKeyDictionary[View, tuple[ColumnEvidence, ...]] = WeakKeyDictionary()


def _examined(view: View) -> Iterator[ColumnEvidence]:
    if view.sparse or len(np.unique(view.target)) < 2:
        return
    of_classes = _is_classes(view)
    if of_classes:
        counts = np.bincount(view.target.astype(int))
        if counts[counts > 0].min() < FEWEST_OF_CLASS and (counts >= FEWEST_OF_CLASS).sum() < 2:
            return
    columns = list(view.schema)
    if len(columns) > MOST_COLUMNS:
        kept = _most_telling(view)
        columns = [column for column in columns if column.name in kept or column.name not in view.amounts]
    for column in columns[: 2 * MOST_COLUMNS]:
        j = view.table.names.index(column.name)
        codes = view.table.coded(j).codes
        numbers = view.table.kinds[j].numeric and column.kind is not Kind.DATE
        values = view.table.numbers([j])[:, 0].astype(float) if numbers else None
        named = column.kind in (Kind.IDENTIFIER, Kind.TEXT, Kind.DATE, Kind.CONSTANT)
        if of_classes:
            yield _of_classes(view, column.name, codes, values, only_gaps=named)
        elif not named:
            yield _of_numbers(view, column.name, codes, values)


def _most_telling(view: View) -> set[str]:
    """Return the columns of numbers that differ most between targets: a screen by correlations, in one product."""
    numbers = np.nan_to_num(view.numbers - np.nanmean(view.numbers, axis=0))
    spread = np.sqrt(np.square(numbers).sum(axis=0))
    target = view.target.astype(int)
    responses = np.eye(target.max() + 1)[target] if _is_classes(view) else view.target[:, None].astype(float)
    responses = responses - responses.mean(axis=0)
    responses /= np.maximum(np.sqrt(np.square(responses).sum(axis=0)), 1e-300)
    correlations = np.abs(numbers.T @ responses).max(axis=1) / np.where(spread > 0, spread, np.inf)
    return {view.amounts[j] for j in np.argsort(-correlations, kind="stable")[:MOST_COLUMNS].tolist()}


# Of a target of numbers.


def _of_numbers(view: View, name: str, codes: Array, values: Array | None) -> ColumnEvidence:
    known = (codes >= 0) & (np.isfinite(values) if values is not None else True)
    if known.sum() < FEWEST_ROWS or known.mean() < 0.5:
        return ColumnEvidence(name, 0.0)
    codes, target = codes[known], view.target[known].astype(float)
    if target.std() == 0 or len(np.unique(codes)) < 2:
        return ColumnEvidence(name, 0.0)
    order = 0.0
    if values is not None:
        order = _rank_correlation(values[known], target)
        straight = abs(float(np.corrcoef(values[known], target)[0, 1]))
        if straight > 0.9999:
            return ColumnEvidence(name, 1.0, "its correlation with the target is 1")
        if abs(order) > SAME_ORDER:
            how = "in the same order as" if order > 0 else "in the opposite order of"
            return ColumnEvidence(name, 1.0, f"it puts the rows {how} the target (rank correlation {order:.4f})")
    levels = len(np.unique(codes)) * ROWS_PER_LEVEL <= len(codes)
    share = _explained_by_levels(codes, target) if levels else 0.0
    if share > GIVES_AWAY:
        how = f"its {len(np.unique(codes)):,} values explain {share:.1%} of the variance of the target"
        return ColumnEvidence(name, share, how)
    return ColumnEvidence(name, max(share, order * order))


def _rank_correlation(x: Array, y: Array) -> float:
    from scipy.stats import rankdata

    first, second = rankdata(x), rankdata(y)
    return float(np.corrcoef(first, second)[0, 1]) if first.std() > 0 and second.std() > 0 else 0.0


def _explained_by_levels(codes: Array, target: Array) -> float:
    """Return the share of the variance explained by means of levels, each row left out of its own."""
    _, levels = np.unique(codes, return_inverse=True)
    n = np.bincount(levels)
    residual = target - (np.bincount(levels, target) / n)[levels]
    # a row that is left out is further from the mean of the others: by n / (n − 1)
    alone = n[levels] == 1
    residual = np.where(alone, target - target.mean(), residual * n[levels] / np.maximum(n[levels] - 1, 1))
    return float(max(0.0, 1 - np.square(residual).mean() / target.var()))


# Of a target of classes.


def _of_classes(view: View, name: str, codes: Array, values: Array | None, *, only_gaps: bool) -> ColumnEvidence:
    known, classes = codes >= 0, view.target.astype(int)
    labels = [str(label) for label in view.comparison.task.labels.tolist()]  # type: ignore[attr-defined]
    if (found := _by_one_value(name, ~known, classes, "it is missing", "it is known", labels, pure=0.0)).how:
        return found
    if only_gaps or known.sum() < FEWEST_ROWS or known.mean() < 0.5:
        return ColumnEvidence(name, 0.0)
    codes, classes = codes[known], classes[known]
    levels = len(np.unique(codes)) * ROWS_PER_LEVEL <= len(codes)
    share = _avoided_by_levels(codes, classes) if levels else 0.0
    if values is not None:
        numbers = values[known]
        by_levels, share = share, max(share, _avoided_by_thresholds(numbers, classes))
        if by_levels > GIVES_AWAY and len(np.unique(codes)) <= FEW_VALUES:
            return ColumnEvidence(name, by_levels, f"its value alone gives the class {_how_well(by_levels, classes)}")
        if share > GIVES_AWAY:
            return ColumnEvidence(name, share, f"thresholds on it separate the classes {_how_well(share, classes)}")
        common = np.unique(codes)[np.argmax(np.unique(codes, return_counts=True)[1])]
        value = f"{numbers[codes == common][0]:g}"
        at = _by_one_value(
            name, codes == common, classes, f"it is {value}", f"it is not {value}", labels, pure=ONE_SIDED
        )
        if at.how:
            return at
    elif share > GIVES_AWAY:
        return ColumnEvidence(name, share, f"its value alone gives the class {_how_well(share, classes)}")
    return ColumnEvidence(name, share)


def _how_well(share: float, classes: Array) -> str:
    """Return how many rows are right where this share of the mistakes of a constant answer is avoided."""
    base = np.bincount(classes).max() / len(classes)
    return "without a mistake" if share >= 1 else f"correctly in {base + share * (1 - base):.2%} of the rows"


def _avoided(right: float, classes: Array) -> float:
    """Return the share of the mistakes of the most frequent class that are avoided."""
    base = np.bincount(classes).max() / len(classes)
    return float((right - base) / (1 - base)) if base < 1 else 0.0


def _avoided_by_levels(codes: Array, classes: Array) -> float:
    """By the most frequent class of each level among its other rows."""
    _, levels = np.unique(codes, return_inverse=True)
    counts = np.zeros((levels.max() + 1, classes.max() + 1))
    np.add.at(counts, (levels, classes), 1)
    others = counts[levels]
    others[np.arange(len(classes)), classes] -= 1
    usual = np.bincount(classes).argmax()
    decided = np.where(others.sum(axis=1) > 0, others.argmax(axis=1), usual)
    return max(0.0, _avoided(float((decided == classes).mean()), classes))


def _avoided_by_thresholds(values: Array, classes: Array) -> float:
    """By thresholds that give each class an interval of values, the classes in the order of their medians."""
    order = np.argsort(values, kind="stable")
    x, y = values[order], classes[order]
    medians = {k: np.median(x[y == k]) for k in np.unique(y).tolist()}
    ends = np.flatnonzero(np.append(np.diff(x) > 0, True)) + 1  # thresholds lie between different values
    right = np.full(len(ends) + 1, -np.inf)  # most rows decided rightly up to each threshold
    right[0] = 0.0
    for k in sorted(medians, key=medians.__getitem__):
        of_class = np.concatenate([[0], np.cumsum(y == k)[ends - 1]])
        right = np.maximum.accumulate(right - of_class) + of_class
    return max(0.0, _avoided(float(right[-1]) / len(y), classes))


def _by_one_value(
    name: str, at: Array, classes: Array, there: str, elsewhere: str, labels: list[str], *, pure: float
) -> ColumnEvidence:
    """Whether one value, or a gap, tells the class: where one side is (almost) a single class, and the other not."""
    if min(at.sum(), (~at).sum()) < FEWEST_OF_CLASS:
        return ColumnEvidence(name, 0.0)
    sides = []
    for side in (at, ~at):
        counts = np.bincount(classes[side])
        sides.append((int(counts.argmax()), counts.max() / side.sum()))
    (first, share), (second, rest) = sides
    right = (share * at.sum() + rest * (~at).sum()) / len(at)
    strength = max(0.0, _avoided(float(right), classes))
    if first == second or strength < BY_ONE_VALUE or max(share, rest) < pure:
        return ColumnEvidence(name, strength)
    how = (
        f"where {there}, the target is {labels[first]!r} in {share:.1%} of {at.sum():,} rows, and where {elsewhere}, "
        f"{labels[second]!r} in {rest:.1%} of {(~at).sum():,}"
    )
    return ColumnEvidence(name, strength, how)


# Of several columns together.


def _exact_terms(numbers: Array, target: Array, left_over: float = LEFT_OVER) -> dict[int, float]:
    """Return the weights of the few columns that add up to the target, by orthogonal matching pursuit.

    They leave at most the share `left_over` of the variance; where no few columns do, there are none.
    """
    rows, complete = _complete(numbers)
    X, y = numbers[rows][:, complete], target[rows]
    places = np.flatnonzero(complete)
    X, y = X - X.mean(axis=0), y - y.mean()
    scale = np.sqrt(np.square(X).sum(axis=0))
    keep = scale > 0
    X, places, scale = X[:, keep] / scale[keep], places[keep], scale[keep]
    total = float(y @ y)
    if total == 0 or not X.shape[1] or len(y) < FEWEST_ROWS:
        return {}
    chosen: list[int] = []
    residual, weights = y, np.zeros(0)
    while len(chosen) < min(MOST_TERMS, X.shape[1], len(y) // 5):
        correlations = np.abs(X.T @ residual)
        correlations[chosen] = -1.0
        chosen.append(int(correlations.argmax()))
        weights = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
        residual = y - X[:, chosen] @ weights
        if residual @ residual <= left_over * total:
            break
    else:
        return {}
    # columns that were chosen on the way, and are not needed
    needed = [j for j, weight in zip(chosen, weights.tolist(), strict=True) if weight**2 > 1e-4 * total]
    weights = np.linalg.lstsq(X[:, needed], y, rcond=None)[0]
    left = y - X[:, needed] @ weights
    if len(needed) < 2 or left @ left > 2 * left_over * total:
        return {}
    terms = {int(places[j]): float(weight / scale[j]) for j, weight in zip(needed, weights.tolist(), strict=True)}
    return dict(sorted(terms.items(), key=lambda term: term[1] < 0))  # what is added first


def _complete(numbers: Array) -> tuple[Array, Array]:
    """Return the rows and the columns without gaps: all columns, or all rows where most of them have gaps."""
    columns, rows = (np.asarray(np.isfinite(numbers).all(axis=axis)) for axis in (0, 1))
    if rows.sum() < max(FEWEST_ROWS, 0.5 * len(rows)):
        return np.ones(len(rows), dtype=bool), columns
    return rows, np.ones(numbers.shape[1], dtype=bool)


def _exact_sum(numbers: Array, target: Array) -> dict[int, float]:
    """Return the weights of columns that add up to the target, by least squares of all columns.

    Of columns that depend on each other there are many such weights: those are kept that no other columns replace.
    There are none where columns are too many for the rows, so that any target is a sum of them, or for the work.
    """
    rows, complete = _complete(numbers)
    X, y = numbers[rows][:, complete], target[rows]
    X, y = X - X.mean(axis=0), y - y.mean()
    scale = np.sqrt(np.square(X).sum(axis=0))
    keep = scale > 0
    X, places, scale = X[:, keep] / scale[keep], np.flatnonzero(complete)[keep], scale[keep]
    total, size = float(y @ y), X.shape[1]
    if total == 0 or size < 2 or size > MOST_FITTED or len(y) < max(FEWEST_ROWS, ROWS_PER_FITTED * size):
        return {}
    Q, R = np.linalg.qr(X)
    z = Q.T @ y
    outside = max(total - float(z @ z), 0.0)  # what no weights explain

    def fit(columns: list[int]) -> tuple[Array, float]:
        weights = np.linalg.lstsq(R[:, columns], z, rcond=1e-10)[0]
        return weights, outside + float(np.square(z - R[:, columns] @ weights).sum())

    kept = list(range(size))
    weights, left = fit(kept)
    if left > LEFT_OVER * total:
        return {}
    needed = [j for j, weight in zip(kept, weights.tolist(), strict=True) if weight**2 > 1e-6 * total]
    kept = needed if fit(needed)[1] <= 2 * LEFT_OVER * total else kept
    if len(kept) <= MOST_TRIED:
        weights, _ = fit(kept)
        for j in [kept[k] for k in np.argsort(np.abs(weights), kind="stable").tolist()]:
            fewer = [each for each in kept if each != j]
            if fewer and fit(fewer)[1] <= 2 * LEFT_OVER * total:
                kept = fewer
    weights, _ = fit(kept)
    terms = {int(places[j]): float(weight / scale[j]) for j, weight in zip(kept, weights.tolist(), strict=True)}
    return dict(sorted(terms.items(), key=lambda term: term[1] < 0)) if len(terms) > 1 else {}


# Of a threshold between two classes.


def _separating_terms(numbers: Array, classes: Array) -> tuple[dict[int, float], float, int, int] | None:
    """Return the weights of a sum whose threshold separates two classes, the threshold, its mistakes, and the rows.

    None where there is no such sum, or where the classes are far apart, as in honest data: see `_separates_sharply`.
    """
    from sklearn.model_selection import StratifiedKFold

    rows, complete = _complete(numbers)
    X, y = numbers[rows][:, complete], classes[rows]
    places, spread = np.flatnonzero(complete), X.std(axis=0)
    X, places = X[:, spread > 0], places[spread > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if min(np.bincount(y, minlength=2)) < max(FEWEST_OF_CLASS, FOLDS):
        return None
    most = min(MOST_SEPARATING, len(y) // ROWS_PER_SEPARATING)
    if X.shape[1] > most:
        strongest = np.sort(np.argsort(-np.abs(X.T @ (y - y.mean())), kind="stable")[:most])
        X, places = X[:, strongest], places[strongest]
    if X.shape[1] < 2 or _mistakes(_distances(X, y, X), y) > WRONG_SIDE * len(y):
        return None
    held_out = np.zeros(len(y))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y):
        held_out[test] = _distances(X[train], y[train], X[test])
    if not _separates_sharply(held_out, y):
        return None
    weights, _ = _separator(X, y)
    part = np.abs(weights) > NO_PART * np.abs(weights).max()
    if part.sum() < 2:
        return None
    weights, constant = _separator(X[:, part], y)
    mistakes = _mistakes(X[:, part] @ weights + constant, y)
    if mistakes > WRONG_SIDE * len(y):
        return None
    used = places[part]
    mean, scale = (getattr(numbers[rows][:, used], name)(axis=0) for name in ("mean", "std"))
    weights, constant = weights / scale, constant - float(weights @ (mean / scale))
    unit = float(np.abs(weights).min())
    sums = {int(j): float(weight / unit) for j, weight in zip(used, weights.tolist(), strict=True)}
    sums = dict(sorted(sums.items(), key=lambda term: term[1] < 0))
    return sums, -constant / unit, mistakes, len(y)


def _separator(X: Array, y: Array) -> tuple[Array, float]:
    """Return weights and constant of a logistic regression that is hardly penalised."""
    from sklearn.linear_model import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of separable classes there is no optimum
        model = LogisticRegression(C=1e4, max_iter=300).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


def _distances(X: Array, y: Array, others: Array) -> Array:
    """Return the distances of other rows from the boundary between two classes, those of the first below 0."""
    weights, constant = _separator(X, y)
    return np.asarray((others @ weights + constant) / np.linalg.norm(weights))


def _mistakes(distances: Array, classes: Array) -> int:
    return int(((distances > 0) != (classes == 1)).sum())


def _separates_sharply(distances: Array, classes: Array) -> bool:
    """Whether rows are frequent on both sides of a threshold, and hardly one is on the wrong side.

    Of classes that overlap a little, few rows are near the threshold, and the mistakes are about as many as normal
    distributions of the same means and variances make. Of two sides of a threshold on what the columns hold, the rows
    do not become fewer near to it, and there are far fewer mistakes than that.
    """
    from scipy.stats import norm

    mistakes, expected, near = _mistakes(distances, classes), 0.0, []
    for side in (0, 1):
        own = distances[classes == side] * (1 if side else -1)
        if len(own) < FEWEST_OF_CLASS or own.std() == 0:
            return False
        expected += len(own) * float(norm.sf(own.mean() / own.std()))
        nearest, others = np.quantile(np.maximum(own, 0.0), [0.05, 0.2]).tolist()
        near.append(nearest / others if others > 0 else 1.0)
    few = mistakes <= min(WRONG_SIDE * len(classes), FEWER_MISTAKES * expected)
    return few and expected - mistakes >= MANY_FEWER and float(np.mean(near)) < NEAR


def _is_sharp(view: View, entry: Entry) -> bool:
    """Whether the held-out probabilities of two classes separate them sharply."""
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
