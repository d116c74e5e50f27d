"""Calibration curves and errors of probabilities, compared with the error expected by chance."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer.data.labels import codes_of

#: largest distance from 1 of the sum of a row's probabilities: float32 data needs it
PROBABILITY_SUM_TOLERANCE = 1e-4


class EventForecast(NamedTuple):
    """Probabilities of one event, its outcomes, and the weights of the rows."""

    p: Array
    event: Array
    weight: Array


def pool_forecasts(forecasts: list[EventForecast]) -> EventForecast:
    """Return all events as one."""
    return EventForecast(*(np.concatenate(part) for part in zip(*forecasts, strict=True)))


def make_forecasts(p: Any, y: Any, labels: Any, sample_weight: Any, of: str | int) -> list[EventForecast]:
    """Return one event, or one for each class, checked and without rows of weight 0."""
    p = _check_probabilities(p)
    weight = np.ones(len(p)) if sample_weight is None else _check_weights(sample_weight)
    codes = _encode_events(y, labels) if p.ndim == 1 else _encode_classes(y, labels, p.shape[1])
    if not len(p) == len(codes) == len(weight):
        raise DataError(f"p has {len(p)} rows, y {len(codes)} and sample_weight {len(weight)}; give one for each row.")
    has_weight = weight > 0  # a bin of rows of weight 0 has no frequency
    p, codes, weight = p[has_weight], codes[has_weight], weight[has_weight]
    if p.ndim == 1:
        return [EventForecast(p, codes, weight)]
    if of == "top" and p.shape[1] != 2:
        top = p.argmax(axis=1)
        return [EventForecast(p[np.arange(len(p)), top], codes == top, weight)]
    columns = [1] if of == "top" else range(p.shape[1]) if of == "each" else [_check_column(of, p.shape[1])]
    return [EventForecast(p[:, k], codes == k, weight) for k in columns]


def _check_column(of: str | int, n_classes: int) -> int:
    if isinstance(of, Integral) and 0 <= of < n_classes:
        return int(of)
    raise DataError(
        f'of={of!r}, but it must be "top", "each" or the number of a column of p, from 0 to {n_classes - 1}.'
    )


def _check_weights(sample_weight: Any) -> Array:
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim != 1 or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError("sample_weight must have one number for each row, none negative and not all 0.")
    return weight


def _check_probabilities(p: Any) -> Array:
    values = np.asarray(p, dtype=float)
    if values.ndim not in (1, 2) or not values.size:
        raise DataError(f"p has the shape {values.shape}; give one probability per row, or one for each class.")
    if (bad := ~np.isfinite(values).reshape(len(values), -1).all(axis=1)).any():
        raise NonFiniteError(f"the probabilities of row {int(np.argmax(bad))} are not all finite; leave such rows out.")
    if values.min() < 0 or values.max() > 1 + PROBABILITY_SUM_TOLERANCE:
        raise DataError(
            f"probabilities must be from 0 to 1, but these range from {values.min():g} to {values.max():g}."
        )
    if values.ndim == 2 and (off := np.abs(values.sum(axis=1) - 1) > PROBABILITY_SUM_TOLERANCE).any():
        row = int(np.argmax(off))
        raise DataError(f"the probabilities of row {row} sum to {values[row].sum():g}, not to 1.")
    return np.asarray(np.minimum(values, 1.0))


def _encode_events(y: Any, labels: Any) -> Array:
    """Return y as booleans; with two labels the second one is the event."""
    if labels is not None:
        return np.asarray(_encode_classes(y, labels, 2) == 1)
    events = np.asarray(y)
    if events.ndim != 1 or not np.isin(events, [0, 1]).all():
        raise DataError(
            "y must hold for every row whether the event happened: True or False, 1 or 0; or give the labels."
        )
    return events.astype(bool)


def _encode_classes(y: Any, labels: Any, n_classes: int) -> Array:
    names = np.arange(n_classes) if labels is None else np.asarray(labels)
    if len(names) != n_classes:
        raise DataError(f"there are {len(names)} labels for {n_classes} columns of p; give one for each.")
    codes = codes_of(y, names)
    if (unknown := codes < 0).any():
        label = np.asarray(y).tolist()[int(np.argmax(unknown))]
        raise DataError(f"y holds {label!r}, which is not a column of p: {', '.join(map(str, names[:10]))}.")
    return codes


#: mean distance from frequencies that is too small to matter: with many rows even the smallest is significant
NEGLIGIBLE_CALIBRATION_ERROR = 0.02
#: how to calibrate probabilities, on the command line and in Python
CALIBRATION_ADVICE = "mercer fit --calibrate, in Python Calibrated"


class CalibrationCurve(NamedTuple):
    """The mean prediction and the observed frequency of each bin of rows, with an interval.

    Examples
    --------
    >>> from mercer.decision import calibration_curve_with_intervals
    >>> curve = calibration_curve_with_intervals([0.2] * 10 + [0.7] * 10, [0] * 8 + [1] * 9 + [0] * 3, bins=2)
    >>> curve.observed, curve.high.round(2)
    (array([0.2, 0.7]), array([0.51, 0.89]))
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    rows: Array
    #: the smallest probability of each bin
    first: Array
    #: the largest probability of each bin
    last: Array


