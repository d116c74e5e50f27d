"""Decide which task a target poses, by the evidence of its values and of the columns."""

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

# Cheap comparisons of readings of a target, on a sample of the rows and by linear fits alone.
#
# Each function fits to one half of the sampled rows and measures on the other, both ways, so that a column that fits by
# chance counts for nothing. A few thousand rows and a few dozen features take some hundredths of a second.


class Orderliness(NamedTuple):
    """Shares of the spread of class memberships that are explained: by any linear scores, and by one ordered score."""

    nominal: float
    ordered: float

    @property
    def contradicts_order(self) -> bool:
        """Whether one score for all classes loses much of what separate scores explain."""
        return self.nominal > 0.05 and self.ordered < 0.6 * self.nominal

    @property
    def supports_order(self) -> bool:
        """Whether one score explains something, and nearly as much as separate scores."""
        return self.ordered > 0.01 and self.ordered >= 0.75 * self.nominal


def sample_rows(n_rows: int, most: int = 2_000) -> Array:
    """Return positions of at most `most` rows, drawn with a fixed seed, in random order."""
    return np.random.default_rng(0).permutation(n_rows)[:most]


def quick_features(
    table: Table, rows: Array, *, most_columns: int = 60, most_levels: int = 12, most_features: int = 200
) -> Array:
    """Return standardised columns of the sampled rows: numbers with gaps filled, and indicators of frequent levels.

    Columns that come after `most_columns` or after `most_features` features are left out. So is a sequence that numbers
    the rows in file order, because it may follow a sorted target.
    """
    if table.library == "scipy":
        matrix = table.matrix()[rows]
        spread = np.asarray(abs(matrix).sum(axis=0)).ravel()
        busiest = np.sort(np.argsort(-spread, kind="stable")[:most_columns])
        return _standardised(np.asarray(matrix[:, busiest].todense(), dtype=float))
    sample = table.take(rows)
    parts: list[Array] = []
    for column in range(min(table.n_columns, most_columns)):
        if sum(part.shape[1] for part in parts) >= most_features:
            break
        if table.kinds[column].numeric:
            values = sample.numbers([column]).astype(float)
            known = np.isfinite(values)
            if known.any() and not _numbers_rows(values[:, 0], rows):
                parts.append(np.where(known, values, values[known].mean()))
        else:
            coded = sample.coded(column)
            sizes = np.bincount(coded.codes[coded.codes >= 0], minlength=1)
            if np.count_nonzero(sizes) <= len(rows) // 10:
                levels = np.argsort(-sizes, kind="stable")[:most_levels]
                parts.append((coded.codes[:, None] == levels[None, :]).astype(float))
    return _standardised(np.hstack(parts)) if parts else np.empty((len(rows), 0))


def log_scale_gain(features: Array, y: Array) -> float:
    """Return by how much a log-normal fits held-out values better than a normal, in nats per row; y is positive.

    Both have a mean that is linear in the features and one variance; the density of log y is converted to one of y.
    """
    logs = np.log(y)
    normal = _held_out_variance(features, y)
    lognormal = _held_out_variance(features, logs)
    if not (normal > 0 and lognormal > 0):
        return 0.0
    return float(0.5 * np.log(normal) - 0.5 * np.log(lognormal) - logs.mean())


def log_dispersion(features: Array, y: Array) -> float:
    """Return the variance of log y about a held-out linear fit over that of Poisson counts of such a size; y ≥ 1.

    The variance of the logarithm of a Poisson variable is 1/mean, to first order.
    """
    return _held_out_variance(features, np.log(y)) * float(y.mean())


def orderliness(features: Array, codes: Array, n_classes: int) -> Orderliness:
    """Return how well classes are explained by scores of their own, and by one score with thresholds in their order."""
    membership = np.equal.outer(codes, np.arange(n_classes)).astype(float)
    total = _squares(membership, _cross_fitted(np.empty((len(codes), 0)), membership))
    if total <= 0 or not features.shape[1]:
        return Orderliness(0.0, 0.0)
    fitted = _cross_fitted(features, np.column_stack([membership, codes]))
    linear, score = _squares(membership, fitted[:, :-1]), fitted[:, -1]
    discriminant = _squares(membership, _cross_fitted_discriminant(features, codes, n_classes))
    ordered = min(_squares(membership, _thresholded(score, membership, width)) for width in (0.25, 0.5, 1.0, 2.0))
    return Orderliness(1 - min(linear, discriminant) / total, 1 - ordered / total)


