"""Probabilities, and whether what they are about happened: one event, or one for each class, checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from mercer._errors import DataError, NonFiniteError
from mercer._typing import Array
from mercer.data.labels import codes_of

#: how far from 1 the probabilities of a row may sum, as those of float32 do
ROUNDING = 1e-4


class Forecast(NamedTuple):
    """Probabilities of one event, whether it happened, and the weights of the rows."""

    p: Array
    event: Array
    weight: Array


def pooled(forecasts: list[Forecast]) -> Forecast:
    """All events as one."""
    return Forecast(*(np.concatenate(part) for part in zip(*forecasts, strict=True)))


def forecasts_of(p: Any, y: Any, labels: Any, sample_weight: Any, of: str | int) -> list[Forecast]:
    """One event, or one for each class."""
    p = _checked(p)
    weight = np.ones(len(p)) if sample_weight is None else _weights(sample_weight)
    codes = _events(y, labels) if p.ndim == 1 else _codes(y, labels, p.shape[1])
    _refuse_lengths(len(p), len(codes), len(weight))
    counted = weight > 0  # a bin of rows that weigh nothing has no frequency
    p, codes, weight = p[counted], codes[counted], weight[counted]
    if p.ndim == 1:
        return [Forecast(p, codes, weight)]
    if of == "top" and p.shape[1] != 2:
        top = p.argmax(axis=1)
        return [Forecast(p[np.arange(len(p)), top], codes == top, weight)]
    columns = [1] if of == "top" else range(p.shape[1]) if of == "each" else [_column(of, p.shape[1])]
    return [Forecast(p[:, k], codes == k, weight) for k in columns]


def _column(of: str | int, n_classes: int) -> int:
    if isinstance(of, Integral) and 0 <= of < n_classes:
        return int(of)
    raise DataError(f'of={of!r}, but it is "top", "each" or the number of a column of p, from 0 to {n_classes - 1}.')


def _weights(sample_weight: Any) -> Array:
    weight = np.asarray(sample_weight, dtype=float)
    if weight.ndim != 1 or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError("sample_weight has one number for each row, none negative and not all of them 0.")
    return weight


def _checked(p: Any) -> Array:
    values = np.asarray(p, dtype=float)
    if values.ndim not in (1, 2) or not values.size:
        raise DataError(f"p has the shape {values.shape}; give one probability per row, or one for each class.")
    if (bad := ~np.isfinite(values).reshape(len(values), -1).all(axis=1)).any():
        raise NonFiniteError(
            f"the probabilities of row {int(np.argmax(bad))} are not all numbers; leave such rows out."
        )
    if values.min() < 0 or values.max() > 1 + ROUNDING:
        raise DataError(f"probabilities are from 0 to 1, but these go from {values.min():g} to {values.max():g}.")
    if values.ndim == 2 and (off := np.abs(values.sum(axis=1) - 1) > ROUNDING).any():
        row = int(np.argmax(off))
        raise DataError(f"the probabilities of row {row} sum to {values[row].sum():g}, not to 1.")
    return np.asarray(np.minimum(values, 1.0))


def _events(y: Any, labels: Any) -> Array:
    """y as 0 and 1; with two labels the second is the event."""
    if labels is not None:
        return np.asarray(_codes(y, labels, 2) == 1)
    events = np.asarray(y)
    if events.ndim != 1 or not np.isin(events, [0, 1]).all():
        raise DataError("y says for every row whether the event happened: True or False, 1 or 0; or give the labels.")
    return events.astype(bool)


def _codes(y: Any, labels: Any, n_classes: int) -> Array:
    names = np.arange(n_classes) if labels is None else np.asarray(labels)
    if len(names) != n_classes:
        raise DataError(f"there are {len(names)} labels for {n_classes} columns of p; give one for each.")
    codes = codes_of(y, names)
    if (unknown := codes < 0).any():
        stranger = np.asarray(y).tolist()[int(np.argmax(unknown))]
        raise DataError(f"y holds {stranger!r}, which is none of the columns of p: {', '.join(map(str, names[:10]))}.")
    return codes


def _refuse_lengths(rows: int, labels: int, weights: int) -> None:
    if not rows == labels == weights:
        raise DataError(f"p has {rows} rows, y {labels} and sample_weight {weights}; give one for each row.")
