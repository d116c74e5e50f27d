"""Cheap comparisons of readings of a target, on a sample of the rows and by linear fits alone.

Each function fits to one half of the sampled rows and measures on the other, both ways, so that a column that fits by
chance counts for nothing. A few thousand rows and a few dozen features take some hundredths of a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer._typing import Array
from mercer.data import Table


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