def _cross_fitted_discriminant(features: Array, codes: Array, n_classes: int) -> Array:
    """Probabilities of classes by normal distributions with one covariance, fitted to the other half of the rows."""
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


def _thresholded(score: Array, membership: Array, width: float) -> Array:
    """Probabilities of ordered classes: P(class ≤ k) = Φ((θₖ − score)/σ), θₖ such that each class has its share.

    σ is `width` residual standard deviations of the score about the codes.
    """
    from scipy.special import ndtr

    codes = membership.argmax(axis=1)
    spread = max(width * float(np.std(codes - score)), 1e-9)
    shares = np.cumsum(membership.mean(axis=0))[:-1]
    low = np.full(len(shares), score.min() - 10 * spread)
    high = np.full(len(shares), score.max() + 10 * spread)
    for _ in range(30):  # bisection, for all thresholds at once
        middle = (low + high) / 2
        below = ndtr((middle - score[:, None]) / spread).mean(axis=0) < shares
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    cumulative = ndtr((high - score[:, None]) / spread)
    edges = np.zeros((len(score), 1))
    return np.diff(np.hstack([edges, cumulative, edges + 1]), axis=1)


def _cross_fitted(features: Array, targets: Array) -> Array:
    """Predictions of either half of the rows by a ridge regression that was fitted to the other."""
    n = len(targets)
    predicted = np.empty_like(targets)
    halves = np.arange(n) % 2 == 0
    for test in (halves, ~halves):
        X, T = features[~test], targets[~test]
        level = T.mean(axis=0)
        predicted[test] = level
        if features.shape[1] and len(T) > 2:
            center = X.mean(axis=0)
            X = X - center
            penalty = max(1.0, 0.01 * len(T)) * np.eye(X.shape[1])
            predicted[test] += (features[test] - center) @ np.linalg.solve(X.T @ X + penalty, X.T @ (T - level))
    return predicted


def _held_out_variance(features: Array, y: Array) -> float:
    return float(np.square(y - _cross_fitted(features, y[:, None])[:, 0]).mean())


def _squares(targets: Array, predicted: Array) -> float:
    return float(np.square(targets - predicted).sum())


def _standardised(columns: Array) -> Array:
    """Columns with mean 0 and standard deviation 1, far values drawn in; constant columns are left out."""
    spread = columns.std(axis=0)
    kept = np.isfinite(spread) & (spread > 1e-12 * np.abs(columns).max(axis=0, initial=1.0))
    scaled = (columns[:, kept] - columns[:, kept].mean(axis=0)) / spread[kept]
    return np.asarray(np.clip(scaled, -8.0, 8.0))


def _numbers_rows(values: Array, rows: Array) -> bool:
    """Whether whole numbers grow or fall with the position in the file and never repeat."""
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    steps = np.diff(values[np.argsort(rows)])
    return len(values) > 2 and bool((steps > 0).all() or (steps < 0).all())


TASKS = (ClassificationTask.name, OrderedTask.name, RegressionTask.name, AmountTask.name, CountTask.name)

#: whole numbers with more distinct values than this are counted or measured, not named
MOST_CLASSES = 30
#: rows of each value, on average, below which values are not classes
FEWEST_RECURRING = 3
#: nats per row by which a log scale has to fit better to be preferred
LEAST_GAIN = 0.03
#: how many times as much as Poisson counts whole numbers spread that are measured
DISPERSED = 3.0