class CalibrationError(NamedTuple):
    """The distance of probabilities from frequencies, and the decomposition of the Brier score.

    Examples
    --------
    >>> from mercer.decision import calibration_error
    >>> found = calibration_error([0.1, 0.1, 0.1, 0.1, 0.8, 0.8], [0, 0, 0, 1, 1, 1], bins=2, repeats=0)
    >>> round(found.reliability - found.resolution + found.uncertainty + found.within - found.brier, 12)
    0.0
    """

    #: the expected calibration error: mean distance of predicted from observed over the bins, weighted by rows
    error: float
    low: float
    high: float
    #: the expected error of perfect probabilities on the same number of rows
    by_chance: float
    #: the probability that the error of perfect probabilities is at least `error`
    p_value: float
    #: Σ (p − y)² per row = reliability − resolution + uncertainty + within
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    bins: int

    def sentence(self) -> str:
        """Return the meaning of the numbers in one sentence.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> p = rng.random(500)
        >>> print(calibration_error(p, rng.random(500) < p).sentence())
        Probabilities are off by 0.035 on average (0.000 to 0.038), which can be due to chance here (0.047 on average).
        """
        off = f"Probabilities are off by {self.error:.3f} on average ({self.low:.3f} to {self.high:.3f})"
        if self.p_value > 0.05:
            return f"{off}, which can be due to chance here ({self.by_chance:.3f} on average)."
        more = f"{off}, more than the {self.by_chance:.3f} expected by chance"
        if not self.matters:
            return f"{more}, but too little to matter."
        return f"{more}: calibrate them ({CALIBRATION_ADVICE})."

    @property
    def matters(self) -> bool:
        """True if calibration is worthwhile: the error is significant and large enough to change a decision."""
        return self.p_value <= 0.05 and self.error > NEGLIGIBLE_CALIBRATION_ERROR


def calibration_curve_with_intervals(
    p: Any,
    y: Any,
    *,
    bins: int = 10,
    level: float = 0.95,
    labels: Any = None,
    sample_weight: Any = None,
    of: Literal["top", "each"] | int = "top",
) -> CalibrationCurve:
    """Compute observed frequencies for bins of predicted probabilities with about the same number of rows each.

    Parameters
    ----------
    p : array-like of shape (n_rows,) or (n_rows, n_classes)
        Probabilities of an event, or of each class; of two classes the second is the event.
    y : array-like of shape (n_rows,)
        Whether the event happened; with several columns the number of the class, or its label if `labels` are given.
    bins : int, default=10
        Maximum number of bins: equal probabilities share a bin.
    level : float, default=0.95
        Level of Wilson's intervals for the observed frequency.
    labels : array-like of shape (n_classes,), default=None
        The class of each column of p.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    of : {"top", "each"} or int, default="top"
        With three or more classes the event is that the most probable class is right ("top"); or each class is an
        event, all in one curve ("each"); or the event is the class of this column.

    Returns
    -------
    curve : CalibrationCurve
        Arrays with one value for each bin, in ascending order of the probability.

    Examples
    --------
    >>> curve = calibration_curve_with_intervals([0.1, 0.1, 0.1, 0.1, 0.8, 0.8], [0, 0, 0, 1, 1, 1], bins=2)
    >>> curve.predicted, curve.observed, curve.rows
    (array([0.1, 0.8]), array([0.25, 1.  ]), array([4, 2]))
    """
    _check_level(level)
    forecasts = make_forecasts(p, y, labels, sample_weight, of)
    forecast = pool_forecasts(forecasts)
    number = assign_bins(forecast.p, forecast.weight, bins)
    sums = _sum_bins(forecast, number)
    observed = sums.events / sums.weight
    low, high = wilson_interval(observed, sums.weight**2 / sums.squares, level)
    size = np.bincount(number)
    order = np.argsort(forecast.p, kind="stable")
    ends = np.cumsum(size)
    ascending = forecast.p[order]
    predicted = sums.predicted / sums.weight
    return CalibrationCurve(predicted, observed, low, high, size, ascending[ends - size], ascending[ends - 1])


