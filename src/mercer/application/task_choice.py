"""Choose the task of a target from its values and their relation to the columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError, EmptyDataError
from mercer._typing import Array
from mercer.application.tasks import AmountTask, ClassificationTask, CountTask, OrderedTask, RegressionTask, Task
from mercer.data import Table
from mercer.data.labels import declared_order, encode_labels

TASKS = (ClassificationTask.name, OrderedTask.name, RegressionTask.name, AmountTask.name, CountTask.name)

#: integers with more distinct values are counts or amounts, not classes
MAX_INTEGER_CLASSES = 30
#: mean number of rows per distinct value below which values are not classes
MIN_ROWS_PER_VALUE = 3
#: nats per row by which a log scale must fit better to be chosen
MIN_LOG_SCALE_GAIN = 0.03
#: dispersion, relative to Poisson counts, above which integers are measurements
MIN_MEASURED_DISPERSION = 3.0

#: words of common scales, lowest first
WORD_SCALES = (
    ("none", "very low", "low", "medium", "high", "very high"),
    ("none", "low", "moderate", "high", "severe"),
    ("none", "mild", "moderate", "severe", "very severe"),
    ("minor", "moderate", "major", "critical"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("tiny", "small", "medium", "large", "huge"),
    ("very bad", "bad", "average", "good", "very good"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("poor", "average", "good", "excellent"),
    ("fair", "good", "very good", "premium", "ideal"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "seldom", "sometimes", "often", "always"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("much too little", "too little", "about right", "too much", "much too much"),
    ("beginner", "intermediate", "advanced", "expert"),
    ("bronze", "silver", "gold", "platinum"),
)

_USE_CLASSES = "Use --task classification to treat them as classes."
_USE_COUNTS = "Use --task counts if they are counts."

# Comparisons of tasks by linear fits to a sample of the rows.
#
# Each function fits to one half of the sampled rows and measures on the other, and vice versa, so that a column that
# fits by chance has no effect. A few thousand rows and a few dozen features take some hundredths of a second.


class Orderliness(NamedTuple):
    """Shares of the variance of class indicators explained by linear scores per class, and by one ordered score."""

    nominal: float
    ordered: float

    @property
    def contradicts_order(self) -> bool:
        """True if one score for all classes explains much less than separate scores."""
        return self.nominal > 0.05 and self.ordered < 0.6 * self.nominal

    @property
    def supports_order(self) -> bool:
        """True if one score explains nearly as much as separate scores, and more than nothing."""
        return self.ordered > 0.01 and self.ordered >= 0.75 * self.nominal


def sample_rows(n_rows: int, most: int = 2_000) -> Array:
    """Return positions of at most `most` rows, drawn with a fixed seed, in random order."""
    return np.random.default_rng(0).permutation(n_rows)[:most]


def quick_features(
    table: Table, rows: Array, *, most_columns: int = 60, most_levels: int = 12, most_features: int = 200
) -> Array:
    """Return standardized columns of the sampled rows: numbers with missing values filled, and indicators of levels.

    Columns after the first `most_columns`, or after `most_features` features, are left out, and so is a sequence that
    numbers the rows in file order, because it may follow a sorted target.
    """
    if table.library == "scipy":
        matrix = table.matrix()[rows]
        spread = np.asarray(abs(matrix).sum(axis=0)).ravel()
        busiest = np.sort(np.argsort(-spread, kind="stable")[:most_columns])
        return _standardize(np.asarray(matrix[:, busiest].todense(), dtype=float))
    sample = table.take(rows)
    parts: list[Array] = []
    for column in range(min(table.n_columns, most_columns)):
        if sum(part.shape[1] for part in parts) >= most_features:
            break
        if table.kinds[column].numeric:
            values = sample.numbers([column]).astype(float)
            known = np.isfinite(values)
            if known.any() and not _is_row_number(values[:, 0], rows):
                parts.append(np.where(known, values, values[known].mean()))
        else:
            coded = sample.coded(column)
            sizes = np.bincount(coded.codes[coded.codes >= 0], minlength=1)
            if np.count_nonzero(sizes) <= len(rows) // 10:
                levels = np.argsort(-sizes, kind="stable")[:most_levels]
                parts.append((coded.codes[:, None] == levels[None, :]).astype(float))
    return _standardize(np.hstack(parts)) if parts else np.empty((len(rows), 0))


def log_scale_gain(features: Array, y: Array) -> float:
    """Return the gain in log density of a log-normal over a normal for held-out rows, in nats per row; y is positive.

    The mean of each is linear in the features, with one variance; the density of log y is converted to that of y.
    """
    logs = np.log(y)
    normal = _held_out_variance(features, y)
    lognormal = _held_out_variance(features, logs)
    if not (normal > 0 and lognormal > 0):
        return 0.0
    return float(0.5 * np.log(normal) - 0.5 * np.log(lognormal) - logs.mean())


def log_dispersion(features: Array, y: Array) -> float:
    """Return the variance of log y about a held-out linear fit, relative to Poisson counts of the same mean; y ≥ 1.

    The variance of the logarithm of a Poisson variable is 1/mean, to first order.
    """
    return _held_out_variance(features, np.log(y)) * float(y.mean())


def orderliness(features: Array, codes: Array, n_classes: int) -> Orderliness:
    """Return how well classes are explained by separate scores, and by one score with ordered thresholds."""
    membership = np.equal.outer(codes, np.arange(n_classes)).astype(float)
    total = _sum_of_squares(membership, _cross_fit(np.empty((len(codes), 0)), membership))
    if total <= 0 or not features.shape[1]:
        return Orderliness(0.0, 0.0)
    fitted = _cross_fit(features, np.column_stack([membership, codes]))
    linear, score = _sum_of_squares(membership, fitted[:, :-1]), fitted[:, -1]
    discriminant = _sum_of_squares(membership, _cross_fit_discriminant(features, codes, n_classes))
    ordered = min(
        _sum_of_squares(membership, _ordered_probabilities(score, membership, width)) for width in (0.25, 0.5, 1.0, 2.0)
    )
    return Orderliness(1 - min(linear, discriminant) / total, 1 - ordered / total)


def _cross_fit_discriminant(features: Array, codes: Array, n_classes: int) -> Array:
    """Return class probabilities of a linear discriminant that is fitted to the other half of the rows."""
    probabilities = np.empty((len(codes), n_classes))
    halves = np.arange(len(codes)) % 2 == 0
    for test in (halves, ~halves):
        X, y = features[~test], codes[~test]
        sizes = np.bincount(y, minlength=n_classes)
        means = np.array([X[y == code].mean(axis=0) if sizes[code] else X.mean(axis=0) for code in range(n_classes)])
        within = X - means[y]
        covariance = within.T @ within / len(y) + 0.05 * np.eye(X.shape[1])
        weights = np.linalg.solve(covariance, means.T)
        scores = features[test] @ weights - 0.5 * np.einsum("kj,jk->k", means, weights)
        with np.errstate(divide="ignore"):
            scores += np.log(sizes / len(y))
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities[test] = scores / scores.sum(axis=1, keepdims=True)
    return probabilities


def _ordered_probabilities(score: Array, membership: Array, width: float) -> Array:
    """Return ordered probabilities P(class ≤ k) = Φ((θₖ − score)/σ), with θₖ such that each class has its share.

    σ is `width` residual standard deviations of the score about the codes.
    """
    from scipy.special import ndtr

    codes = membership.argmax(axis=1)
    spread = max(width * float(np.std(codes - score)), 1e-9)
    shares = np.cumsum(membership.mean(axis=0))[:-1]
    low = np.full(len(shares), score.min() - 10 * spread)
    high = np.full(len(shares), score.max() + 10 * spread)
    for _ in range(30):  # bisection for all thresholds at once
        middle = (low + high) / 2
        below = ndtr((middle - score[:, None]) / spread).mean(axis=0) < shares
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    cumulative = ndtr((high - score[:, None]) / spread)
    edges = np.zeros((len(score), 1))
    return np.diff(np.hstack([edges, cumulative, edges + 1]), axis=1)


def _cross_fit(features: Array, targets: Array) -> Array:
    """Predict each half of the rows by a ridge regression fitted to the other."""
    n = len(targets)
    predicted = np.empty_like(targets)
    halves = np.arange(n) % 2 == 0
    for test in (halves, ~halves):
        X, Y = features[~test], targets[~test]
        level = Y.mean(axis=0)
        predicted[test] = level
        if features.shape[1] and len(Y) > 2:
            center = X.mean(axis=0)
            X = X - center
            penalty = max(1.0, 0.01 * len(Y)) * np.eye(X.shape[1])
            predicted[test] += (features[test] - center) @ np.linalg.solve(X.T @ X + penalty, X.T @ (Y - level))
    return predicted


def _held_out_variance(features: Array, y: Array) -> float:
    return float(np.square(y - _cross_fit(features, y[:, None])[:, 0]).mean())


def _sum_of_squares(targets: Array, predicted: Array) -> float:
    return float(np.square(targets - predicted).sum())


def _standardize(columns: Array) -> Array:
    """Standardize columns and clip them at 8 standard deviations; constant columns are left out."""
    spread = columns.std(axis=0)
    kept = np.isfinite(spread) & (spread > 1e-12 * np.abs(columns).max(axis=0, initial=1.0))
    scaled = (columns[:, kept] - columns[:, kept].mean(axis=0)) / spread[kept]
    return np.asarray(np.clip(scaled, -8.0, 8.0))


def _is_row_number(values: Array, rows: Array) -> bool:
    """Return whether integers strictly increase or decrease with the position in the file."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    steps = np.diff(values[np.argsort(rows)])
    return len(values) > 2 and bool((steps > 0).all() or (steps < 0).all())