#: words of usual scales, lowest first
SCALES = (
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


class TaskDecision(NamedTuple):
    """A task by its name, the evidence in words, and what another task would make of the target."""

    task: str
    because: str
    otherwise: str = ""


def task_for(
    y: Any, n_rows: int, name: str = "auto", *, X: Table | None = None, target: str = "", order: Any = None
) -> Task:
    """Return the task of that name for a target, or the task that the evidence supports best.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The target. An ordered categorical (of pandas or pyarrow) has ordered classes.
    n_rows : int
        Number of rows of X.
    name : str, default="auto"
        One of `TASKS`, or "auto".
    X : Table, default=None
        The columns, by which readings of whole numbers and of positive numbers are compared
        (`mercer.application.task`).
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
        levels = usual_order(values)
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
        name, because, otherwise = decide(values, X, levels)
        reason = f"{called} is read as {plural(name)}: {because}.{f' {otherwise}' if otherwise else ''}"
    else:
        reason = f"{called} is read as {plural(name)}, as given by the task {name}."
    match name:
        case "classification":
            return ClassificationTask(*encode_labels(y), reason)
        case "ordered":
            return OrderedTask(*_ordered_labels(values, levels), reason)
        case "regression":
            return RegressionTask(_numbers(values), reason)
        case "amounts":
            return AmountTask(_not_negative(_numbers(values)), reason)
    return CountTask(_whole(_numbers(values)), reason)


def usual_order(y: Array) -> list[Any] | None:
    """Return the labels of a target lowest first, where they are three or more words of a usual scale.

    Examples
    --------
    >>> usual_order(np.array(["High", "Low", "Medium", "Low"]))
    ['Low', 'Medium', 'High']
    """
    if y.ndim != 1 or y.dtype.kind not in "OU":
        return None
    most = max(map(len, SCALES))
    labels: dict[str, Any] = {}
    for label in y.tolist():
        if not isinstance(label, str):
            return None
        labels.setdefault(_plain_word(label), label)
        if len(labels) > most:
            return None
    scale = next((scale for scale in SCALES if len(labels) > 2 and labels.keys() <= set(scale)), None)
    if scale is None or len(set(y.tolist())) > len(labels):  # two spellings of one word are two labels
        return None
    return [labels[word] for word in scale if word in labels]


def _plain_word(label: str) -> str:
    return " ".join(label.casefold().replace("_", " ").replace("-", " ").split())


def decide(y: Array, X: Table | None = None, levels: Sequence[Any] | None = None) -> TaskDecision:
    """Return the task that the values of a target and its relation to the columns support best."""
    if levels is not None:
        if len(levels) > 2:
            low, *_, high = levels
            return TaskDecision("ordered", f"{len(levels)} labels from {low!r} to {high!r}", _CLASSES)
        return TaskDecision("classification", "it has two labels")
    if y.dtype.kind not in "iuf" or y.ndim != 1 or not np.isfinite(y).all():
        # `encode_labels` raises for what cannot be a label
        several = y.ndim == 1 and len(set(map(str, y[:10_000].tolist()))) > 2
        ranks = "Use --order low,medium,high if they have such an order." if several else ""
        return TaskDecision("classification", "its values are labels, not numbers", ranks)
    if (y != np.floor(y)).any():
        return _decide_measured(y, X)
    return _decide_whole(y, X)


_CLASSES = "Use --task classification to treat them as classes."
_COUNTS = "Use --task counts if they are counts."


def plural(name: str) -> str:
    """Return what a target of a task holds, in words."""
    return {
        "classification": "classes",
        "ordered": "ordered classes",
        "regression": "numbers",
        "amounts": "positive amounts",
    }.get(name, name)


# Whole numbers.


class WholeNumbers:
    """Distinct whole numbers of a target, how often each occurs, and what follows from both."""

    def __init__(self, y: Array) -> None:
        # a sample tells the frequencies; the ends are those of all rows
        self.values, self.counts = np.unique(y[:: max(1, len(y) // 100_000)], return_counts=True)
        self.y, self.low, self.high = y, float(y.min()), float(y.max())

    @property
    def few(self) -> bool:
        """Whether there may be a class for each value: few of them, each of which recurs."""
        recurring = self.counts.sum() / len(self.values)
        return len(self.values) <= MOST_CLASSES and recurring >= FEWEST_RECURRING

    @property
    def contiguous(self) -> bool:
        return self.high - self.low + 1 == len(self.values)

    @property
    def thins_out(self) -> bool:
        """Whether values begin at 0 or 1 and are rarer the larger they are, as counts are."""
        spread = self.high - self.low
        position = (np.median(self.y) - self.low) / spread
        rare = self.counts[-1] * 10 <= self.counts.max()
        return self.low in (0, 1) and bool(position < 0.45 and rare and _skew(self.y) > 0.5)

    @property
    def decays(self) -> bool:
        """Whether each value is clearly rarer than the one before it, from the least on."""
        return bool((self.counts[1:] <= 0.75 * self.counts[:-1]).all())

    @property
    def turns(self) -> int:
        """How often frequencies change between rising and falling, with small changes left aside."""
        changes = np.diff(self.counts)
        changes = np.sign(changes[np.abs(changes) > 0.05 * self.counts.max()])
        return int((np.diff(changes) != 0).sum())

    @property
    def is_scale(self) -> bool:
        """Whether four values or more fill a part of 0 to 10 without gaps."""
        return 4 <= len(self.values) <= 11 and self.contiguous and self.low >= 0 and self.high <= 10

    @property
    def is_usual_scale(self) -> bool:
        """Whether values fill 1 to 5, 1 to 7, 1 to 10 or 0 to 10, and frequencies rise and fall at most once."""
        usual = (self.low, self.high) in ((1, 5), (1, 7), (1, 10), (0, 10))
        return usual and self.contiguous and self.turns <= 1 and bool(self.counts.max() >= 1.3 * self.counts.min())

    @property
    def smooth(self) -> bool:
        """Whether neighbouring values of many are about as frequent, as those of a measurement are."""
        if len(self.values) <= 10 or not self.contiguous:
            return False
        deviations = self.counts - self.counts.mean()
        squares = float(deviations @ deviations)
        return squares > 0 and float(deviations[1:] @ deviations[:-1]) / squares > 0.5

    @property
    def heaped(self) -> bool:
        """Whether round numbers are more frequent than others, as in prices and estimates."""
        if self.high - self.low < 100:
            return False
        y = self.y[self.y != 0]
        return any((y % step == 0).mean() > share for step, share in ((100, 0.1), (10, 0.3), (5, 0.5)))

    @property
    def begins_like_counts(self) -> bool:
        """Whether small numbers occur, beside many zeros also ones, twos and threes, and large ones are rarer."""
        if self.low > 2 or _skew(self.y) <= 0:
            return False
        zeros, small = int((self.y == 0).sum()), int(((self.y > 0) & (self.y <= 3)).sum())
        return zeros <= 0.05 * len(self.y) or small >= 0.1 * zeros

    def measured_like(self, X: Table | None) -> bool:
        """Whether they are days or concentrations rather than counts: none is 0, few are small, and they spread more.

        More means: about the columns, on a log scale, `DISPERSED` times as much as Poisson counts.
        """
        if self.low < 1 or self.high < 50 or (self.y <= 3).mean() > 0.05:
            return False
        rows = sample_rows(len(self.y))
        features = np.empty((len(rows), 0)) if X is None else quick_features(X, rows)
        return log_dispersion(features, np.asarray(self.y[rows], dtype=float)) > DISPERSED

    def orderliness(self, X: Table | None) -> Orderliness:
        """How well classes are explained with and without the order of the numbers; nothing where there is no X."""
        if X is None or not X.n_columns:
            return Orderliness(0.0, 0.0)
        rows = sample_rows(len(self.y))
        values, codes = np.unique(self.y[rows], return_inverse=True)
        return orderliness(quick_features(X, rows), codes, len(values))

    def __str__(self) -> str:
        return f"whole numbers from {self.low:,.0f} to {self.high:,.0f}"


def _decide_whole(y: Array, X: Table | None) -> TaskDecision:
    found = WholeNumbers(y)
    n = len(found.values)
    if n <= 2:
        return TaskDecision("classification", f"it has {'two values' if n == 2 else 'one value'}")
    if not found.few:
        return _decide_many(found, X)
    classes = f"{n} different whole numbers"
    if n == 3:
        return TaskDecision("classification", classes, "Use --task ordered if they are ranks, --task counts if counts.")
    order = found.orderliness(X)
    if order.contradicts_order:
        other = "counts" if found.low >= 0 else "regression"
        return TaskDecision(
            "classification",
            f"{classes} whose order does not follow the columns",
            f"Use --task {other} if they are amounts.",
        )
    if found.thins_out:
        if found.is_scale and (found.low == 1 or (n <= 5 and not found.decays)):
            return TaskDecision("ordered", f"{found}, of which larger ones are rarer", _COUNTS)
        return TaskDecision("counts", f"{found}, of which larger ones are rarer", _CLASSES)
    if found.is_scale and order.supports_order:
        other = _COUNTS if found.low == 0 else _CLASSES
        return TaskDecision("ordered", f"{found} that rise or fall with the columns", other)
    if found.is_usual_scale:
        return TaskDecision("ordered", f"{found}, a usual scale", _CLASSES)
    if n > 10 and (found.smooth or order.supports_order):
        return _decide_many(found, X)
    other = "counts" if found.low >= 0 else "regression"
    return TaskDecision(
        "classification", classes, f"Use --task ordered if they are ranks, --task {other} if they are amounts."
    )


def _decide_many(found: WholeNumbers, X: Table | None) -> TaskDecision:
    """Decide between counts, positive amounts and numbers of any sign."""
    if found.low < 0:
        return TaskDecision("regression", f"{found}", _CLASSES if found.few else "")
    if not found.begins_like_counts or found.heaped:
        if found.heaped:
            return _decide_positive(found.y, X, f"{found}, many of them round")
        decision = _decide_positive(found.y, X, str(found))
        return decision._replace(otherwise=_COUNTS) if decision.task == "amounts" else decision
    if found.measured_like(X):
        decision = _decide_positive(found.y, X, f"{found}, few of them small")
        return decision._replace(otherwise=_COUNTS)
    return TaskDecision("counts", f"{found}, small ones among them", "Use --task amounts if they are measured.")


# Measured numbers.


def _decide_measured(y: Array, X: Table | None) -> TaskDecision:
    if y.min() < 0:
        return TaskDecision("regression", "some values are below 0")
    return _decide_positive(y, X, f"values from {_readable(y.min())} to {_readable(y.max())}")


def _decide_positive(y: Array, X: Table | None, what: str) -> TaskDecision:
    """Decide between positive amounts and numbers of any sign: by skewness, range, and which scale fits better."""
    y = np.asarray(y, dtype=float)
    positive = y[y > 0]
    skew, ratio = _skew(positive), float(positive.max() / positive.min()) if len(positive) else 1.0
    numbers = TaskDecision("regression", what, "Use --task amounts for models with a log link.")
    if len(positive) < 3 or ratio < 3 or skew <= 0.3:
        return numbers
    skewed = f"{what}, skewed to the right"
    above = np.flatnonzero(y > 0)
    rows = above[sample_rows(len(above))]
    features = np.empty((len(rows), 0)) if X is None else quick_features(X, rows)
    if log_scale_gain(features, y[rows]) < LEAST_GAIN:
        return numbers._replace(because=f"{what}, which a log scale does not fit better")
    zeros = 1 - len(positive) / len(y)
    if zeros > 0.9:
        return numbers._replace(because=f"{what}, {zeros:.0%} of them 0")
    if zeros:
        skewed += f", {zeros:.0%} of them 0"
    return TaskDecision(
        "amounts", f"{skewed}, which a log scale fits better", "Use --task regression to model them as they are."
    )


def _readable(number: float) -> str:
    """Write a number with four digits and without an exponent, where it is of a usual size."""
    return f"{number:,.0f}" if 1e4 <= abs(number) < 1e15 else f"{number:.4g}"


def _skew(y: Array) -> float:
    """Return the third standardised moment."""
    y = np.asarray(y, dtype=float)
    scale = np.abs(y).max()
    scaled = y / scale if scale > 0 else y
    deviations = scaled - scaled.mean()
    spread = float(np.square(deviations).mean()) ** 1.5
    return float((deviations**3).mean() / spread) if spread > 0 else 0.0


# The target as a task needs it.


def _ordered_labels(y: Array, levels: Sequence[Any] | None) -> tuple[Array, Array]:
    """Labels from lowest to highest, without those that do not occur, and codes."""
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


def _numbers(y: Array) -> Array:
    if y.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead. Give one target at a time.")
    numbers = np.array([_is_number(each) for each in y.tolist()]) if y.dtype.kind not in "iufb" else np.isfinite(y)
    if not numbers.all():
        raise DataError(
            f"The target has to be a number in each row, but it is {_first(y, ~numbers)}; drop such rows, or use the "
            "task classification."
        )
    return y.astype(float)


def _whole(y: Array) -> Array:
    odd = (y < 0) | (y != np.floor(y))
    if odd.any():
        raise DataError(f"Counts are 0, 1, 2, …, but the target is {_first(y, odd)}; use the task regression.")
    return y


def _not_negative(y: Array) -> Array:
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