def calibration_error(
    p: Any,
    y: Any,
    *,
    bins: int = 10,
    labels: Any = None,
    sample_weight: Any = None,
    of: Literal["top", "each"] = "top",
    level: float = 0.95,
    repeats: int = 200,
    max_drawn_rows: int = 10_000,
    random_state: int | np.random.Generator = 0,
) -> CalibrationError:
    """Compute the expected calibration error over bins of equal size, its interval, and the error expected by chance.

    A finite sample of perfect probabilities has an error, too: `by_chance` is the error of labels drawn from the
    probabilities themselves, and `p_value` the share of such draws with an error as large. The bootstrap interval is
    corrected for the error that resampling adds, and always contains the estimate.

    Parameters
    ----------
    p : array-like of shape (n_rows,) or (n_rows, n_classes)
        Probabilities of an event, or of each class; of two classes the second is the event.
    y : array-like of shape (n_rows,)
        Whether the event happened; with several columns the number of the class, or its label if `labels` are given.
    bins : int, default=10
        Maximum number of bins: equal probabilities share a bin.
    labels : array-like of shape (n_classes,), default=None
        The class of each column of p.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    of : {"top", "each"}, default="top"
        With three or more classes the error of the most probable class, or the mean error of all classes. The Brier
        score is that of all classes; with two classes, of the second one.
    level : float, default=0.95
        Level of the interval.
    repeats : int, default=200
        Number of resamples and of draws of labels; with 0 there is no interval (NaN).
    max_drawn_rows : int, default=10000
        Number of rows of one event up to which rows are resampled; of more rows, the sums over bins are drawn from
        their normal approximation.
    random_state : int or Generator, default=0
        Seed of the resamples.

    Returns
    -------
    error : CalibrationError
        The numbers; `sentence()` explains them.

    Examples
    --------
    >>> found = calibration_error([0.1, 0.1, 0.1, 0.1, 0.8, 0.8], [0, 0, 0, 1, 1, 1], bins=2, repeats=0)
    >>> round(found.error, 4), round(found.brier, 4)
    (0.1667, 0.1533)
    """
    _check_level(level)
    forecasts = make_forecasts(p, y, labels, sample_weight, of)
    numbers = [assign_bins(forecast.p, forecast.weight, bins) for forecast in forecasts]
    error = _mean_bin_error(forecasts, numbers)
    low = high = by_chance = p_value = np.nan
    if repeats:
        rng = np.random.default_rng(random_state)
        by_sums = len(forecasts) == 1 and len(forecasts[0].p) > max_drawn_rows
        again = _bootstrap_errors(forecasts, numbers, rng, repeats, by_sums=by_sums)
        lower, upper = np.quantile(again, [(1 - level) / 2, (1 + level) / 2])
        low, high = max(0.0, min(error, 2 * error - upper)), max(error, 2 * error - lower)
        drawn = _chance_errors(forecasts, numbers, rng, repeats, by_sums=by_sums)
        by_chance, p_value = float(drawn.mean()), float((1 + np.count_nonzero(drawn >= error)) / (repeats + 1))
    every = make_forecasts(p, y, labels, sample_weight, "top" if np.shape(p)[1:] == (2,) else "each")
    brier = np.sum(
        [_decompose_brier(forecast, assign_bins(forecast.p, forecast.weight, bins)) for forecast in every], axis=0
    )
    most = max(int(number.max()) + 1 for number in numbers)
    interval = float(low), float(high)
    score, reliability, resolution, uncertainty, within = map(float, brier)
    return CalibrationError(
        error, *interval, by_chance, p_value, score, reliability, resolution, uncertainty, within, most
    )


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise DataError(f"level={level:g}, but the level of an interval must be between 0 and 1.")