class TaskDecision(NamedTuple):
    """The name of a task, the evidence in words, and a sentence on the option for another task."""

    task: str
    reason: str
    alternative: str = ""


def task_for(
    y: Any, n_rows: int, name: str = "auto", *, X: Table | None = None, target: str = "", order: Any = None
) -> Task:
    """Return the task with this name for a target, or by default the task that the evidence supports best.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The target. An ordered categorical (of pandas or pyarrow) has ordered classes.
    n_rows : int
        Number of rows of X.
    name : str, default="auto"
        One of `TASKS`, or "auto".
    X : Table, default=None
        The columns; their relation to the target is evidence for integers and for positive numbers.
    target : str, default=""
        Name of the target, for `Task.reason`.
    order : sequence of labels, default=None
        Labels from lowest to highest; the task is then "ordered".

    Examples
    --------
    >>> task_for([0.5, -1.5], 2).name, task_for(["a", "b"], 2).name, task_for([0, 1, 1, 0], 4).name
    ('regression', 'classification', 'classification')
    >>> visits = [0] * 60 + [1] * 25 + [2] * 9 + [3] * 4 + [4, 7]
    >>> task_for(visits, 100, target="visits").reason
    'visits is read as counts: whole numbers from 0 to 7, of which larger ones are rarer. Use --task classification to \
treat them as classes.'
    """
    if n_rows == 0:
        raise EmptyDataError("There are no rows to compare models on.")
    values = np.asarray(y)
    levels = declared_order(y) if order is None else order
    if levels is None and name in ("auto", OrderedTask.name):
        levels = order_of_scale(values)
    if values.ndim == 1 and len(values) != n_rows:
        raise DataError(f"X has {n_rows} rows, but y has {len(values)} labels. Give one label per row.")
    if name not in (*TASKS, "auto"):
        raise DataError(f"There is no task {name!r}; it is one of {', '.join(TASKS)} or auto.")
    if order is not None and name not in ("auto", OrderedTask.name):
        raise DataError(f"An order of labels is for the task ordered, not for {name}; leave one of them out.")
    called = target or str(getattr(y, "name", None) or "The target")
    if order is not None:
        name, reason = OrderedTask.name, f"{called} is read as ordered classes, in the given order."
    elif name == "auto":
        name, evidence, alternative = choose_task(values, X, levels)
        reason = f"{called} is read as {describe_values(name)}: {evidence}.{f' {alternative}' if alternative else ''}"
    else:
        reason = f"{called} is read as {describe_values(name)}, as given by the task {name}."
    match name:
        case "classification":
            return ClassificationTask(*encode_labels(y), reason)
        case "ordered":
            return OrderedTask(*_ordered_labels(values, levels), reason)
        case "regression":
            return RegressionTask(_to_floats(values), reason)
        case "amounts":
            return AmountTask(_check_amounts(_to_floats(values)), reason)
    return CountTask(_check_counts(_to_floats(values)), reason)


def order_of_scale(y: Array) -> list[Any] | None:
    """Return the labels of a target lowest first if they are three or more words of a common scale, else None.

    Examples
    --------
    >>> order_of_scale(np.array(["High", "Low", "Medium", "Low"]))
    ['Low', 'Medium', 'High']
    """
    if y.ndim != 1 or y.dtype.kind not in "OU":
        return None
    most = max(map(len, WORD_SCALES))
    labels: dict[str, Any] = {}
    for label in y.tolist():
        if not isinstance(label, str):
            return None
        labels.setdefault(_normalize_word(label), label)
        if len(labels) > most:
            return None
    scale = next((scale for scale in WORD_SCALES if len(labels) > 2 and labels.keys() <= set(scale)), None)
    if scale is None or len(set(y.tolist())) > len(labels):  # different spellings of a word are different labels
        return None
    return [labels[word] for word in scale if word in labels]


def _normalize_word(label: str) -> str:
    return " ".join(label.casefold().replace("_", " ").replace("-", " ").split())


def choose_task(y: Array, X: Table | None = None, levels: Sequence[Any] | None = None) -> TaskDecision:
    """Choose the task that the values of a target and its relation to the columns support best."""
    if levels is not None:
        if len(levels) > 2:
            low, *_, high = levels
            return TaskDecision("ordered", f"{len(levels)} labels from {low!r} to {high!r}", _USE_CLASSES)
        return TaskDecision("classification", "it has two labels")
    if y.dtype.kind not in "iuf" or y.ndim != 1 or not np.isfinite(y).all():
        # `encode_labels` raises if values cannot be labels
        several = y.ndim == 1 and len(set(map(str, y[:10_000].tolist()))) > 2
        alternative = "Use --order low,medium,high if they have such an order." if several else ""
        return TaskDecision("classification", "its values are labels, not numbers", alternative)
    if (y != np.floor(y)).any():
        if y.min() < 0:
            return TaskDecision("regression", "some values are below 0")
        return _choose_for_positive(y, X, f"values from {_readable(y.min())} to {_readable(y.max())}")
    return _choose_for_integers(y, X)