def assign_bins(p: Array, weight: Array, bins: int) -> Array:
    """Return the bin of every row: bins of about the same weight, equal probabilities in the same bin."""
    if bins < 1:
        raise DataError(f"bins={bins}, but there must be at least one bin; give 1 or more.")
    at = np.unique(p, return_inverse=True)[1]
    heavy = np.bincount(at, weight)
    middle = (np.cumsum(heavy) - heavy / 2) / heavy.sum()
    slots = np.minimum((middle * bins).astype(np.intp), bins - 1)
    return np.unique(slots, return_inverse=True)[1][at].reshape(len(p))


def wilson_interval(share: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return Wilson's interval for a probability, given the observed share among n rows."""
    z2 = ndtri((1 + level) / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return np.clip(centre - half, 0.0, share), np.clip(centre + half, share, 1.0)


class ReliabilitySums(NamedTuple):
    """Sums over the rows of each bin: weights, predictions, events, and squared weights."""

    weight: Array
    predicted: Array
    events: Array
    squares: Array


def _sum_bins(forecast: EventForecast, number: Array) -> ReliabilitySums:
    w = forecast.weight
    return ReliabilitySums(*(np.bincount(number, part) for part in (w, w * forecast.p, w * forecast.event, w * w)))


def _mean_bin_error(forecasts: list[EventForecast], numbers: list[Array]) -> float:
    each = []
    for forecast, number in zip(forecasts, numbers, strict=True):
        sums = _sum_bins(forecast, number)
        each.append(np.abs(sums.predicted - sums.events).sum() / sums.weight.sum())
    return float(np.mean(each))


def _decompose_brier(forecast: EventForecast, number: Array) -> Array:
    """Return Brier score, reliability, resolution, uncertainty and within-bin remainder (Murphy 1973, Stephenson)."""
    sums, total = _sum_bins(forecast, number), forecast.weight.sum()
    predicted, observed, base = sums.predicted / sums.weight, sums.events / sums.weight, sums.events.sum() / total
    brier = forecast.weight @ (forecast.p - forecast.event) ** 2 / total
    reliability = sums.weight @ (predicted - observed) ** 2 / total
    resolution = sums.weight @ (observed - base) ** 2 / total
    uncertainty = base * (1 - base)
    return np.array([brier, reliability, resolution, uncertainty, brier - (reliability - resolution + uncertainty)])


def _bootstrap_errors(
    forecasts: list[EventForecast], numbers: list[Array], rng: np.random.Generator, repeats: int, *, by_sums: bool
) -> Array:
    """Return the error of each bootstrap sample of the rows."""
    n = len(forecasts[0].p)
    if by_sums:
        off = forecasts[0].weight * (forecasts[0].p - forecasts[0].event)
        sums = np.bincount(numbers[0], off)
        spread = np.diag(np.bincount(numbers[0], off**2)) - np.outer(sums, sums) / n
        return _normal_errors(sums, spread, forecasts[0].weight.sum(), rng, repeats)
    errors = np.empty(repeats)
    for i in range(repeats):
        times: Array = np.bincount(rng.integers(n, size=n), minlength=n)
        if not (times * forecasts[0].weight).any():  # no row of positive weight
            times = np.ones(n)
        errors[i] = _mean_bin_error(
            [forecast._replace(weight=forecast.weight * times) for forecast in forecasts], numbers
        )
    return errors


def _chance_errors(
    forecasts: list[EventForecast], numbers: list[Array], rng: np.random.Generator, repeats: int, *, by_sums: bool
) -> Array:
    """Return the errors of labels drawn from the probabilities themselves."""
    if by_sums:
        p, _, weight = forecasts[0]
        spread = np.diag(np.bincount(numbers[0], weight**2 * p * (1 - p)))
        return _normal_errors(np.zeros(len(spread)), spread, weight.sum(), rng, repeats)
    upto = np.cumsum([forecast.p for forecast in forecasts], axis=0)
    errors = np.empty(repeats)
    for i in range(repeats):
        drawn = rng.random(len(forecasts[0].p))
        events = np.diff(drawn < upto, axis=0, prepend=False) if len(upto) > 1 else drawn < upto
        again = [forecast._replace(event=event) for forecast, event in zip(forecasts, events, strict=True)]
        errors[i] = _mean_bin_error(again, numbers)
    return errors


def _normal_errors(mean: Array, spread: Array, total: float, rng: np.random.Generator, repeats: int) -> Array:
    """Return errors of many rows, whose sums over bins are normal by the central limit theorem."""
    sums = rng.multivariate_normal(mean, spread, size=repeats, check_valid="ignore", method="eigh")
    return np.asarray(np.abs(sums).sum(axis=1) / total)