def describe_values(name: str) -> str:
    """Return the values of the target of a task in words."""
    return {
        "classification": "classes",
        "ordered": "ordered classes",
        "regression": "numbers",
        "amounts": "positive amounts",
    }.get(name, name)


# Integers.


class IntegerTarget:
    """The distinct integers of a target, with their frequencies and properties of both."""

    def __init__(self, y: Array) -> None:
        # frequencies are those of a sample, and the range is that of all rows
        self.values, self.counts = np.unique(y[:: max(1, len(y) // 100_000)], return_counts=True)
        self.y, self.low, self.high = y, float(y.min()), float(y.max())

    @property
    def can_be_classes(self) -> bool:
        """True if values are few enough, and frequent enough, for a class each."""
        rows_per_value = self.counts.sum() / len(self.values)
        return len(self.values) <= MAX_INTEGER_CLASSES and rows_per_value >= MIN_ROWS_PER_VALUE

    @property
    def is_contiguous(self) -> bool:
        """True if every integer of the range occurs."""
        return self.high - self.low + 1 == len(self.values)

    @property
    def is_skewed_from_0_or_1(self) -> bool:
        """True if values begin at 0 or 1 and larger ones are rarer, as among counts."""
        position = (np.median(self.y) - self.low) / (self.high - self.low)
        largest_is_rare = self.counts[-1] * 10 <= self.counts.max()
        return self.low in (0, 1) and bool(position < 0.45 and largest_is_rare and _skewness(self.y) > 0.5)

    @property
    def has_decreasing_frequencies(self) -> bool:
        """True if each value is clearly rarer than the next smaller one."""
        return bool((self.counts[1:] <= 0.75 * self.counts[:-1]).all())

    @property
    def n_turns(self) -> int:
        """Number of changes between rising and falling frequencies, without small changes."""
        changes = np.diff(self.counts)
        changes = np.sign(changes[np.abs(changes) > 0.05 * self.counts.max()])
        return int((np.diff(changes) != 0).sum())

    @property
    def is_scale(self) -> bool:
        """True if four or more consecutive integers between 0 and 10 occur."""
        return 4 <= len(self.values) <= 11 and self.is_contiguous and self.low >= 0 and self.high <= 10

    @property
    def is_common_scale(self) -> bool:
        """True if values fill 1 to 5, 1 to 7, 1 to 10 or 0 to 10, and frequencies rise and fall at most once."""
        usual = (self.low, self.high) in ((1, 5), (1, 7), (1, 10), (0, 10))
        return usual and self.is_contiguous and self.n_turns <= 1 and bool(self.counts.max() >= 1.3 * self.counts.min())

    @property
    def has_smooth_frequencies(self) -> bool:
        """True if there are many values, and adjacent ones are about equally frequent, as in measurements."""
        if len(self.values) <= 10 or not self.is_contiguous:
            return False
        deviations = self.counts - self.counts.mean()
        squares = float(deviations @ deviations)
        return squares > 0 and float(deviations[1:] @ deviations[:-1]) / squares > 0.5

    @property
    def has_many_round_numbers(self) -> bool:
        """True if round numbers are more frequent than others, as in prices and estimates."""
        if self.high - self.low < 100:
            return False
        y = self.y[self.y != 0]
        return any((y % step == 0).mean() > share for step, share in ((100, 0.1), (10, 0.3), (5, 0.5)))

    @property
    def resembles_counts(self) -> bool:
        """True if small values occur (1 to 3, if there are many zeros), and the distribution is right-skewed."""
        if self.low > 2 or _skewness(self.y) <= 0:
            return False
        zeros, small = int((self.y == 0).sum()), int(((self.y > 0) & (self.y <= 3)).sum())
        return zeros <= 0.05 * len(self.y) or small >= 0.1 * zeros

    def resembles_measurements(self, X: Table | None) -> bool:
        """Return whether values resemble measurements such as days or concentrations rather than counts.

        None is 0, few are small, and the residual variance of their logarithms, given the columns, is more than
        `MIN_MEASURED_DISPERSION` times that of Poisson counts.
        """
        if self.low < 1 or self.high < 50 or (self.y <= 3).mean() > 0.05:
            return False
        rows = sample_rows(len(self.y))
        features = np.empty((len(rows), 0)) if X is None else quick_features(X, rows)
        return log_dispersion(features, np.asarray(self.y[rows], dtype=float)) > MIN_MEASURED_DISPERSION

    def orderliness(self, X: Table | None) -> Orderliness:
        """Return how well the columns explain the values as ordered and as nominal classes; 0 without columns."""
        if X is None or not X.n_columns:
            return Orderliness(0.0, 0.0)
        rows = sample_rows(len(self.y))
        values, codes = np.unique(self.y[rows], return_inverse=True)
        return orderliness(quick_features(X, rows), codes, len(values))

    def __str__(self) -> str:
        return f"whole numbers from {self.low:,.0f} to {self.high:,.0f}"


def _choose_for_integers(y: Array, X: Table | None) -> TaskDecision:
    target = IntegerTarget(y)
    n = len(target.values)
    if n <= 2:
        return TaskDecision("classification", f"it has {'two values' if n == 2 else 'one value'}")
    if not target.can_be_classes:
        return _choose_for_many_integers(target, X)
    classes = f"{n} different whole numbers"
    if n == 3:
        counts = ", --task counts if counts" if target.low >= 0 else ""
        return TaskDecision("classification", classes, f"Use --task ordered if they are ranks{counts}.")
    order = target.orderliness(X)
    if order.contradicts_order:
        other = "counts" if target.low >= 0 else "regression"
        return TaskDecision(
            "classification",
            f"{classes} whose order does not follow the columns",
            f"Use --task {other} if they are amounts.",
        )
    if target.is_skewed_from_0_or_1:
        if target.is_scale and (target.low == 1 or (n <= 5 and not target.has_decreasing_frequencies)):
            return TaskDecision("ordered", f"{target}, of which larger ones are rarer", _USE_COUNTS)
        return TaskDecision("counts", f"{target}, of which larger ones are rarer", _USE_CLASSES)
    if target.is_scale and order.supports_order:
        other = _USE_COUNTS if target.low == 0 else _USE_CLASSES
        return TaskDecision("ordered", f"{target} that rise or fall with the columns", other)
    if target.is_common_scale:
        return TaskDecision("ordered", f"{target}, a usual scale", _USE_CLASSES)
    if n > 10 and (target.has_smooth_frequencies or order.supports_order):
        return _choose_for_many_integers(target, X)
    other = "counts" if target.low >= 0 else "regression"
    return TaskDecision(
        "classification", classes, f"Use --task ordered if they are ranks, --task {other} if they are amounts."
    )


def _choose_for_many_integers(target: IntegerTarget, X: Table | None) -> TaskDecision:
    """Choose between counts, positive amounts and numbers of any sign."""
    if target.low < 0:
        return TaskDecision("regression", f"{target}", _USE_CLASSES if target.can_be_classes else "")
    if target.has_many_round_numbers:
        return _choose_for_positive(target.y, X, f"{target}, many of them round")
    if not target.resembles_counts:
        decision = _choose_for_positive(target.y, X, str(target))
        return decision._replace(alternative=_USE_COUNTS) if decision.task == "amounts" else decision
    if target.resembles_measurements(X):
        decision = _choose_for_positive(target.y, X, f"{target}, few of them small")
        return decision._replace(alternative=_USE_COUNTS)
    return TaskDecision("counts", f"{target}, small ones among them", "Use --task amounts if they are measured.")


# Positive numbers.


def _choose_for_positive(y: Array, X: Table | None, values: str) -> TaskDecision:
    """Choose between amounts and numbers of any sign by skewness, range, and the better fit of a log scale."""
    y = np.asarray(y, dtype=float)
    positive = y[y > 0]
    skew, ratio = _skewness(positive), float(positive.max() / positive.min()) if len(positive) else 1.0
    numbers = TaskDecision("regression", values, "Use --task amounts for models with a log link.")
    if len(positive) < 3 or ratio < 3 or skew <= 0.3:
        return numbers
    skewed = f"{values}, skewed to the right"
    above = np.flatnonzero(y > 0)
    rows = above[sample_rows(len(above))]
    features = np.empty((len(rows), 0)) if X is None else quick_features(X, rows)
    if log_scale_gain(features, y[rows]) < MIN_LOG_SCALE_GAIN:
        return numbers._replace(reason=f"{values}, which a log scale does not fit better")
    zeros = 1 - len(positive) / len(y)
    if zeros > 0.9:
        return numbers._replace(reason=f"{values}, {zeros:.0%} of them 0")
    if zeros:
        skewed += f", {zeros:.0%} of them 0"
    return TaskDecision(
        "amounts", f"{skewed}, which a log scale fits better", "Use --task regression to model them as they are."
    )


def _readable(number: float) -> str:
    """Format a number with four digits, without an exponent unless it is very large or small."""
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


def _skewness(y: Array) -> float:
    """Return the third standardized moment."""
    y = np.asarray(y, dtype=float)
    scale = np.abs(y).max()
    scaled = y / scale if scale > 0 else y
    deviations = scaled - scaled.mean()
    spread = float(np.square(deviations).mean()) ** 1.5
    return float((deviations**3).mean() / spread) if spread > 0 else 0.0


# The target as an array of the type that a task requires.


def _ordered_labels(y: Array, levels: Sequence[Any] | None) -> tuple[Array, Array]:
    """Return the labels that occur, from lowest to highest, and the codes of the rows."""
    labels, codes = encode_labels(y)
    if levels is None:
        if labels.dtype.kind not in "iuf":
            raise DataError(
                f"Labels such as {labels.tolist()[0]!r} have no order of their own. Give it by order=[…], lowest first "
                "(on the command line --order low,medium,high), or as an ordered categorical."
            )
        return labels, codes
    written = {str(label): label for label in labels.tolist()}
    order = [written[str(level)] for level in levels if str(level) in written]
    if len(order) < len(labels):
        absent = next(label for label in labels.tolist() if label not in order)
        raise DataError(f"The order of labels lacks {absent!r}, which the target has; name every label once.")
    if len(set(order)) < len(order):
        raise DataError("The order of labels names a label twice; name every label once.")
    places = {label: place for place, label in enumerate(order)}
    ranks = np.array([places[label] for label in labels.tolist()])
    return np.asarray(order, dtype=labels.dtype), ranks[codes]


def _to_floats(y: Array) -> Array:
    if y.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead. Give one target at a time.")
    numbers = np.array([_is_number(each) for each in y.tolist()]) if y.dtype.kind not in "iufb" else np.isfinite(y)
    if not numbers.all():
        raise DataError(
            f"The target has to be a number in each row, but it is {_first(y, ~numbers)}; drop such rows, or use the "
            "task classification."
        )
    return y.astype(float)


def _check_counts(y: Array) -> Array:
    odd = (y < 0) | (y != np.floor(y))
    if odd.any():
        raise DataError(f"Counts are 0, 1, 2, …, but the target is {_first(y, odd)}; use the task regression.")
    return y


def _check_amounts(y: Array) -> Array:
    if (y < 0).any():
        raise DataError(f"Amounts are 0 or more, but the target is {_first(y, y < 0)}; use the task regression.")
    return y


def _first(y: Array, where: Any) -> str:
    row = int(np.argmax(where))
    return f"{y.tolist()[row]!r} in row {row}"


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False
